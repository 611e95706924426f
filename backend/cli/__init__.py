"""The commands of `app.py`, grouped by topic. All share `options.py` and `output.py`."""
