from .cell_key import (
    DECIMAL as DECIMAL,
    HASHED as HASHED,
    SIMULATED as SIMULATED,
    KeyForm as KeyForm,
    integer_keys as integer_keys,
    noise_of as noise_of,
    read_secret as read_secret,
    record_keys as record_keys,
    secret_of as secret_of,
    simulated_keys as simulated_keys,
)
from .checks import (
    LARGEST_BOUND as LARGEST_BOUND,
    at_least as at_least,
    inside as inside,
    positive as positive,
    share as share,
    variance_within as variance_within,
)
from .keys_together import together_delta as together_delta
from .max_entropy import bounded_law as bounded_law, tilted as tilted
from .mechanisms import (
    SAMPLERS as SAMPLERS,
    DiscreteGaussian as DiscreteGaussian,
    Geometric as Geometric,
    RoundedLaplace as RoundedLaplace,
    chosen_sampler as chosen_sampler,
)
from .privacy import delta_at as delta_at, epsilon_at as epsilon_at, guarantee as guarantee, readings as readings
from .ptables import (
    ONS_LAST as ONS_LAST,
    ONS_REPEAT as ONS_REPEAT,
    KeyTable as KeyTable,
    Law as Law,
    Missed as Missed,
    PTable as PTable,
    fallen_short as fallen_short,
    key_table as key_table,
    ptable as ptable,
    reference_ptable as reference_ptable,
    request as request,
    without_js as without_js,
)
