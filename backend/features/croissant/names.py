"""What an export's description is called."""

NAME = "croissant.json"
#: The folder of its tables. Loaders of other kinds skip folders with such names.
TABLES = ".croissant"
