#!/usr/bin/env python3
"""Writes vega_bundle.min.js beside itself, from what the PyPI package vl-convert-python 1.9.0.post1 carries.

The package names the modules of its own table by addresses, whose common beginning is looked up in its library:
nothing is downloaded. The same package gives the same bytes every time.
"""

import pathlib
import re

import vl_convert

LIBRARY = next(pathlib.Path(vl_convert.__file__).parent.glob("*.so")).read_bytes()
NPM = re.search(rb"https://[a-z.]+/npm/", LIBRARY)[0].decode()
SNIPPET = f"""
import {{ parse as vgParse, View as VgView, version as vgVersion }} from "{NPM}vega@6.2.0/+esm";
import {{ compile as vlCompile, version as vlVersion }} from "{NPM}vega-lite@6.1.0/+esm";
import {{ expressionInterpreter as vgInterpreter }} from "{NPM}vega-interpreter@2.0.0/+esm";
window.lanefoldVega = {{
  parse: vgParse, View: VgView, compile: vlCompile, interpreter: vgInterpreter,
  versions: {{ vega: vgVersion, vegaLite: vlVersion }} }};
"""


def main():
    text = vl_convert.javascript_bundle(SNIPPET, vl_version="6.1")
    for sequence in ("</script", "<!--", "<script"):
        if sequence in text.lower():
            raise SystemExit(f"the bundle has {sequence} in it, which would end or change the script element around it")
    folder = pathlib.Path(__file__).parent
    # Every page that carries the bundle is a copy, which the licences want their text in.
    licences = "\n".join((folder / name).read_text(encoding="utf-8") for name in ("LICENSE-vega", "LICENSE-d3"))
    # What comes back was a module: strict, and with names of its own.
    script = f'/*!\n{licences}*/\n(function(){{"use strict";{text}}})();\n'
    (folder / "vega_bundle.min.js").write_text(script, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
