"""Requests of the wrong form are answered 422 with what is wrong, without repeating what was sent.

FastAPI's own answer repeats the request, and is an internal error where that holds a number that
its JSON library cannot write.
"""

import fastapi
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from traced_ui.sessions import mounted_in

_MOST = 10


def explain_malformed(app: fastapi.FastAPI) -> None:
    """For this app and the Gradio apps that are mounted in it."""
    for served in (app, *mounted_in(app)):
        served.add_exception_handler(RequestValidationError, _refuse)


def _refuse(request: fastapi.Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, RequestValidationError)
    details = [
        {"at": ".".join(map(str, error["loc"]))[:200], "problem": error["msg"][:200]}
        for error in problem.errors()[:_MOST]
    ]
    return JSONResponse({"detail": details}, 422)
