"""What protections cost: noise of a release, and promises as values that are composed, converted and compared."""

from safemargin.account.noise import (
    NoiseBudget,
    check_noise,
    choice_epsilon,
    is_vacuous,
    noise_budget,
    one_count_suffices,
    partnered,
)

__all__ = [
    "NoiseBudget",
    "check_noise",
    "choice_epsilon",
    "is_vacuous",
    "noise_budget",
    "one_count_suffices",
    "partnered",
]
