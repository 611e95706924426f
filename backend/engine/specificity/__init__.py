"""Does a caption single out its picture among similar ones?

After "No Detail Left Behind" (self-retrieval, "SR"). Nothing here knows a model: vectors and scores
come in as arrays.

bags       similar pictures grouped: candidate, curated and training bags (Algorithms 1 and 2)
retrieval  R@1 in bags, RD100, log-probability among neighbours, with intervals
reference  CIDEr-D, distinct words, CHAIR: what captions say against references and facts
published  the published benchmark's files: read unchanged, written in the same form
"""
