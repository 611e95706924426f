"""Format numbers for display."""


def number(value: float | None, digits: int = 2) -> str:
    """A figure for people; a dash if there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A probability for people: 0 % and 100 % only if it rounds to nothing else by a tenth."""
    if value is None:
        return "–"
    if 0.995 <= value < 1:
        return "> 99 %"
    if 0 < value < 0.005:
        return "< 1 %"
    return f"{value:.0%}".replace("%", " %")


def many(count: int) -> str:
    """A count for people; counts are capped at 1000."""
    return f"{count:,}+" if count >= 1000 else str(count)
