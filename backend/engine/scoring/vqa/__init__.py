"""A vision-language model as the scorer: P(yes) to the question whether the picture shows the
caption (VQAScore, Lin et al. 2024, arXiv:2404.01291).

name              how such a model is named
caption_question  the prompt, and what a model's tokenizer makes of it
vqa_checkpoints   which models can be asked, and clear refusals of the others
asked_model       model and question: what it reads of a picture, and its answer
plain_session     the reference: the whole model for every caption
packed_session    the same scores without computing anything twice (`picture_memory`)
vqa_scorer        the scorer: packed where that is exact
"""
