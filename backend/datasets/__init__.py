"""Datasets in the forms people have.

tables      rows of a CSV, TSV, JSONL or Parquet file, with file and row number
columns     which column holds what
reading     pairs from a folder or a file; what cannot go in is reported
images      opening pictures safely, thumbnails
writing     exports, whole or not at all
card        the dataset card beside an export
"""
