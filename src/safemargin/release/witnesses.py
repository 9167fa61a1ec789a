"""The witnesses that a release carries: tables for which the program publishes the same, in a file beside it.

They are made from the release, the roll and the rule, never from the true answers, so they disclose no answer. But they
count people of every kind, and a release does not publish its roll. So the file is masked with a key that is made from
the joint roll: who holds the roll, as the onlooker of the certificate does, reads it and learns nothing more; to
anybody else it is noise. Nothing here searches.
"""

import hashlib
import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from safemargin.bounds import System
from safemargin.core import (
    Axis,
    Group,
    Hierarchy,
    InputError,
    IntArray,
    PublishedTable,
    Schema,
    Tally,
    frozen,
    row_keys,
)
from safemargin.release.plan import Wanted

WITNESSES = "witnesses.bin"
_MARK = b"safemargin witnesses 1\n"
LONG, QUICK = 8_000_000, 3
"""Bytes from which on witnesses are packed at a quicker setting: 0.2 s instead of 2.2 s for 8 MB, a fifth larger."""
MOST_BYTES = 2**30
"""Of a file that is unpacked: a forged one may claim any size."""

FACTS = "an onlooker holds facts, which the witnesses would disclose to others"
EARLIER = "earlier releases count, and the witnesses would disclose to others who came and went"
NO_ROLL = "no onlooker knows the joint roll, which the witnesses would disclose"
NO_TABLES = "nothing is merged or omitted for its answers, and no group needs a witness"
REASONS = (FACTS, EARLIER, NO_ROLL, NO_TABLES)
"""Why a release that is shown against somebody who knows the rule may carry no witnesses."""


@dataclass(frozen=True)
class Carried:
    """Witness tables by profile and option, with what the rule knows of the axes beside the roll.

    `roll` counts the people of every profile that has any; the tables have the same rows.
    """

    schema: Schema
    protect: str
    wanted: tuple[Wanted, ...]
    roll: Tally
    tables: tuple[Tally, ...]
    parts: tuple[tuple[str, tuple[Group, ...]], ...] = ()
    """Per axis the groups whose sums all tables share: whatever has these sums leads to the release."""

    def masked(self, release: str) -> bytes:
        """The content of the file, for the release whose tables have this hash."""
        counts = np.stack([table.counts for table in self.tables])
        # Differences of one table from the next are mostly small, so they pack better than counts.
        steps = np.diff(counts, axis=0, prepend=0).astype("<i4")
        head = json.dumps(_head(self), ensure_ascii=False).encode()
        content = len(head).to_bytes(4, "little") + head + steps.tobytes()
        body = lzma.compress(content, preset=QUICK if len(content) > LONG else lzma.PRESET_DEFAULT)
        plain = _MARK + hashlib.sha256(body).digest() + body
        return _xor(plain, roll_key(_rows(self.roll, self.schema), release))


