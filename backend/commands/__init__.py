"""The commands of `app.py`, by what they are for. All share `parameters.py` and `telling.py`."""
