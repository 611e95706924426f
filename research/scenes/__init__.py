"""A synthetic world: drawn scenes, captions about them, and small models trained on both.

A new machine has no model weights and may have no network, so the project ships its own world.
Nothing in it is a photograph, and its models know nothing else. `world` samples scenes, `renderer`
draws them, `grammar` and `phrasing` describe them, `noise` makes false captions, `truth` and
`caption_reading` tell whether a caption is true; `demo` and `train` are commands.
"""

import backend.engine.hub  # noqa: F401  (before anything imports transformers' models)
