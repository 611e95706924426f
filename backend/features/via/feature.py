"""What the VGG Image Annotator adds: captions in its projects, annotations and CSV."""

ENTRY_POINTS = {"row_forms": {"via": "backend.features.via.image_annotations:FORM"}}
#: Words for it, which stand nowhere in the core.
NOUNS = ("vgg image", "file_attributes")
