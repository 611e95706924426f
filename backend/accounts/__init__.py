"""Who may log in, what each person holds on screen, and how far people agree."""
