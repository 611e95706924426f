"""No caption ends beside another picture, whatever happens to its source."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.jobs.coloured_pairs import STORIES, Story, Teller


@pytest.fixture
def teller(url: str, tmp_path: Path) -> Iterator[Teller]:
    opened = Teller(tmp_path, url)
    yield opened
    opened.close()


@settings(max_examples=settings().max_examples // 2)
@given(story=STORIES)
def test_no_caption_ends_beside_another_colour(teller: Teller, story: Story) -> None:
    teller.live(story)
