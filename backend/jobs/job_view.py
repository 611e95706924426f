"""A background job, as pages, the API and commands see it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from backend.progress import Step


@dataclass(frozen=True)
class JobView:
    """A background job. `status`: queued, running, done, failed or cancelled. `subject`: what it
    works on: a dataset's name, a model, or the path that is imported. `message`, `failure`,
    `continued_by`: how it ended, if it is not done (see `JobRow`)."""

    id: int
    kind: str
    subject: str
    dataset_id: int | None
    status: str
    is_cancelling: bool
    done: int
    total: int
    step: Step
    message: str
    failure: str
    continued_by: int | None
    result: dict[str, Any]
    created_at: datetime
    updated_at: datetime

    @property
    def has_ended(self) -> bool:
        return self.status in ("done", "failed", "cancelled")
