#!/usr/bin/env python3
"""Checks the registry of diagnostic codes: numbers and names are unique, numbers ascend, and every code has a test.

A code has a test when a *_test.cpp of src/, or a file of tests/ outside tests/fuzz/, names it as Code::name or by its
number, outside comments.
"""

import argparse
import pathlib
import re
import sys

ENTRY = re.compile(r'^\s*LANEFOLD_CODE\((\w+),\s*"(LF\d{4})",\s*"((?:[^"\\]|\\.)+)"\)\s*$')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|' + COMMENT.pattern, re.DOTALL)


def read_registry(text):
    """([(name, number, line)], faults)."""
    entries, faults = [], []
    for line_number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("//"):
            continue
        match = ENTRY.match(line)
        if match:
            entries.append((match[1], match[2], line_number))
        else:
            faults.append(f'codes.def:{line_number}: expected LANEFOLD_CODE(name, "LF0000", "summary")')
    names, last = set(), ""
    for name, number, line_number in entries:
        if name in names:
            faults.append(f"codes.def:{line_number}: the name {name} is taken")
        if number == last:
            faults.append(f"codes.def:{line_number}: the number {number} is taken")
        elif number < last:
            faults.append(f"codes.def:{line_number}: {number} stands after {last}; keep the file sorted by number")
        names.add(name)
        last = max(last, number)
    return entries, faults


def without_comments(text):
    """The text with C++ comments blanked; a // inside a string stays."""
    return STRING_OR_COMMENT.sub(lambda match: match[0] if match[0].startswith('"') else " ", text)


def test_texts(root):
    for path in sorted((root / "src").rglob("*_test.cpp")):
        yield without_comments(path.read_text(encoding="utf-8"))
    skipped = [root / "tests" / name for name in ("fuzz", "crashers", "data", "codes_check", "layer_check")]
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in (".cpp", ".h", ".def", ".txt") and not any(path.is_relative_to(other) for other in skipped):
            yield without_comments(path.read_text(encoding="utf-8"))


def untested(entries, texts):
    """The entries that no text names."""
    named = set()
    for text in texts:
        named.update(re.findall(r"\bCode::(\w+)", text))
        named.update(re.findall(r"\bLF\d{4}\b", text))
    return [entry for entry in entries if entry[0] not in named and entry[1] not in named]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    root = parser.parse_args().root
    entries, faults = read_registry((root / "src/base/codes.def").read_text(encoding="utf-8"))
    for name, number, line_number in untested(entries, test_texts(root)):
        faults.append(f"codes.def:{line_number}: {number} ({name}) has no test that names Code::{name}")
    for fault in faults:
        print(fault)
    print(f"{len(entries)} codes, {len(faults)} faults")
    return 1 if faults or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
