"""What questions may cost."""

import pytest

from backend.engine.language_models.spending import Budget, PriceList, Prices, Spending
from backend.errors import BudgetSpent, SettingsError


@pytest.mark.parametrize("budget", [Budget(tokens=10), Budget(requests=1), Budget(cost=1e-5)])
def test_every_kind_of_budget_is_enforced(budget: Budget) -> None:
    spending = Spending(PriceList({"m": Prices(1.0, 1.0)}), budget)
    spending.check("m")
    spending.add("m", 7, 3)
    with pytest.raises(BudgetSpent):
        spending.check("m")


def test_a_budget_in_money_is_refused_for_a_model_without_a_price() -> None:
    spending = Spending(PriceList({"m": Prices(1.0, 1.0)}), Budget(cost=5.0))
    spending.check("m")
    with pytest.raises(SettingsError, match="'other' has none"):
        spending.check("other")
