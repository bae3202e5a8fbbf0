#!/usr/bin/env python3
"""Checks every #include of src/, include/ and python/ against layers.txt; prints file:line and the rule it breaks."""

import argparse
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".hpp", ".cpp", ".cc", ".def", ".mm", ".cu"}
STANDARD = re.compile(r"^[a-z0-9_]+$|^std[a-z]+\.h$|^(assert|errno|float|limits|math|signal|string|time)\.h$")


class TableError(Exception):
    pass


class Table:
    """The rows of layers.txt, with "folder+" expanded."""

    def __init__(self, text):
        self.folders = {}
        self.headers = {}
        section = None
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#", 1)[0].strip()
            if not line:
                continue
            if line.startswith("["):
                section = {"[folders]": self.folders, "[headers]": self.headers}.get(line)
            elif section is None or ":" not in line:
                raise TableError(f"layers.txt:{number}: expected a section or 'name: ...'")
            else:
                name, rest = (part.strip() for part in line.split(":", 1))
                if name in section:
                    raise TableError(f"layers.txt:{number}: '{name}' has a row already")
                if section is self.folders:
                    section[name] = self._expand(name, rest.split(), number)
                else:
                    section[name] = rest.split()

    def _expand(self, name, allowed, number):
        result = {name}
        for other in allowed:
            plain = other.rstrip("+")
            if plain not in self.folders:
                raise TableError(f"layers.txt:{number}: '{name}' names '{plain}', which has no row above it")
            result.add(plain)
            if other.endswith("+"):
                result |= self.folders[plain]
        return result

    def folder_of(self, path):
        """The row that a path such as 'runtime/cpu/pool.h' belongs to, or None."""
        parts = path.split("/")[:-1]
        if ".." in parts:
            return None
        if parts[:1] == ["lanefold"]:
            return "include"
        for length in range(len(parts), 0, -1):
            folder = "/".join(parts[:length])
            if folder in self.folders:
                return folder
        return None

    def header_rule(self, header):
        """The allowed folders of a third-party header, or None where no row names it."""
        for name, allowed in self.headers.items():
            if header == name or (name.endswith("/") and header.startswith(name)):
                return name, allowed
        return None


def is_test(name):
    """Whether a file of src/ belongs to the tests: x_test.cpp, or a header test_x.h that several of them share."""
    return name.endswith("_test.cpp") or (name.startswith("test_") and name.endswith(".h"))


def check_include(table, folder, of_test, quote, header):
    """The reason why `folder` may not include `header`, or None."""
    target = table.folder_of(header)
    if target is not None:
        if target in table.folders[folder]:
            return None
        allowed = ", ".join(sorted(table.folders[folder] - {folder})) or "no other folder"
        return f'{folder} may not include {target} ("{header}"); it may include {allowed}'
    if quote == '"':
        return f'"{header}" names no folder of the table; write it relative to src/, as "folder/x.h"'
    if STANDARD.match(header):
        return None
    rule = table.header_rule(header)
    if rule is None:
        return f"<{header}> is neither a standard header nor in the [headers] table"
    name, allowed = rule
    if folder in allowed or (of_test and "test" in allowed) or ("*" in allowed and folder not in ("include", "python")):
        return None
    return f"{folder} may not include <{header}>: {name} is for {', '.join(allowed)}"


def sources(root):
    """(path, path relative to src/, include/ or the root) of every source file."""
    for top in ("src", "include", "python"):
        for path in sorted((root / top).rglob("*")):
            if path.is_file() and path.suffix in SUFFIXES:
                base = root if top == "python" else root / top
                yield path, path.relative_to(base).as_posix()


def check_tree(root, table):
    """(number of files, number of includes, list of 'file:line: reason')."""
    faults, files, includes = [], 0, 0
    for path, relative in sources(root):
        files += 1
        place = path.relative_to(root).as_posix()
        folder = table.folder_of(relative)
        if folder is None:
            faults.append(f"{place}:1: its folder has no row in layers.txt")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            includes += 1
            reason = check_include(table, folder, is_test(path.name), *match.groups())
            if reason:
                faults.append(f"{place}:{number}: {reason}")
    return files, includes, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--table", type=pathlib.Path, default=pathlib.Path(__file__).with_name("layers.txt"))
    arguments = parser.parse_args()
    try:
        table = Table(arguments.table.read_text(encoding="utf-8"))
    except TableError as error:
        print(error)
        return 2
    files, includes, faults = check_tree(arguments.root, table)
    for fault in faults:
        print(fault)
    print(f"{files} files, {includes} includes, {len(faults)} not allowed")
    if files == 0:
        print(f"no source file under {arguments.root}: nothing was checked")
        return 2
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
