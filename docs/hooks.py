"""MkDocs: the pages that stand outside `docs/`, with links that fit their place in the site."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
#: File of the repository to file of the site.
OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "BENCHMARKS.md": "benchmarks.md",
    "research/RESULTS.md": "results.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CITATION.cff": "CITATION.cff",
    "assets/models/README.md": "embedded-models.md",
    "db/migrations/README.md": "migrations.md",
    "assets/screenshots/one-word.webp": "assets/screenshots/one-word.webp",
    "assets/screenshots/grid.png": "assets/screenshots/grid.png",
    "assets/screenshots/claims.png": "assets/screenshots/claims.png",
}
#: The pages of features, each written in its folder.
FEATURES = {
    str(path.relative_to(ROOT)): f"features/{path.parent.name}.md"
    for path in sorted((ROOT / "backend" / "features").glob("*/README.md"))
}
OUTSIDE |= {"backend/features/README.md": "features/index.md", **FEATURES}
_LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")


def in_site(markdown: str, page: str) -> str:
    """The text of the repository's file `page` with its links as the site needs them."""

    def place_of(file: str) -> str:
        return OUTSIDE.get(file, file.removeprefix("docs/"))

    def moved(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link[2]))
        place = posixpath.relpath(place_of(target), posixpath.dirname(place_of(page)) or ".")
        return link[1] + place + link[3]

    return _LINK.sub(moved, markdown)


def on_config(config: MkDocsConfig) -> None:
    """The features' pages are a section of their own, before the last."""
    assert config.nav is not None
    config.nav.insert(-1, {"Features": ["features/index.md", *FEATURES.values()]})


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, target in OUTSIDE.items():
        content: str | bytes = (ROOT / source).read_bytes()
        if source.endswith(".md"):
            content = in_site((ROOT / source).read_text(encoding="utf-8"), source)
        files.append(File.generated(config, target, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.file.generated_by:
        return markdown
    return in_site(markdown, f"docs/{page.file.src_uri}")
