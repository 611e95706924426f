"""Does a caption single out its picture among similar ones?

After "No Detail Left Behind" (self-retrieval, "SR"). Model-independent: vectors and scores are
passed in as arrays.

bags       groups of similar pictures: candidate and curated bags (Algorithms 1 and 2)
retrieval  log-probability of a caption's own picture among its neighbours
published  writes bags in the published benchmark's file format
"""
