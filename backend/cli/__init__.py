"""The commands of `app.py`, by what they are for. All share `options.py` and `output.py`."""
