"""Tables from what cuda_peers.py measured: python3 bench/peers/cuda_table.py results.json [--markdown] [--summary]"""

import argparse
import json
import math

OURS = "lanefold canonical"
FREE = "lanefold free"
CEILING = "copy"
FIGURES = ("us", "copy", "free_copy", "peer")


def times(records, op, dtype, rows, cols):
    """Medians of a case in µs by arm, without those that failed."""
    return {record["arm"]: record["us"] for record in records
            if (record["op"], record["dtype"], record["rows"], record["cols"]) == (op, dtype, rows, cols)
            and record["us"] is not None}


def best_peer(by_arm):
    """(name, µs) of the fastest peer, or None."""
    peers = {name: us for name, us in by_arm.items() if not name.startswith("lanefold") and name != CEILING}
    return min(peers.items(), key=lambda item: item[1]) if peers else None


def ratios(by_arm):
    """What the tables compare: the copy's time over ours (the share of the ceiling), and the best peer's over ours, above 1 where
    ours is faster."""
    ours, peer = by_arm.get(OURS), best_peer(by_arm)
    return {"ceiling": by_arm[CEILING] / ours if ours and CEILING in by_arm else None,
            "peer": peer[1] / ours if ours and peer else None}


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def line(records, op, dtype, rows, cols):
    by_arm = times(records, op, dtype, rows, cols)
    found, peer = ratios(by_arm), best_peer(by_arm)
    named = " ".join(f"{name.replace('lanefold ', '').replace('torch ', '').replace('torch.', '')} {us:.2f}"
                     for name, us in by_arm.items())
    failed = "; ".join(f"{r['arm']}: {r['failure'][:120]}" for r in records if r["failure"] and
                       (r["op"], r["dtype"], r["rows"], r["cols"]) == (op, dtype, rows, cols))
    return (f"{op:<20}{dtype:<5}{rows}x{cols:<8} of copy {number(found['ceiling'])}  peer/ours {number(found['peer'])} "
            f"({peer[0] if peer else 'none'})  {named}" + (f"  FAILED {failed}" if failed else ""))


def cases_of(records):
    cases = []
    for record in records:
        case = (record["op"], record["dtype"], record["rows"], record["cols"])
        if case not in cases:
            cases.append(case)
    return cases


def figure(by_arm, name):
    """One figure of a cell: `us`, ours; `copy` and `free_copy`, the copy's time over ours, and over ours in the order free; `peer`, our
    time over that of the fastest peer."""
    us, free, peer = by_arm.get(OURS), by_arm.get(FREE), best_peer(by_arm)
    if name == "us":
        return number(us, 2 if us is not None and us < 100 else 0)
    if name == "peer":
        return number(us / peer[1] if us and peer else None)
    over = {"copy": us, "free_copy": free}[name]
    return number(by_arm[CEILING] / over if over and CEILING in by_arm else None)


def markdown(results, shapes=None, figures=("us", "copy", "peer")):
    """A row for each operator and type, a column for each shape, in each cell the figures."""
    records = results["records"]
    cases = cases_of(records)
    if not shapes:
        shapes = sorted({case[2:] for case in cases}, key=lambda shape: (shape[0] * shape[1], shape[1]))
    lines = ["| operator | " + " | ".join(f"{rows}×{cols}" for rows, cols in shapes) + " |",
             "|---|" + "---|" * len(shapes)]
    for op, dtype in dict.fromkeys(case[:2] for case in cases):
        cells = []
        for shape in shapes:
            by_arm = times(records, op, dtype, *shape)
            cells.append(" · ".join(figure(by_arm, name) for name in figures) if OURS in by_arm else "–")
        lines.append(f"| {op} {dtype} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(results, shapes=None):
    """Of each order: how many cases are faster than the fastest peer, our time over its time in the geometric mean, and the cases that are
    slower by more than two in a hundred."""
    lines = []
    for order in (OURS, FREE):
        found = []
        for case in cases_of(results["records"]):
            by_arm = times(results["records"], *case)
            peer = best_peer(by_arm)
            if order in by_arm and peer and (not shapes or case[2:] in shapes):
                found.append((by_arm[order] / peer[1], peer[0], case))
        if not found:
            continue
        mean = math.exp(sum(math.log(ratio) for ratio, _, _ in found) / len(found))
        lines.append(f"{order}: {sum(ratio < 1 for ratio, _, _ in found)} of {len(found)} faster than the best peer, {mean:.3f} of its "
                     "time in the geometric mean")
        lines += [f"  {op} {dtype} {rows}x{cols}: {ratio:.2f} of {peer}'s"
                  for ratio, peer, (op, dtype, rows, cols) in sorted(found, reverse=True) if ratio > 1.02]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("--markdown", action="store_true", help="a table of shapes for a page")
    parser.add_argument("--figures", default="us,copy,peer", help="of a cell: us, copy, free_copy, peer (default: us,copy,peer)")
    parser.add_argument("--shapes", default="", help="such as 64x4096,1x2560 (default: all)")
    parser.add_argument("--summary", action="store_true", help="how many cases are faster than the best peer, and which are not")
    arguments = parser.parse_args()
    shapes = [tuple(int(part) for part in shape.split("x")) for shape in arguments.shapes.split(",") if shape]
    figures = arguments.figures.split(",")
    if unknown := [name for name in figures if name not in FIGURES]:
        parser.error(f"no figure {unknown[0]}: there are {', '.join(FIGURES)}")
    with open(arguments.results, encoding="utf-8") as file:
        results = json.load(file)
    if arguments.markdown:
        print(markdown(results, shapes, figures))
    if arguments.summary:
        print(summary(results, shapes))
    if arguments.markdown or arguments.summary:
        return
    for case in cases_of(results["records"]):
        print(line(results["records"], *case))


if __name__ == "__main__":
    main()
