"""What auditors get beside a release: the roll, witness tables, and what the rule knows of the axes.

Witnesses are made from the release, the roll and the rule, never from the true answers, so they disclose no answer. But
they count people of every kind, and a release does not publish its roll. So they are in a folder of their own,
`auditors/`, for those who may hold the roll. The manifest of the release commits to it: it states the hash of
`auditors/manifest.json`, which holds 32 random bytes beside the hashes of the other files. Whoever guesses a roll
cannot test the guess against that hash. Nothing here searches. docs/certificate.md describes every file.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from safemargin.bounds import System, profiles_of
from safemargin.checker import MANIFEST, ROLL, SCHEMA, WITNESSES, Files, Finding, Roll
from safemargin.core import (
    Axis,
    Group,
    Hierarchy,
    InputError,
    IntArray,
    Onlooker,
    PublishedTable,
    Schema,
    Tally,
    frozen,
    new_secret,
    row_keys,
)
from safemargin.io import hash_bytes, json_bytes
from safemargin.release.plan import SumRange, Wanted

RULE = "rule.json"
FACTS = "an onlooker holds facts, which the witnesses would disclose to others"
EARLIER = "earlier releases count, and the witnesses would disclose to others who came and went"
NO_ROLL = "no onlooker knows the joint roll, which the witnesses would disclose"
NOISE = "counts are noised, or may be off, and no witness shows what that discloses"
NOT_SHOWN_BY_SETS = "not everybody on the roll answered, or small counts are secret by themselves"
NOT_FOUND = "no integer tables were found that show every count"
Changes = tuple[tuple[int, int, int], ...]
"""Profile, option and by how much its count differs."""


@dataclass(frozen=True)
class WitnessBundle:
    """Witness tables by profile and option, with what the rule knows of the axes beside the roll.

    `roll` counts the people of every profile that has any; the tables have the same rows. `moves` are further tables,
    each as the number of a table and the changes that lead from it.
    """

    schema: Schema
    protect: str
    wanted: tuple[Wanted, ...]
    roll: Tally
    tables: tuple[Tally, ...]
    shared_sums: tuple[tuple[str, tuple[Group, ...]], ...] = ()
    """Per axis the groups whose sums all tables share: whatever has these sums leads to the release."""
    moves: tuple[tuple[int, Changes], ...] = ()
    beyond: tuple[SumRange, ...] = ()
    """Counts beyond a strict limit that all tables have: whatever has such counts leads to the release."""

    def files(self) -> dict[str, bytes]:
        """Roll, witnesses and rule as files; tables have the rows of the roll."""
        return {
            ROLL: roll_csv(self.schema, self.roll),
            WITNESSES: witness_json([self.listed("", ROLL)]),
            RULE: json_bytes(_rule(self)),
        }

    def listed(self, question: str, roll: str) -> dict[str, Any]:
        """What is carried of a question, with the name of the file that has its roll."""
        return {
            "question": question,
            "roll": roll,
            "tables": [table.counts.ravel().tolist() for table in self.tables],
            "moves": [{"from": start, "changes": [list(each) for each in changes]} for start, changes in self.moves],
            "fixed": [
                {"axis": axis, "groups": [sorted(group) for group in groups]} for axis, groups in self.shared_sums
            ],
            **({"beyond": [_stated_range(each) for each in self.beyond]} if self.beyond else {}),
        }


def _stated_range(each: SumRange) -> dict[str, Any]:
    return {
        "axis": each.axis,
        "group": sorted(each.group),
        "option": each.option,
        "least": each.least,
        "most": each.most,
    }


class Auditable(Protocol):
    """Something that auditors get as files."""

    def files(self) -> dict[str, bytes]: ...


def roll_csv(schema: Schema, roll: Tally) -> bytes:
    """A roll as auditors get it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")  # labels as they are: a program reads this file
    writer.writerow([*schema.names, "people"])
    names = [axis.categories for axis in schema.axes]
    for codes, people in zip(roll.codes.tolist(), roll.counts[:, 0].tolist(), strict=True):
        writer.writerow([*(each[code] for each, code in zip(names, codes, strict=True)), people])
    return text.getvalue().encode()


def auditor_files(carried: Auditable | str, salt: str | None = None) -> dict[str, bytes]:
    """The folder for auditors, with a manifest whose hash discloses nothing; or why it is all but empty.

    `salt` is for several parties who compute one release and share a secret: 64 hexadecimal digits that nobody else can
    compute. Without it, they are drawn.
    """
    files = {} if isinstance(carried, str) else carried.files()
    stated: dict[str, object] = {"schema": SCHEMA, "kind": "auditors", "salt": salt or new_secret()}
    if isinstance(carried, str):
        stated["reason"] = carried
    stated["files"] = {name: hash_bytes(content) for name, content in files.items()}
    return {**files, MANIFEST: json_bytes(stated)}


def changes_between(table: IntArray, other: IntArray) -> Changes:
    """Where a table by profile and option differs from another."""
    step = other - table
    profiles, options = np.nonzero(step)
    return tuple(zip(profiles.tolist(), options.tolist(), step[profiles, options].tolist(), strict=True))


