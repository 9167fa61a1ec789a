"""Values that every part shares; no files, no feature."""

from safemargin.core.arrays import BoolArray, FloatArray, IntArray, distinct, frozen, group_sums, grouped, row_keys
from safemargin.core.axis import RESERVED, Axis, Schema
from safemargin.core.earlier import CROSS, Earlier, Histories, Larger, Past, Profile, net_histories, recall, roll_margin
from safemargin.core.errors import (
    ContradictionError,
    InputError,
    MismatchError,
    OutputError,
    RefusedError,
    SafemarginError,
    TooLargeError,
)
from safemargin.core.fraction import exact_number, rounded
from safemargin.core.guarantee import (
    ONE_PERSON,
    Amount,
    Change,
    Distance,
    Guarantee,
    Measure,
    about_a_person,
    epsilon_of,
)
from safemargin.core.lattice import Lattice, Tree, flat, lattice
from safemargin.core.margins import (
    COMPOSITIONS,
    as_published,
    exact_margins,
    knowing,
    merged_margin,
    printed,
    protected_margin,
)
from safemargin.core.onlooker import Onlooker
from safemargin.core.parsed import parsed
from safemargin.core.progress import Progress, no_progress
from safemargin.core.publication import Publication
from safemargin.core.published import JOINER, SIGN, STATUSES, UNBOUNDED, Group, PublishedTable, label
from safemargin.core.randomness import Generator, numpy_generator, system_choices, system_words, write_secret
from safemargin.core.table import Inconsistency, Table, Tally
from safemargin.core.target import VERDICTS, Limits, Target, Verdict
from safemargin.core.universe import Fixes, Invariant, Nested, Population, Records, at_least, counts, named

__all__ = [
    "Amount",
    "Axis",
    "BoolArray",
    "COMPOSITIONS",
    "CROSS",
    "Change",
    "ContradictionError",
    "Distance",
    "Earlier",
    "Fixes",
    "FloatArray",
    "Generator",
    "Group",
    "Guarantee",
    "Histories",
    "Inconsistency",
    "InputError",
    "IntArray",
    "Invariant",
    "JOINER",
    "Larger",
    "Lattice",
    "Limits",
    "Measure",
    "MismatchError",
    "Nested",
    "ONE_PERSON",
    "Onlooker",
    "OutputError",
    "Past",
    "Population",
    "Profile",
    "Progress",
    "Publication",
    "PublishedTable",
    "RESERVED",
    "Records",
    "RefusedError",
    "SIGN",
    "STATUSES",
    "SafemarginError",
    "Schema",
    "Table",
    "Tally",
    "Target",
    "TooLargeError",
    "Tree",
    "UNBOUNDED",
    "VERDICTS",
    "Verdict",
    "about_a_person",
    "as_published",
    "at_least",
    "counts",
    "distinct",
    "epsilon_of",
    "exact_margins",
    "exact_number",
    "flat",
    "frozen",
    "group_sums",
    "grouped",
    "knowing",
    "label",
    "lattice",
    "merged_margin",
    "named",
    "no_progress",
    "net_histories",
    "no_progress",
    "numpy_generator",
    "parsed",
    "printed",
    "protected_margin",
    "recall",
    "roll_margin",
    "rounded",
    "row_keys",
    "system_choices",
    "system_words",
    "write_secret",
]
