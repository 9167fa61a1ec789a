"""Plan, apply and attack noise on counts: one function per subcommand of `safemargin noise`, and a few more figures.

Three things are kept apart: how risk is measured (epsilon, delta), how noise is distributed, and the mechanism that
spreads it over many tables. Equation numbers are those of Bach, "Differential privacy and noisy confidentiality
concepts for European population statistics" (2020). Each function is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from safemargin.lazy import lazy_face

if TYPE_CHECKING:
    from safemargin.noise.attack import attack
    from safemargin.noise.bounded import exploit
    from safemargin.noise.calculators import (
        average,
        budget,
        compose,
        reconstruct,
        reidentify,
        reveal,
        tail,
        truncated,
        utility,
        variance,
    )
    from safemargin.noise.composition import composition
    from safemargin.noise.distortion import distort
    from safemargin.noise.inference import independence, interval
    from safemargin.noise.perturb import key, perturb
    from safemargin.noise.plan import plan
    from safemargin.noise.posterior import posterior
    from safemargin.noise.ptable import ptable
    from safemargin.noise.publish import publish
    from safemargin.noise.redundancy import redundancy

lazy_face(__name__)
