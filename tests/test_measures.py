"""A measure is one object in one file: that of a plug-in is found wherever measures are."""

import json
from dataclasses import fields
from typing import Any

import pytest

from backend.datasets.export_row import COLUMNS
from backend.jobs.export_scores import COLUMNS_OF_SCORES
from backend.measures import PREFIX
from backend.review.queue_form import KEYS
from db.decisions import ORDERS
from db.measures import MEASURES, Measure, add
from db.queries.pair_queries import PairRow
from db.queries.queue_filter import QueueRow
from tests.datasets.folders import image_folder
from tests.test_plugins import ROOT, install, run
from traced_ui import api_records

EXAMPLE = ROOT / "tests/packaging/word_density/word_density.py"
NAME = "x_density"
#: Name, whether it takes part, and the definition.
OTHERS = (
    ("taken", False, 'name="icc", title="", explanation=""'),
    ("again", True, 'name="x_again", title="", explanation=""'),
    ("twice", False, 'name="x_again", title="", explanation=""'),
    ("column", False, 'name="x_other", title="", explanation="", is_column=True'),
    ("odd", False, 'name="x_Two words", title="", explanation=""'),
)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a program with the example's package answers about two pairs, whose densities are 10 and
    30 words per thousand pixels."""
    folder = tmp_path_factory.mktemp("measures")
    packages = folder / "packages"
    packages.mkdir()
    install(packages, "word_density", EXAMPLE.read_text(), "measures", "MEASURE", NAME)
    for name, _, definition in OTHERS:
        source = f"from db.measures import Measure\nMEASURE = Measure({definition})\n"
        install(packages, name, source, "measures", "MEASURE")
    rows = [{"file_name": "a.png", "id": "short", "caption": "A dog"},
            {"file_name": "a.png", "id": "long", "caption": "A dog runs on the grass"},
            {"file_name": "gone.png", "id": "gone", "caption": "A cat"}]  # fmt: skip
    source = image_folder(folder / "source", rows, ("a.png", "gone.png"))
    state = {"TRACED_DATA_DIRECTORY": str(folder / "state"), "HF_HUB_OFFLINE": "1"}
    done = run(packages, "-c", PROGRAM, str(source), str(folder / "out"), **state)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


PROGRAM = """
import json, sys
from dataclasses import asdict, replace
from pathlib import Path
from backend import plugins
from backend.jobs.export_scores import write
from backend.review.queue_form import from_text
from traced_curator import ExportChoice, Workspace, load_settings
import gradio as gr
from tests.docs import reference
from traced_ui import api_records, datasets, overview, review_labels, review_page
from traced_ui.board import Post, answer
from traced_ui.page_state import PageState
from traced_ui.review_actions import OpenPage

source, out = Path(sys.argv[1]), Path(sys.argv[2])
workspace = Workspace(load_settings())
dataset = workspace.jobs.import_dataset(str(source)).dataset_id
(source / "gone.png").unlink()
report = asdict(workspace.jobs.run("measure", dataset, measure="x_density"))
again = asdict(workspace.jobs.run("measure", dataset, measure="x_density"))

def queue(text):
    filter = workspace.review.filter_of(dataset, from_text(text))
    return workspace.review.queue_page(filter)

def ids(text):
    return [row.external_id for row in queue(text).rows]

first = queue("order=x_density").rows[0]
shown = {"order": "x_density", "review": "all"}
state = PageState(dataset=dataset, pair=first.pair_id, filter=shown)
drawn = answer(OpenPage(workspace, state, None), Post(state=state, redraw=True))
page = "".join(drawn["parts"].values())
values = workspace.review.queue_values(workspace.review.filter_of(dataset, {}))
view = workspace.review.open_pair(first.pair_id)
(source / "gone.png").write_bytes((source / "a.png").read_bytes())
write(workspace.store, dataset, out.with_suffix(".jsonl"))
workspace.jobs.export(dataset, ExportChoice(), str(out), "jsonl")
lines = (source / "metadata.jsonl").read_text().replace("A dog\\"", "Two dogs\\"")
(source / "metadata.jsonl").write_text(lines)
with gr.Blocks() as blocks:
    datasets.build(workspace, gr.Dropdown())
