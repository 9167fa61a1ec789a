"""Configuration of the 2020 redistricting products, as in the published production settings of the Census Bureau."""

from collections.abc import Sequence
from fractions import Fraction

from safemargin.core import Guarantee
from safemargin.guarantees.census import CensusLevel, CensusQuery, Product, top_down

DELTA = 1e-10

QUERIES = {
    "total": (),
    "cenrace": ("cenrace",),
    "hispanic": ("hispanic",),
    "votingage": ("votingage",),
    "hhinstlevels": ("hhgq",),
    "hhgq": ("hhgq",),
    "hispanic*cenrace": ("hispanic", "cenrace"),
    "votingage*cenrace": ("votingage", "cenrace"),
    "votingage*hispanic": ("votingage", "hispanic"),
    "votingage*hispanic*cenrace": ("votingage", "hispanic", "cenrace"),
    "detailed": ("hhgq", "votingage", "hispanic", "cenrace"),
}
"""Queries on a histogram of 8 x 2 x 2 x 63 cells, with the attributes that each distinguishes."""

LEVELS = ("US", "State", "County", "Tract", "Block_Group", "Block")


def _level(name: str, share: Fraction, whole: int, shares: Sequence[int]) -> CensusLevel:
    names = list(QUERIES)[len(QUERIES) - len(shares) :]  # the total of the whole is not asked for
    queries = [
        CensusQuery(query, frozenset(QUERIES[query]), Fraction(part, whole))
        for query, part in zip(names, shares, strict=True)
    ]
    return CensusLevel(name, share, tuple(queries))


PERSONS = Product(
    "US persons",
    "person",
    Fraction(339, 542),
    (
        _level("US", Fraction(104, 4099), 4097, (52, 26, 26, 26, 26, 130, 130, 26, 442, 3213)),
        _level("State", Fraction(1440, 4099), 4097, (3773, 6, 6, 6, 6, 6, 12, 12, 6, 34, 230)),
        _level("County", Fraction(447, 4099), 4097, (3126, 10, 10, 10, 10, 10, 28, 28, 10, 101, 754)),
        _level("Tract", Fraction(687, 4099), 4102, (1567, 8, 5, 5, 5, 5, 1933, 20, 5, 67, 482)),
        _level("Block_Group", Fraction(1256, 4099), 4099, (1705, 3, 3, 3, 3, 3, 1055, 9, 3, 24, 1288)),
        _level("Block", Fraction(165, 4099), 4097, (5, 9, 5, 5, 5, 5, 21, 21, 5, 71, 3945)),
    ),
)


def _units(name: str, levels: Sequence[str], shares: Sequence[Fraction]) -> Product:
    query = (CensusQuery("detailed", frozenset({"occupancy"}), Fraction(1)),)
    found = tuple(CensusLevel(level, share, query) for level, share in zip(levels, shares, strict=True))
    return Product(name, "household", Fraction(12343, 3379), found)


UNITS = _units(
    "US units",
    LEVELS,
    (
        Fraction(1, 205),
        Fraction(1, 205),
        Fraction(7, 82),
        Fraction(364, 1025),
        Fraction(1759, 4100),
        Fraction(99, 820),
    ),
)

PUERTO_RICO_UNITS = _units(
    "Puerto Rico units",
    LEVELS[1:],
    (
        Fraction(5047, 876580),
        Fraction(18746, 219145),
        Fraction(94451, 262974),
        Fraction(281911, 657435),
        Fraction(99, 820),
    ),
)

PUERTO_RICO_PERSONS = Product(
    "Puerto Rico persons",
    "person",
    Fraction(339, 542),
    (
        _level("State", Fraction(689, 4099), 2052, (209, 209, 209, 209, 209, 212, 212, 209, 224, 150)),
        _level("County", Fraction(695, 4099), 4097, (3126, 10, 10, 10, 10, 10, 28, 28, 10, 101, 754)),
        _level("Tract", Fraction(772, 4099), 4102, (1467, 13, 7, 7, 7, 7, 1732, 30, 7, 100, 725)),
        _level("Block_Group", Fraction(1778, 4099), 4103, (1876, 4, 4, 4, 4, 4, 749, 10, 4, 27, 1417)),
        _level("Block", Fraction(165, 4099), 4097, (5, 9, 5, 5, 5, 5, 21, 21, 5, 71, 3945)),
    ),
)

PRODUCTS = (PERSONS, UNITS, PUERTO_RICO_PERSONS, PUERTO_RICO_UNITS)


def redistricting() -> Guarantee:
    """Persons and units of the redistricting data from their scales, composed for people."""
    return top_down("Redistricting Data from its configuration", [UNITS.guarantee(), PERSONS.guarantee()])
