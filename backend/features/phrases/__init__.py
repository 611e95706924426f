"""How far a picture supports each phrase of its caption, and selection by it."""
