"""Peers for the tests of bench/: one that behaves, with y = x, and ones that each break the protocol in one way.

Usage: fake_peer.py KIND. Its version is the number of its process, so that a test can look whether that is gone.
"""

import json
import os
import pathlib
import sys
import time


def behaving(kind):
    """Speaks the protocol by the module that real peers use."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"))
    import peer_protocol

    calls = 0

    def prepare(case):
        if kind == "declines":
            raise peer_protocol.Declined(f"no {case.op} in {case.dtype} by {case.threads} threads")
        if kind == "raises":
            raise KeyError("prepare went wrong")
        print("frameworks print to standard output")
        x = case.inputs["x"].read_bytes()
        y = bytearray(len(x))

        def call():
            nonlocal calls
            calls += 1
            y[:] = x

        def outputs():
            described = json.dumps([case.op, case.rows, case.cols, case.parameters, case.inputs["x"].shape, calls])
            if kind == "describes":
                return [described.encode().ljust(case.outputs["y"].byte_count)]
            return [y[:-1]] if kind == "short_output" else [y]

        timer = (lambda n: ([call() for _ in range(n)], (n * 1000, n * 10))[1]) if kind == "device" else None
        claimed = {"tolerant": (4.0, 0.5, "y is x"), "strict": (0.0, 0.0, "y is x")}.get(kind)
        return peer_protocol.Prepared(call, outputs, "y[:] = x", peer_protocol.PREALLOCATED, timer, claimed)

    peer_protocol.serve("fake", str(os.getpid()), prepare)


READY = {"ready": True, "call": "none", "output_policy": "preallocated"}
CLAIM = {"absolute": 1, "relative": 0, "why": "a reason"}
BROKEN = {
    "other_version": {"protocol": {"protocol": 2, "name": "fake", "version": "1"}},
    "no_name": {"protocol": {"protocol": 1, "version": "1"}},
    "no_policy": {"prepare": {"ready": True, "call": "none"}},
    "odd_policy": {"prepare": {"ready": True, "call": "none", "output_policy": "somewhere"}},
    "not_ready": {"prepare": {"call": "none", "output_policy": "preallocated"}},
    "empty_decline": {"prepare": {"declined": ""}},
    "number_tolerance": {"prepare": {**READY, "tolerance": 1e-3}},
    "negative_tolerance": {"prepare": {**READY, "tolerance": {**CLAIM, "relative": -1e-3}}},
    "endless_tolerance": {"prepare": {**READY, "tolerance": {**CLAIM, "absolute": "inf"}}},
    "unexplained_tolerance": {"prepare": {**READY, "tolerance": {**CLAIM, "why": ""}}},
    "no_time": {"run": {"seconds": 1}},
    "zero_time": {"run": {"ns": 0}},
    "text_time": {"run": {"ns": "12"}},
    "bad_device_time": {"run": {"ns": 12, "device_ns": -1}},
    "not_written": {"outputs": {"written": False}},
    "no_output": {"outputs": {"written": True}},
    "array": {"run": [1]},
}


def broken(kind):
    """Answers one request as BROKEN says, or does what the kind says, and behaves otherwise."""
    usual = {"protocol": {"protocol": 1, "name": "fake", "version": str(os.getpid())}, "prepare": READY,
             "run": {"ns": 1.0}, "outputs": {"written": True}}
    answers = {**usual, **BROKEN.get(kind, {})}
    for line in iter(sys.stdin.readline, ""):
        (asked,) = json.loads(line)
        if kind == "stays" and asked == "quit":
            time.sleep(60)
        if asked == "quit":
            return
        if kind == f"dies_in_{asked}":
            sys.stderr.write("one thing went wrong\nthen another\n")
            sys.exit(3)
        if kind == f"killed_in_{asked}":
            os.kill(os.getpid(), 9)
        if kind == f"hangs_in_{asked}":
            time.sleep(60)
        if kind == f"garbage_in_{asked}":
            print("hello \u00e9\u0007")
        elif kind == f"endless_in_{asked}":
            sys.stdout.write("x" * (3 << 20))
        elif kind == f"twice_in_{asked}":
            print(json.dumps(answers[asked]) + "\n" + json.dumps(answers[asked]))
        else:
            print(json.dumps(answers[asked]))
        sys.stdout.flush()
        if kind == "dies_after_greeting":
            sys.exit(4)
        if kind == "noisy":
            sys.stderr.write("noise " * 100_000 + "\nend of noise\n")


if __name__ == "__main__":
    if sys.argv[1] in ("behaves", "describes", "declines", "raises", "short_output", "device", "tolerant", "strict"):
        behaving(sys.argv[1])
    else:
        broken(sys.argv[1])
