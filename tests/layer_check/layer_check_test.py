#!/usr/bin/env python3
"""Plants violations in a small tree and expects layer_check to name each one."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import layer_check  # noqa: E402


class LayerCheckTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.root = pathlib.Path(self.temporary.name)
        self.table = layer_check.Table((HERE / "layers.txt").read_text(encoding="utf-8"))

    def write(self, path, *includes):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#pragma once\n" + "".join(f"#include {line}\n" for line in includes), encoding="utf-8")

    def faults(self):
        return layer_check.check_tree(self.root, self.table)[2]

    def test_allowed_includes_pass(self):
        self.write("src/base/a.h", "<vector>", "<cstdint>", "<fmt/format.h>")
        self.write("src/ir/b.h", '"base/a.h"', '"ir/c.h"')
        self.write("src/ir/b_test.cpp", '"ir/b.h"', "<gtest/gtest.h>")
        self.write("src/runtime/cpu/d.cpp", '"jit/e.h"', '"runtime/common/f.h"', "<oneapi/tbb/parallel_for.h>")
        self.write("src/verify/g.cpp", '"driver/h.h"', '"oracle/i.h"', '"ir/b.h"')
        self.write("include/lanefold/lanefold.h", "<string>", '"lanefold/c.h"')
        self.write("src/api/facade.cpp", '"lanefold/lanefold.h"', "<lanefold/c.h>", '"driver/h.h"')
        self.assertEqual(self.faults(), [])

    def test_upward_include_fails_with_place_and_rule(self):
        self.write("src/base/a.h", "<vector>", '"ir/program.h"')
        (fault,) = self.faults()
        self.assertTrue(fault.startswith("src/base/a.h:3: base may not include ir"), fault)

    def test_sibling_backends_stay_apart(self):
        self.write("src/emit/cuda/a.cpp", '"emit/metal/b.h"')
        self.write("src/runtime/cpu/c.cpp", '"runtime/cuda/d.h"')
        self.assertEqual(len(self.faults()), 2)

    def test_oracle_never_sees_plans(self):
        self.write("src/oracle/a.cpp", '"plan/plan.h"', '"lower/lower.h"')
        self.assertEqual(len(self.faults()), 2)

    def test_third_party_headers_keep_their_place(self):
        self.write("src/jit/a.cpp", "<llvm/IR/Module.h>")
        self.assertEqual(self.faults(), [])
        self.write("src/plan/b.cpp", "<llvm/IR/Module.h>", "<tbb/task.h>", "<CLI/CLI.hpp>")
        self.write("include/lanefold/c.h", "<fmt/format.h>", "<nlohmann/json.hpp>")
        self.assertEqual(len(self.faults()), 5)

    def test_test_headers_are_for_tests(self):
        self.write("src/math/test_reference.h", "<mpfr.h>")
        self.assertEqual(self.faults(), [])
        self.write("src/math/a.cpp", "<mpfr.h>", "<gtest/gtest.h>")
        self.assertEqual(len(self.faults()), 2)

    def test_unknown_folder_header_and_form_fail(self):
        self.write("src/helpers/a.h", "<vector>")
        self.write("src/base/b.h", '"c.h"', "<boost/any.hpp>", '"../ir/program.h"', '"base/../ir/program.h"')
        self.assertEqual(len(self.faults()), 5)

    def test_a_table_that_looks_downward_is_refused(self):
        with self.assertRaises(layer_check.TableError):
            layer_check.Table("[folders]\nbase: ir\nir: base\n")
        with self.assertRaises(layer_check.TableError):
            layer_check.Table("[folders]\nbase:\nbase:\n")

    def test_exit_status(self):
        def status():
            command = [sys.executable, str(HERE / "layer_check.py"), "--root", str(self.root)]
            return subprocess.run(command, capture_output=True, check=False).returncode

        self.assertEqual(status(), 2)  # an empty tree is no success
        self.write("src/base/a.h", "<vector>")
        self.assertEqual(status(), 0)
        self.write("src/base/b.h", '"lane/module.h"')
        self.assertEqual(status(), 1)


if __name__ == "__main__":
    unittest.main()
