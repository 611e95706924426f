"""What the comparison of quotations with a picture's text adds."""

ENTRY_POINTS = {
    "measures": {"x_picture_text": "backend.features.picture_text.measure:PICTURE_TEXT"},
}
