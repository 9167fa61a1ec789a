from .bound import infer as infer
from .build import build_system as build_system
from .certificate import SourceFile as SourceFile
from .certificate import digest as digest
from .certificate import parse as parse
from .certify import certify as certify
from .certify import certify_pooled as certify_pooled
from .check import check as check
from .differences import (
    CountedGroups as CountedGroups,
)
from .differences import (
    Side as Side,
)
from .differences import (
    differences as differences,
)
from .differences import (
    refuted_by_totals as refuted_by_totals,
)
from .differences import (
    sides_of_totals as sides_of_totals,
)
from .differences import (
    totals_of as totals_of,
)
from .exposure import (
    QUANTILES as QUANTILES,
)
from .exposure import (
    SORTS as SORTS,
)
from .exposure import (
    Exposed as Exposed,
)
from .exposure import (
    Exposure as Exposure,
)
from .exposure import (
    Possible as Possible,
)
from .exposure import (
    Proof as Proof,
)
from .extremes import (
    OPTION as OPTION,
)
from .extremes import (
    Extremes as Extremes,
)
from .extremes import (
    bound_cell as bound_cell,
)
from .extremes import (
    extremes_document as extremes_document,
)
from .extremes import (
    extremes_parts as extremes_parts,
)
from .extremes import (
    short_words as short_words,
)
from .fiber_equations import Equations as Equations
from .fiber_equations import steps as steps
from .fiber_listing import TableSearch as TableSearch
from .fiber_sample import LAWS as LAWS
from .first_table import some_table as some_table
from .further_tables import further_tables as further_tables
from .mend import within_reach as within_reach
from .methods import settle as settle
from .pairs import extreme_pairs as extreme_pairs
from .pooled import pooled as pooled
from .possible import draw as draw
from .possible import possible as possible
from .proof import prove_intervals as prove_intervals
from .propagate import propagate as propagate
from .report import (
    cell_rows as cell_rows,
)
from .report import (
    cells_csv as cells_csv,
)
from .report import (
    classical_words as classical_words,
)
from .report import (
    closest_calls as closest_calls,
)
from .report import (
    coloured_cells as coloured_cells,
)
from .report import (
    exposure_document as exposure_document,
)
from .report import (
    exposure_parts as exposure_parts,
)
from .report import (
    fiber_document as fiber_document,
)
from .report import (
    fiber_words as fiber_words,
)
from .report import (
    gap_words as gap_words,
)
from .report import (
    tally_words as tally_words,
)
from .rule import hull as hull
from .rule import suspects as suspects
from .search import Targets as Targets
from .search import whole_searches as whole_searches
from .sets import SetIntervals as SetIntervals
from .sets import infer_sets as infer_sets
from .solver import (
    Form as Form,
)
from .solver import (
    is_infeasible as is_infeasible,
)
from .solver import (
    is_optimal as is_optimal,
)
from .solver import (
    solver_of as solver_of,
)
from .solver import (
    values_of as values_of,
)
from .system import (
    System as System,
)
from .system import (
    complete as complete,
)
from .system import (
    complete_total as complete_total,
)
from .system import (
    layers as layers,
)
from .system import (
    measured_slack as measured_slack,
)
from .system import (
    seen_in as seen_in,
)
from .tables import (
    Data as Data,
)
from .tables import (
    axis_names as axis_names,
)
from .tables import (
    checked_tolerance as checked_tolerance,
)
from .tables import (
    read_public as read_public,
)
from .tables import (
    sources_of as sources_of,
)
from .targets import targets_of as targets_of
from .together import TOGETHER as TOGETHER
from .together import certify_with_earlier as certify_with_earlier
from .verification import KIND as KIND
from .verification import SCHEMA as SCHEMA
from .verification import SUPPRESSION as SUPPRESSION
from .verification import Verification as Verification
from .witnessed import ShownCells as ShownCells
