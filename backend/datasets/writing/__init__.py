"""Exports (`dataset_writer`): written beside the target, which is replaced when all is there.

folder_writing, table_writing, shard_writing   one function for each format
source_exchanges   the question of its source that a caption answers
json_writing   values of a row as JSON; source_texts: texts beside pictures as they were
export_images  pictures, copied or named where they are
export_folder  what tells an export from another folder; its digests
card, card_features   the dataset card, with what loaders read of it
hub_upload     to the Hugging Face hub
"""
