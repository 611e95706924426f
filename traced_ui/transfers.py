"""File transfers: uploads of datasets, exports as a zip, and lists of rows left out.

A browser begins an upload, sends its files one by one, and requests the import, which is the same
background job as for a path. Everything is streamed; `backend.datasets.safe_files.uploads` defines
which paths are allowed.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fastapi
from fastapi.concurrency import contextmanager_in_threadpool, run_in_threadpool
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.requests import ClientDisconnect

from backend.datasets.cells import escape
from backend.datasets.safe_files.uploads import Uploads
from backend.datasets.writing.export_folder import zip_export
from backend.errors import NotFound, SettingsError, TracedError, explain
from backend.workspace import Workspace
from traced_ui.import_form import import_options
from traced_ui.login import seen_by

#: Batch size for reading rows left out from the store.
_ROWS = 500


def add_routes(app: fastapi.FastAPI, workspace: Workspace) -> None:
    """Add /uploads, /exports/ID.zip and /datasets/ID/left-out.csv."""
    uploads = workspace.uploads
    _add_uploads(app, workspace, uploads)

    @app.get("/exports/{job_id}.zip")
    def export(job_id: int, request: fastapi.Request) -> Response:
        try:
            # Of several curators' exports, only their own are seen.
            job = seen_by(workspace, request).jobs.job(job_id)
            folder = Path(str(job.result.get("out") or ""))
            if job.kind != "export" or job.status != "done" or not job.result.get("out"):
                raise NotFound(f"Job {job_id} has no export.")
            pieces = zip_export(folder, str(job.result.get("digest")))
        except TracedError as problem:
            return _refuse(problem)
        return StreamingResponse(pieces, headers=_attachment(f"{folder.name}.zip"),
                                 media_type="application/zip")  # fmt: skip

    @app.get("/datasets/{dataset_id}/left-out.csv")
    def left_out(dataset_id: int) -> Response:
        try:
            name = workspace.summary(dataset_id).name
        except TracedError as problem:
            return _refuse(problem)
        return StreamingResponse(_left_out(workspace, dataset_id), media_type="text/csv",
                                 headers=_attachment(f"{name}-left-out.csv"))  # fmt: skip


def _add_uploads(app: fastapi.FastAPI, workspace: Workspace, uploads: Uploads) -> None:
    @app.post("/uploads")
    def begin() -> dict[str, str]:
        return {"upload": uploads.begin()}

    @app.put("/uploads/{upload}")
    async def receive(upload: str, path: str, request: fastapi.Request) -> Response:
        """Receive one file as the body; nothing is kept if the connection ends before the file."""
        try:
            async with contextmanager_in_threadpool(uploads.writing(upload, path)) as file:
                async for piece in request.stream():
                    await run_in_threadpool(file.write, piece)
        except TracedError as problem:
            return _refuse(problem)
        except ClientDisconnect:
            return Response(status_code=400)
        return Response(status_code=204)

    @app.post("/uploads/{upload}/import")
    def import_it(upload: str, request: fastapi.Request) -> Response:
        """The query has the fields of `import_form`."""
        try:
            path = uploads.path_of(upload)
            options = import_options(request.query_params)
            job = seen_by(workspace, request).jobs.start("import", None, path=str(path), **options)
        except TracedError as problem:
            return _refuse(problem)
        return JSONResponse({"job": job})

    @app.delete("/uploads/{upload}")
    def discard(upload: str) -> Response:
        """Delete an upload; refused if a dataset uses it, or an import reads it."""
        try:
            paths = [path for row in workspace.datasets() for path in (row.source, row.root)]
            paths += [job.subject for job in workspace.jobs.running() if job.kind == "import"]
            if any(Path(path).is_relative_to(uploads.folder / upload) for path in paths):
                raise SettingsError("This upload belongs to a dataset, or is being imported.")
            uploads.discard(upload)
        except TracedError as problem:
            return _refuse(problem)
        return Response(status_code=204)


def _left_out(workspace: Workspace, dataset_id: int) -> Iterator[str]:
    """All rows left out by an import, as CSV whose cells spreadsheets treat as text."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["file", "row", "id", "kind", "message"])
    offset = 0
    while True:
        rows = workspace.problems(dataset_id, offset, _ROWS)
        for row in rows:
            cells: list[Any] = [row.file, row.row, row.external_id, row.kind, row.message]
            writer.writerow([escape("" if cell is None else cell) for cell in cells])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
        if len(rows) < _ROWS:
            return
        offset += _ROWS


def _attachment(name: str) -> dict[str, str]:
    """Headers of a file download; `name` may contain any characters."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    return {
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }


def _refuse(problem: TracedError) -> JSONResponse:
    status = 404 if isinstance(problem, NotFound) else 400
    return JSONResponse({"detail": explain(problem, "page")}, status)
