"""Guarantees for readers: one with its derivation, two block by block, several side by side."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from rich.console import Console
from rich.text import Text

from safemargin.core import Amount, Guarantee, Measure
from safemargin.guarantees.census import CensusCertificate, CensusLevel, CensusQuery, Product
from safemargin.guarantees.comparing import contrast, empty
from safemargin.guarantees.contrast import Contrast, Standing
from safemargin.guarantees.conversion import published_epsilon, tight_epsilon
from safemargin.guarantees.exact import Checked, Pair
from safemargin.guarantees.guarantee_file import document
from safemargin.ui import (
    SCHEMA,
    Document,
    Html,
    element,
    finite,
    joined,
    paragraphs,
    plural,
    points,
    render_page,
    section,
    table,
    text_table,
)

STANDING_STYLES = {
    Standing.EQUAL: "",
    Standing.STRONGER: "green",
    Standing.WEAKER: "red",
    Standing.INCOMPARABLE: "yellow",
    Standing.UNKNOWN: "yellow",
}
SCALES = "These budgets are on one scale only where all other columns agree: do not rank guarantees by them."
ANSWERS = {True: "yes", False: "no", None: "not known"}
COLUMNS = ("guarantee", "measure", "change", "invariants", "budget")


def contrast_document(found: Contrast) -> Document:
    """The document of `guarantee compare --json`."""
    return {
        "schema": SCHEMA,
        "one": found.one.mechanism,
        "other": found.other.mechanism,
        "blocks": {
            each.name: {"one": each.one, "other": each.other, "standing": str(each.standing), "why": each.why}
            for each in found.blocks
        },
        "overall": str(found.overall),
        "first_implies_second": {"answer": found.down.answer, "why": found.down.why},
        "second_implies_first": {"answer": found.up.answer, "why": found.up.why},
        "warnings": list(found.warnings),
    }


def show_contrast(console: Console, found: Contrast) -> None:
    """Two guarantees block by block, and what follows."""
    one, other = found.one.mechanism, found.other.mechanism
    if one == other:
        one, other = f"the first ({one})", f"the second ({other})"
    console.print(
        text_table(
            ["", "first", "second", "the first is", "why"],
            [
                [each.name, each.one, each.other, Text(str(each.standing), STANDING_STYLES[each.standing]), each.why]
                for each in found.blocks
            ],
        )
    )
    words = {
        Standing.EQUAL: f"{one} and {other} guarantee the same.",
        Standing.STRONGER: f"Whatever satisfies the guarantee of {one} satisfies that of {other}.",
        Standing.WEAKER: f"Whatever satisfies the guarantee of {other} satisfies that of {one}.",
        Standing.INCOMPARABLE: f"Neither guarantee implies the other: {one} and {other} cannot be ranked.",
        Standing.UNKNOWN: f"What is known does not rank {one} and {other}.",
    }
    console.print(Text(f"\nOverall {found.overall}. {words[found.overall]}"))
    for which, way in (("The first implies the second", found.down), ("The second implies the first", found.up)):
        console.print(Text(f"{which}: {ANSWERS[way.answer]}; {way.why}."))
    for warning in found.warnings:
        console.print(Text(warning))


def beside_document(guarantees: Sequence[Guarantee], delta: float) -> Document:
    """The document of `guarantee beside --json`."""
    return {
        "schema": SCHEMA,
        "guarantees": [
            {
                **dict(zip(COLUMNS, row, strict=True)),
                "remarks": list(each.remarks),
                "warnings": empty(each),
                "guarantee": document(each),
            }
            for each, row in zip(guarantees, side_by_side(guarantees, delta), strict=True)
        ],
        "standings": [[str(contrast(one, other).overall) for other in guarantees] for one in guarantees],
        "implications": implications(guarantees),
    }


def show_beside(console: Console, guarantees: Sequence[Guarantee], delta: float) -> None:
    """Guarantees side by side, how each stands to each, and what they leave out."""
    console.print(
        text_table(("", *COLUMNS), [[str(n), *row] for n, row in enumerate(side_by_side(guarantees, delta), 1)])
    )
    console.print(Text("\nThe guarantee of the row, to that of the column"))
    console.print(text_table(["", *map(str, range(1, len(guarantees) + 1))], standings(guarantees)))
    for line in (*implications(guarantees), *leftovers(guarantees)):
        console.print(Text(line))


def standings(guarantees: Sequence[Guarantee]) -> list[list[str]]:
    """How every guarantee stands to every other; rows and columns are numbered from one."""
    return [
        [str(n), *("-" if one is other else str(contrast(one, other).overall) for other in guarantees)]
        for n, one in enumerate(guarantees, 1)
    ]


def implications(guarantees: Sequence[Guarantee]) -> list[str]:
    """Which guarantee implies which, and why or why not."""
    numbered = list(enumerate(guarantees, 1))
    return [
        f"{n} implies {m}: {ANSWERS[found.answer]}; {found.why}."
        for n, one in numbered
        for m, other in numbered
        if n != m and not (empty(one) or empty(other)) and (found := contrast(one, other).down)
    ]


def leftovers(guarantees: Sequence[Guarantee]) -> list[str]:
    """What readers of a table of guarantees have to know: budgets on other scales, remarks, guarantees of nothing."""
    found = [SCALES] if len({each.flavour for each in guarantees}) > 1 else []
    found += [words for each in guarantees for words in empty(each)]
    found += [
        f"{each.mechanism}: its budget depends on the data; here, {each.varies}." for each in guarantees if each.varies
    ]
    found += [f"{each.mechanism}: {remark}" for each in guarantees for remark in each.remarks]
    return list(dict.fromkeys(found))


def beside_page(guarantees: Sequence[Guarantee], delta: float) -> str:
    """Guarantees side by side as a page."""
    title = "Guarantees side by side"
    numbered = [[n, *row] for n, row in enumerate(side_by_side(guarantees, delta), 1)]
    names = [str(n) for n in range(1, len(guarantees) + 1)]
    body = joined(
        [
            section("What is guaranteed", table(["no.", *COLUMNS], numbered), points(leftovers(guarantees))),
            section(
                "Which implies which",
                paragraphs("How the guarantee of the row stands to that of the column."),
                table(["no.", *names], standings(guarantees)),
                points(implications(guarantees)),
            ),
            section("Why", *(derived_list(each) for each in guarantees)),
        ]
    )
    head = element("header", element("h1", title), paragraphs(f"{len(guarantees)} guarantees about odds."))
    return render_page(title, head, body)


def derived_list(guarantee: Guarantee) -> Html:
    """The tree of rules behind a guarantee, folded."""
    lines = "\n".join(derivation(guarantee, indent=0))
    return element("details", element("summary", guarantee.mechanism), element("pre", lines))


def show_guarantee(console: Console, guarantee: Guarantee, depth: int | None = None) -> None:
    """One guarantee in words, and the tree of what it rests on."""
    per = "" if guarantee.budget is None else f" per {guarantee.change}"
    console.print(Text(f"{guarantee.mechanism}: {guarantee.amount}{per}"))
    if guarantee.statement:
        console.print(Text(guarantee.statement))
    console.print(Text(f"Unchanged: {'; '.join(map(str, guarantee.invariants)) or 'nothing'}."))
    if guarantee.varies:
        console.print(Text(f"Depends on: {guarantee.varies}."))
    for remark in (*guarantee.remarks, *empty(guarantee)):
        console.print(Text(remark))
    console.print(Text("Why:"))
    for line in derivation(guarantee, depth):
        console.print(Text(line))


def derivation(guarantee: Guarantee, depth: int | None = None, indent: int = 1) -> Iterable[str]:
    """The tree of rules, one line per step, deepest last; `depth` cuts it."""
    yield f"{'  ' * indent}{guarantee.amount}  {guarantee.mechanism}  [{guarantee.rule}]"
    if depth is not None and indent > depth:
        return
    for each in guarantee.premises:
        yield from derivation(each, depth, indent + 1)


def side_by_side(guarantees: Sequence[Guarantee], delta: float = 1e-10) -> list[list[str]]:
    """One row per guarantee with the columns in `COLUMNS`."""
    return [
        [
            each.mechanism,
            str(each.measure),
            str(each.change) if each.budget is not None else "-",
            "; ".join(map(str, each.invariants)) or "none",
            f"{each.amount}{_shown_epsilon(each, delta)}",
        ]
        for each in guarantees
    ]


def _shown_epsilon(guarantee: Guarantee, delta: float) -> str:
    if guarantee.measure is not Measure.ZCDP or guarantee.budget in (None, math.inf):
        return ""
    return f" (epsilon {published_epsilon(float(guarantee.budget or 0), delta):.2f} at delta {delta:g})"


def conversion_document(budget: Amount, delta: float) -> Document:
    """What a budget in rho squared is in other units."""
    rho_squared = float(budget)
    return {
        "schema": SCHEMA,
        "rho": rho_squared**0.5,
        "rho_squared": rho_squared,
        "rho_squared_exact": str(budget) if isinstance(budget, Fraction) else None,
        "delta": delta,
        "epsilon": published_epsilon(rho_squared, delta),
        "epsilon_tight": tight_epsilon(rho_squared, delta),
    }


def show_conversion(console: Console, found: Document) -> None:
    """A budget in other units, in words."""
    console.print(f"rho² = {found['rho_squared']:.6g} (rho = {found['rho']:.6g}) at delta = {found['delta']:g}:")
    console.print(f"  epsilon {found['epsilon']:.4f} by the published formula (Bun and Steinke)")
    console.print(f"  epsilon {found['epsilon_tight']:.4f} by the tighter one (Canonne, Kamath and Steinke)")
    if "rho_squared_between" in found:
        low, high = found["rho_squared_between"]
        console.print(f"  any rho² from {low:.6g} to {high:.6g} has this epsilon to the digits given")


def certificate_document(found: CensusCertificate) -> Document:
    """All figures of one product."""
    product = found.product
    return {
        "product": product.name,
        "unit": product.unit,
        "scale": str(product.scale),
        "rho_squared": float(product.rho_squared),
        "rho_squared_exact": str(product.rho_squared),
        "delta": found.delta,
        "epsilon": found.epsilon,
        "epsilon_published": found.published,
        "epsilon_by_losses": found.by_losses,
        "attributes": dict(found.attributes),
        "block_within": dict(found.within),
        "queries": [
            _query_document(product, level, query)
            for level in product.levels
            for query in level.queries
            if level.share * query.share
        ],
    }


def _query_document(product: Product, level: CensusLevel, query: CensusQuery) -> Document:
    share = level.share * query.share
    return {
        "level": level.name,
        "query": query.name,
        "share": float(share),
        "share_exact": str(share),
        "rho_squared": float(product.rho_squared * share),
        "rho_squared_exact": str(product.rho_squared * share),
        "sigma": product.sigma(level.name, query.name),
    }


def show_certificate(console: Console, found: CensusCertificate) -> None:
    """The epsilons of one product: the whole, one attribute, and moves inside areas."""
    product = found.product
    console.print(
        Text(
            f"{product.name}: rho² = {product.rho_squared} = {float(product.rho_squared):.6f}, "
            f"epsilon {found.epsilon:.2f} at delta {found.delta:g} per {product.unit}"
        )
    )
    console.print(
        Text(f"  {found.published:.2f} by the looser formula, {found.by_losses:.2f} by the losses of all counts")
    )
    listed = ", ".join(f"{name} {value:.2f}" for name, value in found.attributes.items())
    if listed:
        console.print(Text(f"  one attribute changed: {listed}"))
    smallest = product.levels[-1].name.lower().replace("_", " ")
    within = ", ".join(f"{name} {value:.2f}" for name, value in found.within.items())
    if within:
        console.print(Text(f"  moved to another {smallest} inside: {within}"))


def show_product(console: Console, found: CensusCertificate) -> None:
    """The epsilons of one product, and the noise of each of its queries."""
    show_certificate(console, found)
    product = found.product
    rows = [
        [
            level.name,
            query.name,
            str(level.share * query.share),
            f"{float(product.rho_squared * level.share * query.share):.6g}",
            f"{product.sigma(level.name, query.name):.4g}" if level.share * query.share else "not asked",
        ]
        for level in product.levels
        for query in level.queries
    ]
    console.print(text_table(["level", "query", "share", "rho²", "sigma"], rows))


def checked_document(found: Checked[object, object], claimed: float | None, exact: float) -> Document:
    """What the verifier found; without a claim there is nothing to be violated."""
    pair = found.worst.pair if found.worst is not None else None
    return {
        "schema": SCHEMA,
        "verdict": str(found.verdict) if claimed is not None else "unknown",
        "loss": finite(exact),
        "claimed": None if claimed is None else finite(claimed),
        "data_sets": sum(each.size for each in found.losses.values()),
        "neighbours": sum(each.neighbours for each in found.losses.values()),
        "witness": None if pair is None else _witness(pair),
    }


def show_checked(console: Console, found: Checked[object, object], claimed: float | None, exact: float) -> None:
    """What the verifier found, with the pair of data sets that loses most."""
    size = sum(each.size for each in found.losses.values())
    verb = {"holds": "holds", "tight": "holds and is tight", "violated": "is violated"}[str(found.verdict)]
    console.print(Text(f"{plural(size, 'data set')} to distinguish. Exact loss {_epsilon(exact)}."))
    if claimed is None:
        console.print(Text("Theorem 1 guarantees nothing where rates differ."))
    else:
        console.print(Text(f"The guarantee of epsilon {_epsilon(claimed)} {verb}."))
    if size < 2:
        console.print(Text("The margins leave one data set only: they tell everything, and nothing is protected."))
    elif not any(each.neighbours for each in found.losses.values()):
        console.print(Text("No two of them are one record apart: a check of neighbours alone would pass anything."))
    pair = found.worst.pair if found.worst is not None else None
    if pair is not None:
        odds = "possible" if pair.ratio is None else f"{float(pair.ratio):.6g} times as likely"
        only = " only" if pair.ratio is None else ""
        console.print(Text(f"Most is lost between {_records(pair.one)}"))
        console.print(Text(f"                 and {_records(pair.other)}, {pair.distance:g} records apart:"))
        console.print(Text(f"    the output {_records(pair.output)} is {odds} from the first{only}."))


def _witness(pair: Pair[object, object]) -> Document:
    return {
        "one": pair.one,
        "other": pair.other,
        "output": pair.output,
        "ratio": "infinite" if pair.ratio is None else str(pair.ratio),
        "distance": pair.distance,
    }


def _records(data: object) -> str:
    return " ".join(f"{h}:{s}" for h, s in data) if isinstance(data, tuple) else str(data)


def _epsilon(value: float) -> str:
    return "infinite" if value == float("inf") else f"{value:.5f}"
