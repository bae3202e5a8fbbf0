#!/usr/bin/env python3
"""Checks pages of `lanefold report`: well-formed, with nothing in it that could reach outside, failures before charts.

Prints one line for each fault; exit status 1 where there is one.
"""

import argparse
import base64
import functools
import hashlib
import html.parser
import json
import pathlib
import re
import sys

BUNDLE = pathlib.Path(__file__).resolve().parents[2] / "third_party" / "vega" / "vega_bundle.min.js"

# Addresses within the bundle, each after a look at where it stands. A new bundle with another one fails.
BUNDLE_ADDRESSES = {
    "file://": "what Vega's loader looks for at the beginning of a name",
    "http://www.apache.org/licenses/LICENSE-2.0": "text of a licence",
    "http://www.w3.org/1999/xlink": "name of an XML namespace",
    "http://www.w3.org/2000/svg": "name of an XML namespace",
    "http://www.w3.org/2000/xmlns/": "name of an XML namespace",
    "https://github.com/vega/vega-lite/issues/2415": "text of a warning",
    "https://vega.github.io/schema/vega/v6.json": "name of the schema, in the output of Vega-Lite's compiler",
}
# Vega's loader can fetch. The page's script gives each view a loader that refuses, and the page's policy forbids it.
BUNDLE_NETWORK = {"fetch(": 1}

