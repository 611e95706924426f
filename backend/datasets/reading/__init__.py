"""Pairs from a folder, a table, an archive or a page of the hub (`dataset_reader`).

folder_tables, source_tables   which files of a source are tables, and which belong together
gzipped_tars, unread_sources   what is decompressed first; what is not read, and what to do
tables, csv_table, json_tables, json_stream   rows of tables, with file and row number
annotations    one JSON file: COCO, Karpathy splits, MM-IMDb, maps by picture's name
shards, tar_samples, text_tars   WebDataset, archives, datasets saved to disk
tar_descriptions   what features read beside tars: splits, samples that are left out, fields
sidecars, captions_txt, embedded_captions   texts beside pictures, in lists, within pictures
caption_columns, caption_fields, caption_texts, caption_lists   which text is the caption
conversations, questions   turns of chats: which answer describes the picture
row_forms      what features read: rows as other programs write them
image_paths, named_pictures   the picture that a row names
hub_names, hub_download, hub_copies   datasets of the hub and their copies on this machine
hub_datasets, hub_cards   which of their files are read: what a card lists
named_tables, name_patterns   which names are those of tables, and which a pattern means
on_disk        state of the readers, kept on disk to bound memory
table_columns, row_pairs   what each column of a table says; the pairs in a row
pair_checks    what a pair must have; its id
"""
