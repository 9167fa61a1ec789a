"""Budgets of releases like the 2020 census, from their configuration alone: a tree of shares down to each query.

A product has a global scale; rho squared of the whole is one over its square. Levels of geography and the queries
within each have shares that sum to one. A person changed moves two cells of a histogram by one, so a query with noise
variance `scale² / (level share x query share)` costs that share of the whole.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from safemargin.core import (
    Change,
    Distance,
    Guarantee,
    InputError,
    Invariant,
    Measure,
    Nested,
    Population,
    Records,
    at_least,
    counts,
)
from safemargin.guarantees.conversion import printed_interval, published_epsilon, tight_epsilon
from safemargin.guarantees.losses import loss_epsilon
from safemargin.guarantees.rules import change_unit, compose, derive, post_process, publish_invariants, refine
from safemargin.guarantees.swap_loss import swap_epsilon

SMALLEST = Fraction(1, 10**9)
"""Scale of noise that is still taken; its inverse is the largest."""
PRINTED_DELTA = 1e-10
"""What published epsilons are at."""
GEOGRAPHY = ("block", "block group", "tract", "county", "state")

CEF = Population(
    "census edited file",
    records=(
        Records("households", free=True),
        Records("group quarters", free=True),
        Records("housing units", free=True),
    ),
    determines=tuple(zip(GEOGRAPHY, GEOGRAPHY[1:], strict=False)),
    nested=(Nested("person", "household", up=1, down=99_999),),
)
"""Data after coding, editing and imputation. A household has at most 99,999 people, and one person belongs to one."""

STATE_POPULATION = counts("persons", "state")
UNITS = counts("housing units", "block")
QUARTERS = counts("group quarters", "block", "type")
CENSUS_INVARIANTS = (STATE_POPULATION, UNITS, QUARTERS)


IMPUTED = "Units are records after imputation: somebody whose record was copied k times has k times the budget in rho."
WITHOUT_BUDGET = (
    "accuracy metrics",
    "population estimates",
    "projections",
    "the file of surnames",
    "publications of researchers inside",
)
"""What else looks at the data."""
UNCOVERED = (
    f"{', '.join(WITHOUT_BUDGET)[:1].upper()}{', '.join(WITHOUT_BUDGET)[1:]}: no budget covers these, so totals are "
    "lower bounds. Products computed from published ones cost nothing."
)
EDITED = (
    "Edit rules and cells that are empty by definition hold in every data set of the census edited file: no invariants."
)
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


@dataclass(frozen=True)
class CensusQuery:
    """A marginal query: the attributes it distinguishes, and its share of the budget of its level."""

    name: str
    attributes: frozenset[str]
    share: Fraction


@dataclass(frozen=True)
class CensusLevel:
    """A level of geography with its share of the budget of the product."""

    name: str
    share: Fraction
    queries: tuple[CensusQuery, ...]


@dataclass(frozen=True)
class Product:
    """One run of a mechanism of noisy queries: levels from the whole down to the smallest areas."""

    name: str
    unit: str
    scale: Fraction
    levels: tuple[CensusLevel, ...]

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise InputError(f"{self.name}: scale = {self.scale}: must be positive")
        if not SMALLEST < self.scale < 1 / SMALLEST:
            raise InputError(f"{self.name}: scale = {float(self.scale):g}: must lie between 1e-9 and 1e9")
        _check_shares(f"{self.name}: levels", [level.share for level in self.levels])
        for level in self.levels:
            _check_shares(f"{self.name}: queries of {level.name}", [query.share for query in level.queries])

    @property
    def rho_squared(self) -> Fraction:
        """The whole budget."""
        return 1 / self.scale**2

    def variance(self, level: str, query: str) -> Fraction:
        """Noise variance of one query."""
        area, asked = self._find(level, query)
        if not area.share * asked.share:
            raise InputError(f"{self.name}: {query!r} has no share at level {level!r}, so it is not asked")
        return self.scale**2 / (area.share * asked.share)

    def sigma(self, level: str, query: str) -> float:
        """Its standard deviation parameter."""
        return math.sqrt(self.variance(level, query))

    @property
    def moved(self) -> Mapping[float, int]:
        """Noise variances of the counts that a changed record moves by one, two for every query, with their number."""
        return Counter(
            float(self.variance(level.name, query.name))
            for level in self.levels
            for query in level.queries
            for _ in range(2)
            if level.share * query.share
        )

    def attribute_budget(self, attribute: str) -> Fraction:
        """The budget for changing one attribute of a record: the queries that tell it apart, at every level."""
        touched = [
            level.share * query.share
            for level in self.levels
            for query in level.queries
            if attribute in query.attributes
        ]
        if not touched:
            raise InputError(f"{self.name}: no query distinguishes {attribute!r}")
        return self.rho_squared * sum(touched, Fraction(0))

    def within_budget(self, level: str) -> Fraction:
        """The budget for moving a record between smallest areas inside one area of `level`: all levels below it."""
        names = [each.name for each in self.levels]
        if level not in names:
            raise InputError(f"{self.name}: there is no level {level!r}; the levels are {', '.join(names)}")
        below = self.levels[names.index(level) + 1 :]
        return self.rho_squared * sum((each.share for each in below), Fraction(0))

    def guarantee(self, population: Population = CEF) -> Guarantee:
        """The guarantee of all noisy answers together, as a tree: product, levels, queries."""
        change = Change(Distance.HAMMING, self.unit)
        levels = []
        for level in self.levels:
            asked = [
                Guarantee(
                    f"{self.name}, {level.name}, {query.name}",
                    "",
                    self.rho_squared * level.share * query.share,
                    population=population,
                    change=change,
                    measure=Measure.ZCDP,
                    rule=f"discrete Gaussian noise, sigma {self.sigma(level.name, query.name):.4g}",
                )
                for query in level.queries
                if level.share * query.share
            ]
            if not asked:
                continue
            levels.append(compose(asked, f"{self.name}, {level.name}"))
        return compose(levels, self.name)

    def _find(self, level: str, query: str) -> tuple[CensusLevel, CensusQuery]:
        for area in self.levels:
            for asked in area.queries:
                if (area.name, asked.name) == (level, query):
                    return area, asked
        raise InputError(f"{self.name}: there is no query {query!r} at level {level!r}")


@dataclass(frozen=True)
class CensusCertificate:
    """What a certificate of a product prints: the whole, per attribute, and within areas of each level.

    `epsilon` follows from rho alone, as does the looser `published` one; `by_losses` from the noise of every count.
    """

    product: Product
    delta: float
    epsilon: float
    published: float
    by_losses: float
    attributes: Mapping[str, float]
    within: Mapping[str, float]


def certificate(product: Product, delta: float = 1e-10) -> CensusCertificate:
    """All epsilons of one product at a delta."""

    def epsilon(budget: Fraction) -> float:
        return tight_epsilon(float(budget), delta)

    attributes = sorted({name for level in product.levels for query in level.queries for name in query.attributes})
    return CensusCertificate(
        product,
        delta,
        epsilon(product.rho_squared),
        published_epsilon(float(product.rho_squared), delta),
        loss_epsilon(product.moved, delta),
        {name: epsilon(product.attribute_budget(name)) for name in attributes},
        {level.name: epsilon(product.within_budget(level.name)) for level in reversed(product.levels[:-1])},
    )


def measured(name: str, unit: str, rho_squared: Fraction, invariants: Sequence[Invariant] = ()) -> Guarantee:
    """Noisy measurements with a budget that was published."""
    change = Change(Distance.HAMMING, unit)
    guaranteed = f"published budget of {name}"
    return Guarantee(name, "", rho_squared, tuple(invariants), CEF, change, Measure.ZCDP, rule=guaranteed)


def top_down(name: str, parts: Sequence[Guarantee], earlier: Sequence[Guarantee] = ()) -> Guarantee:
    """A TopDown release: measurements for people, the invariants for free, and estimation from these alone.

    Under universes that do not fix the invariants the last step would not be post-processing: it reads them.
    """
    moved = [refine(change_unit(part, "person"), CENSUS_INVARIANTS) for part in parts]
    free = publish_invariants(moved[0], CENSUS_INVARIANTS, "invariants")
    return post_process(compose([*moved, *earlier, free], f"{name} measurements"), name)


def redistricting_2020() -> Guarantee:
    """The redistricting data as published: rho squared 2.63."""
    households, persons, *_ = (Fraction(rho) for _, _, rho, _ in PRINTED)
    parts = [measured("PL households", "household", households), measured("PL persons", "person", persons)]
    return top_down("Redistricting Data", parts)


def characteristics_2020() -> Guarantee:
    """Demographic and housing characteristics, consistent with the redistricting data: rho squared 15.29 for both."""
    _, _, households, persons, _ = (Fraction(rho) for _, _, rho, _ in PRINTED)
    parts = [measured("DHC households", "household", households), measured("DHC persons", "person", persons)]
    return top_down("Demographic and Housing Characteristics", parts, [redistricting_2020()])


def census_2020() -> Guarantee:
    """All products of the 2020 census to date that have a budget, composed for people: rho squared 55.371."""
    others = [refine(change_unit(each, "person"), CENSUS_INVARIANTS) for each in tabulated()]
    top = characteristics_2020()
    derived = [derive(top, name) for name in DERIVED_PRODUCTS]
    whole = compose([top, *others, *derived], "2020 census to date")
    return replace(whole, remarks=(IMPUTED, UNCOVERED, EDITED))


@dataclass(frozen=True)
class PrintedBudget:
    """A budget as it was printed, the epsilon of its rounded rho squared, and the rho squared its epsilon leaves."""

    product: str
    unit: str
    rho_squared: str
    epsilon: str
    recomputed: float
    low: float
    high: float


def printed_budgets() -> list[PrintedBudget]:
    """Table 3 with what rounding leaves open: most printed epsilons come from budgets with more digits."""
    return [
        PrintedBudget(*row, published_epsilon(float(row[2]), PRINTED_DELTA), *printed_interval(row[3], PRINTED_DELTA))
        for row in PRINTED
    ]


@dataclass(frozen=True)
class Alternative:
    """What could have been matched on and swapped in 2020, and the households in the largest stratum of that."""

    match: tuple[str, ...]
    swapped: str
    largest: int
    where: str

    @property
    def matched(self) -> str:
        """What is matched on.

        >>> COUNTERFACTUAL[1].matched
        'state x household size'
        """
        return " x ".join(self.match)


COUNTERFACTUAL = (
    Alternative(("state",), "county", 13_475_623, "California"),
    Alternative(("state", "household size"), "county", 3_948_028, "California, two people"),
    Alternative(("county",), "tract", 3_420_628, "Los Angeles County"),
    Alternative(("county", "household size"), "tract", 939_185, "Los Angeles County, two people"),
    Alternative(("block group",), "block", 6_204, "060730187001, California"),
    Alternative(("block group", "household size"), "block", 4_549, "121199114024, Florida, two people"),
)
"""Table 5, from the Demographic and Housing Characteristics file."""


def counterfactual(rates: Sequence[Fraction] = (Fraction(1, 20), Fraction(1, 2))) -> list[Guarantee]:
    """Swapping of the households of the 2020 census, had it been used."""
    found = []
    for rate in rates:
        for each in COUNTERFACTUAL:
            match, swapped, largest = each.match, each.swapped, each.largest
            held = (*match, *(name for name in ("household size", "characteristics") if name not in match))
            found.append(
                Guarantee(
                    f"swapping {swapped} within {each.matched} at {float(rate):.0%}",
                    "",
                    swap_epsilon(rate, largest),
                    (counts("households", *held), counts("households", *match, swapped)),
                    CEF,
                    Change(Distance.HAMMING, "household"),
                    varies=f"swap rate {rate}; {largest:,} households in the largest stratum",
                    rule="permutation swapping (Theorem 1)",
                    remarks=(IMPUTED,),
                    rate=rate,
                )
            )
    return found


def tabulated() -> list[Guarantee]:
    """Products outside TopDown, as published."""
    return [
        measured("Detailed DHC-A (SafeTab-P)", "person", Fraction("19.776"), [UNITS]),
        measured("Detailed DHC-B (SafeTab-H)", "household", Fraction("17.79"), [UNITS]),
        measured("Supplemental DHC (PHSafe)", "household", Fraction("2.515"), [at_least(1, "housing units", "block")]),
    ]


def _check_shares(where: str, shares: Sequence[Fraction]) -> None:
    if (least := min(shares, default=Fraction(0))) < 0:
        raise InputError(f"{where}: share {least}: must not be negative")
    if sum(shares, Fraction(0)) != 1:
        raise InputError(f"{where}: shares sum to {sum(shares, Fraction(0))}, not to 1")
