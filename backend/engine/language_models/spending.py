"""The cost of questions, and when to stop asking.

spending = Spending(Prices(2.5, 10.0), Budget(cost=5.0))
spending.check()                       # before each question: raises BudgetSpent
spending.add(tokens_in, tokens_out)    # after it
"""

from dataclasses import dataclass, field

from backend.errors import BudgetSpent

#: Prices are per this many tokens.
PER = 1_000_000


@dataclass(frozen=True)
class Prices:
    """Per million tokens, in the currency of the budget."""

    tokens_in: float = 0.0
    tokens_out: float = 0.0


@dataclass(frozen=True)
class Budget:
    """The most that may be spent; None: no such limit."""

    cost: float | None = None
    tokens: int | None = None
    requests: int | None = None


@dataclass
class Spending:
    """Requests and tokens of questions that were sent; `kept` counts cached answers."""

    prices: Prices = field(default_factory=Prices)
    budget: Budget = field(default_factory=Budget)
    requests: int = 0
    kept: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def cost(self) -> float:
        return (
            self.tokens_in * self.prices.tokens_in + self.tokens_out * self.prices.tokens_out
        ) / PER

    @property
    def figures(self) -> tuple[int, int, int, int, float]:
        """Requests, cached answers, tokens in, tokens out, and their cost."""
        return self.requests, self.kept, self.tokens_in, self.tokens_out, self.cost

    def add(self, tokens_in: int, tokens_out: int) -> None:
        self.requests += 1
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out

    def limit(self, prices: Prices, budget: Budget) -> None:
        """Set prices and budget for subsequent questions."""
        self.prices, self.budget = prices, budget

    def check(self) -> None:
        """Raises BudgetSpent if no further question is allowed. A question's cost is known only
        afterwards, so a budget can be exceeded by at most one question."""
        limits = (
            (self.requests, self.budget.requests, "requests"),
            (self.tokens_in + self.tokens_out, self.budget.tokens, "tokens"),
            (self.cost, self.budget.cost, "in money"),
        )
        for spent, allowed, what in limits:
            if allowed is not None and spent >= allowed:
                raise BudgetSpent(
                    f"The budget of {allowed:g} {what} is spent. Answers so far are kept: run the "
                    "command again with a larger budget to go on."
                )
