"""Format numbers for display."""


def number(value: float | None, digits: int = 2) -> str:
    """A number for display; a dash for None."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A probability for display; values close to 0 and 1 are shown as "< 1 %" and "> 99 %"."""
    if value is None:
        return "–"
    if 0.995 <= value < 1:
        return "> 99 %"
    if 0 < value <= 0.005:  # 0.005 itself rounds to 0 %
        return "< 1 %"
    return f"{value:.0%}".replace("%", " %")


def many(count: int) -> str:
    """A count for display; counts are capped at 1000."""
    return f"{count:,}+" if count >= 1000 else str(count)


def pairs_text(count: int) -> str:
    """
    >>> pairs_text(1), pairs_text(2000)
    ('1 pair', '2,000 pairs')
    """
    return f"{count:,} pair" + ("" if count == 1 else "s")
