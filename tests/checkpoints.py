"""Small checkpoints in the hub's own format: the real classes, random weights."""

import random
from pathlib import Path

import torch
from PIL import Image

from backend.scenes.architecture import make_captioner, make_clip, make_retrieval_model
from backend.scenes.grammar import describe
from backend.scenes.publishing import publish
from backend.scenes.renderer import render
from backend.scenes.world import make_scene


def random_blip(folder: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    return publish(make_retrieval_model(), "blip", folder)


def random_captioner(folder: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    return publish(make_captioner(make_retrieval_model()), "captioner", folder)


def random_clip(folder: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    return publish(make_clip(), "clip", folder)


def drawn_pairs(count: int, seed: int = 0, size: int = 96) -> list[tuple[Image.Image, str]]:
    """Pictures with true captions."""
    lot = random.Random(seed)
    scenes = [make_scene(lot) for _ in range(count)]
    return [(render(scene, size), describe(scene, lot).text) for scene in scenes]
