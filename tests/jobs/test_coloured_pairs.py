"""No caption ends beside another picture, whatever happens to its source."""

from pathlib import Path

from tests.jobs.coloured_pairs import Teller, tell


def test_no_caption_ends_beside_another_colour(url: str, tmp_path: Path) -> None:
    teller = Teller(tmp_path, url)
    tell(teller, 15, seed=1)
    teller.close()
