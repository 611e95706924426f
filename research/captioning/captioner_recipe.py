"""What `captioner` trains, and how: the options of the command, which nothing declares again."""

from typing import Annotated, Literal

from pydantic import Field

from backend.options import FOLDER_OR_NAME, Options, switch

Side = Literal["language", "vision", "both"]


class CaptionerRecipe(Options):
    """The parts of a captioner, and how it is trained."""

    clip: Annotated[str | None, FOLDER_OR_NAME] = None
    """CLIP of a new captioner, such as openai/clip-vit-base-patch32; it also rewards
    self-retrieval."""
    language_model: Annotated[str | None, FOLDER_OR_NAME] = None
    """Causal language model of a new captioner, such as gpt2."""
    captioner: Annotated[str | None, FOLDER_OR_NAME] = None
    """Continue from this captioner instead: a BLIP, or one trained by this command."""
    epochs: float = Field(10.0, gt=0)
    """Epochs of maximum-likelihood training."""
    batch: int = Field(40, ge=1)
    """Captions per step."""
    learning_rate: float = Field(2e-5, gt=0)
    """Of maximum likelihood."""
    self_retrieval: bool = False
    """Then fine-tune: reward captions that retrieve their picture."""
    cider: float = Field(0.0, ge=0)
    """Weight of CIDEr-D in that reward; 0.5 was published."""
    as_published: bool = False
    """The reward as in the paper: CIDEr-D is not scaled, log P is the mean over the caption's
    tokens, and the running mean of rewards starts at 0."""
    bags: bool = False
    """Among similar pictures, in bags that grow (BagCurri)."""
    lora_rank: int = Field(32, ge=0)
    """Of LoRA in self-retrieval; 0 trains all weights."""
    side: Side = "language"
    """What self-retrieval trains: language, vision or both. Training the vision side encodes each
    picture again in every step, which is slow."""
    retrieval_steps: int | None = Field(None, ge=1)
    """Steps of self-retrieval. Default: 20 epochs."""
    retrieval_rate: float | None = Field(None, gt=0)
    """Learning rate of self-retrieval. Default: as published."""
    # Temperature and weight decay (AdamW's default) are those of the authors' code
    # (github.com/manugaurdl/no-detail-left-behind, finetuning/clipcap.py and train.py).
    temperature: float = 0.3
    """Of the captions that self-retrieval samples; default: published."""
    weight_decay: float = Field(0.01, ge=0)
    """Of self-retrieval; default: published."""
    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of the pictures to measure on."""
    compare: Annotated[bool, switch("compare")] = True
    """Also train on the raw dataset, to measure the effect of cleaning."""
    anyway: bool = False
    """Allow the rewarding model to be the judge."""
    seed: int = 0
