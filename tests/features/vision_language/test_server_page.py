"""The page *Language model*: a server is tried, kept with its key, used, and left when it fails."""

import base64
import io
import itertools
import json
import logging
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import numpy as np
import pytest
from PIL import Image

from backend.errors import (
    BudgetSpent,
    ModelUnavailable,
    PictureUnseen,
    SettingsError,
)
from backend.features.vision_language import page
from backend.features.vision_language.endpoint import KEY
from backend.features.vision_language.server_setup import check_address, find_server
from backend.features.vision_language.server_trial import PRICED, Trial, list_models, try_server
from backend.settings import load_settings
from backend.workspace import Workspace
from research.chat_server import RunningServer, chat_server
from tests.hostile.markup import check_escaping
from tests.jobs.opening import OpenWorkspace
from tests.traced_ui.test_verdicts_to_go import functions_named
from traced_ui.messages import explain_on_page
from traced_ui.page_dataset import PageDataset

SECRET = "sk-0123456789"
NOBODY = gr.Request(username=None)


def seeing(body: dict[str, Any]) -> tuple[int, str]:
    """Names the colour of the middle."""
    url = body["messages"][-1]["content"][0]["image_url"]["url"]
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))))
    middle = picture[picture.shape[0] // 2, picture.shape[1] // 2]
    return 200, f"A {('red', 'green', 'blue')[int(middle.argmax())]} square."


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with chat_server(seeing) as running:
        yield running


@pytest.fixture
def opened(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.delenv(KEY, raising=False)
    return workspace


def handlers(workspace: Workspace) -> Callable[[str], Callable[..., Any]]:
    """The page's handlers by name, without what shows their errors."""
    with gr.Blocks() as blocks:
        page.build(workspace, PageDataset("1"))

    def handler(name: str) -> Callable[..., Any]:
        function: Any = next(functions_named(blocks, name))
        return getattr(function, "__wrapped__", function)

    return handler


def file_of(workspace: Workspace) -> Path:
    return workspace.settings.data_directory / "language-model.json"


def everything_sent(workspace: Workspace) -> str:
    """What the page sends to a browser when it is opened."""
    draw, _, _ = _drawn(workspace)
    return repr([getattr(each, "value", each) for each in draw]) + repr(
        [vars(each) for each in draw if isinstance(each, gr.components.Component)]
    )


def _drawn(workspace: Workspace) -> tuple[Any, Any, Any]:
    with gr.Blocks():
        draw, inputs, outputs = page.build(workspace, PageDataset("1"))
        return draw(NOBODY), inputs, outputs


def test_models_are_those_that_the_server_lists(opened: Workspace, server: RunningServer) -> None:
    server.models = ["first", "second"]
    dropdown, _ = handlers(opened)("list_served")(server.url, "", NOBODY)
    assert [value for _, value in dropdown.choices] == ["first", "second"]
    server.models = []
    with pytest.raises(ModelUnavailable):
        list_models(page.server_of(None, server.url, "", "", needs_model=False))


def test_a_test_shows_both_answers_and_what_a_hundred_cost(server: RunningServer) -> None:
    trial = try_server(page.server_of(None, server.url, "", "small", 1.0, 2.0))
    assert trial.answers == ("A red square.", "A blue square.")
    assert (trial.tokens_in, trial.tokens_out, trial.sees) == (14, 6, True)
    # Two questions took 14 tokens in and 6 out; a hundred take 700 and 300.
    assert trial.cost == pytest.approx((700 * 1.0 + 300 * 2.0) / 1e6)
    without_price = try_server(page.server_of(None, server.url, "", "small"))
    assert without_price.cost is None
    html = page.trial_html(trial)
    assert all(part in html for part in ("A red square.", "A blue square.", "700", "300", "0.0013"))
    assert f"{PRICED} questions" in html


def test_the_chosen_server_is_asked_at_once_and_by_another_program(
    opened: Workspace, server: RunningServer
) -> None:
    assert opened.engine.chat_model is None
    handlers(opened)("use_form")(NOBODY, server.url, SECRET, "small", None, None, None, None)
    model = opened.engine.chat_model
    assert model is not None
    assert model.name == "small"
    assert server.keys[-1] == f"Bearer {SECRET}"
    later = Workspace(load_settings({"data_directory": str(opened.settings.data_directory)}, {}))
    assert later.engine.chat_model_name == "small"
    later.store.close()
    handlers(opened)("delete_all")(NOBODY)
    assert opened.engine.chat_model is None
    assert not file_of(opened).exists()


def test_settings_come_first(open_workspace: OpenWorkspace, server: RunningServer) -> None:
    workspace = open_workspace(corrector="mine", corrector_url=server.url)
    handlers(workspace)("use_form")(NOBODY, server.url, "", "small", None, None, None, None)
    assert workspace.engine.chat_model_name == "mine"
    model = workspace.engine.chat_model
    assert model is not None
    assert model.name == "mine"
    assert "mine" in page.state_html(workspace, True)


def test_the_key_is_its_owners_alone_and_never_sent_to_a_browser(
    opened: Workspace, server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        shown = handlers(opened)("use_form")(
            NOBODY, server.url, SECRET, "small", None, None, None, None
        )
        assert opened.engine.chat_model is not None
        sent = everything_sent(opened)
    assert stat.S_IMODE(file_of(opened).stat().st_mode) == 0o600
    assert [path.name for path in opened.settings.data_directory.glob("*language-model*")] == [
        "language-model.json"
    ]
    for text in (sent, repr(shown), caplog.text, repr(find_server(opened.settings.data_directory))):
        assert SECRET not in text
    handlers(opened)("delete_key")(NOBODY)
    assert SECRET not in file_of(opened).read_text("utf-8")
    assert find_server(opened.settings.data_directory) is not None


def test_the_key_stays_with_its_address(opened: Workspace, server: RunningServer) -> None:
    use = handlers(opened)("use_form")
    use(NOBODY, server.url, SECRET, "small", None, None, None, None)
    use(NOBODY, server.url, "", "small", None, None, 5, None)
    assert server.keys[-1] == f"Bearer {SECRET}"
    with chat_server(seeing) as elsewhere:
        handlers(opened)("try_form")(NOBODY, elsewhere.url, "", "small", None, None, None, None)
        assert not any(SECRET in key for key in elsewhere.keys)
        use(NOBODY, elsewhere.url, "", "small", None, None, None, None)
    assert SECRET not in file_of(opened).read_text("utf-8")


def test_the_environments_key_is_not_sent_to_an_address_of_the_page(
    opened: Workspace, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, SECRET)
    handlers(opened)("use_form")(NOBODY, server.url, "", "small", None, None, None, None)
    assert opened.engine.chat_model is not None
    opened.engine.chat_model.ask(page_question())
    assert not any(SECRET in key for key in server.keys)


def page_question() -> Any:
    from backend.features.vision_language.sight import DESCRIPTION, about_unlike_pictures

    return about_unlike_pictures(DESCRIPTION)[0]


def test_limits_hold(opened: Workspace, server: RunningServer) -> None:
    handlers(opened)("use_form")(NOBODY, server.url, "", "small", 1e6, 1e6, 2, 25)
    model = opened.engine.chat_model
    assert model is not None
    spending = model.spending
    model.ask(page_question())
    assert spending.cost == pytest.approx(10)
    spending.add("small", 7, 3)
    with pytest.raises(BudgetSpent):
        model.ask(replaced(page_question(), 1))
    handlers(opened)("use_form")(NOBODY, server.url, "", "small", 1e6, 1e6, None, 25)
    assert opened.engine.chat_model is not None
    opened.engine.chat_model.ask(replaced(page_question(), 2))
    with pytest.raises(BudgetSpent):
        opened.engine.chat_model.ask(replaced(page_question(), 3))


def replaced(question: Any, seed: int) -> Any:
    from dataclasses import replace

    return replace(question, seed=seed)


def test_a_model_that_does_not_see_is_not_used(opened: Workspace) -> None:
    with chat_server(lambda body: (200, "A nice picture.")) as blind:
        trial = try_server(page.server_of(None, blind.url, "", "small"))
        assert not trial.sees
        with pytest.raises(PictureUnseen):
            handlers(opened)("use_form")(NOBODY, blind.url, "", "small", None, None, None, None)
    assert not file_of(opened).exists()


def test_what_is_typed_outlives_a_refusal(opened: Workspace) -> None:
    """The fields are drawn again when what is stored changes, and then alone."""
    with gr.Blocks() as blocks:
        page.build(opened, PageDataset("1"))
    draws = [event for event in blocks.fns.values() if getattr(event.fn, "__name__", "") == "draw"]
    (changes,) = {block for event in draws for block, name in event.targets if name == "change"}
    assert all(event.trigger_after is None for event in draws)
    use = next(functions_named(blocks, "use_form"))
    with chat_server(lambda body: (200, "A nice picture.")) as blind:
        answers = use(NOBODY, blind.url, "", "small", None, None, None, None)
    event = next(event for event in blocks.fns.values() if event.fn is use)
    assert answers[[output._id for output in event.outputs].index(changes)] == gr.skip()


@pytest.mark.parametrize("answers", [("", "A blue square."), ("A red square.", ""), ("", "")])
def test_who_gives_no_answer_has_not_seen(answers: tuple[str, str]) -> None:
    assert Trial("small", answers, 0, 0, 1.0, None).sees is False


@pytest.mark.parametrize(
    "answers",
    [
        ("A dog.", "A cat."),
        ("A blue square.", "A red square."),
        ("A red and a blue square.", "A blue square."),
    ],
)
def test_whether_who_only_answers_differently_sees_is_not_known(answers: tuple[str, str]) -> None:
    assert Trial("small", answers, 0, 0, 1.0, None).sees is None


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_wrong_key_is_said_without_it(status: int, opened: Workspace) -> None:
    def refuse(body: dict[str, Any]) -> tuple[int, str]:
        return status, f"Incorrect key: {SECRET}"

    with chat_server(refuse) as running, pytest.raises(ModelUnavailable) as caught:
        handlers(opened)("use_form")(NOBODY, running.url, SECRET, "small", None, None, None, None)
    assert SECRET not in explain_on_page(caught.value)
    assert not file_of(opened).exists()


def test_what_a_server_repeats_of_the_key_is_not_shown() -> None:
    with chat_server(lambda body: (200, f"You sent {SECRET}")) as running:
        running.models = [f"model-{SECRET}"]
        server = page.server_of(None, running.url, SECRET, "small")
        assert SECRET not in page.trial_html(try_server(server))
        assert not any(SECRET in name for name in list_models(server))


@pytest.mark.parametrize(
    "address",
    [
        "", "localhost:8000/v1", "ftp://localhost/v1", "file:///etc/hosts", "http://", "http:///v1",
        "http://ann:secret@localhost/v1", "http://localhost/v1?key=secret", "http://localhost/v1#a",
        "http://local host/v1", "http://localhost:99999/v1", "http://169.254.10.20/v1",
        "http://[fe80::1]/v1", "http://[::ffff:169.254.10.20]/v1",
        "http://[fd00:ec2::254]/v1",
    ],
)  # fmt: skip
def test_an_address_that_is_no_servers_is_refused(address: str) -> None:
    with pytest.raises(SettingsError):
        check_address(address)


def test_a_local_address_is_a_servers() -> None:
    assert check_address(" http://127.0.0.1:8000/v1 ") == "http://127.0.0.1:8000/v1"


def test_fields_that_say_nothing_are_refused() -> None:
    url = "http://127.0.0.1:1/v1"
    for arguments in (
        ("", "", None, None), ("", "m", -1, None), ("", "m", float("nan"), 1.0), ("sk a", "m"),
    ):  # fmt: skip
        with pytest.raises(SettingsError):
            page.server_of(None, url, *arguments)  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(SettingsError):
        page.server_of(None, url, "", "m", cost=5)


def test_with_accounts_adjudicators_alone(opened: Workspace, server: RunningServer) -> None:
    opened.accounts.add("ada", "a long password", "adjudicator")
    opened.accounts.add("carl", "a long password", "curator")
    handler = handlers(opened)
    values = (server.url, SECRET, "small", None, None, None, None)
    carl, ada = (gr.Request(username=name) for name in ("carl", "ada"))
    for name in ("use_form", "try_form"):
        with pytest.raises(SettingsError):
            handler(name)(carl, *values)
    with pytest.raises(SettingsError):
        handler("list_served")(server.url, "", carl)
    assert server.requests == []
    handler("use_form")(ada, *values)
    for name in ("delete_key", "delete_all"):
        with pytest.raises(SettingsError):
            handler(name)(carl)
    assert find_server(opened.settings.data_directory) is not None
    drawn = handler("draw")(carl)
    assert not drawn[1].visible
    assert server.url not in repr([getattr(each, "value", each) for each in drawn])


@pytest.mark.parametrize("text", ["", "{", "[]", json.dumps({"url": 3, "model": SECRET})])
def test_a_damaged_file_is_no_server(
    text: str, opened: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    file_of(opened).write_text(text)
    assert opened.engine.chat_model is None
    assert caplog.records
    assert SECRET not in caplog.text


def test_hostile_text_is_escaped() -> None:
    settings = load_settings({"data_directory": "/nowhere", "corrector": "x"}, {})

    def draw_state(text: str) -> str:
        origins = {"corrector": "file"}
        fake: Any = SimpleNamespace(
            settings=SimpleNamespace(
                corrector=text, data_directory=settings.data_directory, origins=origins
            )
        )
        return page.state_html(fake, True)

    check_escaping("server_state.html", draw_state)
    check_escaping(
        "server_trial.html",
        lambda text: page.trial_html(Trial(text, (text, text), 2, 2, 1.0, 0.1)),
    )


def test_answers_are_read_once(server: RunningServer) -> None:
    """Each press asks anew: a repaired server is seen."""
    answers = itertools.count()
    with chat_server(lambda body: (200, f"answer {next(answers)}")) as running:
        chosen = page.server_of(None, running.url, "", "small")
        assert try_server(chosen).answers != try_server(chosen).answers
