"""`captioner` reports bad input before it computes anything."""

from pathlib import Path

from backend.settings import load_settings
from backend.workspace import Workspace
from research.scenes import demo
from tests.cli.invoking import invoked


def test_bad_input_is_refused_with_its_exit_status(tmp_path: Path) -> None:
    state = tmp_path / "state"
    demo.write(tmp_path / "pairs", 4, 0, 96, seed=5)
    workspace = Workspace(load_settings({"data_directory": str(state)}, {}))
    workspace.find_or_import(str(tmp_path / "pairs"))
    workspace.store.close()
    environment = {"TRACED_DATA_DIRECTORY": str(state), "COLUMNS": "200"}
    usual = ["captioner", "pairs", "--out", str(tmp_path / "out")]
    for options, status, message in (
        ([], 2, "Name the parts of a new captioner"),
        (["--clip", "a/b", "--language-model", "gpt2"], 5, "a captioner needs at least 200"),
        (["--clip", "a/b", "--language-model", "gpt2", "--bags"], 2, "belong to self-retrieval"),
        (
            ["--clip", "a/b", "--language-model", "gpt2", "--self-retrieval", "--side", "up"],
            2,
            "'up' is not a choice for side",
        ),
    ):
        code, _, err = invoked(environment, *usual, *options)
        assert message in " ".join(err.split())
        assert code == status
    assert not (tmp_path / "out").exists()
