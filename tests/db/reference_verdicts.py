"""A second, plain implementation of the rules of verdicts, undo and redo.

It has no database and no version checks: each pair has a stack of verdicts, each author a list of
verdicts that they took back. `test_verdicts.py` applies the same acts to both and compares.
"""

from dataclasses import dataclass, field


@dataclass
class Decided:
    number: int
    pair: int
    author: str
    decision: str


@dataclass
class ReferenceVerdicts:
    standing: dict[int, list[Decided]] = field(default_factory=dict)
    taken_back: dict[str, list[Decided]] = field(default_factory=dict)
    acts: dict[int, int] = field(default_factory=dict)
    #: For each verdict taken back, who acted on its pair until then, and the verdict below it: redo
    #: is too late once somebody else has acted, and needs that verdict.
    acts_then: dict[int, int] = field(default_factory=dict)
    below: dict[int, Decided | None] = field(default_factory=dict)
    actors: dict[int, list[str]] = field(default_factory=dict)
    given: int = 0

    def decision(self, pair: int) -> str | None:
        stack = self.standing.get(pair, [])
        return stack[-1].decision if stack else None

    def decide(self, pair: int, author: str, decision: str) -> None:
        self.given += 1
        self.standing.setdefault(pair, []).append(Decided(self.given, pair, author, decision))
        self._act(pair, author)
        self.taken_back[author] = []  # a new decision clears what could be redone

    def undo(self, author: str) -> int | None:
        """The pair that changed."""
        tops = [stack[-1] for stack in self.standing.values() if stack]
        theirs = [verdict for verdict in tops if verdict.author == author]
        if not theirs:
            return None
        newest = max(theirs, key=lambda verdict: verdict.number)
        self.standing[newest.pair].pop()
        self._act(newest.pair, author)
        self.acts_then[newest.number] = self.acts[newest.pair]
        self.below[newest.number] = self._top(newest.pair)
        self.taken_back.setdefault(author, []).append(newest)
        return newest.pair

    def redo(self, author: str) -> int | None:
        """The pair that changed."""
        waiting = self.taken_back.setdefault(author, [])
        for verdict in reversed(waiting):
            since = self.actors[verdict.pair][self.acts_then[verdict.number] :]
            is_as_then = self._top(verdict.pair) is self.below[verdict.number]
            if is_as_then and set(since) <= {author}:
                waiting.remove(verdict)
                self.standing[verdict.pair].append(verdict)
                self._act(verdict.pair, author)
                return verdict.pair
        return None

    def _top(self, pair: int) -> Decided | None:
        stack = self.standing.get(pair, [])
        return stack[-1] if stack else None

    def _act(self, pair: int, author: str) -> None:
        self.acts[pair] = self.acts.get(pair, 0) + 1
        self.actors.setdefault(pair, []).append(author)
