from .cell_key import (
    DECIMAL as DECIMAL,
)
from .cell_key import (
    HASHED as HASHED,
)
from .cell_key import (
    SIMULATED as SIMULATED,
)
from .cell_key import (
    KeyForm as KeyForm,
)
from .cell_key import (
    integer_keys as integer_keys,
)
from .cell_key import (
    noise_of as noise_of,
)
from .cell_key import (
    read_secret as read_secret,
)
from .cell_key import (
    record_keys as record_keys,
)
from .cell_key import (
    secret_of as secret_of,
)
from .cell_key import (
    simulated_keys as simulated_keys,
)
from .checks import (
    LARGEST_BOUND as LARGEST_BOUND,
)
from .checks import (
    at_least as at_least,
)
from .checks import (
    inside as inside,
)
from .checks import (
    positive as positive,
)
from .checks import (
    share as share,
)
from .checks import (
    variance_within as variance_within,
)
from .keys_together import together_delta as together_delta
from .max_entropy import bounded_law as bounded_law
from .max_entropy import tilted as tilted
from .mechanisms import (
    SAMPLERS as SAMPLERS,
)
from .mechanisms import (
    DiscreteGaussian as DiscreteGaussian,
)
from .mechanisms import (
    Geometric as Geometric,
)
from .mechanisms import (
    RoundedLaplace as RoundedLaplace,
)
from .mechanisms import (
    chosen_sampler as chosen_sampler,
)
from .privacy import delta_at as delta_at
from .privacy import epsilon_at as epsilon_at
from .privacy import guarantee as guarantee
from .privacy import readings as readings
from .ptables import (
    ONS_LAST as ONS_LAST,
)
from .ptables import (
    ONS_REPEAT as ONS_REPEAT,
)
from .ptables import (
    KeyTable as KeyTable,
)
from .ptables import (
    Law as Law,
)
from .ptables import (
    Missed as Missed,
)
from .ptables import (
    PTable as PTable,
)
from .ptables import (
    fallen_short as fallen_short,
)
from .ptables import (
    key_table as key_table,
)
from .ptables import (
    ptable as ptable,
)
from .ptables import (
    reference_ptable as reference_ptable,
)
from .ptables import (
    request as request,
)
from .ptables import (
    without_js as without_js,
)
