"""What can be inferred from published tables: intervals, certificates and their proofs, all consistent tables."""

from typing import TYPE_CHECKING

from safemargin.lazy import lazy_face

if TYPE_CHECKING:
    from safemargin.bounds.bound import infer
    from safemargin.bounds.build import build_system
    from safemargin.bounds.certificate import SourceFile, digest, parse
    from safemargin.bounds.certify import certify, certify_pooled
    from safemargin.bounds.check import check
    from safemargin.bounds.differences import (
        CountedGroups,
        Side,
        differences,
        refuted_by_totals,
        sides_of_totals,
        totals_of,
    )
    from safemargin.bounds.exposure import QUANTILES, SORTS, Exposed, Exposure, Possible, Proof, RelativeWidths
    from safemargin.bounds.extremes import OPTION, Extremes, bound_cell, extremes_document, extremes_parts, short_words
    from safemargin.bounds.fiber_equations import Equations, steps
    from safemargin.bounds.fiber_listing import TableSearch
    from safemargin.bounds.fiber_sample import LAWS
    from safemargin.bounds.first_table import some_table
    from safemargin.bounds.further_tables import further_tables
    from safemargin.bounds.mend import within_reach
    from safemargin.bounds.methods import settle
    from safemargin.bounds.pairs import extreme_pairs
    from safemargin.bounds.pooled import pooled
    from safemargin.bounds.possible import draw, possible
    from safemargin.bounds.proof import prove_intervals
    from safemargin.bounds.propagate import propagate
    from safemargin.bounds.report import (
        cell_rows,
        cells_csv,
        classical_words,
        closest_calls,
        coloured_cells,
        exposure_document,
        exposure_parts,
        fiber_document,
        fiber_words,
        gap_words,
        tally_words,
    )
    from safemargin.bounds.rule import hull, suspects
    from safemargin.bounds.search import Targets, whole_searches
    from safemargin.bounds.sets import SetIntervals, infer_sets
    from safemargin.bounds.solver import Form, is_infeasible, is_optimal, solver_of, values_of
    from safemargin.bounds.system import System, complete, complete_total, layers, measured_slack, seen_in
    from safemargin.bounds.tables import Data, axis_names, checked_tolerance, read_public, sources_of
    from safemargin.bounds.targets import targets_of
    from safemargin.bounds.together import TOGETHER, certify_with_earlier
    from safemargin.bounds.verification import KIND, SCHEMA, SUPPRESSION, Verification
    from safemargin.bounds.witnessed import ShownCells

lazy_face(__name__)
