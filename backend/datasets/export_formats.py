"""The export formats. A new one is a module with a writer, and its entry here: the page's choices,
the command line's help, the table in the documentation and the tests of all formats follow."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ExportFormat:
    """`writer`: the function that writes the rows into the target's folder and returns their
    number, as MODULE:FUNCTION, because the command line's help needs no writer; `label`: on the
    page; `description`: in the documentation, Markdown; `is_resumable`: written in shards, so that
    an interrupted export is resumed by the next one; `is_for_hub`: it can be loaded from the
    Hugging Face hub; `reserved`: further names that columns of the source may not have."""

    writer: str
    label: str
    description: str
    is_resumable: bool = False
    is_for_hub: bool = False
    reserved: frozenset[str] = frozenset()


EXPORT_FORMATS: dict[str, ExportFormat] = {
    "imagefolder": ExportFormat(
        "folder_writing:write_imagefolder",
        "Folder of images with metadata.jsonl",
        "copies of the images and `metadata.jsonl`, split by split (default)",
        is_for_hub=True,
    ),
    "sidecar": ExportFormat(
        "folder_writing:write_sidecars",
        "Images with a .txt beside each",
        "a `.txt` with the caption beside each image, as trainers of image models read them; a "
        "copy of the image per pair",
        is_for_hub=True,
    ),
    "coco": ExportFormat(
        "folder_writing:write_coco",
        "COCO captions (JSON) with images",
        "copies of the images and COCO caption annotations",
        is_for_hub=True,
        reserved=frozenset({"image_id", "pair_id"}),
    ),
    "csv": ExportFormat(
        "table_writing:write_csv",
        "CSV with image paths",
        "a table with the paths of the images; formulas are made harmless for spreadsheets",
    ),
    "jsonl": ExportFormat(
        "table_writing:write_jsonl", "JSONL with image paths", "the same as JSON lines"
    ),
    "conversations": ExportFormat(
        "table_writing:write_conversations",
        "Conversations (JSONL) with image paths",
        "JSON lines with a question and the caption as its answer, as trainers of "
        "vision-language models read them (LLaVA)",
        reserved=frozenset({"image", "conversations"}),
    ),
    "parquet": ExportFormat(
        "table_writing:write_parquet", "Parquet with image paths", "the same as Parquet"
    ),
    "parquet-images": ExportFormat(
        "shard_writing:write_parquet_images",
        "Parquet with the images",
        "Parquet with the images inside, split by split, in shards",
        is_resumable=True,
        is_for_hub=True,
    ),
    "webdataset": ExportFormat(
        "shard_writing:write_webdataset",
        "WebDataset shards (tar)",
        "tars with the images, split by split, in shards",
        is_resumable=True,
        is_for_hub=True,
    ),
    "huggingface": ExportFormat(
        "shard_writing:write_saved_dataset",
        "Hugging Face dataset on disk",
        "the folder that `datasets.load_from_disk` reads, with the images, in shards",
        is_resumable=True,
    ),
}
