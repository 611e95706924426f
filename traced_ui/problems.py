"""Errors of programs' requests as problem details (RFC 9457), and of a page's as plain reasons.

FastAPI's default response echoes the request, and fails with an internal error if that contains a
number that JSON cannot represent. So does Gradio's if an upload has text in place of a file.
"""

import re
from http import HTTPStatus
from typing import Any

import fastapi
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from backend.errors import (
    DatasetError,
    ModelUnavailable,
    NotFound,
    OutOfMemory,
    PairChanged,
    QueueChanged,
    SettingsError,
    StoreError,
    TracedError,
    UnsafePath,
    VerdictConflict,
    as_traced,
)
from traced_ui.messages import explain_on_page
from traced_ui.sessions import mounted_in

#: The first that fits is the status of an error; any other of ours is a conflict with what is here.
STATUSES: dict[type[TracedError], HTTPStatus] = {
    NotFound: HTTPStatus.NOT_FOUND,
    VerdictConflict: HTTPStatus.PRECONDITION_FAILED,
    PairChanged: HTTPStatus.PRECONDITION_FAILED,
    QueueChanged: HTTPStatus.PRECONDITION_FAILED,
    SettingsError: HTTPStatus.UNPROCESSABLE_ENTITY,
    UnsafePath: HTTPStatus.FORBIDDEN,
    DatasetError: HTTPStatus.UNPROCESSABLE_ENTITY,
    StoreError: HTTPStatus.SERVICE_UNAVAILABLE,
    OutOfMemory: HTTPStatus.SERVICE_UNAVAILABLE,
    ModelUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}
#: Mistakes of a request that are listed.
_MOST = 10


def problem(
    status: int, detail: str, kind: str = "about:blank", title: str = "", **more: Any
) -> JSONResponse:
    """An answer with problem details. `kind`: the URI of what went wrong."""
    body = {"type": kind, "title": title or HTTPStatus(status).phrase, "status": status}
    headers = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else None
    return JSONResponse(
        body | {"detail": detail, **more}, status, headers, "application/problem+json"
    )


def explain_problems(api: fastapi.FastAPI) -> None:
    """Answer every error of the API with problem details."""

    @api.exception_handler(ModuleNotFoundError)
    def not_installed(request: fastapi.Request, error: ModuleNotFoundError) -> JSONResponse:
        missing = as_traced(error)
        if isinstance(missing, TracedError):
            return ours(request, missing)
        raise error

    @api.exception_handler(TracedError)
    def ours(request: fastapi.Request, error: TracedError) -> JSONResponse:
        status = next((s for k, s in STATUSES.items() if isinstance(error, k)), HTTPStatus.CONFLICT)
        name = re.sub(r"\B([A-Z])", r"-\1", type(error).__name__).lower()
        return problem(status, explain_on_page(error), f"urn:traced-curator:{name}", error.title)

    @api.exception_handler(HTTPException)
    def of_http(request: fastapi.Request, error: HTTPException) -> JSONResponse:
        answer = problem(error.status_code, error.detail)
        answer.headers.update(error.headers or {})
        return answer

    @api.exception_handler(RequestValidationError)
    def invalid(request: fastapi.Request, error: RequestValidationError) -> JSONResponse:
        mistakes = _mistakes(error)
        detail = "; ".join(f"{mistake['at']}: {mistake['problem']}" for mistake in mistakes)
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=mistakes)


def explain_malformed(app: fastapi.FastAPI) -> None:
    """Explain mistakes in the requests of pages, in `app` and in the Gradio apps mounted in it."""
    for served_app in (app, *mounted_in(app)):
        served_app.add_exception_handler(RequestValidationError, _refuse)
    for gradio_app in mounted_in(app):
        gradio_app.add_exception_handler(TypeError, _refuse_upload)


def _refuse(request: fastapi.Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"detail": _mistakes(error)}, 422)


def _refuse_upload(request: fastapi.Request, error: Exception) -> JSONResponse:
    """Answer a TypeError raised by an upload; re-raise any other, which is a bug."""
    if not request.url.path.endswith("/gradio_api/upload"):
        raise error
    return JSONResponse({"detail": [{"at": "files", "problem": "Not a file."}]}, 422)


def _mistakes(error: RequestValidationError) -> list[dict[str, str]]:
    """Where and why a request is invalid, without what was sent."""
    return [
        {"at": ".".join(map(str, mistake["loc"]))[:200], "problem": mistake["msg"][:200]}
        for mistake in error.errors()[:_MOST]
    ]
