"""`doctor --vlm-url URL`: whether a server sees the pictures that it is sent."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated

from backend.cli.commands import DoctorCheck, Finding
from backend.errors import ModelUnavailable, PictureUnseen, TracedError, explain
from backend.options import CommandLine, Options

if TYPE_CHECKING:
    from PIL.Image import Image

    from backend.features.vision_language.endpoint import ChatEndpoint


class _Options(Options):
    """A server that is asked about drawn pictures."""

    vlm_url: Annotated[str | None, CommandLine(metavar="URL")] = None
    """Also ask the model behind this OpenAI-compatible server about a few drawn pictures: whether
    it sees them (14 questions)."""
    vlm: Annotated[str, CommandLine(metavar="NAME")] = ""
    """Its name there. Default: the only one."""


def _examine(options: _Options) -> Iterator[Finding]:
    if options.vlm_url is not None:
        yield check_server(options.vlm_url, options.vlm)


def check_server(url: str, model: str = "") -> Finding:
    """Whether the server's model sees drawn pictures. `model`: "" for its only one."""
    from backend.features.vision_language.endpoint import ChatEndpoint
    from backend.features.vision_language.sight import drawn_examples, look_at
    from backend.features.vision_language.sight_proof import CERTAIN, chance, unseen

    what, advice = f"server {url}", "Repair it, or choose another."
    try:
        names = [model] if model else ChatEndpoint(url, "", retries=0).served_models()
        if len(names) != 1:
            several = f"it serves {len(names)} models ({', '.join(sorted(names)[:10]) or 'none'})"
            return Finding(what, "problem", several, "Choose one: --vlm NAME.")
        endpoint = ChatEndpoint(url, names[0], retries=0)
        why = "it answers neither yes nor no"
        try:
            others = {example.text: example.unlike_text for example in drawn_examples()}
            looks = look_at(drawn_examples(), partial(_p_yes, endpoint, others))
        except ModelUnavailable as problem:
            looks, why = [], str(problem)
        if not looks:
            endpoint.check_sight()
            return Finding(
                what, "warning", f"'{names[0]}' sees the pictures, but {why}",
                "It can suggest corrections; for a second opinion, choose another.",
            )  # fmt: skip
        if chance(looks) > CERTAIN:
            raise unseen(looks, endpoint.where)
    except PictureUnseen as problem:
        return Finding(what, "problem", f"{problem.sight}: {problem}", advice)
    except TracedError as problem:
        return Finding(what, "problem", explain(problem, "terminal"), advice)
    return Finding(what, "ok", f"'{names[0]}' sees the pictures")


def _p_yes(
    endpoint: "ChatEndpoint", others: Mapping[str, str], image: "Image", text: str
) -> float | None:
    from backend.features.vision_language.opinions import p_yes
    from backend.features.vision_language.sight import question_about

    question, other = (question_about(image, each) for each in (text, others[text]))
    return p_yes(endpoint.ask_beside(question, other).likeliest)


CHECK = DoctorCheck("server", _Options, _examine)
