"""The worker of `scorer.py`: runs in the environment of `make lavis` and imports none of our code.

`scorer.py` imports the framing functions, so this file needs only the standard library to import.

    python worker.py NAME[/TYPE][@CHECKPOINT] KIND DEVICE

Reads request frames from standard input and writes response frames to standard output; whatever
libraries print goes to standard error. Exits when standard input closes.
"""

import json
import os
import struct
import sys
from pathlib import Path

CONTEXT = 35


def main():
    talk_in, talk_out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep what libraries print out of the frame stream
    name, kind, device = sys.argv[1:4]
    try:
        model = Model(name, kind, device)
    except BaseException as problem:
        read_frame(talk_in)
        write_frame(talk_out, {"error": f"'{name}' could not be loaded: {reason_of(problem)}"})
        return
    while True:
        try:
            question, blobs = read_frame(talk_in)
        except EOFError:
            return
        try:
            answer, arrays = getattr(model, "do_" + question["do"])(question, blobs)
        except Exception as problem:
            answer, arrays = {"error": reason_of(problem)}, []
        write_frame(talk_out, answer, arrays)


def reason_of(problem):
    lines = str(problem).strip().splitlines() or [""]
    return f"{type(problem).__name__}: {lines[0][:300]}"


def refuse_downloads():
    """Call before LAVIS is imported: it and timm download missing files without asking.

    Downloads from the hub are blocked by the hub's own settings (`scorer.OFFLINE`).
    """
    import torch

    def refuse(url, *arguments, **options):
        raise FileNotFoundError(
            f"{url} is not on this machine, and nothing is downloaded automatically. Download it, "
            "and name the file after the model: lavis:NAME/TYPE@FILE.pth"
        )

    torch.hub.download_url_to_file = refuse


