from .bound import infer as infer
from .build import build_system as build_system, profiles_of as profiles_of
from .certificate import SourceFile as SourceFile, digest as digest, parse as parse
from .certify import certify as certify, certify_pooled as certify_pooled
from .check import check as check
from .coloured import coloured_cells as coloured_cells
from .differences import (
    CountedGroups as CountedGroups,
    Side as Side,
    differences as differences,
    refuted_by_totals as refuted_by_totals,
    sides_of_totals as sides_of_totals,
    totals_of as totals_of,
)
from .exposure import (
    QUANTILES as QUANTILES,
    SORTS as SORTS,
    CellIndex as CellIndex,
    Exposed as Exposed,
    Exposure as Exposure,
    Possible as Possible,
    Proof as Proof,
    RelativeWidths as RelativeWidths,
)
from .extremes import (
    OPTION as OPTION,
    Extremes as Extremes,
    bound_cell as bound_cell,
    extremes_document as extremes_document,
    extremes_parts as extremes_parts,
    short_words as short_words,
)
from .fiber_equations import Equations as Equations, steps as steps
from .fiber_listing import TableSearch as TableSearch
from .fiber_sample import LAWS as LAWS
from .first_table import some_table as some_table
from .further_tables import further_tables as further_tables
from .mend import within_reach as within_reach
from .methods import settle as settle
from .pairs import extreme_pairs as extreme_pairs
from .pooled import pooled as pooled
from .possible import draw as draw, possible as possible
from .programs import program_of as program_of
from .proof import prove_intervals as prove_intervals
from .propagate import propagate as propagate
from .report import (
    cell_rows as cell_rows,
    cells_csv as cells_csv,
    classical_words as classical_words,
    closest_calls as closest_calls,
    exposure_document as exposure_document,
    exposure_parts as exposure_parts,
    fiber_document as fiber_document,
    fiber_words as fiber_words,
    gap_words as gap_words,
    tally_words as tally_words,
)
from .rounding import Rounder as Rounder
from .rule import hull as hull, suspects as suspects
from .search import Targets as Targets, whole_searches as whole_searches
from .sets import SetIntervals as SetIntervals, infer_sets as infer_sets
from .solver import (
    Form as Form,
    is_infeasible as is_infeasible,
    is_optimal as is_optimal,
    solver_of as solver_of,
    values_of as values_of,
)
from .system import (
    System as System,
    complete as complete,
    complete_total as complete_total,
    disjoint_cell_sets as disjoint_cell_sets,
    measured_slack as measured_slack,
    seen_in as seen_in,
)
from .tables import (
    Data as Data,
    axis_names as axis_names,
    checked_tolerance as checked_tolerance,
    read_public as read_public,
    sources_of as sources_of,
)
from .targets import targets_of as targets_of
from .together import TOGETHER as TOGETHER, certify_with_earlier as certify_with_earlier
from .verification import KIND as KIND, SCHEMA as SCHEMA, SUPPRESSION as SUPPRESSION, Verification as Verification
from .witnessed import WitnessCoverage as WitnessCoverage
