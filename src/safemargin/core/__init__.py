"""Values that every part shares; no files, no feature."""

from typing import TYPE_CHECKING

from safemargin.lazy import lazy_face

if TYPE_CHECKING:
    from safemargin.core.arrays import (
        UNBOUNDED,
        BoolArray,
        FloatArray,
        IntArray,
        distinct,
        frozen,
        group_sums,
        grouped,
        row_keys,
    )
    from safemargin.core.axis import RESERVED, Axis, Hierarchy, Schema
    from safemargin.core.errors import (
        ContradictionError,
        InputError,
        MismatchError,
        OutputError,
        RefusedError,
        SafemarginError,
        TooLargeError,
        cannot_read,
        cannot_write,
        one_line,
        printable,
    )
    from safemargin.core.fraction import exact_number, rounded
    from safemargin.core.guarantee import (
        ONE_PERSON,
        Amount,
        Change,
        Distance,
        Fixes,
        Guarantee,
        Invariant,
        Limit,
        Measure,
        Nested,
        Population,
        Records,
        about_a_person,
        at_least,
        counts,
        epsilon_of,
        named,
    )
    from safemargin.core.lattice import Lattice, lattice
    from safemargin.core.limits import (
        check_address_space,
        limit_memory,
        memory_limit,
        one_thread,
        without_memory_limit,
        written,
    )
    from safemargin.core.processes import python_command, safe_children, safe_environment
    from safemargin.core.progress import Progress, no_progress, numbered
    from safemargin.core.publication import NoisedGroup, Publication
    from safemargin.core.published import (
        CROSS,
        JOINER,
        SIGN,
        STATUSES,
        Earlier,
        Group,
        Histories,
        History,
        Larger,
        Onlooker,
        Past,
        Profile,
        PublishedTable,
        label,
        net_histories,
    )
    from safemargin.core.randomness import (
        Generator,
        new_secret,
        numpy_generator,
        system_below,
        system_choices,
        system_words,
        write_secret,
    )
    from safemargin.core.recall import recall, roll_margin
    from safemargin.core.secrets import Secrets
    from safemargin.core.table import (
        COMPOSITIONS,
        Inconsistency,
        Table,
        Tally,
        as_published,
        exact_margins,
        merged_margin,
        onlooker_with_roll,
        printed,
        protected_margin,
    )
    from safemargin.core.target import VERDICTS, Limits, Target, Verdict
    from safemargin.core.whole import (
        claimed,
        hold_signals,
        is_abandoned,
        new_private_folder,
        owner,
        remove_parts,
        sync,
        write_whole,
    )

lazy_face(__name__)
