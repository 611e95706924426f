"""The two formats."""

from backend.datasets.export_formats import ExportFormat

_WRITING = "backend.features.conversations.writing"
CONVERSATIONS = ExportFormat(
    "conversations",
    f"{_WRITING}:write_conversations",
    "Conversations (JSONL) with image paths",
    "JSON lines with the source's turns, or a question, and the caption as the answer, as trainers "
    "of vision-language models read them (LLaVA, LlamaFactory, ms-swift)",
    reserved=frozenset({"image"}),
)
MESSAGES = ExportFormat(
    "messages",
    f"{_WRITING}:write_messages",
    "Messages (JSONL) with image paths",
    "the same with `role` and `content` as parts, and the image in a list (TRL, Unsloth, ms-swift)",
    reserved=frozenset({"images"}),
)
