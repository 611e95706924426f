"""The description of an export for programs, by Croissant."""
