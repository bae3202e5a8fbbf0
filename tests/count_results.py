#!/usr/bin/env python3
"""Prints 'N passed, N failed' for a test run: GoogleTest's own results where an entry left some, else the ctest entry."""

import argparse
import pathlib
import sys
import xml.etree.ElementTree as xml


def count_cases(path):
    """(passed, failed, skipped) of a GoogleTest result file."""
    passed = failed = skipped = 0
    for case in xml.parse(path).getroot().iter("testcase"):
        if case.get("status") != "run":
            continue
        if case.find("failure") is not None:
            failed += 1
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def count(junit, results):
    """(passed, failed, skipped) of a whole run; `junit` is what ctest wrote, `results` the folder of GoogleTest's files."""
    totals = [0, 0, 0]
    for case in xml.parse(junit).getroot().iter("testcase"):
        entry_skipped = case.get("status") == "disabled"
        entry_failed = not entry_skipped and case.get("status") != "run"  # "notrun": its executable is missing
        counted = (0 if entry_failed or entry_skipped else 1, int(entry_failed), int(entry_skipped))
        path = results / f"{case.get('name')}.xml"
        if path.is_file() and not entry_skipped:
            try:
                counted = count_cases(path)
            except xml.ParseError:  # the executable ended while it wrote
                pass
            else:
                if entry_failed and counted[1] == 0:  # every case passed, but the executable did not
                    counted = (counted[0], 1, counted[2])
        totals = [total + part for total, part in zip(totals, counted)]
    return tuple(totals)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("junit", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    arguments = parser.parse_args()
    passed, failed, skipped = count(arguments.junit, arguments.results)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
