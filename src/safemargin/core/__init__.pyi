from .arrays import (
    UNBOUNDED as UNBOUNDED,
)
from .arrays import (
    BoolArray as BoolArray,
)
from .arrays import (
    FloatArray as FloatArray,
)
from .arrays import (
    IntArray as IntArray,
)
from .arrays import (
    distinct as distinct,
)
from .arrays import (
    frozen as frozen,
)
from .arrays import (
    group_sums as group_sums,
)
from .arrays import (
    grouped as grouped,
)
from .arrays import (
    row_keys as row_keys,
)
from .axis import RESERVED as RESERVED
from .axis import Axis as Axis
from .axis import Hierarchy as Hierarchy
from .axis import Schema as Schema
from .callable_package import CallablePackage as CallablePackage, make_callable as make_callable
from .errors import (
    ContradictionError as ContradictionError,
)
from .errors import (
    InputError as InputError,
)
from .errors import (
    MismatchError as MismatchError,
)
from .errors import (
    OutputError as OutputError,
)
from .errors import (
    RefusedError as RefusedError,
)
from .errors import (
    SafemarginError as SafemarginError,
)
from .errors import (
    TooLargeError as TooLargeError,
)
from .errors import (
    cannot_read as cannot_read,
)
from .errors import (
    cannot_write as cannot_write,
)
from .errors import (
    one_line as one_line,
)
from .errors import (
    printable as printable,
)
from .fraction import exact_number as exact_number
from .fraction import rounded as rounded
from .guarantee import (
    ONE_PERSON as ONE_PERSON,
)
from .guarantee import (
    Amount as Amount,
)
from .guarantee import (
    Change as Change,
)
from .guarantee import (
    Distance as Distance,
)
from .guarantee import (
    Fixes as Fixes,
)
from .guarantee import (
    Guarantee as Guarantee,
)
from .guarantee import (
    Invariant as Invariant,
)
from .guarantee import (
    Limit as Limit,
)
from .guarantee import (
    Measure as Measure,
)
from .guarantee import (
    Nested as Nested,
)
from .guarantee import (
    Population as Population,
)
from .guarantee import (
    Records as Records,
)
from .guarantee import (
    about_a_person as about_a_person,
)
from .guarantee import (
    at_least as at_least,
)
from .guarantee import (
    counts as counts,
)
from .guarantee import (
    epsilon_of as epsilon_of,
)
from .guarantee import (
    named as named,
)
from .lattice import Lattice as Lattice
from .lattice import lattice as lattice
from .limits import (
    check_address_space as check_address_space,
)
from .limits import (
    limit_memory as limit_memory,
)
from .limits import (
    memory_limit as memory_limit,
)
from .limits import (
    one_thread as one_thread,
)
from .limits import (
    without_memory_limit as without_memory_limit,
)
from .limits import (
    written as written,
)
from .processes import (
    python_command as python_command,
)
from .processes import (
    safe_children as safe_children,
)
from .processes import (
    safe_environment as safe_environment,
)
from .progress import Progress as Progress
from .progress import no_progress as no_progress
from .progress import numbered as numbered
from .publication import NoisedGroup as NoisedGroup
from .publication import Publication as Publication
from .published import (
    CROSS as CROSS,
)
from .published import (
    JOINER as JOINER,
)
from .published import (
    SIGN as SIGN,
)
from .published import (
    STATUSES as STATUSES,
)
from .published import (
    Earlier as Earlier,
)
from .published import (
    Group as Group,
)
from .published import (
    Histories as Histories,
)
from .published import (
    History as History,
)
from .published import (
    Larger as Larger,
)
from .published import (
    Onlooker as Onlooker,
)
from .published import (
    Past as Past,
)
from .published import (
    Profile as Profile,
)
from .published import (
    PublishedTable as PublishedTable,
)
from .published import (
    label as label,
)
from .published import (
    net_histories as net_histories,
)
from .randomness import (
    Generator as Generator,
)
from .randomness import (
    new_secret as new_secret,
)
from .randomness import (
    numpy_generator as numpy_generator,
)
from .randomness import (
    system_below as system_below,
)
from .randomness import (
    system_choices as system_choices,
)
from .randomness import (
    system_words as system_words,
)
from .randomness import (
    write_secret as write_secret,
)
from .recall import recall as recall
from .recall import roll_margin as roll_margin
from .secrets import Secrets as Secrets
from .table import (
    COMPOSITIONS as COMPOSITIONS,
)
from .table import (
    Inconsistency as Inconsistency,
)
from .table import (
    Table as Table,
)
from .table import (
    Tally as Tally,
)
from .table import (
    as_published as as_published,
)
from .table import (
    exact_margins as exact_margins,
)
from .table import (
    merged_margin as merged_margin,
)
from .table import (
    onlooker_with_roll as onlooker_with_roll,
)
from .table import (
    printed as printed,
)
from .table import (
    protected_margin as protected_margin,
)
from .target import VERDICTS as VERDICTS
from .target import Limits as Limits
from .target import Target as Target
from .target import Verdict as Verdict
from .whole import (
    claimed as claimed,
)
from .whole import (
    hold_signals as hold_signals,
)
from .whole import (
    is_abandoned as is_abandoned,
)
from .whole import (
    new_private_folder as new_private_folder,
)
from .whole import (
    owner as owner,
)
from .whole import (
    remove_parts as remove_parts,
)
from .whole import (
    sync as sync,
)
from .whole import (
    write_whole as write_whole,
)
