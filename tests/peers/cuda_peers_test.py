#!/usr/bin/env python3
"""What the peers on CUDA have that needs no device and no framework: arguments, launches and tables."""

import ctypes
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"))

import cuda_kernels  # noqa: E402
import cuda_peers  # noqa: E402
import cuda_table  # noqa: E402


class FakeTensor:
    def __init__(self, pointer, row_stride):
        self.pointer, self.row_stride = pointer, row_stride

    def data_ptr(self):
        return self.pointer

    def stride(self, axis):
        assert axis == 0
        return self.row_stride


def record(arm, us, op="sum", rows=4, cols=8, failure=""):
    return {"op": op, "dtype": "f32", "rows": rows, "cols": cols, "arm": arm, "us": us, "failure": failure}


class ArgumentsTest(unittest.TestCase):
    def parse(self, *words):
        with mock.patch.object(sys, "argv", ["cuda_peers.py", *words]):
            return cuda_peers.parsed_arguments()

    def test_lists_and_named_shapes(self):
        given = self.parse("--shapes", "small,16x32", "--ops", "sum,softmax", "--compile", "")
        self.assertEqual(given.shapes, [*cuda_peers.SMALL, "16x32"])
        self.assertEqual(given.ops, ["sum", "softmax"])
        self.assertEqual(given.compile, [])

    def test_shapes_that_are_compiled_for(self):
        self.assertTrue(cuda_peers.is_compiled(self.parse(), 3, 5))
        some = self.parse("--compile-shapes", "3x5")
        self.assertTrue(cuda_peers.is_compiled(some, 3, 5))
        self.assertFalse(cuda_peers.is_compiled(some, 5, 3))


class LaunchTest(unittest.TestCase):
    def test_structures_are_the_drivers(self):
        self.assertEqual(ctypes.sizeof(cuda_kernels.LaunchAttribute), 72)
        self.assertEqual(ctypes.sizeof(cuda_kernels.LaunchConfig), 56)
        self.assertEqual(cuda_kernels.LaunchConfig.stream.offset, 32)

    def test_words_follow_the_roles(self):
        roles = [("input", 0), ("input_row_stride", 0), ("input", 1), ("output", 0), ("output_row_stride", 0), ("rows", 0),
                 ("cols", 0), ("parameter", 0)]
        launch = {"arguments": [{"name": "eps" if role == "parameter" else role, "role": role, "index": index}
                                for role, index in roles]}
        words = cuda_kernels.arguments_of(launch, [FakeTensor(16, 7), FakeTensor(32, 1)], [FakeTensor(48, 9)], 3, 7,
                                          {"eps": 0.5})
        self.assertEqual([word.value for word in words], [16, 7, 32, 48, 9, 3, 7, 0.5])
        self.assertIsInstance(words[-1], ctypes.c_float)
        self.assertIsInstance(words[1], ctypes.c_int64)

    def test_a_role_that_nothing_fills_is_refused(self):
        launch = {"arguments": [{"name": "s", "role": "other", "index": 0}]}
        with self.assertRaises(RuntimeError):
            cuda_kernels.arguments_of(launch, [], [], 1, 1, {})


class TableTest(unittest.TestCase):
    RECORDS = [record("lanefold canonical", 2.0), record("lanefold free", 1.5), record("copy", 1.0),
               record("torch eager", 8.0), record("triton", 3.0), record("torch.compile default", None, failure="no"),
               record("lanefold canonical", 4.0, rows=16), record("copy", 3.0, rows=16)]

    def test_ratios_are_to_the_copy_and_the_best_peer(self):
        by_arm = cuda_table.times(self.RECORDS, "sum", "f32", 4, 8)
        self.assertEqual(cuda_table.best_peer(by_arm), ("triton", 3.0))
        self.assertEqual(cuda_table.ratios(by_arm), {"ceiling": 0.5, "peer": 1.5})

    def test_what_is_missing_is_a_dash(self):
        by_arm = cuda_table.times(self.RECORDS, "sum", "f32", 16, 8)
        self.assertEqual(cuda_table.ratios(by_arm), {"ceiling": 0.75, "peer": None})
        self.assertEqual(cuda_table.ratios({}), {"ceiling": None, "peer": None})

    def test_a_failed_arm_is_named(self):
        line = cuda_table.line(self.RECORDS, "sum", "f32", 4, 8)
        self.assertIn("peer/ours 1.50 (triton)", line)
        self.assertIn("FAILED torch.compile default: no", line)

    def test_markdown_has_a_row_for_each_operator(self):
        text = cuda_table.markdown({"records": self.RECORDS + [record("lanefold canonical", 1.0, op="max")]})
        self.assertEqual(text.splitlines()[0], "| operator | 4×8 | 16×8 |")
        self.assertIn("| sum f32 | 2.00 · 0.50 · 0.67 | 4.00 · 0.75 · – |", text)
        self.assertIn("| max f32 | 1.00 · – · – | – |", text)

    def test_shapes_and_figures_can_be_chosen(self):
        text = cuda_table.markdown({"records": self.RECORDS}, [(4, 8)], ["peer", "us"])
        self.assertEqual(text.splitlines()[0], "| operator | 4×8 |")
        self.assertIn("| sum f32 | 0.67 · 2.00 |", text)

    def test_the_summary_names_what_is_slower(self):
        slow = [record("lanefold canonical", 3.3, op="max"), record("triton", 3.0, op="max")]
        text = cuda_table.summary({"records": self.RECORDS + slow})
        self.assertIn("lanefold canonical: 1 of 2 faster than the best peer, 0.856 of its time", text)
        self.assertIn("max f32 4x8: 1.10 of triton's", text)
        self.assertNotIn("sum f32", text)


if __name__ == "__main__":
    unittest.main()
