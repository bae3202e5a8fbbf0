"""PyTorch in inference mode: eager, compiled with --compile, on a GPU with --device cuda."""

import argparse
import time

import torch
from torch.nn import functional

from peer_protocol import ALLOCATED, PREALLOCATED, Declined, Prepared, serve

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
CALLS_PER_GRAPH = 32  # so that the gaps between graphs hide no more than a share of short calls


def input_tensor(case, name, device):
    """An input of the case in its type, in memory that PyTorch allocated and aligned."""
    buffer = case.inputs[name]
    flat = torch.frombuffer(bytearray(buffer.read_bytes()), dtype=TYPES[buffer.type])
    return flat.reshape(buffer.shape).clone().to(device)


def weight_tensor(case, name, device):
    values = torch.from_numpy(case.weights_f32(name, 1.0 if name == "weight" else -0.0))
    return values.to(TYPES[case.dtype]).to(device)


def functions_of(case, device):
    """(inputs, function that allocates its result, the same into a given tensor or None, type of the result, text)."""
    x = input_tensor(case, "x", device)
    columns = (case.cols,)
    if case.op == "softmax":
        return (x,), lambda x: torch.softmax(x, -1), lambda y, x: torch.softmax(x, -1, out=y), x.dtype, "torch.softmax"
    if case.op == "sum":
        f32 = torch.float32
        return ((x,), lambda x: torch.sum(x, -1, dtype=f32), lambda y, x: torch.sum(x, -1, dtype=f32, out=y), f32,
                "torch.sum")
    if case.op == "max":
        return (x,), lambda x: torch.amax(x, -1), lambda y, x: torch.amax(x, -1, out=y), x.dtype, "torch.amax"
    if case.op == "argmax":
        return ((x,), lambda x: torch.argmax(x, -1), lambda y, x: torch.argmax(x, -1, out=y), torch.int64,
                "torch.argmax")
    if case.op == "layer_norm":
        eps = case.parameter("eps", 1e-5)
        inputs = (x, weight_tensor(case, "weight", device), weight_tensor(case, "bias", device))
        return (inputs, lambda x, weight, bias: functional.layer_norm(x, columns, weight, bias, eps), None, x.dtype,
                "torch.nn.functional.layer_norm")
    if case.op in ("rms_norm", "residual_norm") and not hasattr(functional, "rms_norm"):
        raise Declined("torch.nn.functional.rms_norm came with PyTorch 2.4")
    if case.op == "rms_norm":
        eps = case.parameter("eps", 1e-6)
        return ((x, weight_tensor(case, "weight", device)),
                lambda x, weight: functional.rms_norm(x, columns, weight, eps), None, x.dtype,
                "torch.nn.functional.rms_norm")
    if case.op == "residual_norm":
        eps, x_scale = case.parameter("eps", 1e-6), case.parameter("x_scale", 1)
        inputs = (x, input_tensor(case, "residual", device), weight_tensor(case, "weight", device))

        def add_and_norm(x, residual, weight):
            return functional.rms_norm(torch.add(residual, x, alpha=x_scale), columns, weight, eps)

        return inputs, add_and_norm, None, x.dtype, "torch.add, torch.nn.functional.rms_norm"
    raise Declined(f"PyTorch has no {case.op}")


def graph_timer(call, last):
    """Replays CUDA graphs of `call`: ns on the host from the first launch until all is done, and ns by events.

    `last` is where `call` leaves the tensor that it has allocated; each graph has memory of its own for it.
    """
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):  # what is set up or compiled at first may not be captured
            call()
    stream.synchronize()
    graphs, results = {}, {}
    for calls in (1, CALLS_PER_GRAPH):
        graphs[calls] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[calls], stream=stream):
            for _ in range(calls):
                call()
        results[calls] = last[0]

    def timer(calls):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            began = time.perf_counter_ns()
            begin.record()
            for _ in range(calls // CALLS_PER_GRAPH):
                graphs[CALLS_PER_GRAPH].replay()
            for _ in range(calls % CALLS_PER_GRAPH):
                graphs[1].replay()
            end.record()
            end.synchronize()
            ns = time.perf_counter_ns() - began
        last[0] = results[1 if calls % CALLS_PER_GRAPH else CALLS_PER_GRAPH]
        return ns, begin.elapsed_time(end) * 1e6

    return timer


def prepare_with(arguments):
    def prepare(case):
        if case.dtype not in TYPES:
            raise Declined(f"PyTorch computes nothing in {case.dtype}")
        torch.set_num_threads(case.threads)
        device = torch.device(arguments.device)
        inputs, allocating, into, kind, text = functions_of(case, device)
        y = torch.full(case.outputs["y"].shape, -1 if kind == torch.int64 else float("nan"), dtype=kind, device=device)
        last = [y]
        if arguments.compile:
            torch.compiler.reset()  # after some recompilations of the same lines it would go on uncompiled
            compiled = torch.compile(allocating, dynamic=False, fullgraph=True)
            text, policy = f"torch.compile of {text}", ALLOCATED

            def call():
                last[0] = compiled(*inputs)

            call()  # compiles
        elif into is not None:
            policy = PREALLOCATED
            call = lambda: into(y, *inputs)
        else:
            policy = ALLOCATED

            def call():
                last[0] = allocating(*inputs)

        timer = None
        if device.type == "cuda":
            timer, text = graph_timer(call, last), f"{text}, CUDA graph"

        def outputs():
            result = last[0].to("cpu")
            result = result.to(torch.int32) if kind == torch.int64 else result
            return [result.contiguous().view(torch.uint8).numpy()]

        return Prepared(call, outputs, text, policy, timer)

    return prepare


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", action="store_true", help="torch.compile the same function")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no CUDA device")
    with torch.inference_mode():
        serve("pytorch", torch.__version__, prepare_with(arguments))


if __name__ == "__main__":
    main()
