#!/usr/bin/env python3
"""Plants faults in a small registry and expects codes_check to name each one."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import codes_check  # noqa: E402

GOOD = '// A registry.\nLANEFOLD_CODE(first, "LF0101", "one")\nLANEFOLD_CODE(second, "LF0102", "two \\"quoted\\"")\n'


class CodesCheckTest(unittest.TestCase):
    def test_a_good_registry(self):
        entries, faults = codes_check.read_registry(GOOD)
        self.assertEqual([entry[:2] for entry in entries], [("first", "LF0101"), ("second", "LF0102")])
        self.assertEqual(faults, [])

    def test_order_names_and_numbers(self):
        for line, part in (
            ('LANEFOLD_CODE(third, "LF0102", "x")', "the number LF0102 is taken"),
            ('LANEFOLD_CODE(third, "LF0100", "x")', "LF0100 stands after LF0102"),
            ('LANEFOLD_CODE(first, "LF0103", "x")', "the name first is taken"),
            ('LANEFOLD_CODE(third, "LF0103", "")', "expected LANEFOLD_CODE"),
        ):
            faults = codes_check.read_registry(GOOD + line + "\n")[1]
            self.assertEqual(len(faults), 1, line)
            self.assertIn(part, faults[0])

    def test_names_and_numbers_count_but_comments_do_not(self):
        entries = codes_check.read_registry(GOOD)[0]

        def missing(text):
            return [name for name, _, _ in codes_check.untested(entries, [codes_check.without_comments(text)])]

        self.assertEqual(missing('EXPECT_EQ(e.code, Code::first); f("http://x LF0102");'), [])
        self.assertEqual(missing("EXPECT_EQ(e.code, Code::first);  // not Code::second, LF0102"), ["second"])
        self.assertEqual(missing("/* Code::first\n */ Code::second_one"), ["first", "second"])

    def test_exit_status(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "src/base").mkdir(parents=True)
            (root / "tests/fuzz").mkdir(parents=True)
            (root / "src/base/codes.def").write_text(GOOD, encoding="utf-8")
            test = root / "src/base/x_test.cpp"

            def status():
                command = [sys.executable, str(HERE / "codes_check.py"), "--root", name]
                return subprocess.run(command, capture_output=True, check=False).returncode

            (root / "tests/fuzz/y.cpp").write_text("Code::first Code::second", encoding="utf-8")
            self.assertEqual(status(), 1)
            test.write_text("Code::first", encoding="utf-8")
            self.assertEqual(status(), 1)
            test.write_text("Code::first Code::second", encoding="utf-8")
            self.assertEqual(status(), 0)


if __name__ == "__main__":
    unittest.main()