class Model:
    def __init__(self, name, kind, device):
        self.declare_missing_operators()
        refuse_downloads()
        import torch
        from lavis.common.registry import registry
        from lavis.models import load_preprocess
        from lavis.models.blip_models.blip import BlipBase
        from omegaconf import OmegaConf

        self.torch, self.device, self.kind = torch, device, kind
        name, _, checkpoint = name.partition("@")
        name, _, variant = name.partition("/")
        vocabulary = Path(checkpoint).parent / "vocab.txt" if checkpoint else None
        if vocabulary is not None and vocabulary.is_file():
            BlipBase.init_tokenizer = classmethod(lambda cls: make_tokenizer(vocabulary))
        model_class = registry.get_model_class(name)
        if model_class is None:
            raise ValueError(f"LAVIS has no model '{name}'")
        configuration = OmegaConf.load(model_class.default_config_path(variant or "base"))
        if checkpoint:
            self.model = self.from_file(model_class, configuration.model, checkpoint)
        else:
            self.model = model_class.from_config(configuration.model)
        self.model = self.model.eval().to(device)
        processors, _ = load_preprocess(configuration.preprocess)
        self.see = processors["eval"]
        self.tokenizer = self.model.tokenizer
        self.images, self.next = {}, 0

    @staticmethod
    def declare_missing_operators():
        """Work around torchvision's binary failing to load with a CPU build of torch.

        See `torchvision_compat`."""
        import torch

        try:
            import torchvision  # noqa: F401
        except RuntimeError:
            for name in [m for m in sys.modules if m.startswith("torchvision")]:
                del sys.modules[name]
            library = torch.library.Library("torchvision", "DEF")
            signature = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            for operator in ("nms", "qnms"):
                library.define(operator + signature)
            Model.kept = library

    @staticmethod
    def from_file(registry, configuration, checkpoint):
        """The model with weights from a file in LAVIS's format. Raises ValueError if any are
        missing."""
        import torch
        from lavis.models.med import XBertEncoder
        from lavis.models.vit import VisionTransformerEncoder

        model = registry(
            VisionTransformerEncoder.from_config(configuration),
            XBertEncoder.from_config(configuration),
            embed_dim=configuration.get("embed_dim", 256),
        )
        weights = torch.load(checkpoint, map_location="cpu", weights_only=True)
        keys = model.load_state_dict(weights.get("model", weights), strict=False)
        lacking = [key for key in keys.missing_keys if not key.endswith("position_ids")]
        if lacking:
            raise ValueError(f"{checkpoint} lacks {len(lacking)} weights, such as {lacking[0]}")
        return model

    # ------------------------------------------------------------ requests

    def do_hello(self, question, blobs):
        import hashlib

        digest = hashlib.sha256()
        for key, weight in self.model.state_dict().items():
            digest.update(key.encode())
            digest.update(weight.flatten()[:64].float().cpu().numpy().tobytes())
        vocab = self.tokenizer.get_vocab()
        table = self.table()
        return {
            "vocabulary": sorted(vocab, key=vocab.get),
            "rows": len(table),
            "context": CONTEXT,
            "revision": digest.hexdigest()[:12],
        }, []

    def do_encode(self, question, blobs):
        from PIL import Image

        for handle in question["forget"]:
            self.images.pop(handle, None)
        image = Image.frombytes("RGB", tuple(question["size"]), blobs[0])
        with self.torch.inference_mode():
            pixels = self.see(image)[None].to(self.device)
            states = self.model.visual_encoder.forward_features(pixels)
        self.next += 1
        self.images[self.next] = states
        return {"handle": self.next}, []

    def do_score(self, question, blobs):
        scores = []
        with self.torch.inference_mode():
            for request in question["requests"]:
                texts = request["texts"]
                text_scores = self.scores(self.images[request["handle"]], texts) if texts else []
                scores.append([float(score) for score in text_scores])
        return {"scores": scores}, []

    def do_embed(self, question, blobs):
        with self.torch.inference_mode():
            vectors = [self.vectors([text])[0] for text in question["texts"]]
            embeddings = self.torch.stack(vectors).float().cpu().numpy()
        return {"shape": embeddings.shape}, [embeddings.tobytes()]

    def do_gains(self, question, blobs):
        """The gradient of s at each token's embedding, times every embedding."""
        torch, text = self.torch, question["text"]
        states = self.images[question["handle"]].clone()
        caught = []

        def catch(module, inputs, output):
            leaf = output.detach().requires_grad_()
            caught.append(leaf)
            return leaf.clone()

        handle = self.module_of_words().register_forward_hook(catch)
        try:
            (gradient,) = torch.autograd.grad(self.scores(states, [text])[0], caught)
        finally:
            handle.remove()
        gains = gradient[0, 1 : 1 + len(text)] @ self.table().detach().T
        return {"shape": tuple(gains.shape)}, [gains.float().cpu().numpy().tobytes()]

    # ------------------------------------------------------------ the model

    def module_of_words(self):
        encoder = self.model.text_encoder
        return getattr(encoder, "bert", encoder).embeddings.word_embeddings

    def table(self):
        return self.module_of_words().weight

    def pad(self, texts, first):
        end, filler = self.tokenizer.sep_token_id, self.tokenizer.pad_token_id
        rows = [[first, *text, end] for text in texts]
        longest = max(map(len, rows))
        ids = [row + [filler] * (longest - len(row)) for row in rows]
        mask = [[1] * len(row) + [0] * (longest - len(row)) for row in rows]
        make = self.torch.tensor
        return make(ids).to(self.device), make(mask).to(self.device)

    def vectors(self, texts):
        ids, mask = self.pad(texts, self.tokenizer.cls_token_id)
        output = self.model.text_encoder(ids, attention_mask=mask, return_dict=True, mode="text")
        projections = self.model.text_proj(output.last_hidden_state[:, 0])
        return self.torch.nn.functional.normalize(projections, dim=-1)

    def scores(self, states, texts):
        torch = self.torch
        if self.kind == "blip-itc":
            pictures = torch.nn.functional.normalize(self.model.vision_proj(states[:, 0]), dim=-1)
            return (self.vectors(texts) * pictures).sum(-1)
        ids, mask = self.pad(texts, self.tokenizer.enc_token_id)
        patches = states.expand(len(texts), -1, -1)
        output = self.model.text_encoder(
            ids,
            attention_mask=mask,
            encoder_hidden_states=patches,
            encoder_attention_mask=torch.ones(patches.shape[:2], dtype=torch.long).to(self.device),
            return_dict=True,
        )
        return self.model.itm_head(output.last_hidden_state[:, 0]).softmax(-1)[:, 1]


def make_tokenizer(vocabulary):
    """LAVIS's tokenizer, built from a local vocabulary file instead of the hub's."""
    from transformers import BertTokenizer

    tokenizer = BertTokenizer(str(vocabulary))
    tokenizer.add_special_tokens({"bos_token": "[DEC]"})
    tokenizer.add_special_tokens({"additional_special_tokens": ["[ENC]"]})
    tokenizer.enc_token_id = tokenizer.additional_special_tokens_ids[0]
    return tokenizer


def write_frame(stream, header, blobs=()):
    head = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
    stream.write(struct.pack(">I", len(head)) + head)
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def read_frame(stream):
    (length,) = struct.unpack(">I", exactly(stream, 4))
    header = json.loads(exactly(stream, length))
    return header, [exactly(stream, size) for size in header.pop("blobs")]


def exactly(stream, count):
    content = bytearray()
    while len(content) < count:
        piece = stream.read(count - len(content))
        if not piece:
            raise EOFError
        content += piece
    return bytes(content)


if __name__ == "__main__":
    main()
