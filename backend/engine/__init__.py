"""The method: scores, trajectories, error probabilities, suspect words and corrections.

Independent of the store and the user interface.

scoring          s(x, y), one Scorer protocol over CLIP, SigLIP, open_clip, BLIP and more
trajectories     the caption trajectory and its explorers
detection        features, classifiers, cold start, suspect words
correction       suggestions, judged and ranked
concreteness     ICC: does the caption describe anything that could be seen?
phrases          the phrases of a caption, and how much each contributes to the match
noise            errors injected into captions, with the changed words recorded
language_models  chat models, local or behind a server
statistics       stopping, calibration, agreement, disagreement between scorers
"""
