"""Plain Triton kernels, as a user would write them: one program a row, which it holds in registers where it fits."""

import triton
import triton.language as tl

HELD = 65536  # columns that one program holds; wider rows are read in turns
TURN = 8192


@triton.jit
def sum_kernel(x, y, cols, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    if TURNS == 1:
        total = tl.sum(tl.load(x + row * cols + c, mask=c < cols, other=0.0).to(tl.float32), 0)
    else:
        parts = tl.zeros([BLOCK], tl.float32)
        for begin in range(0, cols, BLOCK):
            parts += tl.load(x + row * cols + begin + c, mask=begin + c < cols, other=0.0).to(tl.float32)
        total = tl.sum(parts, 0)
    tl.store(y + row, total)


@triton.jit
def argmax_kernel(x, y, cols, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    if TURNS == 1:
        values = tl.load(x + row * cols + c, mask=c < cols, other=float("-inf")).to(tl.float32)
        tl.store(y + row, tl.argmax(values, 0, tie_break_left=True))
    else:
        best = tl.full([BLOCK], float("-inf"), tl.float32)
        place = tl.zeros([BLOCK], tl.int32)
        for begin in range(0, cols, BLOCK):
            values = tl.load(x + row * cols + begin + c, mask=begin + c < cols, other=float("-inf")).to(tl.float32)
            better = values > best
            best = tl.where(better, values, best)
            place = tl.where(better, begin + c, place)
        most = tl.max(best, 0)
        tl.store(y + row, tl.min(tl.where(best == most, place, cols), 0))


@triton.jit
def logsumexp_of(x, row, cols, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    c = tl.arange(0, BLOCK)
    if TURNS == 1:
        values = tl.load(x + row * cols + c, mask=c < cols, other=float("-inf")).to(tl.float32)
        most = tl.max(values, 0)
        return most, tl.sum(tl.exp(values - most), 0)
    else:
        peak = tl.full([BLOCK], float("-inf"), tl.float32)
        parts = tl.zeros([BLOCK], tl.float32)
        for begin in range(0, cols, BLOCK):
            values = tl.load(x + row * cols + begin + c, mask=begin + c < cols, other=float("-inf")).to(tl.float32)
            higher = tl.maximum(peak, values)
            parts = parts * tl.exp(peak - higher) + tl.exp(values - higher)
            peak = higher
        most = tl.max(peak, 0)
        return most, tl.sum(parts * tl.exp(peak - most), 0)


@triton.jit
def logsumexp_kernel(x, y, cols, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    most, total = logsumexp_of(x, row, cols, BLOCK, TURNS)
    tl.store(y + row, most + tl.log(total))


@triton.jit
def cross_entropy_kernel(x, label, y, cols, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.load(x + row * cols + tl.load(label + row)).to(tl.float32)
    most, total = logsumexp_of(x, row, cols, BLOCK, TURNS)
    tl.store(y + row, most + tl.log(total) - at)


@triton.jit
def softmax_kernel(x, y, cols, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    if TURNS == 1:
        values = tl.load(x + row * cols + c, mask=c < cols, other=float("-inf")).to(tl.float32)
        e = tl.exp(values - tl.max(values, 0))
        tl.store(y + row * cols + c, (e / tl.sum(e, 0)).to(y.dtype.element_ty), mask=c < cols)
    else:
        most, total = logsumexp_of(x, row, cols, BLOCK, TURNS)
        for begin in range(0, cols, BLOCK):
            inside = begin + c < cols
            values = tl.load(x + row * cols + begin + c, mask=inside, other=float("-inf")).to(tl.float32)
            tl.store(y + row * cols + begin + c, (tl.exp(values - most) / total).to(y.dtype.element_ty), mask=inside)


@triton.jit
def rms_norm_kernel(x, weight, y, cols, eps, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    if TURNS == 1:
        inside = c < cols
        values = tl.load(x + row * cols + c, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + c, mask=inside, other=0.0).to(tl.float32)
        inverse = 1 / tl.sqrt(tl.sum(values * values, 0) / cols + eps)
        tl.store(y + row * cols + c, (values * inverse * w).to(y.dtype.element_ty), mask=inside)
    else:
        parts = tl.zeros([BLOCK], tl.float32)
        for begin in range(0, cols, BLOCK):
            values = tl.load(x + row * cols + begin + c, mask=begin + c < cols, other=0.0).to(tl.float32)
            parts += values * values
        inverse = 1 / tl.sqrt(tl.sum(parts, 0) / cols + eps)
        for begin in range(0, cols, BLOCK):
            inside = begin + c < cols
            values = tl.load(x + row * cols + begin + c, mask=inside, other=0.0).to(tl.float32)
            w = tl.load(weight + begin + c, mask=inside, other=0.0).to(tl.float32)
            tl.store(y + row * cols + begin + c, (values * inverse * w).to(y.dtype.element_ty), mask=inside)


@triton.jit
def layer_norm_kernel(x, weight, bias, y, cols, eps, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    if TURNS == 1:
        inside = c < cols
        values = tl.load(x + row * cols + c, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + c, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(bias + c, mask=inside, other=0.0).to(tl.float32)
        d = tl.where(inside, values - tl.sum(values, 0) / cols, 0.0)
        inverse = 1 / tl.sqrt(tl.sum(d * d, 0) / cols + eps)
        tl.store(y + row * cols + c, (d * inverse * w + b).to(y.dtype.element_ty), mask=inside)
    else:
        sums = tl.zeros([BLOCK], tl.float32)
        for begin in range(0, cols, BLOCK):
            sums += tl.load(x + row * cols + begin + c, mask=begin + c < cols, other=0.0).to(tl.float32)
        mean = tl.sum(sums, 0) / cols
        squares = tl.zeros([BLOCK], tl.float32)
        for begin in range(0, cols, BLOCK):
            inside = begin + c < cols
            values = tl.load(x + row * cols + begin + c, mask=inside, other=0.0).to(tl.float32)
            d = tl.where(inside, values - mean, 0.0)
            squares += d * d
        inverse = 1 / tl.sqrt(tl.sum(squares, 0) / cols + eps)
        for begin in range(0, cols, BLOCK):
            inside = begin + c < cols
            values = tl.load(x + row * cols + begin + c, mask=inside, other=0.0).to(tl.float32)
            w = tl.load(weight + begin + c, mask=inside, other=0.0).to(tl.float32)
            b = tl.load(bias + begin + c, mask=inside, other=0.0).to(tl.float32)
            out = ((values - mean) * inverse * w + b).to(y.dtype.element_ty)
            tl.store(y + row * cols + begin + c, out, mask=inside)


@triton.jit
def residual_norm_store_kernel(x, residual, weight, kept, y, cols, eps, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    if TURNS == 1:
        inside = c < cols
        s = tl.load(x + row * cols + c, mask=inside, other=0.0).to(tl.float32)
        s += tl.load(residual + row * cols + c, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + c, mask=inside, other=0.0).to(tl.float32)
        tl.store(kept + row * cols + c, s.to(kept.dtype.element_ty), mask=inside)
        inverse = 1 / tl.sqrt(tl.sum(s * s, 0) / cols + eps)
        tl.store(y + row * cols + c, (s * inverse * w).to(y.dtype.element_ty), mask=inside)
    else:
        parts = tl.zeros([BLOCK], tl.float32)
        for begin in range(0, cols, BLOCK):
            inside = begin + c < cols
            s = tl.load(x + row * cols + begin + c, mask=inside, other=0.0).to(tl.float32)
            s += tl.load(residual + row * cols + begin + c, mask=inside, other=0.0).to(tl.float32)
            tl.store(kept + row * cols + begin + c, s.to(kept.dtype.element_ty), mask=inside)
            parts += s * s
        inverse = 1 / tl.sqrt(tl.sum(parts, 0) / cols + eps)
        for begin in range(0, cols, BLOCK):
            inside = begin + c < cols
            # What was stored may have been rounded, so the sum is made again.
            s = tl.load(x + row * cols + begin + c, mask=inside, other=0.0).to(tl.float32)
            s += tl.load(residual + row * cols + begin + c, mask=inside, other=0.0).to(tl.float32)
            w = tl.load(weight + begin + c, mask=inside, other=0.0).to(tl.float32)
            tl.store(y + row * cols + begin + c, (s * inverse * w).to(y.dtype.element_ty), mask=inside)


@triton.jit
def store_blocks(n, q, scale, row, begin, cols, BLOCK: tl.constexpr):
    blocks = tl.reshape(n, (BLOCK // 32, 32))
    d = tl.max(tl.abs(blocks), 1) / 127
    codes = blocks / tl.where(d > 0, d, 1.0)[:, None]
    codes = tl.where(codes < 0, codes - 0.5, codes + 0.5).to(tl.int8)
    c = begin + tl.arange(0, BLOCK)
    tl.store(q + row * cols + c, tl.reshape(codes, (BLOCK,)), mask=c < cols)
    b = begin // 32 + tl.arange(0, BLOCK // 32)
    tl.store(scale + row * (cols // 32) + b, d, mask=b < cols // 32)


@triton.jit
def rms_norm_q8_kernel(x, weight, q, scale, cols, eps, BLOCK: tl.constexpr, TURNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    if TURNS == 1:
        inside = c < cols
        values = tl.load(x + row * cols + c, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + c, mask=inside, other=0.0).to(tl.float32)
        inverse = 1 / tl.sqrt(tl.sum(values * values, 0) / cols + eps)
        store_blocks(values * inverse * w, q, scale, row, 0, cols, BLOCK)
    else:
        parts = tl.zeros([BLOCK], tl.float32)
        for begin in range(0, cols, BLOCK):
            values = tl.load(x + row * cols + begin + c, mask=begin + c < cols, other=0.0).to(tl.float32)
            parts += values * values
        inverse = 1 / tl.sqrt(tl.sum(parts, 0) / cols + eps)
        for begin in range(0, cols, BLOCK):
            inside = begin + c < cols
            values = tl.load(x + row * cols + begin + c, mask=inside, other=0.0).to(tl.float32)
            w = tl.load(weight + begin + c, mask=inside, other=0.0).to(tl.float32)
            store_blocks(values * inverse * w, q, scale, row, begin, cols, BLOCK)


KERNELS = {
    "sum": (sum_kernel, ()), "argmax": (argmax_kernel, ()), "logsumexp": (logsumexp_kernel, ()),
    "cross_entropy": (cross_entropy_kernel, ()), "softmax": (softmax_kernel, ()), "rms_norm": (rms_norm_kernel, (1e-6,)),
    "layer_norm": (layer_norm_kernel, (1e-5,)), "residual_norm_store": (residual_norm_store_kernel, (1e-6,)),
    "rms_norm_q8": (rms_norm_q8_kernel, (1e-6,)),
}


def settings(cols):
    """(columns of a program's turn, its turns, warps)."""
    if cols > HELD:
        return TURN, -(-cols // TURN), 16
    block = max(32, triton.next_power_of_2(cols))
    return block, 1, min(32, max(1, block // 512))


def launch(name, inputs, outputs, rows, cols):
    kernel, scalars = KERNELS[name]
    block, turns, warps = settings(cols)
    kernel[(rows,)](*inputs, *outputs, cols, *scalars, BLOCK=block, TURNS=min(turns, 2), num_warps=warps)
