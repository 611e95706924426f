"""How fast is the engine, against the plain way and against the arithmetic?

models     scorers of real size with random weights: nothing to download, the same work
captions   captions of a wanted length
bound      what a run has to compute at least, counted from its questions alone
operations units of work as floating-point operations
measure    fast against plain in one run
"""
