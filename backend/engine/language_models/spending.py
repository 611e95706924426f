"""The cost of questions, before and after they are sent, and when to stop asking.

spending = Spending(PriceList({"a-model": Prices(2.5, 10.0)}), Budget(cost=5.0))
with spending.sending("a-model"):                  # raises BudgetSpent
    spending.add("a-model", tokens_in, tokens_out) # after the answer
forecast([Questions(…)], prices)                   # before all of them
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition
from typing import NamedTuple

from backend.errors import BudgetSpent, SettingsError

#: Prices are per this many tokens.
PER = 1_000_000
#: What a forecast assumes where no answer has told: characters of English per token, tokens of a
#: picture (servers count 85 to 1,500 for the size that is sent), and tokens of an answer.
CHARACTERS_A_TOKEN, TOKENS_A_PICTURE, TOKENS_AN_ANSWER = 4, 800, 100


@dataclass(frozen=True)
class Prices:
    """Per million tokens, in the currency of the budget."""

    tokens_in: float = 0.0
    tokens_out: float = 0.0

    def of(self, tokens_in: float, tokens_out: float) -> float:
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / PER


@dataclass(frozen=True)
class PriceList:
    """The prices of models by their names; `of_others`: of those that it does not name."""

    by_model: Mapping[str, Prices] = field(default_factory=dict)
    of_others: Prices | None = None

    def of(self, model: str) -> Prices | None:
        return self.by_model.get(model, self.of_others)


def parse_prices(entries: Sequence[str]) -> dict[str, Prices]:
    """The prices in the setting `prices`. Raises SettingsError.

    >>> parse_prices(["gpt-4o-mini=0.15/0.6"])
    {'gpt-4o-mini': Prices(tokens_in=0.15, tokens_out=0.6)}
    """
    prices: dict[str, Prices] = {}
    for text in entries:
        model, _, numbers = text.rpartition("=")
        try:
            tokens_in, tokens_out = map(float, numbers.split("/"))
        except ValueError:
            tokens_in = tokens_out = math.nan
        if not model.strip() or not (0 <= tokens_in < math.inf and 0 <= tokens_out < math.inf):
            raise SettingsError(
                f"'{text}' is not a model with its prices per million input and output tokens, "
                "such as 'gpt-4o-mini=0.15/0.6' (prices)."
            )
        prices[model.strip()] = Prices(tokens_in, tokens_out)
    return prices


@dataclass(frozen=True)
class Budget:
    """The most that may be spent; None: no such limit."""

    cost: float | None = None
    tokens: int | None = None
    requests: int | None = None


@dataclass
class Spending:
    """Requests and tokens of questions that were sent, and what those of models with a price cost;
    `kept` counts cached answers."""

    prices: PriceList = field(default_factory=PriceList)
    budget: Budget = field(default_factory=Budget)
    requests: int = 0
    kept: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    #: Of a server with limits of its own: they hold beside those of a command.
    server_prices: PriceList = field(default_factory=PriceList)
    server_budget: Budget = field(default_factory=Budget)
    _in_flight: int = field(default=0, repr=False, compare=False)
    _changed: Condition = field(default_factory=Condition, repr=False, compare=False)

    @property
    def figures(self) -> tuple[int, int, int, int, float]:
        """Requests, cached answers, tokens in, tokens out, and their cost."""
        return self.requests, self.kept, self.tokens_in, self.tokens_out, self.cost

    def add(self, model: str, tokens_in: int, tokens_out: int) -> None:
        with self._changed:
            self.requests += 1
            self.tokens_in += tokens_in
            self.tokens_out += tokens_out
            if (prices := self._prices_of(model)) is not None:
                self.cost += prices.of(tokens_in, tokens_out)

    def _prices_of(self, model: str) -> Prices | None:
        return self.prices.of(model) or self.server_prices.of(model)

    @contextmanager
    def sending(self, model: str) -> Iterator[None]:
        """While a question is sent, which counts for others from its beginning: several threads
        keep to the budget as one does. Raises as `check` does."""
        with self._changed:
            # Until an answer has told what one takes, questions go one after the other.
            while self._in_flight and not self.requests and self._has_unknown_limit:
                self._changed.wait()
            self.check(model)
            self._in_flight += 1
        try:
            yield
        finally:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify_all()

    @property
    def _has_unknown_limit(self) -> bool:
        return any(
            limit is not None
            for budget in (self.budget, self.server_budget)
            for limit in (budget.cost, budget.tokens)
        )

    def limit(self, prices: PriceList, budget: Budget) -> None:
        """Set prices and budget for subsequent questions."""
        self.prices, self.budget = prices, budget

    def limit_server(self, model: str, prices: Prices | None, budget: Budget) -> None:
        """Set what a server's own set-up says; no command changes it."""
        self.server_prices = PriceList({model: prices} if prices is not None else {})
        self.server_budget = budget

    def check(self, model: str) -> None:
        """Raises BudgetSpent if no further question is allowed, SettingsError if the budget is in
        money and the model has no price. A question's cost is known only afterwards, so a budget
        can be exceeded by at most one question."""
        for budget in (self.budget, self.server_budget):
            self._check(model, budget)

    def _check(self, model: str, budget: Budget) -> None:
        if budget.cost is not None and self._prices_of(model) is None:
            raise no_price(f"'{model}' has none")
        # Questions in flight take as much as those before did on average.
        all_of = 1 + self._in_flight / max(1, self.requests)
        limits = (
            (self.requests + self._in_flight, budget.requests, "requests"),
            ((self.tokens_in + self.tokens_out) * all_of, budget.tokens, "tokens"),
            (self.cost * all_of, budget.cost, "in money"),
        )
        for amount, limit, what in limits:
            if limit is not None and amount >= limit:
                raise BudgetSpent(
                    f"The budget of {limit:g} {what} is spent. Answers so far are kept: with a "
                    "larger budget only the others are asked for."
                )


