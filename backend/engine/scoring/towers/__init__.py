"""Text towers without redundant computation: packed sequences, shared prefixes, or padding."""
