#!/usr/bin/env python3
"""Runs the driver of standalone_main.cpp over a target with planted faults: each must end the run and be kept."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PLANTED = str(pathlib.Path(sys.argv.pop()).resolve())


class StandaloneTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_on(self, crashers=None, corpus=None, runs=0, seed=7):
        for name, files in (("crashers", crashers or {}), ("corpus", corpus or {})):
            (self.folder / name).mkdir(exist_ok=True)
            for file, text in files.items():
                (self.folder / name / file).write_bytes(text)
        command = [PLANTED, "--crashers", "crashers", "--corpus", "corpus", "--runs", str(runs), "--seed", str(seed)]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        kept = sorted(path.name for path in self.folder.glob("crash-*"))
        return result, kept

    def test_good_inputs_pass_and_the_seed_is_printed(self):
        result, kept = self.run_on({"a": b"fine"}, {"b": b"", "c": b"also fine"}, runs=200)
        self.assertEqual((result.returncode, kept), (0, []), result.stderr)
        self.assertIn("1 crashers, 2 corpus files, 200 mutations with seed 7", result.stdout)

    def test_a_kept_crasher_that_crashes_again_fails(self):
        for text in (b"abort", b"throw"):
            result, kept = self.run_on({"old": text})
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(kept, ["crash-fuzz_planted-old"])
            self.assertIn(kept[0], result.stderr)
            self.assertEqual((self.folder / kept[0]).read_bytes(), text)

    def test_mutations_find_a_fault_and_the_same_seed_finds_it_again(self):
        found = []
        for _ in range(2):
            result, kept = self.run_on(corpus={"a": b"x", "b": b"ax"}, runs=5000)
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(len(kept), 1)
            self.assertGreaterEqual((self.folder / kept[0]).read_bytes().count(b"x"), 3)
            found.append((kept, (self.folder / kept[0]).read_bytes()))
            (self.folder / kept[0]).unlink()
        self.assertEqual(found[0], found[1])

    def test_wrong_arguments(self):
        for arguments in (["--runs"], ["--runs", "many"], ["--other", "1"]):
            self.assertEqual(subprocess.run([PLANTED, *arguments], capture_output=True, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main()
