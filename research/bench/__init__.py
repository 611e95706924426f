"""Speed of the engine, compared with a naive reference implementation and with arithmetic bounds.

random_models    scorers of published sizes with random weights: the same work, no download
caption_lengths  captions of a given length
recorder         the requests of a run, from which a lower bound of its work follows
operations       units of work as floating-point operations
measure_scoring  the engine against the reference in one run
"""
