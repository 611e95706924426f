"""The whole way of shards by commands: score, import what is suspicious, judge it, learn, rank
again, decide, and write the shards without what is wrong.
"""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from backend.errors import ONLY_LEVEL, SettingsError
from backend.features.shards.decisions import read_decisions
from tests.cli.invoking import as_json, invoked
from tests.features.shards.test_shard_scores import PAIRS, SHARDS, write_shards
from tests.fixtures.features import needs

EVERY, TOP = SHARDS * PAIRS, 12


def captions_of(folder: Path) -> dict[str, str]:
    """By shard and id."""
    return {
        f"{file.stem}/{row['id']}": row["caption"]
        for file in folder.glob("*.parquet")
        for row in pq.read_table(file, columns=["id", "caption"]).to_pylist()
    }


@needs("label_files")
def test_a_whole_round(tmp_path: Path) -> None:
    source = write_shards(tmp_path / "source")
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "COLUMNS": "200"}
    out, clean = tmp_path / "out", tmp_path / "clean"
    labels, learnt, decisions = (tmp_path / n for n in ("labels.csv", "learnt", "list.csv"))
    command = ("score", str(source), "--out", f"{out}/", "--devices", "cpu")
    assert as_json(environment, *command)["pairs"] == EVERY
    drawn = as_json(environment, "import", str(out), "--top", str(TOP))
    assert (drawn["name"], drawn["pairs"], drawn["added"]) == ("out", EVERY, TOP)
    view = tmp_path / "all.csv"
    as_json(environment, "export", "out", str(view), "--decisions")
    with view.open() as file:
        pairs = [f"{row['shard']}/{row['id']}" for row in csv.DictReader(file)]
    corrected, *dropped = pairs[:7]
    with labels.open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "verdict", "caption"])
        writer.writerow([corrected, "correction", "=a new caption"])
        writer.writerows([pair, "drop", ""] for pair in dropped)
        writer.writerows([pair, "correct", ""] for pair in pairs[7:])
    as_json(environment, "label", "out", str(labels))
    status, printed, err = invoked(environment, "train", "out", "--save", str(learnt), "--json")
    trained = json.loads(printed)
    assert status == (0 if trained["report"]["learnt"] == "order" else ONLY_LEVEL), err
    assert trained["verdicts"] == TOP
    ranked = as_json(environment, *command[:4], "--detector", str(learnt))
    assert ranked["scored_now"] == SHARDS
    as_json(environment, "export", "out", str(decisions), "--decisions")
    select = ("select", str(out), "--out", f"{clean}/", "--decisions", str(decisions))
    report = as_json(environment, *select)
    assert (report["kept"], report["corrected"]) == (EVERY - len(dropped), 1)
    assert (report["left_out"], report["decided"]) == (len(dropped), TOP)
    assert as_json(environment, *select)["written_now"] == 0
    again = as_json(environment, "import", str(clean), "--name", "clean")
    assert (again["added"], again["problems"]) == (EVERY - len(dropped), 0)
    exported = tmp_path / "clean.parquet"
    as_json(environment, "export", "clean", str(exported), "--decisions")
    captions = {f"{row['shard']}/{row['id']}": row["caption"]
                for row in pq.read_table(exported).to_pylist()}  # fmt: skip
    before = captions_of(out)
    expected = {key: text for key, text in before.items() if key not in dropped}
    assert captions == expected | {corrected: "=a new caption"}
    status, _, err = invoked(environment, *select, "--drop-above", "0.5")
    assert (status, "other scores, decisions" in err) == (2, True)
    decisions.write_text("shard,id,keep\n9.tar,a,true\n")
    status, _, err = invoked(environment, *select[:3], f"{tmp_path}/new/", *select[4:])
    assert (status, "no such shard" in err) == (2, True)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("table", "reason"),
    [("id,keep\na,true\na,false\n", "twice"), ("id,keep\na,perhaps\n", "true or false"),
     ("name,keep\na,true\n", "needs an id")],
)  # fmt: skip
def test_decisions_that_make_no_sense_are_refused(table: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text(table)
    with pytest.raises(SettingsError, match=reason):
        read_decisions(file)


def test_no_threshold_leaves_out_what_the_model_does_not_read(tmp_path: Path) -> None:
    source = write_shards(tmp_path / "source", count=1, german=2)
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "COLUMNS": "200"}
    out, clean = tmp_path / "out", tmp_path / "clean"
    as_json(environment, "score", str(source), "--out", f"{out}/", "--devices", "cpu")
    report = as_json(environment, "select", str(out), "--out", f"{clean}/", "--drop-above", "0")
    assert (report["kept"], report["left_out"]) == (2, PAIRS - 2)
    assert report["level_note"].endswith(
        "2 captions are in languages that the model does not read; no threshold leaves them out."
    )
