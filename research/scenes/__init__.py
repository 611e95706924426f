"""A synthetic world: drawn scenes, captions about them, and small models trained on both.

A new machine has no model weights and may have no network, so the project ships its own world.
Nothing in it is a photograph, and its models know nothing else.

    world            the contents of scenes, and how to sample them at random
    drawing          how each thing looks;  backgrounds: settings and weather
    scene_layout     where things stand;  renderer: the picture and the regions of its things
    grammar          captions with known meaning;  phrasing: their wordings
    truth            is a caption true of a scene?  caption_reading: what a caption claims
    noise            false captions with known changed words
    abstract         captions about nothing visible
    demo             `python -m research.scenes.demo` draws the demo dataset
    architecture, tokenizer, targets, examples, training, train
                     `python -m research.scenes.train` trains the embedded models from scratch
    vision_language, train_vision_language
                     `python -m research.scenes.train_vision_language FOLDER` trains a small
                     LLaVA that answers whether a caption is true and describes scenes; resumes
    labelled_scenes  new scenes, half of them with a wrong caption, to evaluate models on
"""

import backend.engine.hub  # noqa: F401  (before anything imports transformers' models)
