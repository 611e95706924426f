"""Every picture of Pillow's own test suite, especially the malformed ones: decoded or reported.

They are in Pillow's source package, which is downloaded once; without a network this is skipped.
"""

import re
import tarfile
import urllib.request
from pathlib import Path

import PIL
import pytest

from backend.datasets.safe_files.images import cached_thumbnail, check_image, image_size, load_image
from backend.errors import ImageError

DATA = Path(__file__).resolve().parents[3] / "data"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    package = DATA / f"pillow-{PIL.__version__}.tar.gz"
    if not package.exists():
        try:
            fetch(package)
        except OSError as problem:
            pytest.skip(f"Pillow's source package cannot be fetched: {problem}")
    folder = tmp_path_factory.mktemp("pillow")
    with tarfile.open(package) as archive:
        for member in archive:
            _, _, name = member.name.partition("/Tests/images/")
            content = archive.extractfile(member) if name and member.isfile() else None
            if content is not None:
                (folder / name.replace("/", "--")).write_bytes(content.read())
    return sorted(folder.iterdir())


def fetch(package: Path) -> None:
    with urllib.request.urlopen("https://pypi.org/simple/pillow/", timeout=30) as answer:
        listed = answer.read().decode()
    wanted = rf'https://[^"#]+/pillow-{re.escape(PIL.__version__)}\.tar\.gz'
    match = re.search(wanted, listed)
    if match is None:
        raise OSError("it is not listed")
    address = match.group()
    package.parent.mkdir(exist_ok=True)
    part = package.with_suffix(".part")
    with urllib.request.urlopen(address, timeout=60) as answer, part.open("wb") as file:
        while block := answer.read(1 << 20):
            file.write(block)
    part.rename(package)


@pytest.mark.nightly
def test_every_picture_is_decoded_or_reported(pictures: list[Path], tmp_path: Path) -> None:
    assert len(pictures) > 900
    seen, refused = 0, dict[str, str]()
    for path in pictures:
        try:
            check_image(path)
            width, height = image_size(path)
            assert width > 0 < height
            assert cached_thumbnail(path, 160, tmp_path / "cache").startswith(b"\xff\xd8")
            assert load_image(path).mode == "RGB"
            seen += 1
        except ImageError as problem:
            refused[path.name] = str(problem)
    assert seen > 700
    assert all(name in message and len(message) < 400 for name, message in refused.items())
    # None of those for which Pillow would start another program.
    assert not [path for path in pictures if path.suffix == ".eps" and path.name not in refused]
    bomb = "oom-8ed3316a4109213ca96fb8a256a0bfefdece1461.icns"
    assert "million pixels" in refused[bomb]
