"""NumPy: plain formulas in f32, on one thread, with every intermediate in memory of its own."""

import numpy as np

from peer_protocol import PREALLOCATED, Declined, Prepared, serve


def normalise(case, x, y, column, center):
    """The steps of y = x / √(mean x² + eps) · weight + bias as one function; x is centered first where asked."""
    eps = np.float32(case.parameter("eps", 1e-5 if center else 1e-6))
    weight, bias = case.weights_f32("weight", 1.0), case.weights_f32("bias", -0.0)
    squares = np.empty_like(y)

    def call():
        if center:
            np.mean(x, axis=1, keepdims=True, out=column)
            np.subtract(x, column, out=y)
        scaled = y if center else x
        np.square(scaled, out=squares)
        np.mean(squares, axis=1, keepdims=True, out=column)
        np.add(column, eps, out=column)
        np.sqrt(column, out=column)
        np.divide(scaled, column, out=y)
        np.multiply(y, weight, out=y)
        if center:
            np.add(y, bias, out=y)

    return call


def prepare(case):
    if case.dtype != "f32":
        raise Declined(f"NumPy computes in {case.dtype} only by converting")
    x = case.inputs["x"].read()
    column = np.empty((case.rows, 1), dtype=np.float32)
    if list(case.outputs) != ["y"]:
        raise Declined(f"no formula for {case.op}")
    y = case.outputs["y"].poisoned()
    written = y

    if case.op == "softmax":

        def call():
            np.max(x, axis=1, keepdims=True, out=column)
            np.subtract(x, column, out=y)
            np.exp(y, out=y)
            np.sum(y, axis=1, keepdims=True, out=column)
            np.divide(y, column, out=y)

    elif case.op in ("rms_norm", "layer_norm"):
        call = normalise(case, x, y, column, center=case.op == "layer_norm")
    elif case.op == "residual_norm":
        residual, x_scale = case.inputs["residual"].read(), np.float32(case.parameter("x_scale", 1))
        stream = np.empty_like(x)
        norm = normalise(case, stream, y, column, center=False)

        def call():
            np.add(residual, x if x_scale == 1 else x_scale * x, out=stream)
            norm()

    elif case.op in ("sum", "max"):
        fold = np.sum if case.op == "sum" else np.max
        call = lambda: fold(x, axis=1, out=y)
    elif case.op == "argmax":
        written = np.empty(case.rows, dtype=np.intp)  # the type that np.argmax writes
        call = lambda: np.argmax(x, axis=1, out=written)
    else:
        raise Declined(f"no formula for {case.op}")

    def outputs():
        y[...] = written
        return [y]

    return Prepared(call, outputs, "numpy formula, one thread", PREALLOCATED)


if __name__ == "__main__":
    serve("numpy", np.__version__, prepare)
