"""What vision-language models add."""

_FEATURE = "backend.features.vision_language"
ENTRY_POINTS = {
    "scorers": {"vqa": f"{_FEATURE}.vqa_checkpoints:FAMILY"},
    "captioners": {"vqa": f"{_FEATURE}.chat_captioner:FAMILY"},
    "chat_models": {"named": f"{_FEATURE}.chosen_model:MODELS"},
    "pages": {"language-model": f"{_FEATURE}.page:PAGE"},
    "checks": {"server": f"{_FEATURE}.doctor_check:CHECK"},
    "score_steps": {"second-opinion": f"{_FEATURE}.command:SECOND_OPINION"},
}
#: Words for it, which stand nowhere in the core. (What a second opinion says of pairs stays: it is
#: one of the signs of `backend/engine/detection`.)
NOUNS = (
    "chatendpoint", "chatserver", "decision_servers", "systemone", "rerank", "language-model.json",
    "served_models", "drawn_square", "model_check", "quantisation_config",
)  # fmt: skip
