"""Promises for readers: one with its derivation, two block by block, several side by side."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.account.census import Certificate
from safemargin.account.conversion import published_epsilon, tight_epsilon
from safemargin.account.exact import Checked, Pair
from safemargin.model.contrast import Contrast, Standing
from safemargin.model.guarantee import Guarantee, Measure
from safemargin.model.guarantee_file import document
from safemargin.report.document import SCHEMA, Document
from safemargin.report.words import plural

STANDING_STYLES = {
    Standing.EQUAL: "",
    Standing.STRONGER: "green",
    Standing.WEAKER: "red",
    Standing.INCOMPARABLE: "yellow",
    Standing.UNKNOWN: "yellow",
}
COLUMNS = ("promise", "measure", "change", "invariants", "budget")


def contrast_document(contrast: Contrast) -> Document:
    """The document of `guarantee compare --json`."""
    return {
        "schema": SCHEMA,
        "one": contrast.one.mechanism,
        "other": contrast.other.mechanism,
        "blocks": {
            each.name: {"one": each.one, "other": each.other, "standing": str(each.standing), "why": each.why}
            for each in contrast.blocks
        },
        "overall": str(contrast.overall),
        "warnings": list(contrast.warnings),
    }


def show_contrast(console: Console, contrast: Contrast) -> None:
    """Two promises block by block, and what follows."""
    one, other = contrast.one.mechanism, contrast.other.mechanism
    console.print(
        _grid(
            ["", "first", "second", "the first is", "why"],
            [
                [each.name, each.one, each.other, Text(str(each.standing), STANDING_STYLES[each.standing]), each.why]
                for each in contrast.blocks
            ],
        )
    )
    words = {
        Standing.EQUAL: f"{one} and {other} promise the same.",
        Standing.STRONGER: f"Whatever keeps the promise of {one} keeps that of {other}.",
        Standing.WEAKER: f"Whatever keeps the promise of {other} keeps that of {one}.",
        Standing.INCOMPARABLE: f"Neither promise implies the other: {one} and {other} cannot be ranked.",
        Standing.UNKNOWN: f"What is known does not rank {one} and {other}.",
    }
    console.print(Text(f"\nOverall {contrast.overall}. {words[contrast.overall]}"))
    for warning in contrast.warnings:
        console.print(Text(warning))


def show_guarantee(console: Console, guarantee: Guarantee, depth: int | None = None) -> None:
    """One promise in words, and the tree of what it rests on."""
    console.print(Text(f"{guarantee.mechanism}: {guarantee.amount} per {guarantee.change}"))
    if guarantee.statement:
        console.print(Text(guarantee.statement))
    console.print(Text(f"Unchanged: {'; '.join(map(str, guarantee.invariants)) or 'nothing'}."))
    if guarantee.varies:
        console.print(Text(f"Depends on: {guarantee.varies}."))
    for remark in guarantee.remarks:
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
    """One row per promise with the columns in `COLUMNS`."""
    return [
        [
            each.mechanism,
            str(each.measure),
            str(each.change),
            "; ".join(map(str, each.invariants)) or "none",
            f"{each.amount}{_shown_epsilon(each, delta)}",
        ]
        for each in guarantees
    ]


def _shown_epsilon(guarantee: Guarantee, delta: float) -> str:
    if guarantee.measure is not Measure.ZCDP or guarantee.budget is None:
        return ""
    return f" (epsilon {published_epsilon(float(guarantee.budget), delta):.2f} at delta {delta:g})"


def conversion_document(rho_squared: float, delta: float) -> Document:
    """What a budget in rho squared is in other units."""
    return {
        "schema": SCHEMA,
        "rho": rho_squared**0.5,
        "rho_squared": rho_squared,
        "delta": delta,
        "epsilon": published_epsilon(rho_squared, delta),
        "epsilon_tight": tight_epsilon(rho_squared, delta),
    }


def certificate_document(found: Certificate) -> Document:
    """All figures of one product."""
    product = found.product
    return {
        "product": product.name,
        "unit": product.unit,
        "scale": str(product.scale),
        "rho_squared": str(product.rho_squared),
        "delta": found.delta,
        "epsilon": found.epsilon,
        "epsilon_published": found.published,
        "epsilon_by_losses": found.by_losses,
        "attributes": dict(found.attributes),
        "block_within": dict(found.within),
        "queries": [
            {
                "level": level.name,
                "query": query.name,
                "share": str(level.share * query.share),
                "rho_squared": str(product.rho_squared * level.share * query.share),
                "sigma": product.sigma(level.name, query.name),
            }
            for level in product.levels
            for query in level.queries
            if level.share * query.share
        ],
    }


def census_document(
    certificates: Sequence[Certificate],
    composed: Guarantee,
    whole: Guarantee,
    swapping: Sequence[Guarantee],
    delta: float,
) -> Document:
    """The document of `guarantee census --json`."""
    return {
        "schema": SCHEMA,
        "products": [certificate_document(each) for each in certificates],
        "redistricting": {
            **conversion_document(float(composed.budget or 0), delta),
            "rho_squared_exact": str(composed.budget),
            "guarantee": document(composed),
        },
        "all": {
            **conversion_document(float(whole.budget or 0), delta),
            "rho_squared_exact": str(whole.budget),
            "guarantee": document(whole),
        },
        "swapping": [document(each) for each in swapping],
    }


def show_certificate(console: Console, found: Certificate) -> None:
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


def show_product(console: Console, found: Certificate) -> None:
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
    console.print(_grid(["level", "query", "share", "rho²", "sigma"], rows))


def show_census(
    console: Console,
    certificates: Sequence[Certificate],
    composed: Guarantee,
    promises: Sequence[Guarantee],
    whole: Guarantee,
    swapping: Sequence[Guarantee],
    delta: float,
) -> None:
    """Certificates of the products, their composition, all promises side by side, and swapping in their place."""
    for each in certificates:
        show_certificate(console, each)
    rho = float(composed.budget or 0)
    console.print(
        Text(
            f"\n{composed.mechanism}: rho² = {rho:.4f}, epsilon {tight_epsilon(rho, delta):.2f}; epsilons do not add up"
        )
    )
    console.print(Text("\nAll products"))
    console.print(_grid(COLUMNS, side_by_side(promises, delta)))
    console.print(Text(f"\n{whole.mechanism}, why:"))
    for line in derivation(whole):
        console.print(Text(line))
    for remark in whole.remarks:
        console.print(Text(remark))
    console.print(Text("\nHad households been swapped; not to be ranked by epsilon, as each fixes other tables"))
    rows = ([each.mechanism, f"{each.epsilon:.2f}", each.varies] for each in swapping)
    console.print(_grid(["", "epsilon", "depends on"], rows))


def checked_document(found: Checked[object, object], claimed: float | None, exact: float) -> Document:
    """What the verifier found; without a claim there is nothing to be violated."""
    pair = found.worst.pair if found.worst is not None else None
    return {
        "schema": SCHEMA,
        "verdict": str(found.verdict) if claimed is not None else "unknown",
        "loss": _finite(exact),
        "claimed": None if claimed is None else _finite(claimed),
        "data_sets": sum(each.size for each in found.losses.values()),
        "witness": None if pair is None else _witness(pair),
    }


def show_checked(console: Console, found: Checked[object, object], claimed: float | None, exact: float) -> None:
    """What the verifier found, with the pair of data sets that loses most."""
    size = sum(each.size for each in found.losses.values())
    verb = {"holds": "holds", "tight": "holds and is tight", "violated": "is violated"}[str(found.verdict)]
    console.print(Text(f"{plural(size, 'data set')} to be told apart. Exact loss {_epsilon(exact)}."))
    if claimed is None:
        console.print(Text("Theorem 1 promises nothing where rates differ."))
    else:
        console.print(Text(f"The promise of epsilon {_epsilon(claimed)} {verb}."))
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


def _finite(value: float) -> float | str:
    return "infinite" if value == float("inf") else value


def _epsilon(value: float) -> str:
    return "infinite" if value == float("inf") else f"{value:.5f}"


def _grid(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        grid.add_column(Text(name), overflow="fold")
    for row in rows:
        grid.add_row(*(each if isinstance(each, Text) else Text(each) for each in row))
    return grid
