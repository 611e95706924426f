"""Authors of verdicts: people, and rules set by people."""

#: Prefix of the author of a verdict given by a rule, followed by the rule itself.
RULE = "rule: "
#: Bulk edits count as a rule, because the captions are not reviewed one by one.
EDIT = RULE + "edit by "
#: Dropped copies of a picture that is kept; this says nothing about their captions.
DUPLICATE = RULE + "near duplicate, by "
#: One verdict for all pairs of a queue, which nobody has looked at one by one.
QUEUE = RULE + "one verdict for a queue, by "

#: Captions that a rule moved to the pictures of other rows.
MOVED = RULE + "caption of another row, by "

#: Pairs whose earlier verdicts were put in effect again.
RESTORE = RULE + "restored by "

#: Prefix of the author of labels that were read from a file, followed by its name. People gave
#: them, so a detector learns from them; but not here, so agreement is measured without them, except
#: where several people judge a pair.
LABELS = "labels: "
#: Between the names of people who gave the same label.
AND = " + "
#: Of the author of a label, the part that names the file. A file's name holds no slash.
_LONGEST_FILE = 150

#: Pairs that became undecided because their picture was replaced in the source.
NEW_PICTURE = RULE + "the picture was replaced"


def edit_author(name: str) -> str:
    """The author of the acts by which `name` edits many captions at once."""
    return EDIT + name


def duplicate_author(name: str) -> str:
    """The author of the verdicts by which `name` keeps one of several near duplicates."""
    return DUPLICATE + name


def queue_author(name: str) -> str:
    """The author of the verdicts that `name` gives to all pairs of a queue at once."""
    return QUEUE + name


def moved_author(name: str) -> str:
    """The author of the acts by which `name` gives pictures the captions of other rows."""
    return MOVED + name


def restore_author(name: str) -> str:
    """The author of the acts by which `name` puts earlier verdicts in effect again."""
    return RESTORE + name


def label_author(file: str, person: str = "") -> str:
    """The author of the verdicts that a file of labels contains; 255 characters at most. `person`:
    who gave them according to the file, several joined by AND.

    >>> label_author("answers.json"), label_author("answers.json", "Ada")
    ('labels: answers.json', 'labels: answers.json/Ada')
    """
    return (label_prefix(file) + person if person else LABELS + file)[:255]


def label_prefix(file: str) -> str:
    """What authors of this file's labels begin with if the file names who gave them."""
    return f"{(LABELS + file)[:_LONGEST_FILE]}/"


def is_named_label(author: str) -> bool:
    """Whether it is a label of one person whom the file names."""
    person = person_of(author) if is_label_file(author) else ""
    return bool(person) and AND not in person


def is_of_file(author: str | None, file: str) -> bool:
    """Whether the verdict was read from this file of labels, whoever gave it."""
    return author is not None and (
        author == label_author(file) or author.startswith(label_prefix(file))
    )


def authors_of(name: str) -> tuple[str, ...]:
    """All authors of the acts of one person: their verdicts, edits, kept duplicates, rules, moved
    captions and verdicts brought back."""
    return (name, *(prefix + name for prefix in _OF_PEOPLE))


#: What authors begin with that name the person who set a rule.
_OF_PEOPLE = (EDIT, DUPLICATE, QUEUE, MOVED, RESTORE)


def person_of(author: str) -> str:
    """The person who is or who set this author, or who gave its labels; "" if it is a file or a
    rule that names nobody.

    >>> person_of("Ada"), person_of(edit_author("Ada")), person_of("rule: p 0.1"), person_of("")
    ('Ada', 'Ada', '', '')
    >>> person_of(label_author("answers.json", "Ada")), person_of(label_author("answers.json"))
    ('Ada', '')
    """
    for prefix in _OF_PEOPLE:
        if author.startswith(prefix):
            return author.removeprefix(prefix)
    if is_label_file(author):
        return author.partition("/")[2]
    return "" if is_reserved(author) else author


def is_edit(author: str | None) -> bool:
    """Whether an act is part of a bulk edit."""
    return author is not None and author.startswith(EDIT)


def is_duplicate_rule(author: str | None) -> bool:
    """Whether a pair was dropped because its picture is a duplicate."""
    return author is not None and author.startswith(DUPLICATE)


def is_rule(author: str | None) -> bool:
    """Whether a rule, not a person, has decided."""
    return author is not None and author.startswith(RULE)


def is_label_file(author: str | None) -> bool:
    """Whether the verdict was read from a file of labels."""
    return author is not None and author.startswith(LABELS)


def is_reserved(name: str) -> bool:
    """Whether the name is reserved and cannot be registered."""
    return name.strip().lower().startswith((RULE.strip(), LABELS.strip()))
