"""Counts whose noun and verb agree with them."""


def counted(number: int, one: str, several: str) -> str:
    """
    >>> counted(1, "row is new", "rows are new"), counted(1200, "row is new", "rows are new")
    ('1 row is new', '1,200 rows are new')
    """
    return f"{number:,} {one if number == 1 else several}"
