"""What questions cost, and when to stop asking.

spending = Spending(Prices(2.5, 10.0), Budget(cost=5.0))
spending.check()                       # before each question: raises BudgetSpent
spending.add(tokens_in, tokens_out)    # after it
"""

from dataclasses import dataclass, field

from backend.errors import BudgetSpent

#: Prices are told per so many tokens.
PER = 1_000_000


@dataclass(frozen=True)
class Prices:
    """For a million tokens each, in whatever currency the budget is in."""

    tokens_in: float = 0.0
    tokens_out: float = 0.0


@dataclass(frozen=True)
class Budget:
    """The most that may be spent; None: no limit of that kind."""

    cost: float | None = None
    tokens: int | None = None
    requests: int | None = None


@dataclass
class Spending:
    """Counts of questions that were sent, not of answers that were kept from before."""

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

    def add(self, tokens_in: int, tokens_out: int) -> None:
        self.requests += 1
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out

    def limit(self, prices: Prices, budget: Budget) -> None:
        """From now on questions cost this, and end there."""
        self.prices, self.budget = prices, budget

    def check(self) -> None:
        """Raises BudgetSpent where the next question is one too many. A question's own cost is
        known only after it: a budget is exceeded by one question at most."""
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
