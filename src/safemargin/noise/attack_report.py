"""What attacks on noise arrive at, as a document and in a terminal."""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from safemargin.noise.attacks.denoising import Denoised
from safemargin.noise.attacks.noisy import Recovered
from safemargin.ui import Document, named_cell_label, plural

Truth = Mapping[tuple[tuple[str, str], ...], int]
"""True counts by cell, axes in order."""


def denoised_document(found: Denoised, confidence: float, inputs: Document, truth: Truth | None = None) -> Document:
    """The document of `noise attack --json`; its value is how many counts the attacks are sure of."""
    return {
        "value": len(found.sure(confidence)),
        "inputs": inputs,
        "details": {
            "variance": found.variance,
            "estimated": found.estimated,
            "bound": {
                "least": found.revealed.least,
                "tuples": found.revealed.tuples,
                "confidence": found.revealed.confidence,
                "keyed": found.revealed.keyed,
                "used": found.bound,
            },
            "attacks": {name: [_entry(one, truth) for one in recovered] for name, recovered in found.attacks.items()},
        },
    }


def _entry(one: Recovered, truth: Truth | None) -> Document:
    entry: Document = {
        "cell": one.labels,
        "printed": one.printed,
        "value": one.value,
        "confidence": one.confidence,
    }
    return entry if truth is None else {**entry, "true": truth.get(tuple(sorted(one.cell)))}


def show_denoised(console: Console, found: Denoised, confidence: float, limit: int, truth: Truth | None = None) -> None:
    """Every attack with what it is sure of."""
    how = "estimated from the tables" if found.estimated else "given"
    console.print(f"Variance of the noise: {found.variance:.3g}, {how}.")
    told = found.revealed
    if told.tuples:
        console.print(
            f"Revealing: the bound is at least {told.least} ({plural(told.tuples, 'count')} beside parts); "
            f"just that with {told.confidence:.0%}. Keys add up with {told.keyed:.0%}."
        )
    for name, recovered in found.attacks.items():
        sure = sorted((one for one in recovered if one.confidence >= confidence), key=lambda one: -one.confidence)
        expected = sum(one.confidence for one in recovered)
        words = f"{name}: {len(sure):,} of {plural(len(recovered), 'count')} known, {confidence:.0%} sure"
        words += f"; {expected:,.0f} of all guesses should be right"
        if truth is not None and (judged := [one for one in recovered if tuple(sorted(one.cell)) in truth]):
            right = sum(truth[tuple(sorted(one.cell))] == one.value for one in judged)
            words += f", {right:,} of {len(judged):,} are"
        console.print(Text(f"{words}."))
        for one in sure[:limit]:
            was = "" if one.printed is None else f", printed {one.printed}"
            console.print(Text(f"  - {named_cell_label(one.labels)}: {one.value}{was} ({one.confidence:.1%})"))
        if len(sure) > limit:
            console.print(f"  and {len(sure) - limit:,} more (--limit)")
