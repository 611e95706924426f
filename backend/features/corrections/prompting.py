"""Prompts for a vision-language model, in four modes (TRACED, ICLR 2026, "Guided VLM Correction").

    unguided     image and caption
    words        image, caption and suspect words
    reasoning    the same, with one step per suspect word before the answer
    trajectory   image, caption and the steps of the caption trajectory with their scores

The prompts are in `prompts/*.md`. If you change one, increment its number in VERSIONS, which is
stored with each suggestion.
"""

from functools import cache
from pathlib import Path

from backend.engine.captions import Caption, changes
from backend.engine.correction.modes import Mode
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.detection.localisation import VISIBLE
from backend.engine.language_models.asking import (
    LONGEST_ANSWER,
    LONGEST_CAPTION,
    encode_picture,
)
from backend.engine.language_models.chat_model import Question, harmless
from backend.engine.trajectories.trajectory import Trajectory
from backend.features.corrections.answers import schema_of

VERSIONS: dict[Mode, int] = {"unguided": 1, "words": 1, "reasoning": 1, "trajectory": 1}
FOLDER = Path(__file__).parent / "prompts"
#: Maximum number of suspect words in a prompt, and of steps after the peak (where s falls again).
MOST_WORDS, STEPS_AFTER_PEAK = 6, 2


@cache
def prompt(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text("utf-8")


def question(context: CorrectionContext, mode: Mode) -> Question:
    """The full question for a case; deterministic, so that its answer can be cached."""
    caption = context.caption.text[:LONGEST_CAPTION]
    sections = [f"<caption>{harmless(caption)}</caption>"]
    if mode in ("words", "reasoning"):
        sections.append(f"<suspects>{_suspects(context)}</suspects>")
    if mode == "trajectory":
        sections.append(f"<trajectory>\n{_steps(context.trajectory)}\n</trajectory>")
    return Question(
        prompt(mode), "\n".join(sections), temperature=0.0,
        longest_answer=max(LONGEST_ANSWER, len(caption.encode()) // 2),
        image=encode_picture(context.image), schema=schema_of(mode),
    )  # fmt: skip


def plain_question(caption: str) -> Question:
    """About a caption alone, without a picture."""
    return Question(
        prompt("unguided"), f"<caption>{harmless(caption)}</caption>", temperature=0.0,
        longest_answer=LONGEST_ANSWER, schema=schema_of("unguided"),
    )  # fmt: skip


def _suspects(context: CorrectionContext) -> str:
    """ "red" (0.93), "two" (0.41, word 5); only repeated words get their position."""
    words = [word.lower() for word in context.caption.words]
    place = {span: i for i, span in enumerate(context.caption.spans)}
    entries = []
    for suspect in sorted(context.suspects, key=lambda span: -span.score)[:MOST_WORDS]:
        index = place.get((suspect.start, suspect.end))
        if index is None or suspect.score < VISIBLE:
            continue
        again = f", word {index + 1}" if words.count(words[index]) > 1 else ""
        entries.append(f'"{harmless(context.caption.words[index])}" ({suspect.score:.2f}{again})')
    return ", ".join(entries) or "none in particular"


def _steps(trajectory: Trajectory) -> str:
    last_step = min(len(trajectory.scores) - 1, trajectory.peak + STEPS_AFTER_PEAK)
    lines = [f"0. the caption as it is: {float(trajectory.scores[0]):.3f}"]
    for step in range(1, last_step + 1):
        text = harmless(trajectory.caption_at(step)[:LONGEST_CAPTION])
        lines.append(
            f"{step}. {_change(trajectory, step)}: {float(trajectory.scores[step]):.3f} ({text})"
        )
    return "\n".join(lines)


def _change(trajectory: Trajectory, step: int) -> str:
    if trajectory.captions is None:
        word = trajectory.caption.words[trajectory.removed[step - 1]]
        return f'took out "{harmless(word)}"'
    before = Caption.parse(trajectory.caption_at(step - 1)).words
    after = Caption.parse(trajectory.caption_at(step)).words
    runs = changes(before, after)
    old = " ".join(before[i] for run in runs for i in run.old)
    new = " ".join(after[j] for run in runs for j in run.new)
    return harmless(f'exchanged "{old}" for "{new}"')
