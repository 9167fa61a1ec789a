"""What protections cost: noise of a release, and promises as values that are composed, converted and compared."""

from safemargin.account.noise import NoiseBudget, is_vacuous, noise_budget, one_count_suffices

__all__ = ["NoiseBudget", "is_vacuous", "noise_budget", "one_count_suffices"]
