"""What is known of an export, by the names of Croissant, its vocabulary for annotations, and W3C's
PROV: who or what wrote the captions and who judged them."""

from datetime import UTC, datetime
from typing import Any

from backend.counts import count_of
from backend.datasets.caption_writers import Writer
from backend.datasets.read_options import is_address
from backend.datasets.writing.card import state_of
from backend.jobs.export_steps import WrittenExport
from backend.version import VERSION
from db.authors import person_of

#: Lines of the card that name what judged the captions.
_TOOLS = ("Model", "Explorer", "Detector")


def about(export: WrittenExport) -> dict[str, Any]:
    """Properties of the dataset, for `description.croissant`."""
    dataset, lines = export.dataset, export.lines

    def named(*keys: str) -> list[str]:
        return [f"{key}: {lines[key]}" for key in keys if key in lines]

    return {
        "name": dataset.name,
        "datePublished": datetime.now(UTC).isoformat(timespec="seconds"),
        "description": f"Captions of '{dataset.name}', {state_of(export.counts)}: "
        f"{export.counts.in_words()}",
        "isBasedOn": dataset.source if is_address(dataset.source) else dataset.name,
        "rai:dataAnnotationPlatform": f"TRACED Curator {VERSION}",
        "rai:dataPreprocessingProtocol": [f"{key}: {v}" for key, v in export.choice.items()],
        "rai:dataAnnotationProtocol": named("Verdicts by", *export.added),
        "rai:machineAnnotationTools": named(*_TOOLS),
        "rai:dataAnnotationAnalysis": named(*export.left),
        **_prov(export),
    }


def _prov(export: WrittenExport) -> dict[str, Any]:
    dataset = export.dataset
    source: dict[str, Any] = {"@type": "prov:Entity", "name": dataset.name}
    if is_address(dataset.source):
        source["url"] = dataset.source
    if dataset.source_digest:
        source["sha256"] = dataset.source_digest
    judging = [
        {"@type": "prov:Person" if person_of(name) else "prov:Agent", "name": name}
        for name in export.judges
    ]
    activities = [
        _activity("Verdicts", judging),
        *(
            _activity(key, [{"@type": "prov:SoftwareAgent", "name": export.lines[key]}])
            for key in _TOOLS
            if key in export.lines
        ),
    ]
    about = {
        "prov:wasDerivedFrom": source,
        "prov:wasAttributedTo": [_agent(writer, number) for writer, number in export.writers],
        "prov:wasGeneratedBy": [each for each in activities if each["prov:wasAssociatedWith"]],
    }
    return {name: value for name, value in about.items() if value}


def _activity(name: str, agents: list[dict[str, Any]]) -> dict[str, Any]:
    return {"@type": "prov:Activity", "name": name, "prov:wasAssociatedWith": agents}


def _agent(writer: Writer, captions: int) -> dict[str, Any]:
    kind = {"person": "prov:Person", "model": "prov:SoftwareAgent"}.get(writer.kind, "prov:Agent")
    prompt = f", prompt “{writer.prompt}”" if writer.prompt else ""
    description = f"Wrote {count_of(captions, 'caption')}{prompt}"
    return {"@type": kind, "name": writer.name, "description": description}
