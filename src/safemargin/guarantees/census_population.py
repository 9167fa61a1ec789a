"""The census edited file: which records it has, how persons and households hang together, and what is invariant.

    person_change   records of households that change with one person record
    stays           at most one: the home in which the person lives
    moves           at most two: the home left and the home joined

Bailie, Gong and Meng (Theorem 2 and appendix H) take one for everybody. It is one only for people who stay.

>>> census_file("moves").nested[0].up, census_file("stays").nested[0].up
(2, 1)
"""

from safemargin.core import Nested, Population, Records, counts

GEOGRAPHY = ("block", "block group", "tract", "county", "state")

STAYS, MOVES = "stays", "moves"


def census_file(person_change: str = MOVES) -> Population:
    """Data after coding, editing and imputation. A household has at most 99,999 people, and one person belongs to one.

    A person who stays changes at most one household record. One who moves changes two: that of the home left, and that
    of the home joined.
    """
    return Population(
        "census edited file",
        records=tuple(Records(kind, free=True) for kind in ("households", "group quarters", "housing units")),
        determines=tuple(zip(GEOGRAPHY, GEOGRAPHY[1:], strict=False)),
        nested=(Nested("person", "household", up=2 if person_change == MOVES else 1, down=99_999),),
    )


CEF = census_file()

STATE_POPULATION = counts("persons", "state")
HOUSING_UNITS = counts("housing units", "block")
QUARTERS = counts("group quarters", "block", "type")
CENSUS_INVARIANTS = (STATE_POPULATION, HOUSING_UNITS, QUARTERS)
