"""The embedded world: drawn scenes, captions about them, and the small models that learn both.

A fresh machine has no model weights and may have no network, so the project brings a world of its
own. Nothing in it is a photograph, and its models know nothing else.

    world        what can be in a scene, and how one is sampled at random
    drawing      how each thing looks;  backgrounds: settings and weather
    layout       where things stand;  renderer: the picture and the regions of its things
    grammar      captions with known meaning;  phrasing: how they are put into words
    truth        is a caption true of a scene?  reading: what a caption of the world claims
    noise        false captions, with the changed words kept
    abstract     captions that say nothing that can be seen
    demo         `python -m backend.lab.scenes.demo` draws the demo dataset
    architecture, tokenizer, targets, examples, training, train
                 `python -m backend.lab.scenes.train` trains the embedded models from nothing
    labelled     fresh scenes of which half have a wrong caption: what models are judged on
"""

import backend.engine.hub  # noqa: F401  (before anything imports transformers' models)
