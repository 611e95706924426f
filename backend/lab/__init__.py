"""Not needed to run the product: the drawn world and the training of the embedded models
(`scenes`), figures with known truth (`evaluation`), speed (`bench`), noisy copies of datasets.
"""
