"""The operators that cuda_peers.py times: buffers, meaning in float64, and how PyTorch computes them."""

import math
from dataclasses import dataclass
from typing import Callable

import torch
from torch.nn import functional

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
PARAMETERS = {"eps": 1e-6, "offset": 0.0, "x_scale": 1.0, "ignore_index": -100.0}
EPS, LAYER_EPS = 1e-6, 1e-5
BLOCK = 32  # columns that share a scale
ROUNDING = {torch.float32: 0.0, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


@dataclass(frozen=True)
class Buffer:
    """An input or output: its shape ("matrix", "columns", "rows" or "blocks"), and its type; None: that of the case."""

    name: str
    shape: str
    dtype: torch.dtype | None = None

    def size(self, rows, cols):
        return {"matrix": (rows, cols), "columns": (cols,), "rows": (rows,), "blocks": (rows, cols // BLOCK)}[self.shape]

    def bytes(self, rows, cols, dtype):
        return math.prod(self.size(rows, cols)) * (self.dtype or dtype).itemsize


@dataclass(frozen=True)
class Operator:
    """`exact`, on float64 inputs, and `eager`, on the case's, return the outputs in order. `into`, where PyTorch can write into given
    outputs, does. `absolute` and `relative` are what ours must keep; codes may differ by one."""

    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    exact: Callable
    eager: Callable
    into: Callable | None = None
    absolute: float = 2e-6
    relative: float = 2e-5
    block: int = 1


X, RESIDUAL = Buffer("x", "matrix"), Buffer("residual", "matrix")
WEIGHT, BIAS = Buffer("weight", "columns"), Buffer("bias", "columns")
LABEL = Buffer("label", "rows", torch.int32)
Y = Buffer("y", "matrix")
FOLDED = Buffer("y", "rows", torch.float32)


def exact_norm(s, weight):
    return s * torch.rsqrt((s * s).mean(1, keepdim=True) + EPS) * weight


def quantised(n):
    blocks = n.view(n.shape[0], -1, BLOCK)
    scale = blocks.abs().amax(-1) / 127
    codes = blocks / torch.where(scale > 0, scale, 1).unsqueeze(-1)
    return codes, scale


def exact_q8(x, weight):
    codes, scale = quantised(exact_norm(x, weight))
    return torch.round(codes).view(x.shape), scale


def eager_q8(x, weight):
    codes, scale = quantised(functional.rms_norm(x, (x.shape[1],), weight, EPS).float())
    return torch.round(codes).to(torch.int8).view(x.shape), scale


def eager_residual(x, residual, weight):
    s = x + residual
    return s, functional.rms_norm(s, (s.shape[1],), weight, EPS)


def exact_cross_entropy(x, label):
    return (torch.logsumexp(x, 1) - x.gather(1, label.long().unsqueeze(1)).squeeze(1),)


def exact_layer_norm(x, weight, bias):
    d = x - x.mean(1, keepdim=True)
    return (d * torch.rsqrt((d * d).mean(1, keepdim=True) + LAYER_EPS) * weight + bias,)


OPERATORS = {
    "sum": Operator((X,), (FOLDED,), lambda x: (x.sum(1),), lambda x: (torch.sum(x, 1, dtype=torch.float32),),
                    lambda out, x: torch.sum(x, 1, dtype=torch.float32, out=out), 1e-5, 1e-5),
    "argmax": Operator((X,), (Buffer("y", "rows", torch.int32),), lambda x: (torch.argmax(x, 1),),
                       lambda x: (torch.argmax(x, 1),), None, 0, 0),
    "logsumexp": Operator((X,), (FOLDED,), lambda x: (torch.logsumexp(x, 1),), lambda x: (torch.logsumexp(x, 1),),
                          absolute=1e-5),
    "cross_entropy": Operator((X, LABEL), (FOLDED,), exact_cross_entropy,
                              lambda x, label: (functional.cross_entropy(x, label, reduction="none"),), absolute=1e-5),
    "softmax": Operator((X,), (Y,), lambda x: (torch.softmax(x, 1),), lambda x: (torch.softmax(x, 1),),
                        lambda out, x: torch.softmax(x, 1, out=out)),
    "rms_norm": Operator((X, WEIGHT), (Y,), lambda x, w: (exact_norm(x, w),),
                         lambda x, w: (functional.rms_norm(x, (x.shape[1],), w, EPS),)),
    "layer_norm": Operator((X, WEIGHT, BIAS), (Y,), exact_layer_norm,
                           lambda x, w, b: (functional.layer_norm(x, (x.shape[1],), w, b, LAYER_EPS),), absolute=1e-5),
    "residual_norm_store": Operator((X, RESIDUAL, WEIGHT), (Buffer("residual_out", "matrix"), Y),
                                    lambda x, r, w: (x + r, exact_norm(x + r, w)), eager_residual),
    "rms_norm_q8": Operator((X, WEIGHT), (Buffer("q", "matrix", torch.int8), Buffer("scale", "blocks", torch.float32)),
                            exact_q8, eager_q8, block=BLOCK),
}


class Case:
    """An operator on a shape, with sets of buffers that together exceed the cache, so that no launch finds its own there."""

    MOST_SETS = 48

    def __init__(self, name, rows, cols, dtype_name, device, cache_bytes):
        self.name, self.rows, self.cols, self.dtype_name = name, rows, cols, dtype_name
        self.operator, self.dtype, self.device = OPERATORS[name], DTYPES[dtype_name], device
        buffers = self.operator.inputs + self.operator.outputs
        self.bytes = sum(buffer.bytes(rows, cols, self.dtype) for buffer in buffers)
        self.sets = max(2, min(self.MOST_SETS, cache_bytes // self.bytes + 1)) if cache_bytes else 1
        first = [self.filled(buffer) for buffer in self.operator.inputs]
        self.inputs = [first] + [[tensor.clone() for tensor in first] for _ in range(self.sets - 1)]
        self.outputs = [[torch.empty(buffer.size(rows, cols), dtype=buffer.dtype or self.dtype, device=device)
                         for buffer in self.operator.outputs] for _ in range(self.sets)]

    def __str__(self):
        return f"{self.name} {self.dtype_name} {self.rows}x{self.cols}"

    def filled(self, buffer):
        """Multiples of 1/32 that every type holds and whose sums f32 holds."""
        generator = torch.Generator(self.device).manual_seed(len(buffer.name) * 1000 + self.cols)
        size = buffer.size(self.rows, self.cols)
        if buffer.dtype is torch.int32:
            return torch.randint(0, self.cols, size, device=self.device, dtype=torch.int32, generator=generator)
        codes = torch.randint(-96, 97, size, device=self.device, dtype=torch.int8, generator=generator)
        return codes.to(self.dtype) / 32

    def poison(self, outputs):
        for tensor in outputs:
            tensor.view(torch.uint8).fill_(0xA5)

    def for_torch(self, index):
        """The inputs as PyTorch takes them: labels in i64."""
        return [tensor.long() if tensor.dtype is torch.int32 else tensor for tensor in self.inputs[index]]

    def expected(self):
        return self.operator.exact(*[t if t.dtype is torch.int32 else t.double() for t in self.inputs[0]])

    def wrong(self, outputs, expected, ours):
        """(elements that are wrong, the largest error). Peers may round between their steps, to the case's type."""
        wrong, greatest = 0, 0.0
        for tensor, right in zip(outputs, expected, strict=True):
            error = (tensor.double() - right).abs()
            if tensor.dtype is torch.int8:
                allowed = torch.full_like(error, 1 if ours or self.dtype is torch.float32 else 2)
            else:
                rounding = ROUNDING.get(tensor.dtype, 0.0) if ours else 6 * ROUNDING[self.dtype]
                slack = 1 if ours else 16
                relative = self.operator.relative * slack + (rounding if tensor.dtype.is_floating_point else 0)
                allowed = self.operator.absolute * slack + relative * right.abs()
                if not ours and tensor.dtype.is_floating_point:
                    allowed = allowed + 2 * ROUNDING[self.dtype]
            wrong += int((~(error <= allowed)).sum())
            greatest = max(greatest, float(error.max()))
        return wrong, greatest
