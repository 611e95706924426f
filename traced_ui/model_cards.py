"""The models to find errors with, as cards: what each knows, its size, its time here."""

from typing import NamedTuple

from markupsafe import Markup

from backend.counts import count_of
from backend.engine.presets import BY_NAME, EMBEDDED_NAME, recommend
from backend.jobs.model_manager import ModelView
from backend.jobs.scoring.detect import copies_of
from backend.progress import duration
from backend.workspace import Workspace
from traced_ui.models_page import about, size
from traced_ui.templates import render

#: Number of cards.
CARDS = 3


class ModelCard(NamedTuple):
    """`value`: the model as it is chosen, "" for the dataset's own. `knows`: whether it knows the
    dataset's pictures, by its own test; None: not tested. `why`: what was tested, or why nothing
    was. `time`: what scoring the dataset takes, or 1,000 pairs."""

    value: str
    view: ModelView
    knows: bool | None
    why: str
    time: str


class ModelCards:
    """The cards of a dataset. A test is made once for each number of pairs."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._tested: dict[tuple[int, int, str], tuple[bool | None, str]] = {}

    def of(self, dataset_id: int | None) -> list[ModelCard]:
        """The dataset's own model, the embedded one, others that are here and those for photographs
        on this machine: the first three, by whether they know the pictures."""
        from backend.engine.scoring.batch_memory import card_memory  # imports torch

        models = self._workspace.models
        own_model, pairs = models.view(models.default()).name, 0
        if dataset_id is not None:
            own_model = models.view(self._workspace.jobs.model_of(dataset_id)).name
            pairs = self._workspace.summary(dataset_id).total
        local_models = [view.name for view in models.list_models() if view.is_here]
        photographs = [advice.preset.name for advice in recommend(card_memory())]
        names = [*dict.fromkeys((own_model, EMBEDDED_NAME, *local_models, *photographs))][:CARDS]
        cards = [
            self._card(models.view(name), name == own_model, dataset_id, pairs) for name in names
        ]
        return sorted(cards, key=lambda card: (True, None, False).index(card.knows))

    def _card(self, view: ModelView, is_own: bool, dataset_id: int | None, pairs: int) -> ModelCard:
        knows, why = None, "no pictures are here yet"
        if dataset_id is not None and pairs:
            key = (dataset_id, pairs, view.name)
            if key not in self._tested:
                self._tested[key] = self._test(view.name, dataset_id)
            knows, why = self._tested[key]
        return ModelCard("" if is_own else view.name, view, knows, why, time_of(view, pairs))

    def _test(self, model: str, dataset_id: int) -> tuple[bool | None, str]:
        recognition = self._workspace.jobs.recognition(dataset_id, model)
        if recognition is not None:
            familiar = recognition.sampled - recognition.unknown
            of = f"{familiar} of {count_of(recognition.sampled, 'tested picture')}"
            verb = "is" if familiar == 1 else "are"
            return not recognition.refusal, f"{of} {verb} like those it was trained on"
        if model == EMBEDDED_NAME:
            return None, "no picture could be opened"
        if model in BY_NAME:
            return None, "trained on pictures from the web; there is no test for it"
        return None, "there is no test for it"


def time_of(view: ModelView, pairs: int) -> str:
    """What scoring so many pairs takes here, measured ("about") or not ("roughly"), with the noisy
    copies that the first detector is trained on."""
    if view.seconds is None:
        return "not measured"
    count = pairs or 1000
    seconds = max(1.0, view.seconds * (count + copies_of(count)) / 1000)  # "0 s" is no time
    return f"{about(view)} {duration(seconds)} for {count_of(count)}"


def chosen_for(cards: list[ModelCard]) -> str:
    """The model to choose first: of those that may know the pictures one that is here, else the
    first."""
    possible = [card for card in cards if card.knows is not False] or cards
    return next((card.value for card in possible if card.view.is_here), possible[0].value)


def cards_html(cards: list[ModelCard], choice: str) -> Markup:
    """The cards as a group of radio buttons."""
    return render("datasets/models.html", cards=cards, choice=choice, size=size)
