# SPDX-License-Identifier: BSD-3-Clause
"""Pages that GitHub and the site would show differently: what both make of a page has as many lists, tables and blocks, and the same anchors."""
import collections
import html.parser
import pathlib
import re

import markdown
import markdown_it
from pymdownx.slugs import slugify

COUNTED = ("h1", "h2", "h3", "h4", "ul", "ol", "li", "table", "tr", "td", "pre", "blockquote", "img", "a", "hr", "strong", "em")


class Counted(html.parser.HTMLParser):
    """How often each tag comes."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: collections.Counter[str] = collections.Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, _: list) -> None:
        if tag in COUNTED:
            self.tags[tag] += 1


def github_slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def errors_in(pages: list[pathlib.Path], root: pathlib.Path) -> list[str]:
    github = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table")
    site = markdown.Markdown(extensions=["attr_list", "def_list", "tables", "sane_lists", "pymdownx.highlight", "pymdownx.superfences",
                                         "pymdownx.betterem"], extension_configs={"pymdownx.highlight": {"use_pygments": False}})
    errors = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        one, other = Counted(github.render(text)).tags, Counted(site.reset().convert(text)).tags
        errors += [f"{page.relative_to(root)}: GitHub shows {one[tag]} <{tag}>, the site {other[tag]}" for tag in COUNTED if one[tag] != other[tag]]
        tokens = github.parse(text)
        for k, token in enumerate(tokens):
            if token.type == "heading_open":
                words = "".join(child.content for child in tokens[k + 1].children or [] if child.type in ("text", "code_inline"))
                github_has, site_has = github_slug(words), slugify(case="lower")(words, "-")
                if github_has != site_has:
                    errors.append(f"{page.relative_to(root)}: GitHub's anchor is #{github_has}, the site's #{site_has}")
    return errors
