# SPDX-License-Identifier: BSD-3-Clause
"""Links, anchors and images of built pages: what leads nowhere."""
import html.parser
import pathlib
import re
import urllib.parse

MARKDOWN = re.compile(r"(\[[^\]]*\]\()([^)\s]+)\)")
# Comments, blocks between fences, lines that are indented as code, code within a line.
CODE = re.compile(r"(<!--.*?-->|^```.*?^```$|^(?: {4}|\t)[^\n]*$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


class Page(html.parser.HTMLParser):
    """What a page leads to, and the places that others may lead to."""

    def __init__(self, text: str):
        super().__init__()
        self.places: set[str] = set()
        self.leads: list[str] = []
        self.fetched: set[str] = set()  # by the browser itself
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or tag == "a" and name == "name":
                self.places.add(value)
            elif (name == "href" and tag in ("a", "link")) or (name == "src" and tag in ("img", "script", "source")):
                self.leads.append(value)
                if tag != "a" and dict(attributes).get("rel") != "canonical":
                    self.fetched.add(value)


def errors_in(folder: pathlib.Path) -> list[str]:
    """Of all HTML pages in a folder: links within it to what is not there."""
    folder = folder.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    errors = []
    for path, page in pages.items():
        for lead in page.leads:
            parts = urllib.parse.urlsplit(lead)
            if parts.scheme or parts.netloc:
                if lead in page.fetched:
                    errors.append(f"{path.relative_to(folder)}: {lead} is fetched from elsewhere")
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = urllib.parse.unquote(parts.fragment)
            where = path.relative_to(folder)
            if path.name == "404.html" or folder not in target.parents:
                if path.name != "404.html":
                    errors.append(f"{where}: {lead} leads out of the site")
            elif not target.is_file():
                errors.append(f"{where}: no {lead}")
            elif anchor and target in pages and anchor not in pages[target].places and not anchor.startswith("__"):
                errors.append(f"{where}: {target.relative_to(folder)} has no place #{anchor}")
    return errors