def no_price(why: str) -> SettingsError:
    """The error to raise if a budget is in money and there are no prices to count it by."""
    return SettingsError(
        f"A budget in money needs prices, and {why}.",
        terminal="Options: --price-in, --price-out; or list your prices in the setting prices.",
    )


@dataclass(frozen=True)
class Questions:
    """Questions to a model that are still to be sent: `fewest` to `most`, with so many tokens each.
    `by_answers`: as earlier answers of this model say, else by the assumptions above."""

    model: str
    fewest: int
    most: int
    tokens_in: int
    tokens_out: int
    by_answers: bool = False


@dataclass(frozen=True)
class Forecast:
    """What questions will take: (at least, at most) so many requests, tokens and money. `cost`
    None: one of the models has no price. `assumed`: what it is based on, "" for answers."""

    requests: tuple[int, int]
    tokens_in: tuple[int, int]
    tokens_out: tuple[int, int]
    cost: tuple[float, float] | None
    assumed: str

    def in_words(self) -> str:
        """
        >>> prices = PriceList({"a": Prices(1.0, 2.0)})
        >>> forecast([Questions("a", 10, 20, 900, 100)], prices).in_words()
        '10 to 20 requests, 9,000 to 18,000 tokens in and 1,000 to 2,000 out, cost 0.0110 to \
0.0220 (assuming 4 characters a token, 800 tokens a picture, 100 tokens an answer)'
        """
        text = (
            f"{_range(self.requests)} {'request' if self.requests == (1, 1) else 'requests'}, "
            f"{_range(self.tokens_in)} tokens in and {_range(self.tokens_out)} out"
        )
        if self.cost is not None:
            text += f", cost {_range(self.cost, '.4f')}"
        return f"{text} ({self.assumed})" if self.assumed else text


def _range(bounds: tuple[float, float], how: str = ",") -> str:
    low, high = (format(bound, how) for bound in bounds)
    return low if low == high else f"{low} to {high}"


def forecast(questions: Sequence[Questions], prices: PriceList) -> Forecast:
    """What these questions will take, by the user's own prices."""
    fewest = _total([(each, each.fewest) for each in questions], prices)
    most = _total([(each, each.most) for each in questions], prices)
    longest = max([TOKENS_AN_ANSWER, *(each.tokens_out for each in questions)])
    assumptions = (
        f"assuming {CHARACTERS_A_TOKEN} characters a token, {TOKENS_A_PICTURE} tokens a picture, "
        f"{longest} tokens an answer"
    )
    return Forecast(
        (sum(each.fewest for each in questions), sum(each.most for each in questions)),
        (fewest.tokens_in, most.tokens_in),
        (fewest.tokens_out, most.tokens_out),
        None if fewest.cost is None or most.cost is None else (fewest.cost, most.cost),
        "" if all(each.by_answers for each in questions) else assumptions,
    )


class _Total(NamedTuple):
    tokens_in: int
    tokens_out: int
    cost: float | None


def _total(counts: Sequence[tuple[Questions, int]], prices: PriceList) -> _Total:
    """What so many of each kind of question take together."""
    costs = [
        None
        if (price := prices.of(each.model)) is None
        else price.of(count * each.tokens_in, count * each.tokens_out)
        for each, count in counts
    ]
    amounts = [cost for cost in costs if cost is not None]
    return _Total(
        sum(count * each.tokens_in for each, count in counts),
        sum(count * each.tokens_out for each, count in counts),
        sum(amounts) if len(amounts) == len(costs) else None,
    )
