"""What the captioners add."""

ENTRY_POINTS = {
    "captioners": {
        "clipcap": "backend.wings.captioners.prefix_captioner:FAMILY",
        "vision-to-text": "backend.wings.captioners.vision_to_text:FAMILY",
    },
}
