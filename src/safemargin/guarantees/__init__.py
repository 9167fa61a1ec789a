"""Privacy guarantees: state, convert, compose, compare and check them. One function per subcommand of `guarantee`."""

# Features import everything else of this engine from here too. A module is loaded when one of its names is first used.
# ruff: noqa: F401 (names are for those who import them from here)

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what type checkers see; `_NAMES` is what is loaded
    from safemargin.guarantees.census import budget, census
    from safemargin.guarantees.compare import beside, compare
    from safemargin.guarantees.conversion import convert, loss_epsilon, published_epsilon
    from safemargin.guarantees.exact import Checked, Holds, check_laws, frozen_hamming, hamming, universe_loss
    from safemargin.guarantees.guarantee_file import (
        GUARANTEE_FILE,
        document,
        guarantee_from,
        guarantee_text,
        read_guarantee,
    )
    from safemargin.guarantees.noise import (
        NoiseBudget,
        check_noise,
        choice_epsilon,
        is_vacuous,
        noise_budget,
        one_count_suffices,
        partnered,
    )
    from safemargin.guarantees.report import COLUMNS, compose, show, side_by_side
    from safemargin.guarantees.rules import chained, compose_parts, post_process, publish_invariants
    from safemargin.guarantees.swap_curves import CAPTION, CURVE_NOTE, rate_chart, rates, swap
    from safemargin.guarantees.swap_law import (
        VARIANTS,
        Law,
        Outcomes,
        Stratum,
        check_work,
        fixed_number_law,
        nearby,
        ordered,
        outcomes,
        stratum,
        table,
        universe,
    )
    from safemargin.guarantees.swap_loss import Rate, odds_factor, rate_of, rates_for, short_rate, swap_epsilon
    from safemargin.guarantees.verify import verify

_NAMES = {
    "guarantees.census": "budget census",
    "guarantees.compare": "beside compare",
    "guarantees.conversion": "convert loss_epsilon published_epsilon",
    "guarantees.exact": "Checked Holds check_laws frozen_hamming hamming universe_loss",
    "guarantees.guarantee_file": "GUARANTEE_FILE document guarantee_from guarantee_text read_guarantee",
    "guarantees.noise": "NoiseBudget check_noise choice_epsilon is_vacuous noise_budget one_count_suffices partnered",
    "guarantees.report": "COLUMNS compose show side_by_side",
    "guarantees.rules": "chained compose_parts post_process publish_invariants",
    "guarantees.swap_curves": "CAPTION CURVE_NOTE rate_chart rates swap",
    "guarantees.swap_law": "VARIANTS Law Outcomes Stratum check_work fixed_number_law nearby ordered outcomes "
    "stratum table universe",
    "guarantees.swap_loss": "Rate odds_factor rate_of rates_for short_rate swap_epsilon",
    "guarantees.verify": "verify",
    "swap.check": "check",
}
"""The names of every module, parted by blanks; `check` is a part of swapping, as in the menu."""
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["beside", "budget", "census", "check", "compare", "compose", "convert", "rates", "show", "swap", "verify"]


class _Namespace(ModuleType):
    """A module has the name of its public function: importing it must not hide the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"safemargin.{_HOME[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


sys.modules[__name__].__class__ = _Namespace
