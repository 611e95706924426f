"""What vision-language models add."""

_WING = "backend.wings.vision_language"
ENTRY_POINTS = {
    "scorers": {"vqa": f"{_WING}.vqa_checkpoints:FAMILY"},
    "captioners": {"vqa": f"{_WING}.chat_captioner:FAMILY"},
    "chat_models": {"local": f"{_WING}.local:MODELS"},
    "score_steps": {"second-opinion": f"{_WING}.command:SECOND_OPINION"},
}