queue_row = api_records.QueueRow.of(first)

answers = {
    "report": report, "again": again,
    "ascending": ids("order=x_density"), "descending": ids("order=-x_density"),
    "range": ids("x_density_from=20"), "group": ids("where=x_density <= 20"),
    "bars": sum(bar.count for bar in values.numbers["x_density"]),
    "label": review_labels.ORDERS["x_density"],
    "row": review_labels.by_order(first, "x_density"),
    "table": 'data-cell="x_density"' in overview.table([first], {}, {}),
    "page": ["Word density" in page, "Density" in page],
    "bar": [list(bar)[:3] for bar in review_page.bars(view) if bar.name == "Density"],
    "api": queue_row.model_dump()["x_density"],
    "pair": api_records.Pair.of(view).model_dump()["x_density"],
    "schema": api_records.QueueRow.model_json_schema()["properties"]["x_density"]["description"],
    "scores": [json.loads(line)["x_density"] for line in out.with_suffix(".jsonl").open()],
    "export": [json.loads(line)["x_density"] for line in (out / "data.jsonl").open()],
    "documented": "| `x_density` | Word density |" in reference.measures(),
    "buttons": [block.elem_id for block in blocks.blocks.values()].count("x_density-start"),
    "plugins": {plugin.name: plugin.problem for plugin in plugins.load_plugins()},
}
workspace.jobs.import_dataset(str(source), update="take")
answers["after a new caption"] = ids("x_density_from=0")
workspace.store.close()
print(json.dumps(answers))
"""


def test_it_is_computed_once(answers: dict[str, Any]) -> None:
    wanted = {"measure": NAME, "pairs": 3, "measured": 2, "without": 0, "unreadable": 1}
    assert wanted.items() <= answers["report"].items()
    assert answers["again"]["measured"] == 0
    assert sorted(answers["after a new caption"]) == ["long"]


def test_people_sort_and_filter_by_it(answers: dict[str, Any]) -> None:
    assert answers["ascending"] == ["short", "long", "gone"]
    assert answers["descending"] == ["long", "short", "gone"]
    assert answers["range"] == ["long"]
    assert answers["group"] == ["short"]
    assert answers["bars"] == 2


def test_the_page_shows_it(answers: dict[str, Any]) -> None:
    assert answers["label"] == "fewest words first"
    assert answers["row"] == "density 10.00"
    assert answers["table"]
    assert answers["page"] == [True, True]
    assert answers["buttons"] == 1
    assert answers["bar"] == [["Density", "10.00", 1.0]]


def test_the_api_and_files_have_it(answers: dict[str, Any]) -> None:
    assert answers["api"] == answers["pair"] == 10
    assert answers["schema"].startswith("How many words")
    assert answers["scores"] == answers["export"] == [10, 30, None]


def test_it_is_documented(answers: dict[str, Any]) -> None:
    assert answers["documented"]


def test_one_that_cannot_take_part_is_left_out_and_named(answers: dict[str, Any]) -> None:
    for name, takes_part, _ in OTHERS:
        assert (answers["plugins"][name] == "") == takes_part, name
    assert answers["plugins"][NAME] == ""


def test_no_field_of_ours_is_named_like_the_measures_of_plug_ins() -> None:
    records = (api_records.QueueRow, api_records.Pair)
    names = {
        *KEYS, *ORDERS, *COLUMNS, *COLUMNS_OF_SCORES,
        *(field.name for row in (PairRow, QueueRow) for field in fields(row)),
        *(name for each in records for name in each.model_fields),
    }  # fmt: skip
    of_plug_ins = {
        f"{measure.name}{end}"
        for measure in MEASURES.values()
        if measure.compute is not None
        for end in ("", "_from", "_to")
    }
    assert not [name for name in names - of_plug_ins if name.startswith(PREFIX)]


def test_a_name_that_files_and_addresses_cannot_hold_is_refused() -> None:
    for name in ("", "Words", "two words", "1st", "a" * 41, "s_0"):
        with pytest.raises(ValueError, match="measure"):
            add((Measure(name=name, title="", explanation=""),))
