"""What vision-language models add."""

_FEATURE = "backend.features.vision_language"
ENTRY_POINTS = {
    "scorers": {"vqa": f"{_FEATURE}.vqa_checkpoints:FAMILY"},
    "captioners": {"vqa": f"{_FEATURE}.chat_captioner:FAMILY"},
    "chat_models": {"local": f"{_FEATURE}.local:MODELS"},
    "chat_servers": {"page": f"{_FEATURE}.server_setup:SERVERS"},
    "pages": {"language-model": f"{_FEATURE}.page:PAGE"},
    "score_steps": {"second-opinion": f"{_FEATURE}.command:SECOND_OPINION"},
}
