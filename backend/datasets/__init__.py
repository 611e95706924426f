"""Datasets in the forms people have.

tables        rows of a CSV, TSV, JSONL or Parquet file, with file and row number
annotations   Karpathy's splits, COCO's captions, MM-IMDb
json_stream   … one large JSON file, object by object
shards        WebDataset's tars, zip archives, datasets saved to disk
containers    … and the images inside them
columns       which column holds what
reading       pairs from a folder or a file; what cannot go in is reported
on_disk       what reading must remember, without memory that grows
images        opening pictures safely, thumbnails
hub, fetching a name of the Hugging Face hub; addresses of pictures: the only parts that go out
writing, shard_writing, export_row   exports, whole or not at all
formulas      cells that a spreadsheet would run
card          the dataset card beside an export
"""
