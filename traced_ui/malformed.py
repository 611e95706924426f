"""Answer malformed requests with 422 and the reason, without echoing what was sent.

FastAPI's default response echoes the request, and fails with an internal error if that contains a
number that JSON cannot represent. So does Gradio's if an upload has text in place of a file.
"""

import fastapi
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from traced_ui.sessions import mounted_in

_MOST = 10


def explain_malformed(app: fastapi.FastAPI) -> None:
    """Install the handlers in `app` and in the Gradio apps mounted in it."""
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
    """Answer a TypeError raised by an upload; re-raise any other, which is a bug."""
    if not request.url.path.endswith("/gradio_api/upload"):
        raise problem
    return JSONResponse({"detail": [{"at": "files", "problem": "Not a file."}]}, 422)
