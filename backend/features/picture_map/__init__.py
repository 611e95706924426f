"""A map of the pictures of a dataset, whose regions are queues."""
