"""What notebooks add."""

_FEATURE = "backend.features.notebook"
ENTRY_POINTS = {
    "names": {
        "open_dataset": f"{_FEATURE}.display:open_dataset",
        "review": f"{_FEATURE}.service:review",
    },
}
#: Words for it, which stand nowhere in the core. (`traced_ui/notebook.py` is an earlier address.)
NOUNS = ("notebookdataset", "notebookpair", "notebook_board", "notebook_pair", "picture_figure")