def roll_key(rows: Sequence[tuple[tuple[str, ...], int]], release: str) -> bytes:
    """The key of a roll: people of every kind, however its file orders them. Each release has a mask of its own."""
    text = json.dumps([release, *sorted(rows)], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _rows(roll: Tally, schema: Schema) -> list[tuple[tuple[str, ...], int]]:
    order = sorted(range(len(roll.axes)), key=lambda a: roll.axes[a])
    head = (tuple(roll.axes[a] for a in order), 0)
    codes, people = roll.codes[roll.counts[:, 0] > 0], roll.counts[roll.counts[:, 0] > 0, 0]
    labels, ranks = [], []
    for a in order:
        names = np.array(schema.axis(roll.axes[a]).categories, dtype=object)
        labels.append(names[codes[:, a]])
        ranks.append(np.argsort(np.argsort(names))[codes[:, a]])
    # In the order that the key sorts them into: numbers sort in a tenth of the time, and what is sorted stays.
    by = np.lexsort(ranks[::-1]) if ranks else np.arange(len(people))
    texts = zip(*(column[by] for column in labels), strict=True) if labels else [()] * len(people)
    return [head, *zip(texts, people[by].tolist(), strict=True)]


def _xor(content: bytes, key: bytes) -> bytes:
    """Masked, or unmasked: SHAKE-256 as a stream, which no key serves twice since every release has its own."""
    stream = hashlib.shake_256(key).digest(len(content))
    return (np.frombuffer(content, np.uint8) ^ np.frombuffer(stream, np.uint8)).tobytes()


def _head(carried: Carried) -> dict[str, Any]:
    return {
        "axes": [
            {
                "name": axis.name,
                "categories": list(axis.categories),
                "ordered": axis.ordered,
                "hierarchy": None
                if axis.hierarchy is None
                else [list(axis.hierarchy.labels), [[parent, list(below)] for parent, below in axis.hierarchy.splits]],
                "apart": sorted(sorted(pair) for pair in axis.apart),
                "weights": dict(axis.weights),
            }
            for axis in carried.schema.axes
        ],
        "options": list(carried.schema.options),
        "protect": carried.protect,
        "wanted": [[list(wanted.axes), wanted.weight] for wanted in carried.wanted],
        "parts": [[axis, [sorted(group) for group in groups]] for axis, groups in carried.parts],
        "tables": len(carried.tables),
    }


def unmasked(content: bytes, rolls: Sequence[PublishedTable], release: str) -> Carried:
    """What a file carries, read with the joint roll; an error says why it cannot be."""
    for roll, axes in ((each, axes) for each in rolls for axes in _sets_of_axes(each)):
        rows = _roll_rows(roll, axes)
        key = roll_key(rows, release)
        if _xor(content[: len(_MARK)], key) == _MARK:
            return _unpacked(_xor(content, key)[len(_MARK) :], rows)
    raise InputError(
        f"{WITNESSES}: cannot be read with this roll: it has other people than the release was decided for, "
        "or the file belongs to another release"
    )


def _sets_of_axes(roll: PublishedTable) -> Iterator[tuple[str, ...]]:
    """A roll may have more columns than the release has axes; it must count categories, not groups of them."""
    if roll.is_exact and all(len(group) == 1 for groups in roll.groups for group in groups):
        for count in range(len(roll.axes), 0, -1):
            yield from combinations(sorted(roll.axes), count)


def _roll_rows(roll: PublishedTable, axes: tuple[str, ...]) -> list[tuple[tuple[str, ...], int]]:
    sums: dict[tuple[str, ...], int] = {}
    columns = [roll.axes.index(axis) for axis in axes]
    names = [[next(iter(group)) for group in roll.groups[column]] for column in columns]
    for codes, people in zip(roll.codes[:, columns].tolist(), roll.lower.tolist(), strict=True):
        key = tuple(labels[code] for labels, code in zip(names, codes, strict=True))
        sums[key] = sums.get(key, 0) + people
    return [(axes, 0), *((key, people) for key, people in sums.items() if people)]


def _unpacked(content: bytes, rows: Sequence[tuple[tuple[str, ...], int]]) -> Carried:
    seal, body = content[:32], content[32:]
    if hashlib.sha256(body).digest() != seal:
        raise InputError(f"{WITNESSES}: was changed after it was written: its seal does not match")
    try:
        unpacker = lzma.LZMADecompressor()
        plain = unpacker.decompress(body, MOST_BYTES)
        size = int.from_bytes(plain[:4], "little")
        head = json.loads(plain[4 : 4 + size])
        schema = Schema(tuple(map(_axis, head["axes"])), tuple(head["options"]))
        roll = _tally(schema, rows)
        shape = int(head["tables"]), len(roll.codes), len(schema.options)
        counts = np.cumsum(np.frombuffer(plain[4 + size :], "<i4").astype(np.int64).reshape(shape), axis=0)
        tables = tuple(Tally(schema.names, roll.codes, frozen(each, shape[2])) for each in counts)
        wanted = tuple(Wanted(tuple(axes), weight) for axes, weight in head["wanted"])
        parts = tuple((str(axis), tuple(map(frozenset, groups))) for axis, groups in head["parts"])
        return Carried(schema, str(head["protect"]), wanted, roll, tables, parts)
    except (lzma.LZMAError, ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"{WITNESSES}: does not hold witness tables ({str(error).splitlines()[0]:.80})") from None


def _axis(stated: Mapping[str, Any]) -> Axis:
    hierarchy = None
    if stated["hierarchy"] is not None:
        labels, splits = stated["hierarchy"]
        below = tuple((int(parent), tuple(map(int, children))) for parent, children in splits)
        hierarchy = Hierarchy(stated["name"], tuple(labels), below)
    apart = frozenset(frozenset(pair) for pair in stated["apart"])
    return Axis(
        stated["name"], tuple(stated["categories"]), stated["ordered"], hierarchy, apart, dict(stated["weights"])
    )


def _tally(schema: Schema, rows: Sequence[tuple[tuple[str, ...], int]]) -> Tally:
    """The roll over the axes of a schema, in their order."""
    (axes, _), *people = rows
    column = [axes.index(name) for name in schema.names]
    codes = [[schema.axes[a].index[labels[c]] for a, c in enumerate(column)] for labels, _ in people]
    return in_order(schema, frozen(codes, len(column)), frozen([number for _, number in people], 1))


def in_order(schema: Schema, codes: IntArray, counts: IntArray) -> Tally:
    """A tally with its rows in the order of the categories."""
    order = np.argsort(row_keys(codes, [len(axis.categories) for axis in schema.axes]))
    return Tally(schema.names, frozen(codes[order], codes.shape[1]), frozen(counts[order], counts.shape[1]))


def listed_tables(tables: Sequence[IntArray], known: System, schema: Schema) -> tuple[Tally, ...]:
    """Tables of a system as tallies over all axes of the schema, in the order of their categories."""
    columns = []
    for axis in schema.axes:
        own = known.axes.index(axis.name)
        codes = np.array([axis.index[category] for category in known.categories[own]], dtype=np.int64)
        columns.append(codes[known.codes[:, own]])
    profiles = np.stack(columns, axis=1)
    order = np.argsort(row_keys(profiles, [len(axis.categories) for axis in schema.axes]))
    codes, count = frozen(profiles[order], len(columns)), len(schema.options)
    return tuple(Tally(schema.names, codes, frozen(known.listed(counts)[order], count)) for counts in tables)
