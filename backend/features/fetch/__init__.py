"""Downloads the images of a table of URLs."""
