"""Exact noise, p-tables and cell keys."""

from typing import TYPE_CHECKING

from safemargin.lazy import lazy_face

if TYPE_CHECKING:
    from safemargin.samplers.cell_key import (
        DECIMAL,
        HASHED,
        SIMULATED,
        KeyForm,
        integer_keys,
        noise_of,
        read_secret,
        record_keys,
        secret_of,
        simulated_keys,
    )
    from safemargin.samplers.checks import LARGEST_BOUND, at_least, inside, positive, share, variance_within
    from safemargin.samplers.keys_together import together_delta
    from safemargin.samplers.max_entropy import bounded_law, tilted
    from safemargin.samplers.mechanisms import SAMPLERS, DiscreteGaussian, Geometric, RoundedLaplace, chosen_sampler
    from safemargin.samplers.privacy import delta_at, epsilon_at, guarantee, readings
    from safemargin.samplers.ptables import (
        ONS_LAST,
        ONS_REPEAT,
        KeyTable,
        Law,
        Missed,
        PTable,
        fallen_short,
        key_table,
        ptable,
        reference_ptable,
        request,
        without_js,
    )

lazy_face(__name__)
