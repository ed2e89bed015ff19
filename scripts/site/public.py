# SPDX-License-Identifier: BSD-3-Clause
"""The public names: pages of docs/reference.toml with the declarations of their headers."""
from __future__ import annotations

import dataclasses
import tomllib

from declarations import INCLUDE, ROOT, Declaration, read_headers

LIST = ROOT / "docs" / "reference.toml"
KINDS_OF_LAYERS = "zp::op"


@dataclasses.dataclass
class Page:
    """A page of the reference: headers, in order, with their public names."""
    file: str
    title: str
    about: str
    guide: str
    headers: dict[str, list[Declaration]]


def read_pages() -> tuple[list[Page], list[Declaration], list[str]]:
    """All pages; the kinds of layers (namespace zp::op); and what is wrong with the list."""
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))["page"]
    headers = [header for page in listed for header in page["headers"]]
    errors = [f"{LIST.name}: no header {header}" for header in headers if not (INCLUDE / "zeropoint" / header).is_file()]
    if errors:
        return [], [], errors
    declared = read_headers(headers)
    pages = []
    for page in listed:
        taken: dict[str, list[Declaration]] = {}
        for header, names in page["headers"].items():
            own = [d for d in declared[header] if d.namespace not in (KINDS_OF_LAYERS, "zp::operators")]
            wanted = None if names == "*" else [name.removesuffix("{}") for name in names.split()]
            for d in own:
                if f"{d.name}{{}}" in names.split():
                    d.members = []
            taken[header] = [d for d in own if wanted is None or d.name in wanted]
            for name in wanted or []:
                if not any(d.name == name for d in own):
                    errors.append(f"{LIST.name}: {header} declares no {name}")
        pages.append(Page(page["file"], page["title"], page["about"], page["guide"], taken))
    kinds = [d for own in declared.values() for d in own if d.namespace == KINDS_OF_LAYERS]
    return pages, kinds, errors
