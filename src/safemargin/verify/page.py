"""The page of a release, made anew from the published tables and compared with the one that was published.

A page follows from what is published beside it. If the two are the same byte for byte, every number, picture and
sentence on it is that of the tables and the certificate. If another version of the program wrote it, the words may
differ; then the numbers of its cross tables are compared, and the rest is not checked.
"""

import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any

from safemargin.core import PublishedTable
from safemargin.release.report.public import public_page

CROSS_TABLE = re.compile(r'<table class="ct".*?</table>', re.DOTALL)
PICTURES = "what the page shows beside its tables: made anew it differs, as if another version had written it."
Numbers = list[tuple[str, list[str]]]


def made_anew(
    certificate: Mapping[str, Any], manifest: Mapping[str, Any], tables: Sequence[PublishedTable], page: str
) -> str:
    """The page that the program writes beside these tables."""
    orders: dict[str, tuple[str, ...]] = {}
    for table in certificate["tables"]:
        for axis, groups in zip(table["axes"], table["groups"], strict=True):
            names = tuple(name for group in groups.values() for name in group)
            orders[axis] = max(orders.get(axis, ()), names, key=len)
    hashes = {name: mark for name, mark in manifest["files"].items() if name != page}
    return public_page(
        certificate, tables, hashes, orders=orders, onlookers=manifest["onlookers"], rule=manifest["rule_text"]
    )


def cross_tables(page: str) -> Numbers:
    """The caption and all numbers of every cross table of a page, as a reader sees them."""
    found = []
    for table in CROSS_TABLE.findall(page):
        text = unescape(re.sub("<[^>]*>", " ", table)).replace("\N{NO-BREAK SPACE}", " ")
        found.append((text.strip().split("  ")[0], re.findall(r"[0-9][0-9,.]*", text)))
    return found


def compare_pages(shown: str, anew: str) -> tuple[tuple[str, ...], bool]:
    """What is wrong with the page that is shown, and whether it is the one that was made anew."""
    if shown == anew:
        return (), True
    ours, theirs = cross_tables(anew), cross_tables(shown)
    if len(ours) != len(theirs):
        return ("index.html: has more or fewer cross tables than the certificate has tables",), False
    wrong = [name for (name, numbers), (_, others) in zip(ours, theirs, strict=True) if numbers != others]
    return tuple(f"index.html: the cross table {name!r} shows other numbers than the tables" for name in wrong), False
