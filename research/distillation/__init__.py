"""A small corrector is trained on accepted corrections and a teacher's (TRACED, ICLR 2026)."""
