"""Text towers that compute nothing twice: packed sequences, shared prefixes, padding if need be."""
