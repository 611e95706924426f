"""What the captioners add."""

ENTRY_POINTS = {
    "captioners": {
        "clipcap": "backend.features.captioners.prefix_captioner:FAMILY",
        "vision-to-text": "backend.features.captioners.vision_to_text:FAMILY",
    },
}
