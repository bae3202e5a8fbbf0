#!/usr/bin/env python3
"""Tests of check_page.py: a good page has no fault, and each change for the worse has one."""

import base64
import hashlib
import unittest

import check_page

BUNDLE = '/*! http://www.apache.org/licenses/LICENSE-2.0 */window.lanefoldVega={};'
DRAW = "\ndraw();\n"


def source(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page(bundle=BUNDLE, draw=DRAW, policy=None, style="p { margin: 0; }", body="", spec='{"mark":"bar"}', first=""):
    if policy is None:
        policy = (
            f"default-src 'none'; script-src {source(bundle)} {source(draw)}; style-src 'unsafe-inline'; "
            "base-uri 'none'; form-action 'none'"
        )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<title>t</title>\n<style>{style}</style>\n'
        f'</head>\n<body>\n{first}<p class="fine">No failed case.</p>\n<p id="here"><a href="#here">x</a></p>{body}\n'
        f'<figure class="chart"><script type="application/json">{spec}</script></figure>\n'
        f"<script>{bundle}</script>\n<script>{draw}</script>\n</body>\n</html>\n"
    )


class CheckPageTest(unittest.TestCase):
    def faults(self, bundle=BUNDLE, **changes):
        return check_page.check(page(bundle=bundle, **changes), bundle)

    def refused(self, part, **changes):
        faults = self.faults(**changes)
        self.assertTrue(any(part in fault for fault in faults), f"{part!r} not in {faults}")

    def test_a_good_page(self):
        self.assertEqual(self.faults(), [])

    def test_tags(self):
        self.refused("</p> where b is open", body="<p><b>x</p>")
        self.refused("</body> where div is open", first="<div>")
        self.refused("element img is none", body="<img>")
        self.refused("element iframe is none", body="<iframe></iframe>")
        self.refused("attribute onclick of p is none", body='<p onclick="x()">x</p>')
        self.refused("id here more than once", body='<p id="here">x</p>')
        self.refused("a comment", body="<!-- x -->")

    def test_addresses(self):
        self.refused("href to https://example.org", body='<a href="https://example.org">x</a>')
        self.refused("href to other.html", body='<a href="other.html">x</a>')
        self.refused("href to javascript:x()", body='<a href="javascript:x()">x</a>')
        self.refused("#nowhere leads nowhere", body='<a href="#nowhere">x</a>')
        self.refused("an address: http://example.org/x", body="<p>http://example.org/x</p>")
        self.refused("an address: wss://example.org", draw='go("wss://example.org");')
        self.refused("an address in title", body='<p title="see https://example.org">x</p>')
        self.refused("an address: https://example.org", spec='{"title":"https://example.org"}')

    def test_styles(self):
        self.refused("url( in a style", style="p { background: URL(x.png); }")
        self.refused("@import in a style", style='@import "x.css";')
        self.refused("url( in a style", body='<p style="background:url(x)">x</p>')

    def test_scripts(self):
        self.refused("fetch( in the page's own script", draw='fetch("x")')
        self.refused("innerHTML in the page's own script", draw="p.innerHTML = text")
        self.refused("not the bundle and one more", body="<script>x()</script>")
        self.refused("a script of an unknown type", body='<script type="module">x()</script>')
        self.refused("key url in the data", spec='{"data":{"url":"x.json"}}')
        self.refused("no JSON", spec='{"mark":')
        self.refused('"<" in the data', spec='{"title":"<b>"}')

    def test_bundles(self):
        self.refused("does not know: https://example.org", bundle=BUNDLE + '"https://example.org"')
        self.refused("XMLHttpRequest 1 times", bundle=BUNDLE + "new XMLHttpRequest")
        self.refused("fetch( 2 times", bundle=BUNDLE + "fetch(a);fetch(b)")
        self.assertIn("the scripts are not the bundle and one more", check_page.check(page(), BUNDLE + " "))

    def test_policies(self):
        hashes = f"{source(BUNDLE)} {source(DRAW)}"
        rest = "base-uri 'none'; form-action 'none'"
        self.refused("default-src is not", policy=f"default-src 'self'; script-src {hashes}; {rest}")
        self.refused("not the hashes", policy=f"default-src 'none'; script-src {hashes} 'unsafe-eval'; {rest}")
        self.refused("not the hashes", policy=f"default-src 'none'; script-src {source(BUNDLE)}; {rest}")
        self.refused("connect-src allows", policy=f"default-src 'none'; script-src {hashes}; connect-src *; {rest}")
        self.refused("base-uri is not", policy=f"default-src 'none'; script-src {hashes}; form-action 'none'")
        self.refused("not one policy before", first='<meta http-equiv="Content-Security-Policy" content="">')

    def test_failures_stand_before_charts(self):
        self.refused("what failed does not stand", first='<figure class="chart"></figure>')
        self.refused("what failed does not stand", body='<p class="fine">No failed case.</p>')

    def test_the_bundle_of_the_tree(self):
        text = check_page.BUNDLE.read_bytes().decode("utf-8")
        self.assertEqual(check_page.check_bundle(text), ())
        # Its own account of itself.
        readme = (check_page.BUNDLE.parent / "README.md").read_text(encoding="utf-8")
        self.assertIn(hashlib.sha256(text.encode()).hexdigest(), readme)
        self.assertIn(f"{len(text.encode()):,} bytes", readme)
        for address in check_page.BUNDLE_ADDRESSES:
            self.assertIn(address, text)
        for name in ("LICENSE-vega", "LICENSE-d3"):
            self.assertIn((check_page.BUNDLE.parent / name).read_text(encoding="utf-8"), text)


if __name__ == "__main__":
    unittest.main()
