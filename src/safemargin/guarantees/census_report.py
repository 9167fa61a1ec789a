"""The budgets of the 2020 census for readers: certificates, all guarantees side by side, and what they leave out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.text import Text

from safemargin.core import Guarantee
from safemargin.guarantees.census import WITHOUT_BUDGET, CensusCertificate, PrintedBudget
from safemargin.guarantees.conversion import tight_epsilon
from safemargin.guarantees.guarantee_file import document
from safemargin.guarantees.report import (
    COLUMNS,
    SCALES,
    certificate_document,
    conversion_document,
    derivation,
    derived_list,
    show_certificate,
    side_by_side,
)
from safemargin.ui import SCHEMA, Document, element, joined, paragraphs, points, render_page, section, table, text_table

PRINTED = ("product", "unit", "rho² printed", "epsilon printed", "epsilon of that rho²", "rho² that it leaves")
PRINTED_WORDS = (
    "At delta 1e-10. Most printed epsilons come from budgets with more digits than were printed: convert these, not "
    "rounded ones."
)
SWAPPING = ("swapping", "epsilon", "depends on")
SWAPPED = "Had households been swapped; not to be ranked by epsilon, as each fixes other tables"


@dataclass(frozen=True)
class CensusReport:
    """All that is told: certificates, redistricting data from their configuration, TopDown, products outside it, the
    whole, what swapping would have guaranteed, and budgets as printed."""

    certificates: Sequence[CensusCertificate]
    redistricting: Guarantee
    top_down: Guarantee
    others: Sequence[Guarantee]
    whole: Guarantee
    swapping: Sequence[Guarantee]
    printed: Sequence[PrintedBudget]
    delta: float

    @property
    def rows(self) -> list[list[str]]:
        """Six guarantees side by side (Table 4): four systems, all of them together, and swapping in their place."""
        first = replace(self.top_down, mechanism="TopDown (Redistricting Data, DHC)")
        epsilons = [each.epsilon or 0.0 for each in self.swapping]
        swapped = [
            "permutation swapping (had it been used)",
            str(self.swapping[0].measure),
            str(self.swapping[0].change),
            "households by matched and held, and by matched and swapped variables: others for each choice",
            f"epsilon = {min(epsilons):.2f} to {max(epsilons):.2f} over {len(epsilons)} choices",
        ]
        return [*side_by_side([first, *self.others, self.whole], self.delta), swapped]


def census_document(found: CensusReport) -> Document:
    """The document of `guarantee census --json`."""
    return {
        "schema": SCHEMA,
        "products": [certificate_document(each) for each in found.certificates],
        "redistricting": {
            **conversion_document(found.redistricting.budget or 0.0, found.delta),
            "guarantee": document(found.redistricting),
        },
        "all": {**conversion_document(found.whole.budget or 0.0, found.delta), "guarantee": document(found.whole)},
        "side_by_side": [dict(zip(COLUMNS, row, strict=True)) for row in found.rows],
        "remarks": list(found.whole.remarks),
        "without_budget": list(WITHOUT_BUDGET),
        "printed": [
            {
                "product": each.product,
                "unit": each.unit,
                "rho_squared_printed": float(each.rho_squared),
                "epsilon_printed": float(each.epsilon),
                "epsilon": each.recomputed,
                "rho_squared_between": [each.low, each.high],
            }
            for each in found.printed
        ],
        "swapping": [document(each) for each in found.swapping],
    }


def show_census(console: Console, found: CensusReport) -> None:
    """Certificates of the products, their composition, all guarantees side by side, and swapping in their place."""
    for each in found.certificates:
        show_certificate(console, each)
    console.print(Text(f"\n{_composed(found)}"))
    console.print(Text("\nAll guarantees, about the census edited file"))
    console.print(text_table(COLUMNS, found.rows))
    for remark in (SCALES, *found.whole.remarks):
        console.print(Text(remark))
    console.print(Text(f"\n{found.whole.mechanism}, why:"))
    for line in derivation(found.whole):
        console.print(Text(line))
    console.print(Text("\nAs printed"))
    console.print(text_table(PRINTED, _printed(found)))
    console.print(Text(PRINTED_WORDS))
    console.print(Text(f"\n{SWAPPED}"))
    console.print(text_table(SWAPPING, _swapping(found)))


def census_page(found: CensusReport) -> str:
    """The same as a page."""
    title = "The 2020 census: what was guaranteed"
    figures = ("rho²", "epsilon", "by the looser formula", "by the losses of all counts")
    certified = [
        (
            each.product.name,
            f"one {each.product.unit} record",
            f"{float(each.product.rho_squared):.6f}",
            f"{each.epsilon:.2f}",
            f"{each.published:.2f}",
            f"{each.by_losses:.2f}",
        )
        for each in found.certificates
    ]
    body = joined(
        [
            section(
                "All guarantees",
                table(COLUMNS, found.rows),
                paragraphs(SCALES),
                points(found.whole.remarks),
            ),
            section(
                "Redistricting data from its configuration",
                table(("product", "per", *figures), certified, figures),
                paragraphs(f"{_composed(found)}."),
            ),
            section("As printed", table(PRINTED, _printed(found), PRINTED[2:]), paragraphs(PRINTED_WORDS)),
            section("Why", derived_list(found.whole), derived_list(found.redistricting)),
            section("Swapping in their place", table(SWAPPING, _swapping(found), ("epsilon",)), paragraphs(SWAPPED)),
        ]
    )
    words = f"Epsilons of rho² are at delta {found.delta:g}. All guarantees are about the census edited file."
    return render_page(title, element("header", element("h1", title), paragraphs(words)), body)


def _composed(found: CensusReport) -> str:
    rho = float(found.redistricting.budget or 0)
    epsilon = tight_epsilon(rho, found.delta)
    return f"{found.redistricting.mechanism}: rho² = {rho:.4f}, epsilon {epsilon:.2f}; epsilons do not add up"


def _printed(found: CensusReport) -> list[list[str]]:
    return [
        [
            each.product,
            each.unit,
            each.rho_squared,
            each.epsilon,
            f"{each.recomputed:.4f}",
            f"{each.low:.5f} to {each.high:.5f}",
        ]
        for each in found.printed
    ]


def _swapping(found: CensusReport) -> list[list[str]]:
    return [[each.mechanism, f"{each.epsilon:.2f}", each.varies] for each in found.swapping]
