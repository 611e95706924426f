"""Empty texts and names: every place has the same definition of each."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backend.accounts.team_accounts import ApiKeys, Team
from backend.datasets.safe_files.uploads import place_of
from backend.engine.language_models import answers
from backend.errors import SettingsError, Unreadable, UnsafePath
from backend.jobs.manage_datasets import rename_dataset
from backend.review.pair_selection import tag_name
from backend.workspace import Workspace
from db.errors import UnstorableText
from db.queries.edit_queries import Rewrite, rewrite
from db.texts import is_blank
from tests.datasets.folders import dogs, image_folder, picture, read, write
from tests.traced_ui.conftest import workspace_in

#: Blanks of macOS and of French, joiners of Persian and emoji, a letter newer than Python's tables,
#: one for private use, and marks of direction.
NAMES = ("9.41\u202fAM", "v\u00a013", "می\u200cخواهم", "👩‍🔬", "x\U000323af", "\ue000", "\u200fא")
BAD = ("a\x1b[2Jb", "a\x7fb", "a\ud83db")
BLANK = ("", "  \t", "\u200b", "\u200e\ufeff", "\u00ad", "\u3164", "\u2800", "\ufe0f", "\U000e0020")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = workspace_in(tmp_path)
    opened.jobs.import_dataset(dogs(tmp_path / "pairs", 2))
    yield opened
    opened.store.close()


def places(workspace: Workspace) -> dict[str, Callable[[str], object]]:
    """What takes a name, by what it names."""
    accounts = Team(workspace.store)
    accounts.add("Eve", "a long password 1")
    return {
        "tag": tag_name,
        "account": lambda name: accounts.add(name, "a long password 1"),
        "key": lambda name: ApiKeys(workspace.store).add("Eve", name),
        "view": lambda name: workspace.review.save_view(1, name, {}),
        "dataset": lambda name: rename_dataset(workspace.store, 1, name),
    }


def test_names_of_people_are_taken_and_controls_and_blanks_are_not(workspace: Workspace) -> None:
    for take in places(workspace).values():
        for name in NAMES:
            take(name)
        for name in (*BAD, *BLANK):
            with pytest.raises((SettingsError, UnstorableText)):
                take(name)


@pytest.mark.parametrize("name", NAMES)
def test_files_of_people_are_imported_and_uploaded(tmp_path: Path, name: str) -> None:
    picture(tmp_path / f"{name}.png")
    write(tmp_path / f"{name}.txt", "A dog.")
    pairs, reader = read(tmp_path)
    assert reader.problems == []
    assert pairs[0].id.startswith(f"{name}.png:")
    assert place_of(f"shots/{name}.png").name == f"{name}.png"


@pytest.mark.parametrize("name", [*BAD, "a\nb", "a\u2028b"])
def test_an_upload_with_controls_in_its_name_is_refused(name: str) -> None:
    with pytest.raises(UnsafePath):
        place_of(f"shots/{name}.png")


@pytest.mark.parametrize("text", BLANK)
def test_a_caption_of_which_nothing_shows_is_empty(
    workspace: Workspace, tmp_path: Path, text: str
) -> None:
    assert is_blank(text)
    with pytest.raises(SettingsError):
        workspace.review.decide(1, 0, "correction", text)
    with workspace.store.writing() as session, pytest.raises(ValueError, match="empty"):
        rewrite(session, [Rewrite(1, 0, text)], author="Eve")
    with pytest.raises(Unreadable):
        answers.read_caption(json.dumps({"caption": text}), 100)
    rows = [{"file_name": "a.png", "caption": text}, {"file_name": "a.png", "caption": "A dog."}]
    pairs, reader = read(image_folder(tmp_path / "blank", rows, ("a.png",)))
    assert ([p.caption for p in pairs], [p.kind for p in reader.problems]) == (
        ["A dog."], ["empty caption"],
    )  # fmt: skip