ELEMENTS = set(
    "html head meta title style body h1 h2 h3 h4 p nav ul li a section div table thead tbody tr th td details summary"
    " dl dt dd code small b span figure figcaption script noscript footer br".split()
)
VOID = {"meta", "br"}
ATTRIBUTES = set(
    "lang charset http-equiv content name id class href title style scope type aria-label data-head".split()
)
NETWORK = ["fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "importScripts", "import(", "Worker("]
UNSAFE = ["eval(", "Function(", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "window.open"]
UNSAFE += ["location"]
ADDRESS = re.compile(r"""\b(?:https?|wss?|ftp|file)://[^\s"'`<>)\\]*""", re.IGNORECASE)
LOADING_KEYS = {"url", "href", "src", "baseURL", "$schema"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.faults = []
        self.open = []
        self.ids, self.targets = [], []
        self.policies = []
        self.scripts = []  # (type, text), in their order
        self.styles = []
        self.order = []  # "failures", "figure", "policy", "script"
        self.text = []

    def fault(self, text):
        line, column = self.getpos()
        self.faults.append(f"{line}:{column}: {text}")

    def handle_starttag(self, tag, attributes):
        if tag not in ELEMENTS:
            self.fault(f"element {tag} is none that a report has")
        given = dict(attributes)
        if len(given) != len(attributes):
            self.fault(f"{tag} has an attribute twice")
        for name, value in attributes:
            self.attribute(tag, name, value or "")
        if tag == "meta" and given.get("http-equiv", "").lower() == "content-security-policy":
            self.policies.append(given.get("content", ""))
            self.order.append("policy")
        elif tag == "meta" and "http-equiv" in given:
            self.fault(f"meta http-equiv={given['http-equiv']}")
        if tag == "figure":
            self.order.append("figure")
        if given.get("id") == "failed" or (tag == "p" and given.get("class") == "fine"):
            self.order.append("failures")
        if tag == "script":
            self.scripts.append([given.get("type", ""), ""])
            self.order.append("script")
        if tag == "style":
            self.order.append("script")
        if tag not in VOID:
            self.open.append(tag)

    def attribute(self, tag, name, value):
        if name not in ATTRIBUTES:
            self.fault(f"attribute {name} of {tag} is none that a report has")
        if ADDRESS.search(value) or value.strip().startswith("//"):
            self.fault(f"an address in {name} of {tag}: {value[:80]}")
        if name == "href":
            if value.startswith("#"):
                self.targets.append(value[1:])
            else:
                self.fault(f"href to {value[:80]}")
        if name == "id":
            self.ids.append(value)
        if name == "style":
            self.style(value)

    def style(self, text):
        for word in ("url(", "@import", "@font-face", "expression(", "image-set("):
            if word in text.lower():
                self.fault(f"{word} in a style")

    def handle_startendtag(self, tag, attributes):
        self.fault(f"{tag} closes itself")

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.fault(f"</{tag}> where {self.open[-1] if self.open else 'nothing'} is open")
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data
        elif self.open and self.open[-1] == "style":
            self.style(data)
            self.styles.append(data)
        else:
            self.text.append(data)

    def handle_comment(self, data):
        self.fault("a comment")


def loading_keys(value):
    """Keys by which a chart would load something."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in LOADING_KEYS or (key in ("mark", "type") and inner in ("image", "geoshape")):
                yield key
            yield from loading_keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from loading_keys(inner)


@functools.lru_cache(maxsize=1)
def check_bundle(text):
    return tuple(bundle_faults(text))


def bundle_faults(text):
    for address in ADDRESS.findall(text):
        if address not in BUNDLE_ADDRESSES:
            yield f"bundle: an address that check_page.py does not know: {address}"
    for word in NETWORK:
        count = len(re.findall(r"(?<![\w$.])" + re.escape(word), text))
        if count > BUNDLE_NETWORK.get(word, 0):
            yield f"bundle: {word} {count} times"


def check_policy(policy, scripts):
    rules = {words[0]: words[1:] for words in map(str.split, policy.split(";")) if words}
    if rules.get("default-src") != ["'none'"]:
        yield "policy: default-src is not 'none'"
    for name in ("base-uri", "form-action"):
        if rules.get(name) != ["'none'"]:
            yield f"policy: {name} is not 'none'"
    hashes = {
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts
    }
    if set(rules.get("script-src", [])) != hashes:
        yield "policy: script-src is not the hashes of exactly the page's scripts"
    known = {"default-src", "base-uri", "form-action", "script-src", "style-src"}
    for name in sorted(set(rules) - known):
        yield f"policy: {name} allows more"
    if rules.get("style-src") not in (None, ["'unsafe-inline'"]):
        yield "policy: style-src allows more than inline styles"


def check(text, bundle):
    """Faults of a page, as lines."""
    page = Page()
    page.feed(text)
    page.close()
    faults = list(page.faults)
    if not text.startswith("<!DOCTYPE html>\n"):
        faults.append("no doctype")
    faults += [f"{tag} is never closed" for tag in page.open]
    faults += [f"id {name} more than once" for name in sorted({i for i in page.ids if page.ids.count(i) > 1})]
    faults += [f"#{name} leads nowhere" for name in page.targets if name not in page.ids]

    programs = [body for kind, body in page.scripts if kind == ""]
    data = [body for kind, body in page.scripts if kind == "application/json"]
    if len(programs) + len(data) != len(page.scripts):
        faults.append("a script of an unknown type")
    if len(page.policies) != 1 or page.order[:1] != ["policy"]:
        faults.append("not one policy before all styles and scripts")
    else:
        faults += check_policy(page.policies[0], programs)
    if len(programs) != 2 or programs[0] != bundle:
        faults.append("the scripts are not the bundle and one more")
    else:
        faults += check_bundle(programs[0])
    own = programs[1:] + page.styles
    for body in own:
        faults += [f"{word} in the page's own script" for word in NETWORK + UNSAFE if word in body]
    for body in own + data + page.text:
        faults += [f"an address: {address}" for address in ADDRESS.findall(body)]
    for body in data:
        if "<" in body:
            faults.append('"<" in the data of a chart')
        try:
            faults += [f"key {key} in the data of a chart" for key in loading_keys(json.loads(body))]
        except ValueError as error:
            faults.append(f"the data of a chart is no JSON: {error}")

    places = [what for what in page.order if what in ("failures", "figure")]
    if not places or places[0] != "failures" or places.count("failures") != 1:
        faults.append("what failed does not stand once, before all charts")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=pathlib.Path, nargs="+", metavar="page")
    parser.add_argument("--bundle", type=pathlib.Path, default=BUNDLE)
    arguments = parser.parse_args()
    # Bytes, for read_text would change line ends, and with them the hashes of the policy.
    bundle = arguments.bundle.read_bytes().decode("utf-8")
    faults = [(path, fault) for path in arguments.pages for fault in check(path.read_bytes().decode("utf-8"), bundle)]
    for path, fault in faults:
        print(f"{path}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
