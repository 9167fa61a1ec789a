"""Exact noise, p-tables and cell keys. Import from here; each name is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

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
    from safemargin.samplers.gaussian import DiscreteGaussian, vector_gaussian
    from safemargin.samplers.geometric import Geometric
    from safemargin.samplers.max_entropy import bounded_law, tilted
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

_MODULES = ("checks", "geometric", "gaussian", "max_entropy", "ptables", "cell_key", "privacy")
"""Where names are looked up, in this order; later modules import earlier ones."""


def __getattr__(name: str) -> object:
    if name in __all__:
        modules = (import_module(f"{__name__}.{module}") for module in _MODULES)
        return globals().setdefault(name, getattr(next(module for module in modules if hasattr(module, name)), name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "DECIMAL",
    "DiscreteGaussian",
    "Geometric",
    "HASHED",
    "KeyForm",
    "KeyTable",
    "LARGEST_BOUND",
    "Law",
    "Missed",
    "ONS_LAST",
    "ONS_REPEAT",
    "PTable",
    "SIMULATED",
    "at_least",
    "bounded_law",
    "delta_at",
    "epsilon_at",
    "fallen_short",
    "guarantee",
    "inside",
    "integer_keys",
    "key_table",
    "noise_of",
    "positive",
    "ptable",
    "read_secret",
    "readings",
    "record_keys",
    "reference_ptable",
    "request",
    "secret_of",
    "share",
    "simulated_keys",
    "tilted",
    "variance_within",
    "vector_gaussian",
    "without_js",
]
