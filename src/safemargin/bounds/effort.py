"""Every numeric limit of the engine in one value, each with the measurement or the reason it comes from.

A limit never makes a result wrong. Where one stops a method, the interval stays wider, the proof says "linear" instead
of "integer", or a cell stays undecided; all three are reported. Figures were measured on
two shared cores with tables of 3 to 6 axes and up to 26,000 profiles.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """How much work each method may do.

    Every field has its reason, and the measurement behind it where there is one, above it. A larger value never makes a
    result wrong; it makes searches slower and leaves less undecided. Tests replace single fields to reach rare
    branches.
    """

    # --- size of a system ---------------------------------------------------------------------------------------------
    # Profiles without a joint roll: 2 million int64 rows of codes are 16 MB per axis, and propagation stays in seconds.
    profiles: int = 2_000_000
    # Counts up to which sharp intervals take seconds: 2.5 ms per cell and pair of LPs at 10^3 cells, 54 ms at 20^3.
    sharp_counts: int = 3_000
    # The same times the square of the options that are free, as options that share the people of a profile tie their
    # columns together: 894 counts of 7 options took 76 s (Arrests), 357 of 2 options 0.1 s.
    sharp_work: int = 27_000
    # Counts, and rows, up to which the maximum-entropy belief is fitted: Newton solves one dense system of the rows.
    fitted_counts: int = 80_000
    fitted_rows: int = 2_500
    # People by which a fit may miss a fact; more Newton steps where facts are ranges, which begin and cease to bind.
    fitted_miss: float = 0.01
    range_steps: int = 120

    # --- propagation, closed forms and shuttle ------------------------------------------------------------------------
    # Each round is one pass over all rows (1 to 25 ms in all up to 30^3 cells). A chain of
    # one-unit steps could take as many rounds as there are people, so it is cut; intervals are valid at any time.
    propagation_rounds: int = 200
    # The shuttle keeps 2^axes counts per cell: 1 million of them are 16 MB; its rounds are dearer and settle sooner.
    shuttle_counts: int = 1_000_000
    shuttle_rounds: int = 30
    # Targets compared with published rows by their list of variables, one dictionary lookup each in Python.
    targets_compared_with_rows: int = 20_000

    # --- linear programs ----------------------------------------------------------------------------------------------
    # Dependent equations cost up to 2 times per solve on 2^10 tables; finding them needs a dense Gram matrix (72 MB).
    rows_to_thin: int = 3_000
    # Counts beyond which the first program is presolved: 14,023 x 50 (Adult) takes 0.4 s so, and 2.0 s without.
    presolved_counts: int = 5_000
    # Objectives over a tenth of the open targets at once: few change the basis little, and 312 to 438 such programs
    # gave the bounds that 2,000 single ones do (10^3 cells). 60 of them, or until one settles under 2 % of the ends.
    group_programs: int = 60
    group_share: float = 0.1
    # Variables (times options squared) up to which a certificate may solve 400, or 60, programs of single ends.
    work_for_400_programs: int = 8_000
    work_for_60_programs: int = 40_000
    # Blocks beyond which such programs cost more than that: 0.06 s each with 12 axes of 2,000 people, 1 s with 40.
    many_blocks: int = 16
    # Cells of a large system that programs decide sooner than fits: the last 9 of Adult in 0.4 s, not in 1.3 s.
    few_ends_to_solve: int = 16
    # Programs before a release with suppressed groups is searched: on Adult the second finds what 60 s of search miss.
    probes: int = 6
    # Integer programs for what is still open in a certificate: exact for systems this small, with a limit in nodes.
    integer_program_counts: int = 200
    integer_program_nodes: int = 1_000
    # Seconds of one program over all tables where intervals are asked for.
    integer_program_seconds: float = 20.0

    # Variables that may change in a program for one open cell, tried in turn; the last of them is the whole system, up
    # to so many variables. A program over 300 takes 5 to 20 ms.
    change_parts: tuple[int, ...] = (150, 600, 2_400, 8_000)
    changed_part: int = 2_500
    changed_whole: int = 8_000
    # Variables up to which programs come before tables are mended; else open cells up to which these do.
    changed_early: int = 1_000
    changed_cells: int = 60
    # Open cells beyond which no first table is sought for programs to change: 601 people in 8 axes with 5 options leave
    # 47,275 of 53,466 open after 10 s, and half of these after 120 programs of half a second.
    changed_open: int = 20_000
    # Branches of a program over a part, and over all: limits in nodes, so that every run finds the same.
    change_nodes: int = 20
    whole_nodes: int = 400
    # Programs of one certificate, cells that may fail before it is given up, and tables of which one is changed.
    changes: int = 1_500
    change_failures: int = 3
    change_starts: int = 12
    # Programs between two looks at what exchanges from the new tables show.
    change_batch: int = 8

    # Slices beyond which Newton's step is solved without a square of all rows (`schur.py`).
    dense_slices: int = 400
    # Rows outside the largest block beyond which tables of such systems come from sparse programs: these take 13 s each
    # for 640 x 10 x 8 x 6 categories, where all fits together take less than one; a square of 1,500 rows takes 1 s.
    dense_rows: int = 1_500
    # Programs of a certificate, each with its time: 910 categories x 4 need 3 of them.
    wide_programs: int = 24
    wide_nodes: int = 50

    # --- integer tables near a linear optimum -------------------------------------------------------------------------
    # People that a count may move away from the optimum: 1 nearly always suffices, 4 nearly always else.
    near_steps: tuple[int, ...] = (1, 4)
    # Branches of such a program: a limit in nodes, not seconds, gives the same result on every machine.
    near_nodes: int = 300
    # Objectives towards all open ends at once, until 3 in a row settle fewer than 4 ends.
    near_groups: int = 400
    near_worthwhile: int = 4
    near_stale: int = 3
    # Tables from which the shortest way to an end is sought; given up if fewer than a fifth of 30 trials are integer.
    shift_starts: int = 5
    shift_trials: int = 30
    # Weight of the end in question against a random weight up to 2 for every other open end.
    near_weight: float = 64.0
    # Tables kept as starting points: 500 of 3,000 counts are 12 MB.
    near_tables: int = 500
    # Programs over all integer tables that may hit their limit before the rest is left as a linear statement.
    whole_failures: int = 4
    # Widths of sparse tables: programs in a row that may settle nothing, each 20 ms for 500 people in 10^3 cells; and
    # fractions that are cut off one after the other, of which 0 to 28 were needed there.
    width_stale: int = 3
    width_cuts: int = 60
    # Open ends up to which programs for one end at a time are as quick.
    width_few: int = 16
    # For tables in a circle, that exchanges cannot round: an integer program within 1, then 6 people of a fit. The box
    # keeps it small; beyond 4,000 counts even that is slow.
    circle_counts: int = 4_000
    circle_distances: tuple[int, ...] = (1, 6)
    circle_nodes: int = 200

    # --- walks over plain margins -------------------------------------------------------------------------------------
    # 2^axes corners per move.
    walk_axes: int = 10
    # Sweeps from one table; ended after so many in a row that settle at most so many ends: deciding, bounding.
    walk_sweeps: int = 300
    walk_stale: tuple[int, int] = (20, 8)
    walk_gain: tuple[int, int] = (0, 2)
    # Iterative proportional fitting to start from, and sweeps that repair what rounding broke (warm, then greedy): 3 to
    # 16 of them in tables of 10^3 to 20^3 cells with 3 people each, more than 20 in one of 30^3, which is not decided
    # without them, hundreds where the mean is 0.5. There a program finds a start in a fifth of the time, so more sweeps
    # are made only without programs.
    walk_fit_rounds: int = 60
    walk_repairs: tuple[int, int] = (60, 3_000)
    walk_warmth: tuple[float, float] = (0.9, 0.0)
    walk_steps: tuple[int, ...] = (0, 1, -1, 2, -2, 4, -4, 8, -8)

    # --- fits by Newton and by scaling --------------------------------------------------------------------------------
    # Damped Newton converges quadratically (10 to 20 steps) unless the limits cannot be met; then `theta` runs off and
    # that is proved. A tilted fit is only a place to round from: 12 steps, and it may miss a fact by 0.2 people.
    newton_steps: int = 80
    tilted_steps: int = 12
    tilted_miss: float = 0.2
    # Relative ridge on the Hessian, whose null space are the dependent rows; and a cap on a step that a flat one gives.
    newton_ridge: float = 1e-11
    newton_longest_step: float = 1e6
    # Free options from which Newton starts at the shares of independent axes: with 19 a step takes 0.3 s.
    many_options: int = 8
    # Slices up to which pairs of them are added by bincount over profiles; beyond, a sparse product is quicker.
    slices_to_pair: int = 300
    # Proportional fitting stops after 25 rounds or once no slice is off by half a person: rounding mends the rest.
    scaling_rounds: int = 25
    scaling_miss: float = 0.5
    # Strengths of tilt tried in turn when bounding; all of them only if fewer ends than this are open.
    tilts: tuple[float, ...] = (8.0, 5.0, 12.0, 3.0, 16.0)
    few_ends: int = 200
    # Fits when bounding: with programs behind them, and without (only until one integer table is known).
    fits: int = 20
    fits_without_programs: int = 2

    # --- rounding and exchanges ---------------------------------------------------------------------------------------
    # Exchanges per block until its margins hold; ended after 50 without progress, as they can go round in a circle.
    rounding_exchanges: int = 200_000
    rounding_patience: int = 50
    # Exchanges that are tried where the first is not possible. 1,691 people of 400 kinds with 10 options need some.
    rounding_tries: int = 60
    # Even roundings where the nearest integers do not lead to a table. With 1.3 people per profile 16 of 17 nearest
    # roundings led to none, and in a city of 2.1 people per profile and 5 axes none did; of even ones two in three do.
    even_roundings: int = 3
    # Pairs of profiles between two slices that are kept, the largest first: memory stays linear in the profiles.
    pairs_per_link: int = 2_000
    # Share of pairs that are asked for below which only these and their neighbours are looked at.
    few_pairs: float = 0.02
    # One such part of all classes of twins: open cells of several levels with fewer pieces are looked at together.
    batch_part: int = 4
    # Options that all others exchange votes with, where there are more than twice as many and many cells are open: the
    # commonest have most votes to give. 200,000 people with 20 options take 10 s, and took 14.5 s with all 380 pairs.
    partners: int = 4
    # Pieces that are looked at together in any case: below, every call costs more than what it adds up. 601 people in
    # 8 axes have 255 levels, and a look at all of them took 5 s, one level at a time, and takes 0.5 s.
    batch_pieces: int = 5_000

    # --- many axes: sets of changes (birthday.py) ---------------------------------------------------------------------
    # Published blocks from which tables are mended by sets of changes; with fewer, exchanges of pairs nearly always do.
    birthday_blocks: int = 5
    # Blocks up to which all are tried, and tables are exchanged further.
    plain_blocks: int = 8
    # Random sets that chances are estimated from; levels, so that a set has at most 2^6 changes; the shortest lists
    # and the longest: half a million sets of 32 changes are 128 MB, and a search takes 10 s.
    birthday_sample: int = 4_096
    birthday_levels: int = 6
    birthday_least: int = 1_024
    birthday_most: int = 2**19
    # Sets that must be expected: blocks that go together make the estimate too high or too low by a small factor.
    birthday_expected: float = 8.0
    # Profiles on either side that single exchanges are chosen from before.
    birthday_pairs: int = 1_000
    # Share of profiles with a neighbour in all blocks but one from which exchanges of pairs suffice.
    birthday_neighbours: float = 0.5
    # Tables of a certificate, and tables in a row that may clear nothing.
    birthday_tables: int = 40
    birthday_idle: int = 3

    # --- certifying ---------------------------------------------------------------------------------------------------
    # Profiles times sets of axes that are summed up for cells of three or more axes.
    summed_cells: int = 400_000
    # Tables from one guess by exchanging votes, then fits tilted towards open cells: a few clear nearly every cell.
    shuffles: int = 4
    rounds: int = 30
    # Rounds in a row that may clear under a tenth of what is open: where a round is a Newton fit, and by scaling.
    stuck_rounds: tuple[int, int] = (3, 8)
    # Open cells below which only some are aimed at in one round: neighbours stand in each other's way.
    few_cells: int = 1_000
    tilt: float = 2.0
    # Real-valued tables for the linear statement, where no integer one was found.
    real_fits: int = 5
    strong_tilt: float = 8.0
    # Random walks are cheaper than a fit for so few cells; perturbing profiles for so many.
    cells_for_random_walk: int = 200
    cells_for_perturbation: int = 5_000
    perturbations: int = 500
    # Steps in a row that may clear nothing.
    idle_steps: int = 12
    # Share of the profiles of open cells perturbed at once: halved whenever no table follows.
    perturbed_share: float = 0.125
    least_perturbed_share: float = 0.01
    # Profiles of all cycles up to which a release and the earlier ones are held together.
    earlier_profiles: int = 200_000
    # Sets of beliefs that are looked at, and tests whether one is possible: so many, or more in a small population.
    belief_sets: int = 64
    belief_tests: int = 60
    belief_work: int = 1_000_000

    # --- proofs -------------------------------------------------------------------------------------------------------
    # Duals rounded to these denominators proved 1,200 of 1,200 sampled bounds (Cramer's rule: minors of 0/1 matrices
    # are small); then their common denominator up to a million, then 2^20.
    denominators: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 12, 24, 60, 120, 420, 840)
    common_denominator: int = 10**6
    finest_denominator: int = 2**20
    # Counts up to which a program over all integer tables looks for the witness of an end.
    witness_counts: int = 20_000
    # Contradictions: facts that are tried one by one, named in the message, and tried in several orders.
    conflict_rows: int = 400
    conflict_named: int = 12
    conflict_reordered: int = 60

    # --- fiber: counting, listing, sampling ---------------------------------------------------------------------------
    # Work of a fraction of a second, and of some seconds, of each way to count. One unit of search is one look at one
    # unknown in one inequality; of a grid of partial sums one cell and prime; of vertices one vertex.
    search_work: tuple[int, int] = (20_000_000, 400_000_000)
    search_work_per_table: int = 1_000
    grid_work: tuple[int, int] = (60_000_000, 1_200_000_000)
    vertices: tuple[int, int] = (2_000, 20_000)
    # The dense grid itself, in cells of 8 bytes.
    grid_cells: int = 20_000_000
    # Dimensions of a polytope whose vertices are visited: they grow exponentially.
    vertex_dimensions: int = 25
    # Open counts beyond which a first look is not quick.
    quick_counts: int = 500
    # Tables listed one by one, counts in all of them, and the same for a first look.
    listed_tables: int = 2_000_000
    listed_counts: int = 50_000_000
    glance_counts: int = 1_000_000
    # Cases that are branched on together, and rounds of tightening between branches.
    largest_chunk: int = 20_000
    smallest_chunk: int = 200
    chunk_work: int = 2_000_000
    round_work: int = 100_000
    branch_rounds: int = 20
    # Entries of a dense matrix for exact elimination: to list tables, and to find a basis of moves.
    listing_entries: int = 20_000_000
    kernel_entries: int = 300_000
    # Multiplications of a rank modulo a prime; beyond, the Gram matrix in floating point.
    exact_rank_work: int = 4 * 10**9
    # Open counts up to which one program looks for ranges that always hold with equality.
    dimension_counts: int = 5_000
    # Rows of tables made at once.
    rows_at_once: int = 20_000
    # Sampling: unknowns up to which all pairs are compared; eliminations for circuits; moves between two tables.
    all_pairs: int = 400
    eliminations: int = 200
    elimination_work: int = 30_000_000
    circuits: int = 5_000
    longest_pause: int = 2_000
    # Logarithms along a line that Python adds up sooner than arrays are made for them: 10 instead of 30 microseconds.
    line_terms: int = 100
    drawn_counts: int = 50_000_000
    # A lower limit of the number of tables: counts, moves tried per count, and steps to a table in the middle first.
    reach_counts: int = 5_000
    moves_per_count: int = 20
    steps_inside: int = 20
    # Seconds for the integer program that finds a first table.
    seconds_to_start: float = 30.0


SEED = 20_000
"""Of every random choice of the search: the same system gives the same tables on every machine."""

EFFORT = Effort()
"""The limits that every function of the engine uses."""
