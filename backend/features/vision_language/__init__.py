"""Vision-language models that are asked about pictures: as scorer, as captioner, as second opinion.

caption_question  the prompt, and what a model's tokenizer makes of it
vqa_checkpoints   which models can be asked, and clear refusals of the others
asked_model       model and question: what it reads of a picture, and its answer
packed_session    the scores without computing anything twice (`picture_memory`), and the reference
chosen_model      the language model of a session: `local`, or behind a server (`endpoint`)
sight             whether a model behind a server sees the pictures that it is asked about
chat_captioner    such a model as captioner
model_check       the most suspicious pairs, asked about at a server
"""
