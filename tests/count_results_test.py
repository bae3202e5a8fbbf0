#!/usr/bin/env python3
"""count_results on small result files."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import count_results  # noqa: E402

GOOGLE = """<?xml version="1.0"?><testsuites tests="4"><testsuite name="A">
<testcase name="a" status="run" result="completed"/>
<testcase name="b" status="run" result="completed"><failure message="x"/></testcase>
<testcase name="c" status="run" result="skipped"><skipped/></testcase>
<testcase name="d" status="notrun" result="suppressed"/></testsuite></testsuites>"""
PASSING = '<testsuites><testsuite name="A"><testcase name="a" status="run" result="completed"/></testsuite></testsuites>'


class CountResultsTest(unittest.TestCase):
    def count(self, entries, files):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            cases = "".join(f'<testcase name="{entry}" status="{status}"/>' for entry, status in entries.items())
            (folder / "ctest.xml").write_text(f"<testsuite>{cases}</testsuite>", encoding="utf-8")
            for file, text in files.items():
                (folder / file).write_text(text, encoding="utf-8")
            return count_results.count(folder / "ctest.xml", folder)

    def test_entries_without_results_count_once(self):
        self.assertEqual(self.count({"a": "run", "b": "fail", "c": "notrun", "d": "disabled"}, {}), (1, 2, 1))

    def test_results_replace_their_entry(self):
        self.assertEqual(self.count({"a": "fail", "b": "run"}, {"a.xml": GOOGLE, "other.xml": GOOGLE}), (2, 1, 1))

    def test_a_crash_is_a_failure(self):
        self.assertEqual(self.count({"a": "fail"}, {"a.xml": PASSING}), (1, 1, 0))
        self.assertEqual(self.count({"a": "fail"}, {"a.xml": GOOGLE[:80]}), (0, 1, 0))
        self.assertEqual(self.count({"a": "fail"}, {}), (0, 1, 0))


if __name__ == "__main__":
    unittest.main()
