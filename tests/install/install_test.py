#!/usr/bin/env python3
"""Installs a build into a prefix, moves the prefix, and builds and runs programs against it: C++ and C, through CMake and
pkg-config. What the programs compute they check themselves."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# What the library may export besides the functions of the C ABI.
EXPORTED = re.compile(
    r"^(lanefold::(Kernel|Error|Pool|CheckReport|ConstTensor|Tensor)::|lanefold::(version|operator_names)\b|"
    r"(vtable|typeinfo|typeinfo name) for lanefold::Error$)"
)
FOREIGN = re.compile(r"/(llvm|llvm-c|nlohmann|fmt|tbb|oneapi|openssl)/|/xxhash\.h")
FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def run(*command, **options):
    command = [str(part) for part in command]
    print("$", " ".join(command), flush=True)
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if result.returncode != 0:
        sys.exit(f"{result.stdout}\nfailed with status {result.returncode}")
    return result.stdout


def expect(right, text):
    if not right:
        sys.exit(f"install_test: {text}")


def find_one(root, pattern):
    found = sorted(root.rglob(pattern))
    expect(len(found) == 1, f"{pattern} is there {len(found)} times")
    return found[0]


def check_files(prefix, build, source, has_command):
    """Every file is there, and none names the folder that it was built or first installed in."""
    for pattern in ("lanefold.h", "c.h", "LanefoldConfig.cmake", "LanefoldConfigVersion.cmake", "lanefold.pc", "LICENSE"):
        find_one(prefix, pattern)
    for path in prefix.rglob("*"):
        if path.suffix in (".cmake", ".pc", ".h"):
            text = path.read_text(encoding="utf-8")
            for folder in (str(build), str(source), str(prefix.with_name("first"))):
                expect(folder not in text, f"{path.name} names {folder}")
    library = find_one(prefix, "liblanefold.so.*.*.*")
    dynamic = run("readelf", "-d", library)
    expect(str(build) not in dynamic, f"the library looks for others in the build folder:\n{dynamic}")
    expect(f"[{'.'.join(library.name.split('.')[:4])}]" in dynamic, f"the name in the library is another:\n{dynamic}")
    if has_command:
        print(run(prefix / "bin/lanefold", "ops").splitlines()[0])
    return library


def check_exports(library, header):
    """The library exports what the headers declare, and nothing else."""
    symbols = {line.split(maxsplit=2)[2].strip() for line in run("nm", "-DC", "--defined-only", "--extern-only", library).splitlines()}
    functions = {symbol for symbol in symbols if re.fullmatch(r"lanefold_\w+", symbol)}
    declared = set(re.findall(r"\b(lanefold_\w+)\(", re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)))
    expect(functions == declared, f"exported and declared differ: {sorted(functions ^ declared)}")
    others = sorted(symbol for symbol in symbols - functions if not EXPORTED.match(symbol))
    expect(not others, f"{len(others)} symbols too many are exported: {others[:5]}")
    print(f"{len(symbols)} symbols are exported, {len(functions)} of them of the C ABI")


def check_headers(include, compilers):
    """The headers stand alone, in each language, without any header of a library that Lanefold uses."""
    for name, language, standard, compiler in (
        ("lanefold.h", "c++", "c++20", compilers.cxx),
        ("c.h", "c++", "c++11", compilers.cxx),
        ("c.h", "c", "c99", compilers.cc),
        ("c.h", "c", "c11", compilers.cc),
    ):
        header = include / "lanefold" / name
        options = [f"-std={standard}", "-I", include, "-x", language]
        run(compiler, *options, *FLAGS, "-include", header, "-fsyntax-only", os.devnull)
        foreign = [word for word in run(compiler, *options, "-M", header).split() if FOREIGN.search(word)]
        expect(not foreign, f"{name} needs {foreign}")


def build_consumers(arguments, prefix, work):
    for folder, programs in (
        ("consumer", ("consumer_cpp", "consumer_c", "example_cpp", "example_cuda", "example_c")),
        ("consumer_c", ("consumer",)),
    ):
        build = work / f"build_{folder}"
        run(arguments.cmake, "-S", HERE / folder, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DEXAMPLES={arguments.source / 'examples'}", f"-DEXPECTED_JIT={arguments.jit}",
            f"-DCMAKE_CXX_COMPILER={arguments.cxx}", f"-DCMAKE_C_COMPILER={arguments.cc}")  # fmt: skip
        run(arguments.cmake, "--build", build)
        for program in programs:
            print(run(build / program).strip())


def build_with_pkg_config(arguments, prefix, work):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(find_one(prefix, "lanefold.pc").parent)}
    flags = run("pkg-config", "--cflags", "--libs", "lanefold", env=environment).split()
    folder = run("pkg-config", "--variable=libdir", "lanefold", env=environment).strip()
    program = work / "with_pkg_config"
    run(arguments.cc, "-std=c11", *FLAGS, HERE / "consumer/consumer.c", "-o", program, *flags, "-lm",
        f"-Wl,-rpath,{folder}")  # fmt: skip
    print(run(program).strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build folder to install")
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--jit", default="ON", help="LANEFOLD_JIT of the build")
    parser.add_argument("--component", action="append", help="install these only (default: library and command)")
    arguments = parser.parse_args()
    arguments.source = HERE.parents[1]
    components = arguments.component or ["library", "command"]
    # An empty cache folder is none: tests leave nothing in the user's.
    os.environ["LANEFOLD_CACHE_DIR"] = ""
    with tempfile.TemporaryDirectory(prefix="lanefold_install_") as folder:
        work = pathlib.Path(folder)
        first, prefix = work / "first", work / "moved"
        for component in components:
            run(arguments.cmake, "--install", arguments.build, "--prefix", first, "--component", component)
        first.rename(prefix)
        library = check_files(prefix, arguments.build.resolve(), arguments.source, "command" in components)
        check_exports(library, prefix / "include/lanefold/c.h")
        check_headers(prefix / "include", arguments)
        build_consumers(arguments, prefix, work)
        build_with_pkg_config(arguments, prefix, work)
    print("install_test: all right")


if __name__ == "__main__":
    main()
