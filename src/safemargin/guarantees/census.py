"""The budgets of the 2020 census: from its configuration, as printed, composed, and what swapping would have had."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from safemargin import ui
from safemargin.core import (
    Change,
    Distance,
    Guarantee,
    InputError,
    Invariant,
    Measure,
    Population,
    at_least,
    counts,
)
from safemargin.guarantees.census_population import (
    CEF,
    CENSUS_INVARIANTS,
    HOUSING_UNITS,
    MOVES,
    STAYS,
    census_file,
)
from safemargin.guarantees.conversion import (
    DELTA,
    Conversion,
    Number,
    exact_amount,
    printed_interval,
    published_epsilon,
    tight_epsilon,
)
from safemargin.guarantees.guarantee_file import document
from safemargin.guarantees.product import CensusCertificate, Product, certificate, read_product
from safemargin.guarantees.report import COLUMNS, SCALES, derivation, derivation_details, side_by_side
from safemargin.guarantees.rules import change_unit, compose_parts, derive, post_process, publish_invariants, refine
from safemargin.guarantees.swap_curves import COUNTERFACTUAL, Alternative
from safemargin.guarantees.swap_loss import swap_epsilon

PRODUCTS = tuple(
    read_product(Path(__file__).with_name("data") / f"{name}.toml")
    for name in ("us_persons", "us_units", "puerto_rico_persons", "puerto_rico_units")
)
"""The redistricting data, as in the published production settings of the Census Bureau."""
PERSONS, UNITS, PUERTO_RICO_PERSONS, PUERTO_RICO_UNITS = PRODUCTS
IMPUTED = "Units are records after imputation: somebody whose record was copied k times has k² times the budget rho²."
IMPUTED_PURE = "Units are records after imputation: somebody whose record was copied k times has k times the epsilon."
WITHOUT_BUDGET = (
    "accuracy metrics",
    "population estimates",
    "projections",
    "the file of surnames",
    "publications of researchers inside",
)
"""What else looks at the data."""
UNCOVERED = (
    f"{', '.join(WITHOUT_BUDGET).capitalize()}: no budget covers these, so totals are lower bounds. Products computed "
    "from published ones cost nothing."
)
EDITED = "Edit rules and cells that are empty by definition hold in every census edited file: they are no invariants."
DERIVED_PRODUCTS = (
    "Demographic Profile",
    "privacy-protected microdata",
    "noisy measurements of the redistricting data",
    "noisy measurements of the characteristics",
    "118th Congressional District file",
)
"""Computed from, or part of, what the two runs of TopDown published."""

PRINTED = (
    ("Redistricting Data", "household", "0.07", "2.70"),
    ("Redistricting Data", "person", "2.56", "17.90"),
    ("Demographic and Housing Characteristics", "household", "7.70", "34.33"),
    ("Demographic and Housing Characteristics", "person", "4.96", "26.34"),
    ("both", "all", "15.29", "52.83"),
)
"""Product, unit, rho squared and epsilon at delta 1e-10, as the Census Bureau printed them (Table 3)."""


PRINTED_COLUMNS = ("product", "unit", "rho² printed", "epsilon printed", "epsilon of that rho²", "rho² that it leaves")
PRINTED_NOTE = (
    "At delta 1e-10. Most printed epsilons come from budgets with more digits: convert these, not rounded ones."
)
SWAPPING_COLUMNS = ("swapping", "epsilon", "depends on")
SWAPPED_NOTE = "Had households been swapped; not to be ranked by epsilon, as each fixes other tables"


def product_guarantee(product: Product, population: Population) -> Guarantee:
    """The guarantee of all noisy answers together, as a tree: product, levels, queries."""
    change = Change(Distance.HAMMING, product.unit)
    levels: dict[str, list[Guarantee]] = {}
    for query in product.asked:
        answer = Guarantee(
            f"{product.name}, {query.level}, {query.query}",
            "",
            query.rho_squared,
            population=population,
            change=change,
            measure=Measure.ZCDP,
            rule=f"discrete Gaussian noise, sigma {query.sigma:.4g}",
        )
        levels.setdefault(query.level, []).append(answer)
    parts = [compose_parts(answers, f"{product.name}, {level}") for level, answers in levels.items()]
    return compose_parts(parts, product.name)


def measured(
    name: str, unit: str, rho_squared: Fraction, invariants: Sequence[Invariant] = (), population: Population = CEF
) -> Guarantee:
    """Noisy measurements with a budget that was published."""
    change = Change(Distance.HAMMING, unit)
    guaranteed = f"published budget of {name}"
    return Guarantee(name, "", rho_squared, tuple(invariants), population, change, Measure.ZCDP, rule=guaranteed)


def top_down(name: str, parts: Sequence[Guarantee], earlier: Sequence[Guarantee] = ()) -> Guarantee:
    """A TopDown release: measurements for people, the invariants for free, and estimation from these alone.

    Under universes that do not fix the invariants the last step would not be post-processing: it reads them.
    """
    moved = [refine(change_unit(part, "person"), CENSUS_INVARIANTS) for part in parts]
    free = publish_invariants(moved[0], CENSUS_INVARIANTS, "invariants")
    # Appendix H: step 2 of TopDown reads the invariants too, so they are composed before post-processing.
    return post_process(compose_parts([*moved, *earlier, free], f"{name} measurements"), name)


def redistricting_2020(about: Population = CEF) -> Guarantee:
    """The redistricting data as published: rho squared 2.84 per person, and 2.63 if nobody moves."""
    households, persons, *_ = (Fraction(rho) for _, _, rho, _ in PRINTED)
    parts = [
        measured("PL households", "household", households, population=about),
        measured("PL persons", "person", persons, population=about),
    ]
    return top_down("Redistricting Data", parts)


def characteristics_2020(about: Population = CEF) -> Guarantee:
    """Demographic and housing characteristics, consistent with the redistricting data: rho squared 38.6 for both.

    The Census Bureau and the paper have 15.29, which holds for people who stay in their household.
    """
    _, _, households, persons, _ = (Fraction(rho) for _, _, rho, _ in PRINTED)
    parts = [
        measured("DHC households", "household", households, population=about),
        measured("DHC persons", "person", persons, population=about),
    ]
    return top_down("Demographic and Housing Characteristics", parts, [redistricting_2020(about)])


def census_2020(person_change: str = MOVES) -> Guarantee:
    """All products of the 2020 census to date that have a budget, composed for people: rho squared 139.596.

    For people who stay in their household it is 55.371, the sum of all printed budgets.
    """
    about = census_file(person_change)
    others = [refine(change_unit(product, "person"), CENSUS_INVARIANTS) for product in tabulated(about)]
    top = characteristics_2020(about)
    derived = [derive(top, name) for name in DERIVED_PRODUCTS]
    whole = compose_parts([top, *others, *derived], "2020 census to date")
    return replace(whole, remarks=(IMPUTED, UNCOVERED, EDITED))


def redistricting(about: Population = CEF) -> Guarantee:
    """Persons and units of the redistricting data from their scales, composed for people."""
    parts = [product_guarantee(product, about) for product in (UNITS, PERSONS)]
    return top_down("Redistricting Data from its configuration", parts)


def printed_budgets() -> list[ui.Document]:
    """Table 3 with the epsilon of the rounded rho squared, and the rho squared that the printed epsilon leaves.

    Most printed epsilons come from budgets with more digits.
    """
    return [
        {
            "product": product,
            "unit": unit,
            "rho_squared_printed": float(rho),
            "epsilon_printed": float(epsilon),
            "epsilon": published_epsilon(float(rho), DELTA),
            "rho_squared_between": list(printed_interval(epsilon, DELTA)),
        }
        for product, unit, rho, epsilon in PRINTED
    ]


def counterfactual(rates: Sequence[Fraction] = (Fraction(1, 20), Fraction(1, 2))) -> list[Guarantee]:
    """Swapping of the households of the 2020 census, had it been used."""
    return [_swapping(way, rate) for rate in rates for way in COUNTERFACTUAL]


def _swapping(way: Alternative, rate: Fraction) -> Guarantee:
    held = dict.fromkeys((*way.match, "household size", "characteristics"))
    return Guarantee(
        f"swapping {way.swapped} within {way.matched} at {float(rate):.0%}",
        "",
        swap_epsilon(rate, way.largest),
        (counts("households", *held), counts("households", *way.match, way.swapped)),
        CEF,
        Change(Distance.HAMMING, "household"),
        varies=f"swap rate {rate}; {way.largest:,} households in the largest stratum",
        rule="permutation swapping (Theorem 1)",
        remarks=(IMPUTED_PURE,),
        rate=rate,
    )


def tabulated(about: Population = CEF) -> list[Guarantee]:
    """Products outside TopDown, as published."""
    return [
        measured("Detailed DHC-A (SafeTab-P)", "person", Fraction("19.776"), [HOUSING_UNITS], about),
        measured("Detailed DHC-B (SafeTab-H)", "household", Fraction("17.79"), [HOUSING_UNITS], about),
        measured(
            "Supplemental DHC (PHSafe)", "household", Fraction("2.515"), [at_least(1, "housing units", "block")], about
        ),
    ]


@dataclass(frozen=True)
class ProductBudget(ui.Result):
    """The budget of one product: its epsilons, the noise of every query, and its guarantee."""

    certificate: CensusCertificate
    guarantee: Guarantee

    def to_json(self) -> ui.Document:
        return {"schema": ui.SCHEMA, **self.certificate.to_json(), "guarantee": document(self.guarantee)}

    def to_report(self) -> ui.Report:
        product = self.certificate.product
        rows = [
            [
                query.level,
                query.query,
                str(query.share),
                f"{float(query.rho_squared):.6g}",
                f"{query.sigma:.4g}" if query.share else "not asked",
            ]
            for query in product.queries
        ]
        return ui.Report(
            f"{product.name}: budget",
            *self.certificate.lines,
            ui.Grid(["level", "query", "share", "rho²", "sigma"], rows),
            ui.OnPage(ui.Section("Why", derivation_details(self.guarantee))),
        )


def budget(source: Path | str | Product, *, delta: Number = DELTA) -> ProductBudget:
    """Show what a plan of noisy queries guarantees, per attribute and inside areas, and the noise of every query.

    `source` is a TOML file with the scale, the levels and the queries with their shares.
    """
    product = source if isinstance(source, Product) else read_product(source)
    level = float(exact_amount("delta", delta))
    return ProductBudget(certificate(product, level), product_guarantee(product, Population(product.name)))


@dataclass(frozen=True)
class Census(ui.Result):
    """Certificates, redistricting data from their configuration, TopDown, products outside it, the whole, what swapping
    would have guaranteed, and budgets as printed."""

    certificates: Sequence[CensusCertificate]
    redistricting: Guarantee
    top_down: Guarantee
    others: Sequence[Guarantee]
    whole: Guarantee
    swapping: Sequence[Guarantee]
    printed: Sequence[ui.Document]
    delta: float

    @property
    def rows(self) -> list[list[str]]:
        """Six guarantees side by side (Table 4): four systems, all of them together, and swapping in their place."""
        first = replace(self.top_down, mechanism="TopDown (Redistricting Data, DHC)")
        epsilons = [guarantee.epsilon or 0.0 for guarantee in self.swapping]
        swapped = [
            "permutation swapping (had it been used)",
            str(self.swapping[0].measure),
            str(self.swapping[0].change),
            "households by matched and held, and by matched and swapped variables: others for each choice",
            f"epsilon = {min(epsilons):.2f} to {max(epsilons):.2f} over {len(epsilons)} choices",
        ]
        return [*side_by_side([first, *self.others, self.whole], self.delta), swapped]

    @property
    def per_person(self) -> tuple[str, ...]:
        """All products per person: who may move, and who stays."""
        moving, staying = (float(census_2020(change).budget or 0) for change in (MOVES, STAYS))
        return (
            f"All products, per person who may move to another household: rho² at most {moving:g}. Two household "
            "records change, so a budget per household counts four times.",
            f"Per person who stays in the same household: rho² at most {staying:g}, the sum of the printed budgets. "
            "Theorem 2 of Bailie, Gong and Meng states this for everybody.",
        )

    @property
    def _composed(self) -> str:
        rho = float(self.redistricting.budget or 0)
        epsilon = tight_epsilon(rho, self.delta)
        return f"{self.redistricting.mechanism}: rho² = {rho:.4f}, epsilon {epsilon:.2f}; epsilons do not add up"

    @property
    def _printed(self) -> list[list[str]]:
        return [
            [*row, f"{budget['epsilon']:.4f}", " to ".join(f"{end:.5f}" for end in budget["rho_squared_between"])]
            for row, budget in zip(PRINTED, self.printed, strict=True)
        ]

    @property
    def _swapping(self) -> list[list[str]]:
        return [[guarantee.mechanism, f"{guarantee.epsilon:.2f}", guarantee.varies] for guarantee in self.swapping]

    def to_json(self) -> ui.Document:
        def converted(guarantee: Guarantee) -> ui.Document:
            conversion = Conversion(guarantee.budget or 0.0, self.delta)
            return {**conversion.to_json(), "guarantee": document(guarantee)}

        return {
            "schema": ui.SCHEMA,
            "products": [product.to_json() for product in self.certificates],
            "redistricting": converted(self.redistricting),
            "all": converted(self.whole),
            "side_by_side": [dict(zip(COLUMNS, row, strict=True)) for row in self.rows],
            "rho_squared_per_person": {change: float(census_2020(change).budget or 0) for change in (MOVES, STAYS)},
            "remarks": list(self.whole.remarks),
            "without_budget": list(WITHOUT_BUDGET),
            "printed": list(self.printed),
            "swapping": [document(guarantee) for guarantee in self.swapping],
        }

    def to_report(self) -> ui.Report:
        figures = ("rho²", "epsilon", "by the looser formula", "by the losses of all counts")
        certified = [
            (
                item.product.name,
                f"one {item.product.unit} record",
                f"{float(item.product.rho_squared):.6f}",
                *(f"{value:.2f}" for value in (item.epsilon, item.published, item.by_losses)),
            )
            for item in self.certificates
        ]
        lines = [ui.Paragraph(line, "code") for product in self.certificates for line in product.lines]
        whole = [ui.Paragraph(line, "code") for line in derivation(self.whole)]
        return ui.Report(
            "The 2020 census: what was guaranteed",
            ui.OnPage(f"Epsilons of rho² are at delta {self.delta:g}."),
            ui.InTerminal(*lines),
            ui.OnPage(ui.Grid(("product", "per", *figures), certified)),
            self._composed,
            *self.per_person,
            ui.Section("All guarantees, about the census edited file", ui.Grid(COLUMNS, self.rows), SCALES),
            *self.whole.remarks,
            ui.InTerminal(f"{self.whole.mechanism}, why:", *whole),
            ui.OnPage(ui.Section("Why", derivation_details(self.whole), derivation_details(self.redistricting))),
            ui.Section("As printed", ui.Grid(PRINTED_COLUMNS, self._printed), PRINTED_NOTE),
            ui.Section("Swapping in their place", SWAPPED_NOTE, ui.Grid(SWAPPING_COLUMNS, self._swapping)),
        )


def census(*, delta: Number = DELTA, person_change: str = MOVES) -> Census:
    """Show the budgets of the 2020 census: certificates, composition, all products side by side.

    `person_change` says what one changed person may do: stay in their household, or also move to another.
    """
    level = float(exact_amount("delta", delta))
    if person_change not in (STAYS, MOVES):
        raise InputError(f"person_change = {person_change!r}: must be {STAYS} or {MOVES}")
    about = census_file(person_change)
    return Census(
        [certificate(product, level) for product in PRODUCTS],
        redistricting(about),
        characteristics_2020(about),
        tabulated(about),
        census_2020(person_change),
        counterfactual(),
        printed_budgets(),
        level,
    )
