"""Tables from what cuda_peers.py measured: python3 bench/peers/cuda_table.py results.json [--markdown]"""

import argparse
import json

OURS = "lanefold canonical"
FREE = "lanefold free"
CEILING = "copy"


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


def markdown(results):
    """A row for each operator and type, a column for each shape: our µs, the share of the copy, and the best peer over ours."""
    records = results["records"]
    cases = cases_of(records)
    shapes = sorted({case[2:] for case in cases}, key=lambda shape: (shape[0] * shape[1], shape[1]))
    lines = ["| operator | " + " | ".join(f"{rows}×{cols}" for rows, cols in shapes) + " |",
             "|---|" + "---|" * len(shapes)]
    for op, dtype in dict.fromkeys(case[:2] for case in cases):
        cells = []
        for shape in shapes:
            by_arm = times(records, op, dtype, *shape)
            found = ratios(by_arm)
            cells.append(f"{by_arm[OURS]:.2f} · {number(found['ceiling'])} · {number(found['peer'])}"
                         if OURS in by_arm else "–")
        lines.append(f"| {op} {dtype} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("--markdown", action="store_true", help="a table of shapes for a page")
    arguments = parser.parse_args()
    with open(arguments.results, encoding="utf-8") as file:
        results = json.load(file)
    if arguments.markdown:
        print(markdown(results))
        return
    for case in cases_of(results["records"]):
        print(line(results["records"], *case))


if __name__ == "__main__":
    main()
