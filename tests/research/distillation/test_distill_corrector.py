"""A small corrector is really trained: a very small LLaVA with LoRA on accepted corrections."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.engine.language_models.spending import PriceList
from backend.errors import SettingsError, TrainingError
from backend.features.corrections.correct_queue import Rule
from backend.features.corrections.corrector import Corrector, propose
from backend.features.vision_language.endpoint import ChatEndpoint
from backend.features.vision_language.local import load_local
from backend.settings import MODELS, load_settings
from backend.workspace import QueueFilter, Workspace
from db.queries import suggestion_queries
from db.queries.suggestion_queries import NewSuggestion
from research.chat_server import chat_server
from research.distillation.distill_corrector import FEWEST, anticipate, distill
from research.distillation.fine_tuning import Recipe
from research.scenes.vision_language import make_vision_language_model
from tests.checkpoints import drawn_folder
from tests.engine.correction.contexts import context
from tests.fixtures.sizes import Sizes

PAIRS = FEWEST + 12
RECIPE = Recipe(rank=4, epochs=2, learning_rate=5e-3, train_also=("embed_tokens", "lm_head"))
HELD_OUT = 0.2
#: Tokens: more than a correct answer has. The untrained student never ends an answer.
LONGEST_ANSWER = 48


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_vision_language_model(tmp_path_factory.mktemp("llava"), width=48, layers=1)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Scored pairs: people have corrected some, called one correct and enriched one; a rule
    corrected one."""
    root = tmp_path_factory.mktemp("data")
    drawn_folder(root / "pairs", PAIRS, seed=5)
    opened = Workspace(
        load_settings(
            {
                "data_directory": str(root / "state"), "detector": "nine signs",
                "model": str(MODELS / "scenes-clip"), "captioner": "none",
            },
            {},
        )
    )  # fmt: skip
    dataset = opened.find_or_import(str(root / "pairs"))
    opened.jobs.score(dataset, suggestions=False)
    queue = opened.review.queue_page(
        QueueFilter(dataset, order="position", descending=False), None, PAIRS
    )
    for row in queue.rows[:-5]:
        opened.review.decide(
            row.pair_id, 0, "correction", row.caption.replace("A ", "One ", 1) + " Yes."
        )
    opened.review.decide(queue.rows[-4].pair_id, 0, "correct")
    rule = Rule(0.5, 0.1).author
    opened.review.decide(queue.rows[-3].pair_id, 0, "correction", "A rule's text", author=rule)
    richer = NewSuggestion(
        queue.rows[-5].pair_id, "vlm · blend v1", "An enriched text", 0.1, 0.2, kind="boost"
    )
    opened.store.write(suggestion_queries.save_suggestions, [richer])
    (accepted,) = opened.review.suggestions(richer.pair_id, "boost")
    opened.review.decide(richer.pair_id, 0, "correction", suggestion_id=accepted.id)
    yield opened
    opened.store.close()


def teacher(body: dict[str, Any]) -> tuple[int, str]:
    text = body["messages"][1]["content"][1]["text"]
    caption = re.findall(r"<caption>(.*?)</caption>", text)[0]
    return 200, json.dumps({"caption": caption.replace("A ", "One ", 1) + " Yes."})


def test_the_student_is_trained_evaluated_and_usable(
    workspace: Workspace, student: Path, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(LONGEST_ANSWER=LONGEST_ANSWER)
    with chat_server(teacher) as served:
        large = ChatEndpoint(served.url, "large")
        expected = anticipate(
            workspace.store, workspace.engine, 1, Corrector(large), 2, HELD_OUT, PriceList()
        )
        assert not served.requests
        report = distill(
            workspace.store, workspace.engine, 1, load_local(str(student)), tmp_path, large,
            taught=2, held_out=HELD_OUT, recipe=RECIPE,
        )  # fmt: skip
        assert len(served.requests) == expected.pairs == expected.forecast.requests[1]
    assert report.losses[-1] < report.losses[0]
    assert 0 <= report.from_teacher <= 2  # without the pictures that are held out
    assert not report.by_teacher
    assert report.held_out > 0
    assert report.teacher is not None
    assert (report.teacher.same, report.teacher.readable) == (1.0, 1.0)
    assert report.untrained.same == 0
    lines = (tmp_path / "instructions.jsonl").read_text().splitlines()
    assert len(lines) == report.examples
    assert "A rule's text" not in "".join(lines)
    assert "An enriched text" not in "".join(lines)
    example = json.loads(lines[0])
    assert (tmp_path / example["images"][0]).stat().st_size > 500
    assert json.loads(example["messages"][-1]["content"])["caption"].endswith("Yes.")
    trained = load_local(str(report.model))
    assert propose(context(), Corrector(trained)).outcome in (
        "corrected",
        "unchanged",
        "unreadable",
    )
    assert (tmp_path / "adapter" / "adapter_config.json").exists()


def test_without_corrections_by_people_a_teacher_is_needed_and_is_enough(
    workspace: Workspace, student: Path, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(LONGEST_ANSWER=LONGEST_ANSWER)
    small = load_local(str(student))
    with pytest.raises(SettingsError, match="another mode"):
        distill(workspace.store, workspace.engine, 1, small, tmp_path, mode="reasoning")
    with pytest.raises(SettingsError, match="teacher"):
        distill(workspace.store, workspace.engine, 1, small, tmp_path, taught=3)
    row = workspace.review.queue_page(QueueFilter(1, decision="correction")).rows[0]
    for _ in range(PAIRS):
        workspace.review.undo(1)
    with pytest.raises(TrainingError, match="least"):
        distill(workspace.store, workspace.engine, 1, small, tmp_path)
    assert workspace.review.open_pair(row.pair_id).verdict.decision is None
    with chat_server(teacher) as served:
        large = ChatEndpoint(served.url, "large")
        with pytest.raises(TrainingError, match="raise --taught"):
            distill(workspace.store, workspace.engine, 1, small, tmp_path, large, taught=3)
        report = distill(
            workspace.store, workspace.engine, 1, small, tmp_path, large, taught=PAIRS,
            recipe=replace(RECIPE, epochs=1),
        )  # fmt: skip
    assert (report.by_teacher, report.teacher) == (True, None)
    assert report.examples == report.from_teacher >= FEWEST // 2
    assert report.held_out > 0
