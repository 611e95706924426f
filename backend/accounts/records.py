"""Accounts, opinions and disputes as frozen records for pages."""

from dataclasses import dataclass
from datetime import datetime

from backend.engine.statistics.agreement import Agreement
from db.models import ROLES as ROLES
from db.queries.api_keys import ApiKeyRow


@dataclass(frozen=True)
class AccountView:
    """A user account; an inactive one cannot log in."""

    name: str
    role: str
    active: bool
    created_at: datetime


@dataclass(frozen=True)
class AccountsView:
    accounts: tuple[AccountView, ...]


@dataclass(frozen=True)
class KeysView:
    keys: tuple[ApiKeyRow, ...]


@dataclass(frozen=True)
class OpinionView:
    """One curator's verdict on a pair. `judgement`: see `backend.verdicts.judgement`."""

    author: str
    judgement: str
    corrected_caption: str | None
    decided_at: datetime


@dataclass(frozen=True)
class DisputeView:
    """A pair on which curators disagree."""

    pair_id: int
    external_id: str
    caption: str
    opinions: tuple[OpinionView, ...]


@dataclass(frozen=True)
class TeamView:
    """Agreement of the curators of a dataset. `disputed` counts all pairs that wait for an
    adjudicator, `disputes` are the first of them."""

    dataset_id: int
    by_verdict: Agreement
    right_or_wrong: Agreement
    disputed: int
    disputes: tuple[DisputeView, ...]
