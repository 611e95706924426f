"""Who gives verdicts: people, and rules that people have set."""

#: A verdict that a rule has given says so in its author, with the rule's own words after this.
RULE = "rule: "


def is_rule(author: str | None) -> bool:
    """Whether a rule, not a person, has decided."""
    return author is not None and author.startswith(RULE)


def is_reserved(name: str) -> bool:
    """Whether no person may be called so."""
    return name.strip().lower().startswith(RULE.strip())
