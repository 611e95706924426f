"""The question of its source that the caption of a row answers."""

import re

from backend.datasets.export_row import ExportRow
from backend.datasets.reading.conversations import (
    CAPTION_TURNS,
    Conversation,
    Exchange,
    NoPair,
    conversation_in,
)
from backend.datasets.reading.questions import PICTURE_MARK, asks_for_description

#: Where trainers put a picture, a film or a sound.
MARKER = re.compile(r"<(image|video|audio)>", re.IGNORECASE)


def question_of(row: ExportRow) -> str:
    """The question to which the row's caption is the answer in its source, without the mark of the
    picture; "" if there is none."""
    conversation = conversation_of(row)
    exchange = exchange_of(row, conversation) if conversation is not None else None
    return PICTURE_MARK.sub("", exchange.question).strip() if exchange is not None else ""


def conversation_of(row: ExportRow) -> Conversation | None:
    """The conversation that the row was in its source; None if it was none."""
    try:
        return conversation_in(row.extra)
    except NoPair:
        return None


def exchange_of(row: ExportRow, conversation: Conversation) -> Exchange | None:
    """The exchange whose answer was imported as the row's caption; None if there is none."""
    texts = (row.original_caption, MARKER.sub(r"(\1)", row.original_caption))
    exchanges = [each for each in conversation.exchanges if each.answer in texts]
    captions = captions_of(row, conversation)
    return next((each for each in exchanges if each in captions), next(iter(exchanges), None))


def captions_of(row: ExportRow, conversation: Conversation) -> list[Exchange]:
    """The exchanges that are pairs of their own."""
    exchanges, places = conversation.exchanges, row.extra.get(CAPTION_TURNS)
    if isinstance(places, list):
        return [each for each in exchanges if each.place in places]
    return [each for each in exchanges if asks_for_description(each.question)]
