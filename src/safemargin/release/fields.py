"""The fields of a certificate, schema 2: what is stated about a release, as data. docs/certificate.md describes them.

The statement is generated from these fields by `safemargin.checker`, which also checks them. Nothing here depends on
the confidential roll beyond what the published tables and their groups say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from safemargin import checker
from safemargin.bounds import TOGETHER
from safemargin.core import Onlooker, Publication, PublishedTable, Table, Target, label
from safemargin.release.plan import Certificate
from safemargin.release.posterior import stated_posterior
from safemargin.release.rule.split import slack_of

Fields = dict[str, Any]


def certificate_fields(
    publication: Publication, certificate: Certificate, table: Table, onlookers: Sequence[Onlooker], title: str
) -> Fields:
    """Every field but the files and the commitment to what auditors get, which follow from bytes."""
    names = table.schema.names
    orders = {axis.name: axis.categories for axis in table.schema.axes}
    fields: Fields = {
        "schema": checker.SCHEMA,
        "kind": "release",
        "title": title,
        "target": _target(publication.target),
        "onlookers": [_onlooker(onlooker, names) for onlooker in onlookers],
        "questions": [_question(table, publication.target)],
        "tables": [_table(each, orders) for each in publication.tables],
        "checked": [],
        "rule": {"label": certificate.rule},
        "earlier": _earlier(certificate, onlookers),
        "noise": _noise(publication, orders),
        "slack": slack_of(table),
        "unproved": certificate.linear,
        "auditors": None,
    }
    fields["checked"] = checker.checked_sets(fields, publication.tables)
    fields["statement"] = checker.statement(fields)
    return fields


def combined_fields(names: Sequence[str], each: Sequence[Fields], rule: str, title: str) -> Fields:
    """The fields of several questions as those of one certificate; `each` are the fields of every question by itself.

    A table has the groups of all questions that it is published for: those of one question are the ones it prints.
    Whatever is stated once is as weak as the weakest of them.
    """
    tables: dict[str, Fields] = {}
    for own in each:
        for table in own["tables"]:
            known = tables.setdefault(table["name"], {**table, "groups": [{} for _ in table["axes"]]})
            for groups, more in zip(known["groups"], table["groups"], strict=True):
                assert all(groups.get(name, members) == members for name, members in more.items())
                groups.update(more)
    earlier = [own["earlier"] for own in each]
    cycles = list(dict.fromkeys(cycle for one in earlier for cycle in one["cycles"]))
    held = [one["held"] for one in earlier if one["cycles"]]
    fields: Fields = {
        **each[0],
        "title": title,
        "questions": [{**own["questions"][0], "question": name} for name, own in zip(names, each, strict=True)],
        "tables": list(tables.values()),
        "onlookers": [
            {**same[0], "earlier": any(one["earlier"] for one in same)}
            for same in zip(*(own["onlookers"] for own in each), strict=True)
        ],
        "rule": {"label": rule},
        "earlier": {
            "cycles": cycles,
            "held": max(held, key=HELD.index) if held else "not",
            "net": any(one["net"] for one in earlier),
        },
        "unproved": sum(own["unproved"] for own in each),
    }
    fields["checked"] = checker.checked_sets(fields, [_Axes(table["axes"]) for table in fields["tables"]])
    fields["statement"] = checker.statement(fields)
    return fields


HELD = ("jointly", "group by group", "not")
"""How earlier releases were held together with one, the strongest first."""


@dataclass(frozen=True)
class _Axes:
    """A table, of which only the axes count."""

    axes: Sequence[str]


def _target(target: Target) -> Fields:
    sensitive: dict[str, list[str]] = {}
    for axis, category in sorted(target.sensitive):
        sensitive.setdefault(axis, []).append(category)
    beta = Fraction(target.beta).limit_denominator(10**9)
    return {"beta": _written(beta), "kappa": target.kappa, "tau": target.tau, "sensitive": sensitive}


def _onlooker(onlooker: Onlooker, axes: tuple[str, ...]) -> Fields:
    return {
        "name": onlooker.name,
        "roll": onlooker.composition(axes),
        "facts": bool(onlooker.facts),
        "earlier": onlooker.past is not None,
    }


def _question(table: Table, target: Target) -> Fields:
    options, people = table.schema.options, int(table.people(()).counts.sum())
    totals, beta = table.totals.tolist(), Fraction(target.beta).limit_denominator(10**9)
    secrets = []
    for members in sorted(
        target.secrets.of(options, sum(totals) == people), key=lambda each: (len(each), sorted(each))
    ):
        share = Fraction(sum(totals[number] for number in members), max(people, 1))
        if not 0 < len(members) < len(options):  # of one option, or of all together, nothing is secret
            continue
        ceiling = 1 - min(beta, (1 - share) / 2)
        names = [options[number] for number in sorted(members)]
        secrets.append({"options": names, "share": _written(share), "ceiling": _written(ceiling)})
    least = dict(target.secrets.least)
    return {"question": "", "options": list(options), "people": people, "secrets": secrets, "least": least}


def _table(table: PublishedTable, orders: Mapping[str, tuple[str, ...]]) -> Fields:
    groups = []
    for axis, parts in zip(table.axes, table.groups, strict=True):
        order = orders.get(axis, ())
        rank = {name: place for place, name in enumerate(order)}
        groups.append({label(part, order): sorted(part, key=lambda name: rank.get(name, 0)) for part in parts})
    return {"name": table.name, "axes": list(table.axes), "groups": groups, "files": {}}


def _earlier(certificate: Certificate, onlookers: Sequence[Onlooker]) -> Fields:
    pasts = [onlooker.past for onlooker in onlookers if onlooker.past is not None]
    cycles = list(dict.fromkeys(release.cycle for past in pasts for release in past.earlier))
    held = "jointly" if TOGETHER in certificate.checked else "group by group"
    return {"cycles": cycles, "held": held if cycles else "not", "net": any(past.net for past in pasts)}


def _noise(publication: Publication, orders: Mapping[str, tuple[str, ...]]) -> list[Fields]:
    """What the noise of a release is, and what it says about every noised group; the manifest has whole guarantees."""
    shown = {table.axes[0] for table in publication.tables if len(table.axes) == 1 and "noised" in table.status}
    noised = [axis for axis in orders if axis in shown or axis in publication.omitted]
    # One guarantee covers all axes of which groups are drawn; axes with an epsilon of their own have one each.
    together = any(guarantee.choice for guarantee in publication.guarantees)
    axes = [noised] if together else [[axis] for axis in noised]
    return [
        {
            "epsilon": f"{guarantee.epsilon:g}",
            "posterior": stated_posterior(publication, own, orders),
            "omitted": [axis for axis in own if axis in publication.omitted],
        }
        for guarantee, own in zip(publication.guarantees, axes, strict=True)
    ]


def _written(value: Fraction) -> str:
    """A fraction in lowest terms."""
    return f"{value.numerator}/{value.denominator}"
