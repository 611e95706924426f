"""What holds for every operation, by whatever door it is started: the command line, the API, a job
that an earlier version stored, and the page where there is one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastapi
import gradio as gr
import pytest
from annotated_types import Ge, Gt, Le
from fastapi.testclient import TestClient
from pydantic.fields import FieldInfo

from backend.errors import SettingsError
from backend.operations.registry import OPERATIONS
from backend.options import CommandLine, Options
from backend.workspace import ExportChoice, Workspace
from tests.cli.invoking import COMMANDS, invoked
from tests.datasets.folders import malformed
from tests.fixtures.features import has_feature
from tests.jobs.opening import opened
from traced_ui import api, rooms
from traced_ui.export import ExportPage, Fields

#: Operations with a command of their name; that of a model is in the group `models`.
TYPED = sorted((OPERATIONS.keys() & COMMANDS.keys()) - {"download"})
#: What each operation needs to be told, for those that need anything.
NEEDED = {
    "import": {"path": "pairs"}, "adopt": {"classifier_id": 1}, "download": {"model": "fast"},
    "probe": {"model": "fast"}, "bags": {"out": "bags"}, "check": {"at_most": "2%"},
    "enrich": {"pair_id": 1},
    "diff": {"before": "first"}, "restore": {"name": "first"},
    "rule": {"queue": "", "decision": "drop", "curator": "Ada", "batch": "b"},
}  # fmt: skip
#: Those that a request starts: it names them, or has an address of their own.
ON_API = {
    name: {"import": "datasets", "export": "datasets/1/exports"}.get(name, "datasets/1/jobs")
    for name, operation in OPERATIONS.items()
    if operation.is_started_by_kind or name in ("import", "export")
}
#: Options as the version before operations stored them with a job.
STORED = {
    "import": {
        "path": "pairs", "name": None, "image_column": None, "caption_column": "text",
        "id_column": "", "split_column": None, "image_root": None, "encoding": None,
        "delimiter": ";", "subset": None, "language": None, "caption_from": None,
        "captions_per_line": False, "uncaptioned": True, "update": "take", "gone": "hide",
        "anonymous": True,
    },
    "score": {"anyway": True, "trajectories": "top:20%", "model": "fast", "download": True},
    "estimate": {"captioner": "auto"},
    "duplicates": {"threshold": 0.99},
    "train": {"seed": 3},
    "adopt": {"classifier_id": 4},
    "export": {
        "out": "out", "format": "csv", "overwrite": True, "queue": "review=all", "view": None,
        "choice": {
            "drop_above": 0.5, "abstract": "tag", "dropped": "tag", "unsure": "leave out",
            "specificity_below": -2.0, "generic": "leave out", "decided_only": True,
            "only": {"pair_ids": [2, 3], "words": "two"}, "captions": "enriched",
            **({"two_stage": {
                "align": 0.7, "keep": 0.5, "by": "worst", "least_phrases": 2, "split": ["train"],
                "tag": True, "seed": 1, "scores": "",
            }} if has_feature("selection") else {}),
        },
    },
    "rule": {
        "queue": "", "decision": "drop", "curator": "Ada", "replaces": True, "batch": "b",
    },
    "download": {"model": "fast"},
    "probe": {"model": "fast"},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("doors")


@pytest.fixture(scope="module")
def workspace(folder: Path) -> Iterator[Workspace]:
    """For all tests: what is refused leaves nothing, and the others come last."""
    made = opened(folder / "state")
    made.jobs.import_dataset(malformed(folder / "pairs"))
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def client(workspace: Workspace) -> TestClient:
    app = fastapi.FastAPI()
    app.mount(rooms.API, api.create_api(workspace))
    return TestClient(app, base_url="http://127.0.0.1/api/v1/")


def fields_of(model: type[Options]) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """All fields with their path, those of models within the model among them."""
    for name, field in model.model_fields.items():
        yield (name,), field
        for kind in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(kind, type) and issubclass(kind, Options):
                yield from (((name, *path), inner) for path, inner in fields_of(kind))


def with_value(path: tuple[str, ...], value: object) -> dict[str, Any]:
    return {path[0]: with_value(path[1:], value) if path[1:] else value}


def wrong_values(kind: str) -> Iterator[tuple[tuple[str, ...], object]]:
    """A value beyond each bound, and one that is no choice, with the place of the option."""
    for path, field in fields_of(OPERATIONS[kind].options):
        for bound in field.metadata:
            if isinstance(bound, Ge):
                yield path, bound.ge - 1  # type: ignore[operator]
            if isinstance(bound, Gt):
                yield path, bound.gt
            if isinstance(bound, Le):
                yield path, bound.le + 1  # type: ignore[operator]
        if "Literal" in str(field.annotation):
            yield path, "nonsense"


WRONG = [(kind, path, value) for kind in OPERATIONS for path, value in wrong_values(kind)]
WRONG.append(("export", ("format",), "nonsense"))


def option_of(field: FieldInfo, name: str) -> str:
    how = next((m for m in field.metadata if isinstance(m, CommandLine)), CommandLine())
    return how.names[0].split("/")[0] if how.names else f"--{name.replace('_', '-')}"


def test_every_option_is_described() -> None:
    for operation in OPERATIONS.values():
        assert operation.options.__doc__, operation.name
        for path, field in fields_of(operation.options):
            assert field.description, (operation.name, path)


@pytest.mark.parametrize("kind", TYPED)
def test_every_option_is_typed_or_for_programs(kind: str) -> None:
    typed = {name for p in COMMANDS[kind].params for name in (p.name, *p.opts)}
    for path, field in fields_of(OPERATIONS[kind].options):
        how = next((m for m in field.metadata if isinstance(m, CommandLine)), CommandLine())
        is_group = any(other[:-1] == path for other, _ in fields_of(OPERATIONS[kind].options))
        if how.is_typed and not is_group:
            assert {path[-1], option_of(field, path[-1])} & typed, path


def test_the_api_describes_every_option(client: TestClient) -> None:
    objects = client.get("openapi.json").json()["components"]["schemas"]
    for name in ON_API:
        operation = OPERATIONS[name]
        is_kind = operation.is_started_by_kind
        schema = objects[f"{name.capitalize()}Job" if is_kind else operation.options.__name__]
        for field, about in operation.options.model_fields.items():
            assert schema["properties"][field]["description"] == about.description
            if isinstance(about.default, str | int | float):
                assert schema["properties"][field]["default"] == about.default


@pytest.mark.parametrize("kind", OPERATIONS)
def test_stored_options_are_read_again(kind: str) -> None:
    model = OPERATIONS[kind].options
    options = model.parse(STORED.get(kind, NEEDED.get(kind, {})))
    assert model.parse(options.model_dump(mode="json", exclude_unset=True)) == options


@pytest.mark.parametrize(("kind", "path", "value"), WRONG)
def test_what_cannot_be_is_refused_at_every_door(
    workspace: Workspace, client: TestClient, kind: str, path: tuple[str, ...], value: object
) -> None:
    sent = {**NEEDED.get(kind, {}), **with_value(path, value)}
    with pytest.raises(SettingsError, match=path[-1]):
        workspace.jobs.start(kind, 1, **sent)
    if kind in ON_API:
        body = sent if kind in ("import", "export") else {**sent, "kind": kind}
        answer = client.post(ON_API[kind], json=body)
        assert answer.status_code == 422
        assert path[-1] in answer.json()["detail"]
    assert workspace.jobs.recent() == []
    if kind in TYPED:
        field = dict(fields_of(OPERATIONS[kind].options))[path]
        arguments = [kind, "pairs", *(["out"] if kind == "export" else [])]
        if kind == "check":
            arguments += ["--at-most", "2%"]
        arguments += [option_of(field, path[-1]), str(value)]
        status, _, err = invoked({"COLUMNS": "200"}, *arguments)
        assert status == 2
        assert path[-1].replace("_", "-") in err.replace("_", "-")


@pytest.mark.parametrize("kind", OPERATIONS)
def test_a_misspelled_option_is_refused(
    workspace: Workspace, client: TestClient, kind: str
) -> None:
    sent = {**NEEDED.get(kind, {}), "treshold": 0.5}
    with pytest.raises(SettingsError, match="treshold"):
        workspace.jobs.start(kind, 1, **sent)
    where = ON_API.get(kind, "datasets/1/jobs")
    assert client.post(where, json={**sent, "kind": kind}).status_code == 422
    assert workspace.jobs.recent() == []


def test_an_export_is_the_same_by_every_door(
    workspace: Workspace, client: TestClient, folder: Path
) -> None:
    pair = workspace.review.first_pair(workspace.review.filter_of(1, {}))
    assert pair is not None
    workspace.review.decide(pair, 0, "drop")
    outs = [folder / name for name in ("python", "typed", "sent", "page")]
    choice = {"dropped": "tag", "unsure": "leave out"}
    # What is sent or entered is downloaded, with its pictures.
    whole = ExportChoice.parse({**choice, "copy_images": True})
    workspace.jobs.export(1, whole, outs[0], "csv")
    status, _, err = invoked(
        {"TRACED_DATA_DIRECTORY": str(folder / "state")}, "export", "pairs", str(outs[1]),
        "--format", "csv", "--dropped", "tag", "--unsure", "leave out", "--copy-images",
    )  # fmt: skip
    assert status == 0, err
    sent = {"out": str(outs[2]), "format": "csv", "choice": choice}
    assert client.post("datasets/1/exports", json=sent).status_code == 202
    entered = dict.fromkeys(Fields._fields) | choice | {
        "abstract": "leave out", "captions": "decided", "unconfirmed": False,
            "keep_pictures_together": False,
        "wrong_claims": "keep", "wrong": "tag",
    }  # fmt: skip
    request = gr.Request(username=None)
    ExportPage(workspace).begin(1, "csv", str(outs[3]), False, request, *entered.values())
    assert workspace.jobs.background.wait(250)
    assert [job.failure for job in workspace.jobs.recent()] == ["", ""]
    tables = [(out / "data.csv").read_bytes() for out in outs]
    assert tables[0].count(b"wrong") == 1
    assert len(set(tables)) == 1


def test_an_import_is_the_same_by_every_door(
    workspace: Workspace, client: TestClient, folder: Path
) -> None:
    source = folder / "pairs"
    environment = {"TRACED_DATA_DIRECTORY": str(folder / "state")}
    arguments = ("import", str(source), "--name", "typed", "--no-id-column")
    status, _, err = invoked(environment, *arguments)
    assert status == 0, err
    sent = {"path": str(source), "name": "sent", "id_column": ""}
    assert client.post("datasets", json=sent).status_code == 202
    assert workspace.jobs.background.wait(250)
    _, typed, over_http = workspace.datasets()
    assert (typed.total, typed.problems) == (over_http.total, over_http.problems)
    ids = [
        sorted(
            row.external_id
            for row in workspace.review.queue_page(workspace.review.filter_of(d.id, {})).rows
        )
        for d in (typed, over_http)
    ]
    assert ids[0] == ids[1]
