"""Times Lanefold's CUDA kernels beside PyTorch, torch.compile, plain Triton kernels, Liger and Quack where they are installed, and a
copy, in one process.

  python3 bench/peers/cuda_peers.py --lanefold build/bin/lanefold --out results.json

Every output element of every arm is checked against PyTorch in float64 before anything is timed. All arms are CUDA graphs of
as many launches over the same sets of buffers, which together exceed the cache; replays take turns, and a time is the median of
the device's times. cuda_table.py makes a table of the results.
"""

import argparse
import concurrent.futures
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

LARGE = ["131072x512", "16384x2560", "32768x8192", "8192x32768", "2048x131072", "1024x262144"]
SMALL = ["1x127", "17x257", "128x1024", "64x4096", "1x2560", "8x2560", "32x8192"]
OPS = ["sum", "argmax", "logsumexp", "cross_entropy", "softmax", "rms_norm", "layer_norm", "residual_norm_store",
       "rms_norm_q8"]
COMPILED_MODES = {"default": None, "max": "max-autotune-no-cudagraphs"}
CACHE_BYTES = 192 << 20
GRAPH_US, MOST_LAUNCHES = 600, 200


def parsed_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = lambda text: text.split(",") if text else []
    parser.add_argument("--lanefold", default="build/bin/lanefold", help="the command")
    parser.add_argument("--target", default="", help="of our kernels (default: that of the device)")
    parser.add_argument("--ops", type=listed, default=OPS)
    parser.add_argument("--shapes", type=listed, default=LARGE + SMALL, help="such as 64x4096,1x2560, or large, or small")
    parser.add_argument("--dtypes", type=listed, default=["f32", "bf16"])
    parser.add_argument("--orders", type=listed, default=["canonical", "free"])
    parser.add_argument("--no-triton", action="store_true")
    parser.add_argument("--compile", type=listed, default=["default"], help="modes of torch.compile: default, max; empty: none")
    parser.add_argument("--compile-shapes", type=listed, default=[], help="shapes to compile for (default: all)")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--budget", type=float, default=0, help="seconds after which cases are left out (default: none)")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2),
                        help="processes that compile before anything is timed")
    parser.add_argument("--worker", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--out", default="cuda_peers.json")
    arguments = parser.parse_args()
    named = {"large": LARGE, "small": SMALL}
    arguments.shapes = [shape for given in arguments.shapes for shape in named.get(given, [given])]
    return arguments


def planned_cases(arguments):
    """(op, rows, cols, dtype) of every case that the operator has."""
    from cuda_cases import OPERATORS

    cases = []
    for shape in arguments.shapes:
        rows, cols = (int(part) for part in shape.split("x"))
        cases += [(op, rows, cols, dtype) for op in arguments.ops if cols % OPERATORS[op].block == 0
                  for dtype in arguments.dtypes]
    return cases


def is_compiled(arguments, rows, cols):
    return not arguments.compile_shapes or f"{rows}x{cols}" in arguments.compile_shapes


def compiled(case, mode):
    import torch

    return torch.compile(case.operator.eager, dynamic=False, fullgraph=True, mode=COMPILED_MODES[mode])


def work(arguments):
    """A worker's share: fills the disk caches of Triton and torch.compile."""
    import torch

    import cuda_cases
    import cuda_packages
    import cuda_triton

    for op, rows, cols, dtype in planned_cases(arguments)[arguments.worker :: arguments.workers]:
        try:
            case = cuda_cases.Case(op, rows, cols, dtype, "cuda", 0)
            if not arguments.no_triton:
                cuda_triton.launch(op, case.inputs[0], case.outputs[0], rows, cols)
            for _, make in cuda_packages.calls(case):
                make()(0)
            if is_compiled(arguments, rows, cols):
                for mode in arguments.compile:
                    torch._dynamo.reset()
                    compiled(case, mode)(*case.for_torch(0))
            torch.cuda.synchronize()
            del case
            torch.cuda.empty_cache()
        except Exception:  # the main process will meet it again and say so
            pass


def start_workers(arguments):
    environment = dict(os.environ, TORCHINDUCTOR_COMPILE_THREADS="1", OMP_NUM_THREADS="1")
    return [subprocess.Popen([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--worker", str(i),
                              "--workers", str(arguments.workers)], env=environment, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL) for i in range(arguments.workers)]


class Arm:
    """`call(set)` launches once and returns the outputs."""

    def __init__(self, name, call, ours=False, facts=None):
        self.name, self.call, self.ours, self.facts = name, call, ours, facts or {}
        self.graph, self.samples, self.failure, self.max_error = None, [], "", None

    def check(self, case, expected):
        import torch

        for outputs in case.outputs:
            case.poison(outputs)
        results = self.call(0)
        torch.cuda.synchronize()
        wrong, self.max_error = case.wrong(results, expected, self.ours)
        if wrong:
            self.failure = f"{wrong} elements are wrong, by up to {self.max_error:.3g}"

    def capture(self, case, launches):
        """A graph of the launches. Results that PyTorch allocates are kept until their set comes again, so that they lie where no
        launch before has left the cache warm."""
        import torch

        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for index in range(2):
                self.call(index)
        torch.cuda.synchronize()
        self.graph, kept = torch.cuda.CUDAGraph(), {}
        with torch.cuda.graph(self.graph, stream=stream):
            for i in range(launches):
                kept[i % case.sets] = self.call(i % case.sets)
        self.graph.replay()
        torch.cuda.synchronize()

    def sample(self, launches):
        import torch

        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        self.samples.append(begin.elapsed_time(end) * 1000 / launches)


def our_arm(case, order, emitted):
    import torch

    import cuda_kernels

    # Not result(): an exception that is kept would keep this case's buffers with the frames of its traceback.
    if emitted.exception():
        raise RuntimeError(str(emitted.exception()))
    emitted = emitted.result()
    kernel = cuda_kernels.Kernel(emitted.code, emitted.launch)
    parameters = dict(_parameters(case))
    words = [cuda_kernels.arguments_of(emitted.launch, case.inputs[i], case.outputs[i], case.rows, case.cols, parameters)
             for i in range(case.sets)]

    def call(index):
        kernel(words[index], torch.cuda.current_stream().cuda_stream)
        return case.outputs[index]

    facts = {"registers": kernel.attribute(cuda_kernels.REGISTERS), "local_bytes": kernel.attribute(cuda_kernels.LOCAL_BYTES)}
    plan = next((line[9:].rstrip(".") for line in emitted.text.splitlines() if line.startswith("// Plan: ")), "")
    facts.update({key: emitted.launch[key] for key in ("threads", "threadgroups", "cluster", "shared_bytes")}, plan=plan)
    return Arm(f"lanefold {order}", call, True, facts)


def _parameters(case):
    import cuda_cases

    return {**cuda_cases.PARAMETERS, "eps": cuda_cases.LAYER_EPS if case.name == "layer_norm" else cuda_cases.EPS}


def copy_arm(case, architecture):
    import ctypes

    import torch

    import cuda_kernels

    kernel, vectors = cuda_kernels.copy_kernel(case.bytes // 2, architecture, case.bytes < 64 << 20)
    buffers = [[torch.zeros(vectors * 4, dtype=torch.int32, device="cuda") for _ in range(2)] for _ in range(case.sets)]
    words = [[ctypes.c_void_p(a.data_ptr()), ctypes.c_void_p(b.data_ptr()), ctypes.c_int64(vectors)] for a, b in buffers]

    def call(index):
        kernel(words[index], torch.cuda.current_stream().cuda_stream)
        return buffers[index]

    return Arm("copy", call)


def peer_arms(case, arguments):
    """(name, function that makes the arm): what goes wrong in one leaves the others."""
    import torch

    import cuda_packages
    import cuda_triton

    inputs = [case.for_torch(i) for i in range(case.sets)]

    def eager():
        into = case.operator.into
        if into is None:
            return Arm("torch eager", lambda i: case.operator.eager(*inputs[i]))
        return Arm("torch eager", lambda i: (into(case.outputs[i][0], *inputs[i]),))

    def triton_arm():
        def call(index):
            cuda_triton.launch(case.name, case.inputs[index], case.outputs[index], case.rows, case.cols)
            return case.outputs[index]

        return Arm("triton", call)

    def compiled_arm(mode):
        torch._dynamo.reset()
        function = compiled(case, mode)
        return Arm(f"torch.compile {mode}", lambda i: function(*inputs[i]))

    makers = [("torch eager", eager)]
    if not arguments.no_triton:
        makers.append(("triton", triton_arm))
    makers += [(name, lambda name=name, make=make: Arm(name, make())) for name, make in cuda_packages.calls(case)]
    if is_compiled(arguments, case.rows, case.cols):
        makers += [(f"torch.compile {mode}", lambda mode=mode: compiled_arm(mode)) for mode in arguments.compile]
    return makers


def measure(case, arguments, futures, architecture):
    import torch

    makers = [(f"lanefold {order}", lambda order=order: our_arm(case, order, futures[order]))
              for order in arguments.orders]
    makers += [("copy", lambda: copy_arm(case, architecture)), *peer_arms(case, arguments)]
    expected = case.expected()
    expected_us = max(1.5, case.bytes / 4.25e6)
    launches = max(1, min(MOST_LAUNCHES, int(GRAPH_US / expected_us)))
    launches = -(-launches // case.sets) * case.sets
    arms = []
    for name, make in makers:
        try:
            arm = make()
            if name != "copy":
                arm.check(case, expected)
            if not arm.failure:
                arm.capture(case, launches)
        except Exception as error:
            arm = Arm(name, None, name.startswith("lanefold"))
            arm.failure = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
        arms.append(arm)
    del expected
    timed = [arm for arm in arms if not arm.failure]
    for round_number in range(arguments.rounds):
        for turn in range(len(timed)):
            timed[(turn + round_number) % len(timed)].sample(launches)
    for arm in timed:
        arm.graph.reset()
    return [{"op": case.name, "dtype": case.dtype_name, "rows": case.rows, "cols": case.cols, "bytes": case.bytes,
             "sets": case.sets, "launches": launches, "arm": arm.name, "failure": arm.failure, "max_error": arm.max_error,
             "us": statistics.median(arm.samples) if arm.samples else None, "samples": arm.samples, **arm.facts}
            for arm in arms]


def main():
    arguments = parsed_arguments()
    began = time.monotonic()
    if arguments.worker >= 0:
        work(arguments)
        return 0
    if arguments.compile and arguments.workers > 1:
        folder = tempfile.mkdtemp(prefix="cuda_peers")
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(folder, "inductor"))
        os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(folder, "triton"))
    workers = start_workers(arguments) if arguments.workers > 1 else []
    import torch

    import cuda_cases
    import cuda_kernels
    import cuda_table

    torch.zeros(1, device="cuda")
    major, minor = torch.cuda.get_device_capability()
    architecture = f"sm_{major}{minor}"
    target = arguments.target or f"cuda-{architecture.replace('_', '')}"
    cases = planned_cases(arguments)
    with concurrent.futures.ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        futures = {(case, order): pool.submit(cuda_kernels.Emitted, arguments.lanefold, *case, order, target)
                   for case in cases for order in arguments.orders}
        concurrent.futures.wait(futures.values())
    for worker in workers:
        worker.wait()
    print(f"compiled for {len(cases)} cases in {time.monotonic() - began:.0f} s", flush=True)
    results = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
               "triton": __import__("triton").__version__, "command": sys.argv, "rounds": arguments.rounds, "left_out": [],
               "records": []}
    with torch.no_grad():
        for op, rows, cols, dtype in cases:
            if arguments.budget and time.monotonic() - began > arguments.budget:
                results["left_out"].append(f"{op} {dtype} {rows}x{cols}")
                continue
            own = {order: futures[(op, rows, cols, dtype), order] for order in arguments.orders}
            try:
                case = cuda_cases.Case(op, rows, cols, dtype, "cuda", CACHE_BYTES)
                results["records"] += measure(case, arguments, own, architecture)
                print(cuda_table.line(results["records"], op, dtype, rows, cols), flush=True)
            except torch.OutOfMemoryError:
                results["left_out"].append(f"{op} {dtype} {rows}x{cols}: not enough memory")
                print(results["left_out"][-1], flush=True)
            case = None
            gc.collect()
            torch.cuda.empty_cache()
            with open(arguments.out, "w", encoding="utf-8") as file:
                json.dump(results, file)
    failures = [record for record in results["records"] if record["failure"] and record["arm"].startswith("lanefold")]
    print(f"{time.monotonic() - began:.0f} s; {len(failures)} of our arms failed; left out: {len(results['left_out'])}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
