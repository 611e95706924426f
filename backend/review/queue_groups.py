"""Groups of conditions as text: the field `where` of a queue, beside those that all must hold.

    (split = val or tag = "to do") and not decision = drop and p_error = 0.5..1

A condition is a field of a queue's address with its value; of a number there are also >= and <=, as
which > and < are read: numbers are not equal to the last digit.
"not" binds most, "or" least. A value with blanks or marks stands in double quotes, in which \\ goes
before a quote or another \\.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NoReturn

from backend.errors import SettingsError
from backend.measures import filter_names
from db.queries.queue_filter import Group

RANGES = frozenset(filter_names())

MOST_CHARACTERS, DEEPEST = 2000, 20
_TOKEN = re.compile(
    r'(?P<mark>[<>]=?|[()=])|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<word>[^\s()"=<>]+)', re.DOTALL
)
_KEYWORDS = ("and", "or", "not")
_ENDS = {">=": "from", "<=": "to", ">": "from", "<": "to"}
#: What pages call fields.
_NAMES = {
    "word": "text", "words": "text", "chance": "p_error", "error": "p_error", "match": "s_0",
    "verdict": "decision", "id": "external_id",
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A field of a queue and its value; of a number, its name and "0.5..1"."""

    field: str
    value: str

    @property
    def fields(self) -> dict[str, str]:
        """The same as in an address."""
        if self.field not in RANGES:
            return {self.field: self.value}
        low, _, high = self.value.partition("..")
        return {f"{self.field}_from": low, f"{self.field}_to": high}

    def __str__(self) -> str:
        sign, name = "=", self.field
        for mark, end in _ENDS.items():
            if name.endswith(f"_{end}") and name.removesuffix(f"_{end}") in RANGES:
                sign, name = mark, name.removesuffix(f"_{end}")
        is_plain = _TOKEN.fullmatch(self.value) and self.value.lower() not in _KEYWORDS
        if is_plain and self.value[0] not in '"()=<>':
            return f"{name} {sign} {self.value}"
        value = re.sub(r'(["\\])', r"\\\1", self.value)
        return f'{name} {sign} "{value}"'


Node = Group[Condition] | Condition


def text_of(node: Node, outer: str = "any") -> str:
    """The group as text, which `parse` turns into the same group."""
    if isinstance(node, Condition):
        return str(node)
    text = (" and " if node.how == "all" else " or ").join(
        text_of(part, node.how) for part in node.parts
    )
    if node.how == "none":
        return f"not ({text})" if len(node.parts) > 1 else f"not {text}"
    return f"({text})" if node.how != outer and (node.how, outer) != ("all", "any") else text


def parse(text: str, check: Callable[[dict[str, str]], object]) -> Group[Condition]:
    """The conditions and groups that must all hold. `check` raises SettingsError for the fields of
    a condition that a queue does not have. Raises SettingsError, with the place of the fault."""
    return _Parser(text, check).parse()


def add(group: Group[Condition], part: Condition, how: str) -> Group[Condition]:
    """Add a condition to the last group of "any" or "none" of its parts, or take it out again."""
    parts = list(group.parts)
    for place, node in reversed(list(enumerate(parts))):
        old = node if isinstance(node, Group) else Group("any", (node,))
        if old.how == how:
            rest = tuple(each for each in old.parts if each != part)
            new = rest if len(rest) < len(old.parts) else (*rest, part)
            parts[place : place + 1] = [
                new[0] if len(new) == 1 and how == "any" else replace(old, parts=new)
            ][: len(new)]
            return replace(group, parts=tuple(parts))
    return replace(group, parts=(*parts, part if how == "any" else Group("none", (part,))))


class _Parser:
    """Recursive descent: `_any_of` is made of `_all_of`, this of `_operand`."""

    def __init__(self, text: str, check: Callable[[dict[str, str]], object]) -> None:
        self._text, self._check = text, check
        self._place = self._depth = 0

    def parse(self) -> Group[Condition]:
        if len(self._text) > MOST_CHARACTERS:
            self._refuse(f"it is longer than {MOST_CHARACTERS:,} characters")
        if not self._text.strip():
            return Group("all", ())
        node = self._any_of()
        if self._peek()[0]:
            self._refuse("expected and, or, or the end (quote a value of several words)")
        return node if isinstance(node, Group) and node.how == "all" else Group("all", (node,))

    def _any_of(self) -> Node:
        return self._parse_joined("or", "any", self._all_of)

    def _all_of(self) -> Node:
        return self._parse_joined("and", "all", self._operand)

    def _parse_joined(self, keyword: str, how: str, parse_part: Callable[[], Node]) -> Node:
        nodes = [parse_part()]
        while self._take(keyword):
            nodes.append(parse_part())
        if len(nodes) == 1:
            return nodes[0]
        return Group(how, tuple(part for node in nodes for part in _parts(node, how)))

    def _operand(self) -> Node:
        is_negated = self._take("not")
        if not is_negated and not self._take("("):
            return self._condition()
        self._depth += 1
        if self._depth > DEEPEST:
            self._refuse(f"groups are nested deeper than {DEEPEST}")
        if is_negated:
            node: Node = Group("none", _parts(self._operand(), "any"))
        else:
            node = self._any_of()
            if not self._take(")"):
                self._refuse("expected and, or, or )")
        self._depth -= 1
        return node

    def _condition(self) -> Condition:
        start = self._place
        kind, name, self._place = self._peek()
        if kind != "word" or name.lower() in _KEYWORDS:
            self._place = start
            self._refuse("expected a condition like split = val")
        name = _NAMES.get(name.lower(), name)
        sign = next((mark for mark in ("=", *_ENDS) if self._take(mark)), None)
        if sign is None:
            self._refuse("expected = after the field" if name not in RANGES else "use =, >= or <=")
        kind, value, end = self._peek()
        if kind not in ("word", "quoted"):
            self._refuse("expected a value")
        condition = Condition(f"{name}_{_ENDS[sign]}" if sign in _ENDS else name, value)
        try:
            if name in RANGES and sign == "=" and ".." not in value:
                raise SettingsError(f"{name} needs a range, like {name} = 0.2..0.5, or >= or <=.")
            self._check(condition.fields)
        except SettingsError as problem:
            self._refuse(str(problem), start)
        self._place = end
        return condition

    def _take(self, token: str) -> bool:
        """Whether this keyword or mark comes next; then go beyond it."""
        kind, text, end = self._peek()
        is_next = kind in ("mark", "word") and text.lower() == token
        if is_next:
            self._place = end
        return is_next

    def _peek(self) -> tuple[str, str, int]:
        """Kind ("": the end), text and end of what comes next."""
        while self._text[self._place : self._place + 1].isspace():
            self._place += 1
        if self._place == len(self._text):
            return "", "", self._place
        token = _TOKEN.match(self._text, self._place)
        if token is None:
            self._refuse("a quote is not closed" if self._text[self._place] == '"' else "not read")
        kind = token.lastgroup or ""
        text = token[kind]
        return kind, re.sub(r"\\(.)", r"\1", text) if kind == "quoted" else text, token.end()

    def _refuse(self, problem: str, place: int | None = None) -> NoReturn:
        place = self._place if place is None else place
        rest = self._text[place : place + 30].strip()
        where = f"at “{rest}” (character {place + 1})" if rest else "at the end"
        raise SettingsError(f"The query, {where}: {problem.rstrip('.')}.")


def _parts(node: Node, how: str) -> tuple[Node, ...]:
    """The parts of a group of this kind; anything else is one part."""
    return node.parts if isinstance(node, Group) and node.how == how else (node,)
