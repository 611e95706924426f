"""Several curators: passwords, limits on guessing them, and how far people agree."""
