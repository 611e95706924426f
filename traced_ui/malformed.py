"""Requests of the wrong form are answered 422 with what is wrong, without repeating what was sent.

FastAPI's own answer repeats the request, and is an internal error where that holds a number that
its JSON library cannot write. So is Gradio's for an upload that has text where a file belongs.
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
    for mounted in mounted_in(app):
        mounted.add_exception_handler(TypeError, _refuse_upload)


def _refuse(request: fastapi.Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, RequestValidationError)
    details = [
        {"at": ".".join(map(str, error["loc"]))[:200], "problem": error["msg"][:200]}
        for error in problem.errors()[:_MOST]
    ]
    return JSONResponse({"detail": details}, 422)


def _refuse_upload(request: fastapi.Request, problem: Exception) -> JSONResponse:
    """Any other TypeError is an error of the program."""
    if not request.url.path.endswith("/gradio_api/upload"):
        raise problem
    return JSONResponse({"detail": [{"at": "files", "problem": "Not a file."}]}, 422)
