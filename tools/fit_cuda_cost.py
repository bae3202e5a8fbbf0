#!/usr/bin/env python3
"""Fits the constants of the cost basis cuda_traffic_v1 (src/plan/cost_cuda_v1.cpp) to what `lanefold tune` timed.

  lanefold tune OP... --shapes RxC,... --dtype f32,bf16 --device cuda --screen-only --most 1000 --out SWEEP.jsonl
  tools/fit_cuda_cost.py [--seconds N] [--held-out OP,...] [--held-out-shapes RxC,...] SWEEP.jsonl...

The model is that of the C++ code, which takes the constants that this prints. They are searched at random for the least sum of
what the chosen plans take longer than the fastest (as a logarithm), and a little of the squared error of the times
themselves. Operators and shapes that are held out are not fitted to: their cases are listed last, first those of held-out
operators, then those of held-out shapes, then those of which both are. Needs numpy.
"""

import argparse
import json
import math
import random
import re
import time

import numpy

CORES, LANES, SEGMENT = 132, 224640, 32768
START = {"bandwidth": 4344, "other_registers": 4.48, "kept_registers": 1.01, "state_registers": 0.369, "step_work": 2.94,
         "lane_work": 247, "first_load": 0.14, "load": 0.054, "shuffle": 0.0367, "group": 0.0171, "cluster": 0.226,
         "late_loads": 0.791, "operation": 0.00133, "power": 2.03, "threadgroup": 0.00122}
LAUNCH = 0.35


def read(paths):
    cases = []
    for path in paths:
        for text in open(path, encoding="utf-8"):
            result = json.loads(text)
            rows, cols = result["rows"], result["cols"]
            segments = -(-cols // SEGMENT) if result["order"] == "canonical" else 1
            part = min(cols, SEGMENT) if segments > 1 else cols
            plans = []
            for plan in result.get("plans", []):
                found = re.match(r"c(\d)l(\d)r(\d)p0g(\d)k(\d) x(\d+) registers( early)?$", plan["layout"])
                if not found or plan["us"] is None:
                    continue
                component, lane, reg, group, cluster, rows_each = (int(n) for n in found.groups()[:6])
                elements = -(-part // (1 << (component + lane + group + cluster))) << component
                threadgroups = (1 << cluster) << (segments - 1).bit_length()
                plans.append((plan["us"], component, lane, reg, group, rows_each, bool(found.group(7)), threadgroups,
                              elements, plan["threads"], plan["private"]))
            if len(plans) > 1:
                cases.append({"name": result["case"], "operator": result["operator"], "shape": f"{rows}x{cols}",
                              "rows": rows, "bytes": result["bytes"],
                              "of": result["features"], "plans": numpy.array(plans, float)})
    return cases


def predicted(case, t):
    of = case["of"]
    _, component, lane, reg, group, rows_each, early, cluster, elements, threads, private = case["plans"].T
    states = 2 ** (component + reg)
    row = private
    if "kept_registers" in of:  # 16-bit elements stay packed since records have it
        row = elements * (max(1, of["kept_values"]) + max(0.5, of["kept_registers"]) + early * (of["later"] + of["later_registers"])) / 2
    registers = t["other_registers"] + t["kept_registers"] * row + t["state_registers"] * states * of["partials"]
    registers = numpy.minimum(registers, 65536 / threads)
    held = numpy.floor(numpy.minimum(numpy.minimum(32, 2048 / threads), 65536 / (threads * 8 * numpy.ceil(registers / 8))))
    held = numpy.maximum(1, held)
    threadgroups = numpy.ceil(case["rows"] / rows_each) * cluster
    moved = case["bytes"] / (t["bandwidth"] * 1e3)
    operations = elements * t["step_work"] * of["accumulators"] + t["lane_work"]
    cores = CORES * numpy.select([cluster <= 2, cluster <= 8], [1, 120 / 132], 112 / 132)
    issued = threadgroups * threads * operations / (numpy.minimum(cores, threadgroups) * LANES)
    shuffles = lane + numpy.maximum(0, group - 3)
    alone = (t["first_load"] + t["load"] * elements / 2**component * of["loaded"] + of["folds"] * t["shuffle"] * shuffles
             + (group > 0) * of["folds"] * t["group"] * 2**group
             + (cluster > 1) * of["folds"] * t["cluster"]
             + (1 - early) * (of["later"] > 0) * t["late_loads"] + elements * of["work"] * t["operation"])
    waves = threadgroups / (cores * held)
    waited = numpy.maximum(1, waves) * alone
    begun = threadgroups * t["threadgroup"]
    power = t["power"]
    return LAUNCH + (moved**power + issued**power + waited**power + begun**power) ** (1 / power)


def regret(case, t):
    """How much longer the plan that the model chooses takes than the fastest one: a logarithm."""
    times = case["plans"][:, 0]
    return math.log(times[int(numpy.argmin(predicted(case, t)))] / times.min())


def score(cases, t):
    total = 0.0
    for case in cases:
        lost = regret(case, t)
        error = numpy.mean(numpy.log(predicted(case, t) / case["plans"][:, 0]) ** 2)
        total += lost + 2 * max(0.0, lost - 0.05) + 0.15 * error
    return total / len(cases)


def fit(cases, seconds, seed):
    print(f"seed {seed}")
    draw = random.Random(seed)
    best, least = dict(START), score(cases, START)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        tried = dict(best)
        for name in draw.sample(sorted(tried), draw.choice([1, 1, 2, 3])):
            tried[name] *= math.exp(draw.gauss(0, draw.choice([0.05, 0.2, 0.6])))
        tried["power"] = min(12.0, max(1.5, tried["power"]))
        found = score(cases, tried)
        if found < least:
            best, least = tried, found
    return best


def show(cases, t):
    for case in cases:
        times = case["plans"][:, 0]
        print(f"{case['name']:<46} fastest {times.min():9.2f} us, chosen {times.min() * math.exp(regret(case, t)):9.2f}")
    lost = [math.exp(regret(case, t)) for case in cases]
    if lost:
        print(f"{len(cases)} cases: {sum(lost) / len(lost):.3f} times the fastest in the mean, {max(lost):.3f} at most")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-out", default="", help="operators that are not fitted to, with commas")
    parser.add_argument("--held-out-shapes", default="", help="shapes that are not fitted to, such as 64x4096, with commas")
    parser.add_argument("sweeps", nargs="+")
    arguments = parser.parse_args()
    operators = [name for name in arguments.held_out.split(",") if name]
    shapes = [shape for shape in arguments.held_out_shapes.split(",") if shape]
    cases = read(arguments.sweeps)
    unknown = set(operators) - {case["operator"] for case in cases} | set(shapes) - {case["shape"] for case in cases}
    if unknown:
        parser.error(f"no case has what is held out: {', '.join(sorted(unknown))}")
    groups = {key: [case for case in cases if (case["operator"] in operators, case["shape"] in shapes) == key]
              for key in [(False, False), (True, False), (False, True), (True, True)]}
    fitted = groups[False, False]
    if not fitted:
        parser.error("no case is left to fit to")
    constants = fit(fitted, arguments.seconds, arguments.seed)
    for key, title in [((False, False), "fitted to"), ((True, False), "held-out operators"),
                       ((False, True), "held-out shapes"), ((True, True), "held-out operators on held-out shapes")]:
        if groups[key]:
            print(f"{title}:")
            show(groups[key], constants)
    print(json.dumps({name: float(f"{value:.4g}") for name, value in constants.items()}, indent=1))


if __name__ == "__main__":
    main()
