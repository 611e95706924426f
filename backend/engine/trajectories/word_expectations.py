"""Trajectories with a captioner's expectations of their words (`engine/expectation.py`)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from backend.engine.expectation import Expectation, Reader, expectations, expectations_in
from backend.engine.trajectories.trajectory import Trajectory

if TYPE_CHECKING:
    from PIL import Image


def with_expectations(
    captioner: Reader | None, images: Sequence["Image.Image"], trajectories: Sequence[Trajectory]
) -> list[Trajectory]:
    """The trajectories with the captioner's expectations added; unchanged without a captioner.

    `images`: the image of each trajectory."""
    if captioner is None or not trajectories:
        return list(trajectories)
    captions = [trajectory.caption.text for trajectory in trajectories]
    new_expectations = expectations(captioner, list(zip(images, captions, strict=True)))
    return _with(trajectories, new_expectations)


def with_expectations_in(
    captioner: Reader, memories: Sequence[Any], trajectories: Sequence[Trajectory]
) -> list[Trajectory]:
    """`with_expectations` for images that are already encoded (`Reader.encode`)."""
    captions = [trajectory.caption.text for trajectory in trajectories]
    new_expectations = expectations_in(captioner, list(zip(memories, captions, strict=True)))
    return _with(trajectories, new_expectations)


def _with(
    trajectories: Sequence[Trajectory], new_expectations: Sequence[Expectation]
) -> list[Trajectory]:
    return [
        replace(trajectory, expectation=e)
        for trajectory, e in zip(trajectories, new_expectations, strict=True)
    ]


def with_expectations_of(trajectories: Sequence[Trajectory], captioner: str) -> list[Trajectory]:
    """The trajectories with this captioner's expectations only; those of others are removed."""
    return [
        trajectory
        if trajectory.expectation is None or trajectory.expectation.captioner == captioner
        else replace(trajectory, expectation=None)
        for trajectory in trajectories
    ]
