"""Any captioner's answers through the decoder of transformers, each text read in full: the plain
reference of `packed_decoding`."""

from collections.abc import Iterator, Sequence

import torch

from backend.engine.correction.decoding import AskedTokens, Decoding, TokenModel

#: Texts that are read at a time.
BATCH = 32


class PlainDecoding(Decoding):
    """For every architecture. `memories`: the images as encoded by the captioner."""

    def __init__(self, captioner: TokenModel, memories: Sequence[torch.Tensor]) -> None:
        super().__init__(captioner)
        self._memories = memories

    @torch.inference_mode()
    def describe(
        self, images: Sequence[int], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        if not images:
            return []
        captioner = self._captioner
        prompt = captioner.tokens([prefix])[0][:-1]
        prompts = torch.tensor([prompt] * len(images), device=captioner.device)
        memories = torch.cat([self._memories[image] for image in images])
        return captioner.texts(captioner.generate(memories, prompts, max_new_tokens))

    @torch.inference_mode()
    def steps(self, requests: AskedTokens) -> list[torch.Tensor]:
        if not requests:
            return []
        memories = torch.cat([self._memories[image] for image, _ in requests])
        sequences = [tokens for _, tokens in requests]
        logits = self._captioner.logits(memories, sequences)
        return [
            logits[row, : len(tokens)].log_softmax(-1) for row, tokens in enumerate(sequences)
        ]  # fmt: skip

    def _after(self, requests: AskedTokens) -> Iterator[tuple[torch.Tensor, list[float]]]:
        for at in range(0, len(requests), BATCH):
            part = requests[at : at + BATCH]
            steps = self.steps(part)
            yield (
                torch.stack([of_text[-1] for of_text in steps]),
                [
                    float(of_text[range(len(tokens) - 1), list(tokens[1:])].double().sum())
                    for of_text, (_, tokens) in zip(steps, part, strict=True)
                ],
            )
