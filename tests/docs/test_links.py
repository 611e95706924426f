"""Links resolve, every page can be reached from the README, and the site builds offline."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT

_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]*))?\)")


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub and MkDocs derive from plain headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {
        re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())
        for heading in headings
    }


def links(page: Path) -> list[tuple[Path, str]]:
    text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))  # code links to nothing
    matches = _LINK.findall(text)
    return [((page.parent / path).resolve() if path else page, anchor) for path, anchor in matches]


def test_links_resolve() -> None:
    for page in PAGES:
        for target, anchor in links(page):
            assert target.exists(), f"{page.name}: {target}"
            is_right = not anchor or anchor in anchors(target)
            assert is_right, f"{page.name}: #{anchor} of {target.name}"


def test_every_page_is_reached_from_the_readme() -> None:
    start = ROOT / "README.md"
    reached, waiting = {start}, [start]
    while waiting:
        for target, _ in links(waiting.pop()):
            if target.suffix == ".md" and target not in reached:
                reached.add(target)
                waiting.append(target)
    assert sorted(set(PAGES) - reached) == []


class _Loaded(HTMLParser):
    """The resources that a browser loads automatically for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        items = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.addresses.append(items.get("src") or "")
        if tag == "link" and items.get("rel") in (
            "stylesheet",
            "preconnect",
            "icon",
            "preload",
        ):
            self.addresses.append(items.get("href") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.nightly
def test_the_site_has_every_page(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) >= len(PAGES)
    text = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="reviewing.html"' in text
    assert (site / "assets" / "screenshots" / "one-word.webp").exists()


@pytest.mark.nightly
def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = 0
    for page in site.rglob("*.html"):
        parser = _Loaded()
        parser.feed(page.read_text(encoding="utf-8"))
        loaded += len(parser.addresses)
        assert [name for name in parser.addresses if re.match(r"(?:https?:)?//", name)] == []
    assert loaded > 0
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", sheet.read_text("utf-8"))


def test_every_dependency_has_its_licence() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    packages = set(re.findall(r"^\| ([\w.-]+)(?: \(\w+\))? \| \S", page, re.M)) - {"Package"}
    required = {
        re.split(r"[^\w.-]", line)[0]
        for path in [*ROOT.glob("requirements*.txt"), ROOT / "research/requirements.txt"]
        if path.name != "requirements-lavis.txt"
        for line in path.read_text().splitlines()
        if re.match(r"\w", line)
    }
    assert sorted(required - packages) == []
    assert sorted(name for name in packages - required if not name.startswith("all-")) == []
