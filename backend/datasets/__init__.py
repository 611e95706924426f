"""Reading and writing datasets in common formats.

tables        rows of a CSV, TSV, JSONL or Parquet file, with file and row number
csv_table, parquet_groups, arrow_cells   … one module per format
text_files    lines of a text: encoding detection, and bounded line length
cells         cell values as text and as JSON that every database can store
annotations   Karpathy splits, COCO captions, MM-IMDb
json_stream   … one large JSON file, object by object
shards        WebDataset tars, zip archives, datasets saved to disk
containers    … and the images inside them
columns       which column contains what
read_options  what a person may state about an import; addresses; endings of files
reading       pairs from a folder or a file; invalid rows are reported
regular_files opens only regular files, never a pipe or a device
daemon_pool   threads that do not block exit
on_disk       state of the readers, kept on disk to bound memory
images        opening pictures safely, thumbnails
hub_datasets, fetching  Hugging Face hub; image URLs: the only parts that access the network
writing, shard_writing, export_row   atomic exports
card          the dataset card of an export
"""
