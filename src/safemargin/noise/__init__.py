"""Plan, apply and attack noise on counts: one function per subcommand of `safemargin noise`, and a few more figures.

Three things are kept apart: how risk is measured (epsilon, delta), how noise is distributed, and the mechanism that
spreads it over many tables. Equation numbers are those of Bach, "Differential privacy and noisy confidentiality
concepts for European population statistics" (2020). Each function is loaded when it is first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from safemargin.noise.attack import attack
    from safemargin.noise.averaging import average, variance
    from safemargin.noise.calculators import budget, compose, reconstruct, reidentify, tail, truncated, utility
    from safemargin.noise.distortion import distort
    from safemargin.noise.perturb import key, perturb
    from safemargin.noise.plan import plan
    from safemargin.noise.posterior import posterior
    from safemargin.noise.ptable import ptable
    from safemargin.noise.publish import publish
    from safemargin.noise.redundancy import redundancy
    from safemargin.noise.reveal import exploit, reveal

_MODULES = {
    "attack": "attack",
    "averaging": "average variance",
    "calculators": "budget compose reconstruct reidentify tail truncated utility",
    "distortion": "distort",
    "perturb": "key perturb",
    "plan": "plan",
    "posterior": "posterior",
    "ptable": "ptable",
    "publish": "publish",
    "redundancy": "redundancy",
    "reveal": "exploit reveal",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
"""The module of every function."""

__all__ = [
    "attack",
    "average",
    "budget",
    "compose",
    "distort",
    "exploit",
    "key",
    "perturb",
    "plan",
    "posterior",
    "ptable",
    "publish",
    "reconstruct",
    "redundancy",
    "reidentify",
    "reveal",
    "tail",
    "truncated",
    "utility",
    "variance",
]


class _Namespace(ModuleType):
    """Some modules have the name of their function: importing one must not hide the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


sys.modules[__name__].__class__ = _Namespace
