"""Speed of the engine, compared with a naive reference implementation and with the arithmetic."""
