#!/usr/bin/env python3
"""Runs the tutorial: its files are those of examples/tutorial, and each of its commands does what the text says. What the
page of the library shows of a file is in that file of examples/."""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile


def fail(text):
    sys.exit(f"tutorial_test: {text}")


def blocks(text):
    """The indented blocks, each with the line of prose before it."""
    before, block, found = "", [], []
    for line in text.splitlines() + ["end"]:
        if line.startswith("    ") or (block and not line.strip()):
            block.append(line[4:])
            continue
        if block:
            found.append((before, "\n".join(block).rstrip()))
            block = []
        if line.strip():
            before = line.strip()
    return found


def check_named(before, block, files):
    """Whether the block is named as a part of a file, and then is one."""
    named = re.fullmatch(r"`([\w.]+)`:", before)
    if not named:
        return False
    text = (files / named[1]).read_text(encoding="utf-8")
    wanted = "\n".join(line.strip() for line in block.splitlines())
    if wanted not in "\n".join(line.strip() for line in text.splitlines()):
        fail(f"{named[1]} of the page is not that of {files.name}")
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--command", type=pathlib.Path, required=True)
    parser.add_argument("--jit", required=True)
    arguments = parser.parse_args()
    arguments.command = arguments.command.resolve()
    files = arguments.source / "examples/tutorial"
    found = blocks((arguments.source / "docs/tutorial.md").read_text(encoding="utf-8"))
    has_cpu = arguments.jit.upper() in ("ON", "1", "TRUE")
    commands = 0
    with tempfile.TemporaryDirectory() as folder:
        for example in files.glob("*.fold"):
            shutil.copy(example, folder)
        for before, block in found:
            if check_named(before, block, files):
                continue
            lines = block.splitlines()
            for at, line in enumerate(lines):
                if not line.startswith("$ lanefold "):
                    continue
                commands += 1
                words = shlex.split(line[2:])[1:]
                if not has_cpu and (words[0] == "bench" or (words[0] == "check" and "lane-machine" not in words)):
                    continue
                expected = re.fullmatch(r"exit (\d+): (\w+)", lines[at + 1]) if at + 1 < len(lines) else None
                environment = dict(os.environ, LANEFOLD_CACHE_DIR="")
                result = subprocess.run([arguments.command, *words], cwd=folder, env=environment, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                if result.returncode != (int(expected[1]) if expected else 0):
                    fail(f"{line}: exit status {result.returncode}\n{result.stdout}")
                if expected and expected[2] not in result.stdout:
                    fail(f"{line}: no {expected[2]} in\n{result.stdout}")
    library = blocks((arguments.source / "docs/library.md").read_text(encoding="utf-8"))
    if not any([check_named(before, block, arguments.source / "examples") for before, block in library]):
        fail("the page of the library shows no file")
    if commands < 8:
        fail(f"only {commands} commands were found")
    print(f"{commands} commands of the tutorial do what it says")


main()
