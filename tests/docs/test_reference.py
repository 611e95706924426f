"""The documentation and the program agree: every table is what the program generates now, and
everything that a page mentions by name exists."""

import re

from backend.settings import setting_names
from research.commands.evaluations import name_evaluation
from tests.docs import reference
from tests.docs.pages import OF_FEATURES, PAGES, ROOT, code, shell_lines
from traced_ui import rooms

PROGRAM = re.compile(r"(?:\S*python3? app\.py|traced-curator|run --rm app) +([^\n`]*)")
LABEL = re.compile(r"(?<![*\w])\*([A-Z][^*\n]*\s[^*]+?)\*(?!\*)")
#: A word in italics beside "page".
PAGE_NAME = re.compile(r"\bpage\s\*([A-Z][^*]+)\*|(?<![*\w])\*([A-Z][^*\n]+)\*\spage\b")
COMMANDS = dict(reference.commands())
SETTINGS = {f"TRACED_{name.upper()}" for name in setting_names()}


def called(words: list[str]) -> str | None:
    """The command that a command line starts with."""
    for length in (2, 1):
        if (name := " ".join(words[:length])) in COMMANDS:
            return name
    return None


def test_tables_are_up_to_date() -> None:
    for page in reference.DOCS.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert reference.renewed(text) == text, "Run: python -m tests.docs.reference"


def test_every_table_is_on_exactly_one_page() -> None:
    used = [
        name for page in reference.DOCS.glob("*.md") for name in reference.blocks(page.read_text())
    ]
    assert sorted(used) == sorted(reference.TABLES)


def test_the_readme_names_every_command() -> None:
    named = {words.split()[0] for words in code(ROOT / "README.md") if words.strip()}
    assert {name.split()[0] for name in COMMANDS} - named == set()


def test_every_setting_and_key_is_described() -> None:
    for table in ("settings", "keys", "exit-statuses"):
        rows = reference.TABLES[table]().splitlines()[2:]
        assert [row for row in rows if re.search(r"\|\s*\|$", row)] == []


def program_lines() -> list[tuple[str, str]]:
    """(page, the arguments of the program) of all lines on pages that start it."""
    return [
        (page.name, line)
        for page in PAGES
        for line in PROGRAM.findall(page.read_text(encoding="utf-8").replace("\\\n", " "))
    ]


def test_commands_and_options_that_pages_mention_exist() -> None:
    for page, line in program_lines():
        words = [word for word in line.split("#")[0].split() if word not in ("…", "…`")]
        if not words or words[0].startswith("-") or words[0].isupper() or not words[0].isalpha():
            continue
        if words[0] == "evaluate":
            words[1:] = name_evaluation(words[1:])
        name = called(words)
        assert name is not None, f"{page}: there is no command '{words[0]}'"
        for word in words:
            if word.startswith("--") and word != "--help":
                option = word.split("=")[0].rstrip(".,;:)")
                assert option in reference.options(COMMANDS[name]), f"{page}: {name} {word}"


#: Options of other programs that pages name.
OTHERS = {"--help", "--from", "--spec", "--pip-args", "--rm", "--times", "--soak", "--pairs",
          "--no-deps", "--hypothesis-profile", "--durations", "--minutes", "--type",
          "--retake", "--tar-index-only"}  # fmt: skip


def test_options_in_the_text_exist() -> None:
    existing = {option for command in COMMANDS.values() for option in reference.options(command)}
    existing |= set(reference.global_options())
    existing |= OTHERS | _of_modules() | _removed()
    for page in PAGES:
        mentioned = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", " ".join(code(page))))
        assert sorted(mentioned - existing) == [], page


def _removed() -> set[str]:
    """Options that the change log says are gone."""
    parts = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("### Removed\n")[1:]
    return set(re.findall(r"--[a-z][\w-]*", " ".join(part.split("\n### ")[0] for part in parts)))


def _of_modules() -> set[str]:
    """Options of `python -m …` modules, which have separate parsers."""
    sources = [*ROOT.glob("research/**/*.py"), *ROOT.glob("tests/*/*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    named = set(re.findall(r'add_argument\(\s*"(--[\w-]+)"', text))
    return named | set(re.findall(r'OPTION = "(--[\w-]+)"', text))


def test_variables_that_pages_mention_exist() -> None:
    for page in PAGES:
        mentioned = set(re.findall(r"TRACED_[A-Z_]*[A-Z]", page.read_text(encoding="utf-8")))
        assert sorted(mentioned - SETTINGS - {"TRACED_PASSWORD"}) == [], page


def test_labels_that_pages_mention_exist() -> None:
    """Several words in italics that begin with a capital letter name a button or a field."""
    patterns = ("traced_ui/**/*.py", "traced_ui/templates/**/*.html", "backend/operations/*.py",
                "backend/features/**/*.py", "backend/features/**/*.html")  # fmt: skip
    sources = [path for pattern in patterns for path in ROOT.glob(pattern)]
    app = " ".join(path.read_text(encoding="utf-8") for path in sources)
    labels = {
        (page.name, " ".join(label.split()))
        for page in (*reference.DOCS.glob("*.md"), *OF_FEATURES)
        for label in LABEL.findall(page.read_text(encoding="utf-8"))
    }
    assert len(labels) > 10
    assert sorted(label for label in labels if label[1] not in app) == []


def test_pages_that_pages_mention_exist() -> None:
    titles = {page.title for page in rooms.PAGES}
    for page in (*reference.DOCS.glob("*.md"), *OF_FEATURES):
        found = PAGE_NAME.findall(page.read_text(encoding="utf-8"))
        mentioned = {" ".join("".join(groups).split()) for groups in found}
        assert sorted(mentioned - titles) == [], page


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        mentioned = {
            line.split()[1]
            for line in (*shell_lines(page), *code(page))
            if line.startswith("make ") and len(line.split()) > 1
        }
        assert sorted(mentioned - targets) == [], page


def test_files_that_pages_mention_exist() -> None:
    for page in PAGES:
        if page.name == "CHANGELOG.md":
            continue
        for name in code(page):
            if re.fullmatch(r"(?:backend|traced_ui|tests|db|assets)/[\w/.*-]+", name):
                assert list(ROOT.glob(name.rstrip("/"))), f"{page.name}: {name}"
