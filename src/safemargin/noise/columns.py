"""The columns of records with keys, and what their values must be."""

from dataclasses import dataclass

from safemargin.samplers import KeyForm

COUNT_MOST = 2**53
"""Doubles are exact up to here."""
WEIGHT_MOST = 10**12


@dataclass(frozen=True)
class RecordColumns:
    """Which columns are axes, and which hold the key or the id of a record, the number of records, and their weight."""

    axes: tuple[str, ...]
    key: str | None = None
    id: str | None = None
    count: str | None = None
    weight: str | None = None

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read."""
        return (*self.axes, *filter(None, (self.key, self.id, self.count, self.weight)))


def reasons(columns: RecordColumns, form: KeyForm) -> dict[str, str]:
    """What the values of each column must be, as a sentence."""
    keys = "a number from 0 to 1" if form.is_decimal else f"an integer from 0 to {form.modulus - 1}"
    said = {
        columns.key: f"a record key is {keys}",
        columns.count: "a count is an integer, not negative",
        columns.weight: "a weight is a number, not negative",
        columns.id: "an id is not empty",
    }
    return {name: sentence for name, sentence in said.items() if name is not None}
