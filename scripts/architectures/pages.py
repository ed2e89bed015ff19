# SPDX-License-Identifier: BSD-3-Clause
"""Tables that programs write into pages, between <!-- name --> and <!-- /name -->."""


def with_table(text: str, name: str, table: str) -> str:
    begin, end = text.index(f"<!-- {name} -->") + len(f"<!-- {name} -->"), text.index(f"<!-- /{name} -->")
    return f"{text[:begin]}\n{table}\n{text[end:]}"
