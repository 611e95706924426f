"""Research code that the product does not need at run time.

The drawn world and the training of the embedded models (`scenes`), evaluation against ground truth
(`evaluation`), benchmarks (`bench`), and noisy copies of datasets.
"""
