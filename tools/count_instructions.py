#!/usr/bin/env python3
"""Counts the instructions of a kernel's machine code for each element that a lane has.

  nvcc -cubin -arch=sm_90 -o k.cubin k.cu && nvdisasm -c k.cubin | tools/count_instructions.py --elements 64 [--rare a,b]

k.cu comes from `lanefold emit ... --as source`, which says the layout: a row of C columns that S SIMD groups share has C / 32 S
elements a lane. The code of a row that stays in registers is straight, so what stands there runs once; blocks that hardly ever
run (slow paths, subroutines) are printed with the others, and those named by --rare are left out of the sums.
"""
import argparse
import collections
import re
import sys

LABEL = re.compile(r"\s*(\.L_x_\d+|\.text\.\S+|\$\S+):")
INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")
ENDS = {"BRA", "RET", "EXIT", "BRX", "JMP"}


def blocks(lines):
    """(name, instructions) of each basic block: a label's first block has its name, later ones a number behind it."""
    label, part, found = "start", 0, []
    found.append((label, []))
    for line in lines:
        if match := LABEL.match(line):
            label, part = match.group(1).lstrip(".$"), 0
            found.append((label, []))
        elif match := INSTRUCTION.match(line):
            if match.group(1) == "NOP":
                continue
            found[-1][1].append(match.group(1))
            if match.group(1) in ENDS:
                part += 1
                found.append((f"{label}+{part}", []))
    return [(name, instructions) for name, instructions in found if instructions]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=argparse.FileType(), default=sys.stdin)
    parser.add_argument("--elements", type=float, default=1, help="elements of a lane")
    parser.add_argument("--rare", default="", help="blocks that are not counted, with commas")
    options = parser.parse_args()
    rare = set(filter(None, options.rare.split(",")))
    counts = collections.Counter()
    for name, instructions in blocks(options.file):
        note = "rare" if name in rare else ""
        print(f"{name:40} {len(instructions):6} {len(instructions) / options.elements:8.2f} {note}".rstrip())
        if not note:
            counts.update(instructions)
    total = sum(counts.values())
    print(f"{'counted':40} {total:6} {total / options.elements:8.2f}")
    print(", ".join(f"{kind} {count / options.elements:.2f}" for kind, count in counts.most_common(24)))


if __name__ == "__main__":
    main()
