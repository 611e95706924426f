"""Exports (`dataset_writer`): written beside the target, which is replaced when all is there.

folder_writing, table_writing, shard_writing, conversation_writing   one function for each format
json_writing   values of a row as JSON; source_texts: texts beside pictures as they were
export_images  pictures, copied or named where they are
export_folder  what tells an export from another folder; its digests
card, card_features   the dataset card, with what loaders read of it
hub_upload     to the Hugging Face hub
"""
