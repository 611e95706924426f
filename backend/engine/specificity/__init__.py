"""Does a caption single out its picture among similar ones?

After "No Detail Left Behind" (self-retrieval, "SR"). Model-independent: vectors and scores are
passed in as arrays.

bags       groups of similar pictures: candidate, curated and training bags (Algorithms 1 and 2)
retrieval  R@1 in bags, RD100, log-probability among neighbours, with intervals
reference  CIDEr-D, distinct words, CHAIR: captions compared with references and known objects
published  reads and writes bags in the published benchmark's file format
"""
