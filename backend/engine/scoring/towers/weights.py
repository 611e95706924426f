"""Layers' weights as plain tensors, in the precision and on the device where they are used."""

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812


@dataclass(frozen=True)
class Affine:
    weight: torch.Tensor  #: [out, in]
    bias: torch.Tensor

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x.to(self.weight.dtype), self.weight, self.bias)

    def rows(self, first: int, last: int) -> "Affine":
        """The sub-layer that computes outputs first … last - 1."""
        return Affine(self.weight[first:last], self.bias[first:last])


@dataclass(frozen=True)
class Norm:
    weight: torch.Tensor
    bias: torch.Tensor
    epsilon: float

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)


@torch.inference_mode(False)
def affine(*linears: Any, dtype: torch.dtype) -> Affine:
    """One or more `nn.Linear` with the same input fused into one, outputs concatenated. A single
    one is not copied.

    Never inference tensors, even if called in inference mode: autograd must be able to use them.
    """
    weight = _join([linear.weight.detach() for linear in linears])
    bias = _join(
        [
            linear.bias.detach()
            if linear.bias is not None
            else linear.weight.new_zeros(len(linear.weight))
            for linear in linears
        ]
    )
    return Affine(weight.to(dtype).contiguous(), bias.to(dtype).contiguous())


def _join(tensors: list[torch.Tensor]) -> torch.Tensor:
    if len(tensors) == 1 and not tensors[0].is_inference():
        return tensors[0]
    return torch.cat(tensors)


@torch.inference_mode(False)
def norm(layer: Any, dtype: torch.dtype) -> Norm:
    return Norm(layer.weight.detach().to(dtype), layer.bias.detach().to(dtype), float(layer.eps))
