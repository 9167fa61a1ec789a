"""Names of populations and cycles as people type them: `Staff`, `staff ` and `staff` are one population.

Two names are the same if they are equal after normalising: as compatible characters (NFKC: wide letters are letters),
without case, without invisible characters, and with one space for every run of spaces. A ledger keeps a population
under the name that it was first given.

>>> normalised(" Staff  2026 ")
'staff 2026'
>>> normalised("ＳＴＡＦＦ")
'staff'
"""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar


class NamedPopulation(Protocol):
    """Something that was published about a population."""

    @property
    def population(self) -> str: ...
    @property
    def cycle(self) -> str: ...


Of = TypeVar("Of", bound=NamedPopulation)


def normalised(name: str) -> str:
    """The name by which two spellings are compared."""
    visible = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    # Folding case may decompose letters, so they are composed again afterwards.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())
    return " ".join(folded.split())


def about(entries: Iterable[Of], population: str) -> tuple[Of, ...]:
    """The entries about one population, however its name is spelt."""
    return tuple(entry for entry in entries if normalised(entry.population) == normalised(population))


def name_in(entries: Sequence[NamedPopulation], population: str) -> str:
    """The name under which a ledger keeps a population: the one it was first given."""
    found = about(entries, population)
    return found[0].population if found else population
