"""The peer's side of the protocol (README.md): what every peer in Python shares.

A peer calls serve() with a function that prepares a case. The module itself needs only the standard library; NumPy is
imported where a buffer is read as an array.
"""

import gc
import itertools
import json
import math
import os
import sys
import time
import traceback

PROTOCOL = 1
PREALLOCATED = "preallocated"
ALLOCATED = "allocated per call"
ELEMENT_BYTES = {"boolean": 1, "i8": 1, "i32": 4, "i64": 8, "f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1,
                 "f64": 8}
# Types that NumPy lacks come as their bits.
NUMPY_NAMES = {"boolean": "bool", "i8": "<i1", "i32": "<i4", "i64": "<i8", "f32": "<f4", "f16": "<f2", "f64": "<f8",
               "bf16": "<u2", "e4m3": "<u1", "e5m2": "<u1"}


class Declined(Exception):
    """Raised by prepare: the framework does not have the case, and why."""


class Buffer:
    """An input, or an output that is yet to be made."""

    def __init__(self, described):
        self.name = described["name"]
        self.type = described["type"]
        self.shape = tuple(described["shape"])
        self.file = described.get("file")

    @property
    def byte_count(self):
        return math.prod(self.shape) * ELEMENT_BYTES[self.type]

    def read_bytes(self):
        """The contents of an input as they lie in its file; only while prepare runs."""
        with open(self.file, "rb") as file:
            contents = file.read()
        if len(contents) != self.byte_count:
            raise ValueError(f"{self.name}: a file of {len(contents)} bytes, not {self.byte_count}")
        return contents

    def read(self):
        """The contents of an input as a NumPy array; bf16 and 8-bit floats as their bits."""
        import numpy

        array = numpy.fromfile(self.file, dtype=NUMPY_NAMES[self.type])
        return array.reshape(self.shape)

    def poisoned(self):
        """A NumPy array for an output, every bit set: NaN in each floating type, which shows what is not computed."""
        import numpy

        return numpy.full(self.byte_count, 0xFF, dtype=numpy.uint8).view(NUMPY_NAMES[self.type]).reshape(self.shape)


class Case:
    """What is to be computed: see README.md for the members."""

    def __init__(self, described):
        self.op = described["op"]
        self.rows = described["rows"]
        self.cols = described["cols"]
        self.dtype = described["dtype"]
        self.threads = described["threads"]
        self.parameters = described["parameters"]
        self.inputs = {entry["name"]: Buffer(entry) for entry in described["inputs"]}
        self.outputs = {entry["name"]: Buffer(entry) for entry in described["outputs"]}

    def parameter(self, name, otherwise):
        return float(self.parameters.get(name, otherwise))

    def weights_f32(self, name, otherwise):
        """A [cols] input in f32, `otherwise` in each column where the case has none; "weight" with its offset added."""
        import numpy

        if name not in self.inputs:
            values = numpy.full(self.cols, otherwise, dtype=numpy.float32)
        elif self.inputs[name].type == "bf16":
            values = (self.inputs[name].read().astype(numpy.uint32) << 16).view(numpy.float32)
        else:
            values = self.inputs[name].read().astype(numpy.float32)
        offset = numpy.float32(self.parameter("offset", 0))
        return values + offset if name == "weight" and offset != 0 else values


class Prepared:
    """A case that is ready.

    call: computes it once; if the work goes on afterwards, give `timer` too.
    outputs: returns the outputs of the last call in the case's order, as bytes or C-contiguous NumPy arrays.
    text: how it is computed, for the report. policy: PREALLOCATED or ALLOCATED.
    tolerance: (absolute, relative, why) where it rounds otherwise than asked, and its outputs are to be checked by that.
    timer: a function of a number of calls that makes them, waits for the last one and returns (ns, ns by the device or
    None); otherwise the clock stands around a loop over `call`.
    """

    def __init__(self, call, outputs, text, policy, timer=None, tolerance=None):
        self.call, self.outputs, self.text, self.policy, self.tolerance = call, outputs, text, policy, tolerance
        self.timer = timer or (lambda calls: (time_calls(call, calls), None))


def time_calls(call, calls):
    """ns of so many calls in a row, without garbage collection meanwhile."""
    collects = gc.isenabled()
    gc.disable()
    try:
        turns = itertools.repeat(None, calls)
        began = time.perf_counter_ns()
        for _ in turns:
            call()
        return time.perf_counter_ns() - began
    finally:
        if collects:
            gc.enable()


def serve(name, version, prepare):
    """Answers requests until "quit" or the end of the input. `prepare` takes a Case and returns Prepared, or raises.

    What prepare raises, Declined or anything else, declines the case; what goes wrong later ends the peer.
    """
    # Frameworks print to standard output, so that the answers keep a copy of it to themselves.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    prepared = None
    with open(0, encoding="utf-8", closefd=False) as requests:
        for line in iter(requests.readline, ""):
            request = json.loads(line)
            if "protocol" in request:
                answer = {"protocol": PROTOCOL, "name": name, "version": version}
            elif "prepare" in request:
                prepared = None  # frees the memory of the case before
                try:
                    prepared = prepare(Case(request["prepare"]))
                    answer = {"ready": True, "call": prepared.text, "output_policy": prepared.policy}
                    if prepared.tolerance:
                        answer["tolerance"] = dict(zip(("absolute", "relative", "why"), prepared.tolerance, strict=True))
                except Declined as reason:
                    answer = {"declined": str(reason) or "no reason given"}
                except Exception as error:
                    traceback.print_exc()
                    answer = {"declined": f"{type(error).__name__}: {error}"}
            elif "run" in request:
                ns, device_ns = prepared.timer(request["run"])
                answer = {"ns": float(ns)} if device_ns is None else {"ns": float(ns), "device_ns": float(device_ns)}
            elif "outputs" in request:
                for path, contents in zip(request["outputs"], prepared.outputs(), strict=True):
                    with open(path, "wb") as file:
                        file.write(contents)
                answer = {"written": True}
            elif "quit" in request:
                return
            else:
                raise ValueError(f"unknown request {line.strip()[:200]}")
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
