"""No caption ends beside another picture, whatever happens to its source, its names and its
loaders."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.jobs.coloured_pairs import STORIES, Story, Teller, tell_for


@pytest.fixture
def teller(url: str, tmp_path: Path) -> Iterator[Teller]:
    opened = Teller(tmp_path, url)
    yield opened
    opened.close()


@settings(max_examples=settings().max_examples // 5)
@given(story=STORIES)
def test_no_caption_ends_beside_another_colour(teller: Teller, story: Story) -> None:
    teller.live(story)


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_no_caption_does_so_in_ten_minutes_on_either_database(teller: Teller) -> None:
    tell_for(10, 1, teller)
