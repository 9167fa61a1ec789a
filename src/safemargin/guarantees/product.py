"""A product of noisy queries and its budget, from its configuration alone: a tree of shares down to each query.

A product has a global scale; rho squared of the whole is one over its square. Levels of geography and the queries
within each have shares that sum to one. A person changed moves two cells of a histogram by one, so a query with noise
variance `scale² / (level share x query share)` costs that share of the whole (Canonne, Kamath and Steinke 2020).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from safemargin.core import InputError
from safemargin.guarantees.conversion import loss_epsilon, published_epsilon, tight_epsilon
from safemargin.guarantees.guarantee_file import FractionField, Part, Texts, validated
from safemargin.io import read_toml
from safemargin.ui import Document

SMALLEST = Fraction(1, 10**9)
"""Scale of noise that is still taken; its inverse is the largest."""


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
class Asked:
    """A query at a level, its share of the whole budget, and the variance of its noise (None without a share)."""

    level: str
    query: str
    share: Fraction
    rho_squared: Fraction
    variance: Fraction | None

    @property
    def sigma(self) -> float:
        """The standard deviation parameter of the noise."""
        return math.sqrt(self.variance or 0)

    def to_json(self) -> Document:
        return {
            "level": self.level,
            "query": self.query,
            "share": float(self.share),
            "share_exact": str(self.share),
            "rho_squared": float(self.rho_squared),
            "rho_squared_exact": str(self.rho_squared),
            "sigma": self.sigma,
        }


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
        # A changed record moves two cells by one: rho = 2 / (2 sigma^2) (Canonne, Kamath and Steinke 2020).
        return 1 / self.scale**2

    @property
    def queries(self) -> list[Asked]:
        """All queries of all levels; what has no share is not asked."""
        shares = [(level, query, level.share * query.share) for level in self.levels for query in level.queries]
        return [
            Asked(level.name, query.name, share, self.rho_squared * share, self.scale**2 / share if share else None)
            for level, query, share in shares
        ]

    @property
    def asked(self) -> list[Asked]:
        """All queries with a share of the budget."""
        return [query for query in self.queries if query.share]

    @property
    def moved(self) -> Mapping[float, int]:
        """Noise variances of the counts that a changed record moves by one, two for every query, with their number."""
        return Counter(float(query.variance or 0) for query in self.asked for _ in range(2))

    def attribute_budget(self, attribute: str) -> Fraction:
        """The budget for changing one attribute of a record: the queries that distinguish it, at every level."""
        # Changing one attribute moves two cells of the queries that distinguish it, and none of the others.
        shares = (
            level.share * query.share
            for level in self.levels
            for query in level.queries
            if attribute in query.attributes
        )
        return self.rho_squared * sum(shares, Fraction(0))

    def within_budget(self, level: str) -> Fraction:
        """The budget for moving a record between smallest areas inside one area of `level`: all levels below it."""
        # Within an area of a level, its own counts and those of all wider ones stay as they are.
        below = self.levels[[area.name for area in self.levels].index(level) + 1 :]
        return self.rho_squared * sum((area.share for area in below), Fraction(0))


class _Level(Part):
    name: str
    share: FractionField
    queries: dict[str, FractionField] = {}


class _Product(Part):
    name: str | None = None
    unit: str = "person"
    scale: FractionField
    queries: dict[str, Texts] = {}
    levels: Annotated[tuple[_Level, ...], Field(min_length=1)]


def read_product(path: Path | str) -> Product:
    """The product in a TOML file; errors name the key."""
    path = Path(path)
    entry = validated(_Product, read_toml(path), str(path))
    levels = []
    for number, level in enumerate(entry.levels):
        if unknown := next((name for name in level.queries if name not in entry.queries), None):
            raise InputError(f"{path}: levels[{number}].queries: {unknown!r} is not among the queries of the file")
        queries = [CensusQuery(name, frozenset(entry.queries[name]), share) for name, share in level.queries.items()]
        levels.append(CensusLevel(level.name, level.share, tuple(queries)))
    try:
        return Product(entry.name or path.stem, entry.unit, entry.scale, tuple(levels))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


@dataclass(frozen=True)
class CensusCertificate:
    """The epsilons of a product at a delta: of the whole, per attribute, and within areas of each level.

    `epsilon` follows from rho² alone, as does the looser `published` one; `by_losses` from the noise of every count.
    """

    product: Product
    delta: float
    epsilon: float
    published: float
    by_losses: float
    attributes: Mapping[str, float]
    within: Mapping[str, float]

    def to_json(self) -> Document:
        product = self.product
        return {
            "product": product.name,
            "unit": product.unit,
            "scale": str(product.scale),
            "rho_squared": float(product.rho_squared),
            "rho_squared_exact": str(product.rho_squared),
            "delta": self.delta,
            "epsilon": self.epsilon,
            "epsilon_published": self.published,
            "epsilon_by_losses": self.by_losses,
            "attributes": dict(self.attributes),
            "block_within": dict(self.within),
            "queries": [query.to_json() for query in product.asked],
        }

    @property
    def lines(self) -> list[str]:
        """The epsilons in words."""
        product, rho = self.product, self.product.rho_squared
        lines = [
            f"{product.name}: rho² = {rho} = {float(rho):.6f}, epsilon {self.epsilon:.2f} at delta {self.delta:g} per "
            f"{product.unit}",
            f"  {self.published:.2f} by the looser formula, {self.by_losses:.2f} by the losses of all counts",
        ]
        if self.attributes:
            listed = ", ".join(f"{name} {value:.2f}" for name, value in self.attributes.items())
            lines.append(f"  one attribute changed: {listed}")
        if self.within:
            smallest = product.levels[-1].name.lower().replace("_", " ")
            within = ", ".join(f"{name} {value:.2f}" for name, value in self.within.items())
            lines.append(f"  moved to another {smallest} inside: {within}")
        return lines


@cache
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


def _check_shares(where: str, shares: Sequence[Fraction]) -> None:
    if (least := min(shares, default=Fraction(0))) < 0:
        raise InputError(f"{where}: share {least}: must not be negative")
    if sum(shares, Fraction(0)) != 1:
        raise InputError(f"{where}: shares sum to {sum(shares, Fraction(0))}, not to 1")
