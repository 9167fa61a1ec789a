from .arrays import (
    UNBOUNDED as UNBOUNDED,
    BoolArray as BoolArray,
    FloatArray as FloatArray,
    IntArray as IntArray,
    distinct as distinct,
    frozen as frozen,
    group_sums as group_sums,
    grouped as grouped,
    row_keys as row_keys,
)
from .axis import RESERVED as RESERVED, Axis as Axis, Hierarchy as Hierarchy, Schema as Schema
from .callable_package import CallablePackage as CallablePackage, make_callable as make_callable
from .errors import (
    ContradictionError as ContradictionError,
    InputError as InputError,
    MismatchError as MismatchError,
    OutputError as OutputError,
    RefusedError as RefusedError,
    SafemarginError as SafemarginError,
    TooLargeError as TooLargeError,
    cannot_read as cannot_read,
    cannot_write as cannot_write,
    one_line as one_line,
    printable as printable,
)
from .fraction import exact_number as exact_number, rounded as rounded
from .guarantee import (
    ONE_PERSON as ONE_PERSON,
    Amount as Amount,
    Change as Change,
    Distance as Distance,
    Fixes as Fixes,
    Guarantee as Guarantee,
    Invariant as Invariant,
    Limit as Limit,
    Measure as Measure,
    Nested as Nested,
    Population as Population,
    Records as Records,
    about_a_person as about_a_person,
    at_least as at_least,
    counts as counts,
    epsilon_of as epsilon_of,
    named as named,
)
from .lattice import Lattice as Lattice, lattice as lattice
from .limits import (
    check_address_space as check_address_space,
    limit_memory as limit_memory,
    memory_limit as memory_limit,
    one_thread as one_thread,
    without_memory_limit as without_memory_limit,
    written as written,
)
from .processes import (
    ProcessFamily as ProcessFamily,
    python_command as python_command,
    safe_children as safe_children,
    safe_environment as safe_environment,
)
from .progress import Progress as Progress, no_progress as no_progress, numbered as numbered
from .publication import NoisedGroup as NoisedGroup, Publication as Publication
from .published import (
    CROSS as CROSS,
    JOINER as JOINER,
    SIGN as SIGN,
    STATUSES as STATUSES,
    Earlier as Earlier,
    Group as Group,
    Histories as Histories,
    History as History,
    Larger as Larger,
    Onlooker as Onlooker,
    Past as Past,
    Profile as Profile,
    PublishedTable as PublishedTable,
    label as label,
    net_histories as net_histories,
)
from .randomness import (
    Generator as Generator,
    new_secret as new_secret,
    numpy_generator as numpy_generator,
    system_below as system_below,
    system_choices as system_choices,
    system_words as system_words,
    write_secret as write_secret,
)
from .recall import recall as recall, roll_margin as roll_margin
from .secrets import Secrets as Secrets
from .table import (
    COMPOSITIONS as COMPOSITIONS,
    Inconsistency as Inconsistency,
    Table as Table,
    Tally as Tally,
    as_published as as_published,
    exact_margins as exact_margins,
    merged_margin as merged_margin,
    onlooker_with_roll as onlooker_with_roll,
    printed as printed,
    protected_margin as protected_margin,
    table_of as table_of,
)
from .target import VERDICTS as VERDICTS, Limits as Limits, Target as Target, Verdict as Verdict
from .whole import (
    claimed as claimed,
    hold_signals as hold_signals,
    is_abandoned as is_abandoned,
    new_private_folder as new_private_folder,
    owner as owner,
    remove_all_parts as remove_all_parts,
    remove_parts as remove_parts,
    sync as sync,
    write_whole as write_whole,
)
