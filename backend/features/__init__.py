"""Features: what few use, one folder each with everything it needs ([README](README.md))."""