def witness_json(questions: Sequence[Mapping[str, Any]]) -> bytes:
    """The witnesses of every question as a file."""
    document = {"schema": SCHEMA, "questions": list(questions)}
    return (json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def _rule(carried: WitnessBundle) -> dict[str, Any]:
    return {
        "axes": stated_axes(carried.schema),
        "options": list(carried.schema.options),
        "protect": carried.protect,
        "wanted": stated_wanted(carried.wanted),
    }


def stated_axes(schema: Schema) -> list[dict[str, Any]]:
    """What the rule knows of the axes."""
    return [
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
        for axis in schema.axes
    ]


def stated_wanted(wanted: Sequence[Wanted]) -> list[list[Any]]:
    """The tables of several axes that were asked for."""
    return [[list(each.axes), each.weight] for each in wanted]


def carried_in(files: Files) -> WitnessBundle:
    """What a folder for auditors carries, for whoever runs the rule on it; an error says why it cannot be read."""
    try:
        rule, (held,) = json.loads(files[RULE]), json.loads(files[WITNESSES])["questions"]
        schema = Schema(tuple(map(axis_of, rule["axes"])), tuple(rule["options"]))
        return carried_of(schema, held, read_roll(schema, ROLL, files[ROLL]), rule)
    except (ValueError, KeyError, TypeError, IndexError, Finding) as error:
        raise InputError(f"{WITNESSES}: cannot be read ({str(error).splitlines()[0]:.80})") from None


def read_roll(schema: Schema, name: str, content: bytes) -> Tally:
    """A roll from its file."""
    roll = Roll(name, content)
    column = [roll.axes.index(axis) for axis in schema.names]
    codes = [[schema.axes[a].index[labels[c]] for a, c in enumerate(column)] for labels in roll.profiles]
    return Tally(schema.names, frozen(codes, len(column)), frozen(roll.people, 1).reshape(-1, 1))


def carried_of(schema: Schema, held: Mapping[str, Any], roll: Tally, rule: Mapping[str, Any]) -> WitnessBundle:
    """What is `held` of a question with this schema and roll; `rule` has the protection and the wanted tables."""
    count = len(schema.options)
    shape = len(roll.codes), count
    tables = tuple(Tally(schema.names, roll.codes, frozen(np.reshape(each, shape), count)) for each in held["tables"])
    wanted = tuple(Wanted(tuple(axes), weight) for axes, weight in rule["wanted"])
    parts = tuple((str(each["axis"]), tuple(map(frozenset, each["groups"]))) for each in held["fixed"])
    beyond = tuple(
        SumRange(str(each["axis"]), frozenset(each["group"]), *(int(each[key]) for key in ("option", "least", "most")))
        for each in held.get("beyond", ())
    )
    return WitnessBundle(schema, str(rule["protect"]), wanted, roll, tables, parts, beyond=beyond)


def axis_of(stated: Mapping[str, Any]) -> Axis:
    """An axis as the rule knows it."""
    hierarchy = None
    if stated["hierarchy"] is not None:
        labels, splits = stated["hierarchy"]
        below = tuple((int(parent), tuple(map(int, children))) for parent, children in splits)
        hierarchy = Hierarchy(stated["name"], tuple(labels), below)
    apart = frozenset(frozenset(pair) for pair in stated["apart"])
    return Axis(
        stated["name"], tuple(stated["categories"]), stated["ordered"], hierarchy, apart, dict(stated["weights"])
    )


def in_order(schema: Schema, codes: IntArray, counts: IntArray) -> Tally:
    """A tally with its rows in the order of the categories."""
    order = np.argsort(row_keys(codes, [len(axis.categories) for axis in schema.axes]))
    return Tally(schema.names, frozen(codes[order], codes.shape[1]), frozen(counts[order], counts.shape[1]))


def rows_in(
    schema: Schema, codes: IntArray, axes: Sequence[str], categories: Sequence[Sequence[str]], profiles: IntArray
) -> IntArray:
    """The row among `codes`, over all axes of a schema, of every profile that `axes` and `categories` name."""
    own = [schema.axes[schema.names.index(name)] for name in axes]
    columns = [schema.names.index(name) for name in axes]
    named = [
        np.array([axis.index[label] for label in labels], dtype=np.int64)[profiles[:, place]]
        for place, (axis, labels) in enumerate(zip(own, categories, strict=True))
    ]
    sizes = [len(axis.categories) for axis in own]
    rows, wanted = row_keys(codes[:, columns], sizes), row_keys(np.stack(named, axis=1), sizes)
    order = np.argsort(rows)
    places: IntArray = order[np.searchsorted(rows[order], wanted).clip(max=len(rows) - 1)]
    return places


def witnesses_of(
    tables: Sequence[Tally], schema: Schema, published: Sequence[PublishedTable], onlooker: Onlooker
) -> tuple[IntArray, ...]:
    """Tables over all axes of a schema as variables of the system of what is published.

    A proof may rest on a system with more facts, whose profiles stand in another order. Whoever uses these adds them
    up: a table that does not agree is ignored.
    """
    found = profiles_of(published, onlooker)
    if found is None or not tables:
        return ()
    axes, categories, codes, people = found
    if set(axes) != set(schema.names) or len(tables[0].codes) != len(codes):
        return ()
    order = rows_in(schema, tables[0].codes, axes, categories, codes)
    listed = [table.counts[order] for table in tables]
    # Where the options cover everybody, the last one is what the others leave, and no variable.
    free = len(schema.options) - all((counts.sum(axis=1) == people).all() for counts in listed)
    return tuple(counts[:, :free].ravel() for counts in listed)


def listed_tables(tables: Sequence[IntArray], system: System, schema: Schema) -> tuple[Tally, ...]:
    """Tables of a system as tallies over all axes of the schema, in the order of their categories."""
    columns = []
    for axis in schema.axes:
        own = system.axes.index(axis.name)
        codes = np.array([axis.index[category] for category in system.categories[own]], dtype=np.int64)
        columns.append(codes[system.codes[:, own]])
    profiles = np.stack(columns, axis=1)
    order = np.argsort(row_keys(profiles, [len(axis.categories) for axis in schema.axes]))
    codes, count = frozen(profiles[order], len(columns)), len(schema.options)
    return tuple(Tally(schema.names, codes, frozen(system.listed(counts)[order], count)) for counts in tables)
