"""What PolyVeil's aggregator learns about one client: the paper's figures, and valid ones beside them.

The paper's analyses of section 8 are reproduced as printed and labelled: they take the variance of one entry for that
of the sum, equal weights where they forbid them, and a shuffling bound that lost a factor (specification, section 4).
`exact_delta` is the law itself: Dirichlet weights on hypergeometric decoys, with its atoms.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from safemargin.aggregate.shuffled import gaussian_pair_delta, pair_delta
from safemargin.core import FloatArray, InputError

NODES = 160
"""Points of the integral over frequencies: doubling them changes epsilon by less than 1e-4 (n = 100, K = 9)."""


@dataclass(frozen=True)
class Setting:
    """`bits` per client, `weights` decoys, alpha = 1 / (4n) as in the paper, and the allowed `delta`."""

    bits: int
    weights: int
    delta: float = 1e-6

    def __post_init__(self) -> None:
        if self.bits < 1 or self.weights < 2:
            raise InputError(f"bits = {self.bits}, weights = {self.weights}: at least 1 bit and 2 weights")
        if not 0 < self.delta < 1:
            raise InputError(f"delta = {self.delta:g}: must lie between 0 and 1, e.g. 1e-6")

    @property
    def alpha(self) -> float:
        """The weight of the true matrix."""
        return 1 / (4 * self.bits)

    @cached_property
    def law(self) -> FloatArray:
        """Probability that one decoy adds x: `C(n, x)^2 / C(2n, n)`, by logarithms since n may be large."""
        from scipy.special import gammaln  # slow to import, and few commands need it

        n, x = self.bits, np.arange(self.bits + 1)
        choose = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
        return np.asarray(np.exp(2 * choose - (gammaln(2 * n + 1) - 2 * gammaln(n + 1))), dtype=np.float64)

    @property
    def atoms(self) -> float:
        """Chance that all decoys add the same: then the noise is a known number. A floor under delta at any epsilon."""
        return float((self.law**self.weights).sum())


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Delta of a Gaussian shift by `mu` standard deviations (eq. 94).

    >>> f"{gaussian_delta(7.8, 1.5):.3g}"
    '1.02e-06'
    """
    from scipy.special import erfcx, ndtr  # slow to import, and few commands need it

    # exp(epsilon) times a tail, written with the scaled error function: the factors alone overflow.
    z = (epsilon / mu + mu / 2) / math.sqrt(2)
    second = 0.5 * float(erfcx(z)) * math.exp(epsilon - z * z)
    return float(ndtr(-epsilon / mu + mu / 2)) - second


def gaussian_epsilon(delta: float, mu: float) -> float:
    """The inverse of `gaussian_delta`."""
    if gaussian_delta(0, mu) <= delta:
        return 0.0
    from scipy.optimize import brentq  # slow to import, and few commands need it

    return float(brentq(lambda epsilon: gaussian_delta(epsilon, mu) - delta, 0, mu * mu / 2 + 40 * mu + 10))


def paper_figures(setting: Setting, clients: int = 1000) -> dict[str, float]:
    """Every figure of section 8 for this setting, by the paper's own formulas. None of them is a proof."""
    n, weights, delta, alpha = setting.bits, setting.weights, setting.delta, setting.alpha
    shift = alpha * n
    variance = 1 / 4 + (n - 1) / (2 * (2 * n - 1))  # eq. 61: of n entries beside the diagonal, not of all n^2
    sigma = (1 - alpha) * math.sqrt(variance / weights)  # eq. 64: equal weights
    z, remainder = math.sqrt(2 * math.log(4 / delta)), math.sqrt(n) / math.sqrt(weights)  # eq. 78, 82
    radius = n * math.sqrt(math.log(4 / delta) / (2 * variance))  # eq. 76
    order = 1 + math.sqrt(8 * math.log(1 / delta) / weights)
    rho = weights / 8  # eq. 92, with a variance of 1/4
    mu = 2 * shift * math.sqrt(weights) / (1 - alpha)  # eq. 95
    local = gaussian_epsilon(delta, mu)
    return {
        "sigma": sigma,
        "signal_to_noise": shift / sigma,
        "berry_esseen_remainder": remainder,
        "epsilon_eq_77": shift**2 / (2 * sigma**2) + shift * radius / sigma,
        "epsilon_eq_79": shift**2 / (2 * sigma**2) + shift * z / sigma + 2 * remainder,
        "mmse_eq_87": 1 / (1 + alpha**2 * (n / 4) / sigma**2),
        "mmse_eq_88": 1 / (1 + weights / (31.9 * n)),
        "renyi_order": order,
        "renyi_epsilon": order * weights / 8 + math.log(1 / delta) / (order - 1),
        "zcdp_epsilon": rho + 2 * math.sqrt(rho * math.log(1 / delta)),
        "gaussian_mu": mu,
        "gaussian_epsilon": local,
        "shuffled_epsilon_eq_96": unsound_shuffling(local, clients, delta),
    }


def paper_full_figures(bits: int, delta: float = 1e-6, epsilon: float = 1.0, slack: float = 0.2) -> dict[str, float]:
    """The full variant by Theorem 8.7: `K = (2n - 1)^2 + 1` decoys, and the alpha that is to give `epsilon`."""
    weights = (2 * bits - 1) ** 2 + 1
    variance = (2 * bits - 1) / ((2 * bits) ** 2 * weights)
    radius = math.sqrt(math.log(16 * bits**2 / delta) / (2 * weights))  # the proof's 16 n^2; the statement prints 8 n^2
    slope = 4 * bits**2 * radius / variance  # eq. 41, likewise
    alpha = (epsilon - slack) / slope
    visible = math.sqrt(variance)  # alpha at which one entry has a signal as large as its noise
    return {
        "weights": float(weights),
        "sigma": math.sqrt(variance),
        "radius": radius,
        "slope": slope,
        "alpha": alpha,
        "signal_to_noise_entry": alpha / math.sqrt(variance),
        "epsilon_at_visible_signal": slope * visible / (1 - visible),
    }


def unsound_shuffling(local: float, clients: int, delta: float) -> float:
    """Eq. 96, which lost a factor exp(local / 2): it gives the same epsilon however weak the local guarantee is.

    >>> round(unsound_shuffling(7.8, 1000, 1e-6), 3)
    0.372
    """
    return math.log1p(math.tanh(local / 2) * math.sqrt(14 * math.log(2 / delta) / clients))


def shuffling_epsilon(local: float, clients: int, delta: float) -> float | None:
    """Amplification by shuffling of pure local guarantees (Feldman, McMillan and Talwar); None beyond their range.

    The bound of 2021 holds up to ln(k / (16 ln(4/delta))), that of 2023 up to ln(k / (8 ln(2/delta)) - 1).
    """
    bounds = []
    growth = math.exp(min(local, 700))
    if growth <= clients / (16 * math.log(4 / delta)):
        inner = 8 * math.sqrt(growth * math.log(4 / delta)) / math.sqrt(clients) + 8 * growth / clients
        bounds.append(math.log1p(math.tanh(local / 2) * inner))
    if growth <= clients / (8 * math.log(2 / delta)) - 1:
        inner = 4 * math.sqrt(2 * math.log(4 / delta)) / math.sqrt((growth + 1) * clients) + 4 / clients
        bounds.append(math.log1p((growth - 1) * inner))
    return min(bounds, default=None)


def approximate_shuffling_delta(epsilon: float, local: float, clients: int, delta: float, local_delta: float) -> float:
    """Delta after shuffling where the local guarantee itself holds up to `local_delta` only."""
    return delta + (math.exp(epsilon) + 1) * (1 + math.exp(-local) / 2) * clients * local_delta


class NoiseLaw:
    """The density of `sum of omega_i X_i` for Dirichlet(1, ..., 1) weights and independent decoys, off its atoms.

    By the Markov-Krein identity `E (1 - iu (Y - y))^-K = (E 1 / (1 - iu (X - y)))^K`; its derivative by y, integrated
    over u, gives the density `K / pi` times the real part of `phi^(K - 1) psi` (specification, section 4.6).
    """

    def __init__(self, setting: Setting, points: int = 1_200) -> None:
        self.setting = setting
        kept = np.flatnonzero(setting.law > 1e-18)  # what is dropped weighs less than 1e-16 in all
        values, law = kept.astype(float), setting.law[kept]
        mean = setting.bits / 2
        spread = math.sqrt(float(law @ (values - mean) ** 2) * 2 / (setting.weights + 1))
        reach = min(mean, 10 * spread + 1)
        # The shift between the sums 0 and n is a whole number of steps, so that no density is interpolated.
        alpha = setting.alpha
        shift = alpha * setting.bits / (1 - alpha)
        self.shift = max(4, math.ceil(shift * points / (2 * reach)))
        self.step = shift / self.shift
        points = math.ceil(2 * reach / self.step)
        # Off the grid of whole numbers: the integrand decays slowly exactly on an atom.
        self.grid = mean - reach + self.step * (np.arange(points) + 0.37)
        angles, heights = np.polynomial.legendre.leggauss(NODES)
        angles, heights = (angles + 1) * math.pi / 4, heights * math.pi / 4
        frequencies, jacobian = np.tan(angles) / max(spread, 0.05), heights / np.cos(angles) ** 2 / max(spread, 0.05)
        # An atom gives nothing to the density beside it, but its term decays slowly there: it is taken out.
        heavy = np.flatnonzero(law**setting.weights > 1e-18)
        atoms = law[heavy] ** setting.weights
        density = np.empty(points)
        for start in range(0, points, 100):
            apart = values[None, :] - self.grid[start : start + 100, None]
            fraction = 1 / (1 - 1j * frequencies[None, :, None] * apart[:, None, :])
            phi, psi = fraction @ law, (fraction**2) @ law
            atomic = (fraction[:, :, heavy] ** (setting.weights + 1)) @ atoms
            density[start : start + 100] = (phi ** (setting.weights - 1) * psi - atomic).real @ jacobian
        self.density = np.maximum(density * setting.weights / math.pi, 0.0)

    @property
    def mass(self) -> float:
        """Of the density: with the atoms it must be one, which checks the integral."""
        return float(self.density.sum() * self.step)

    @property
    def error(self) -> float:
        """How far density and atoms are from one."""
        return abs(self.mass + self.setting.atoms - 1)

    def delta(self, epsilon: float) -> float:
        """Delta between the two extreme sums of a client, 0 and n: the atoms, and what the shifted density leaves."""
        shifted = np.concatenate([self.density[self.shift :], np.zeros(self.shift)])
        left = np.maximum(0.0, self.density - math.exp(epsilon) * shifted)
        return self.setting.atoms + float(left.sum() * self.step)

    def epsilon(self, delta: float) -> float | None:
        """The least epsilon at this delta; None where the atoms exceed it, where the noise of one sum reaches values
        that the other's does not, or where the density is not known that well.
        """
        if self.setting.atoms >= delta or self.error > delta / 2:
            return None
        if self.delta(0.0) <= delta:
            return 0.0
        top = 1.0
        while self.delta(top) > delta:
            top *= 2
            if top > 512:
                return None
        from scipy.optimize import brentq  # slow to import, and few commands need it

        return float(brentq(lambda epsilon: self.delta(epsilon) - delta, 0.0, top, xtol=1e-6))


def exact_pair_delta(law: NoiseLaw, clients: int, epsilon: float) -> float:
    """At least this delta at `epsilon` after shuffling, for masked numbers as they are sent.

    An error of the density changes the law of all clients together by at most `clients` times as much, on both sides.
    """
    usual = np.concatenate([law.density, np.zeros(law.shift)]) * law.step
    moved = np.concatenate([np.zeros(law.shift), law.density]) * law.step
    found = pair_delta(usual, moved, law.setting.atoms, clients, epsilon)
    return max(law.setting.atoms, found - (1 + math.exp(epsilon)) * clients * law.error)


def shuffled_noise_epsilon(law: NoiseLaw, clients: int, delta: float) -> float | None:
    """Epsilon after shuffling masked numbers, which is proved by a bound for local guarantees up to a `local` delta.

    All clients' local deltas add up, so each may be a small part of delta only. None where atoms exceed that part,
    where the integral of the law is not that accurate, or where no bound speaks about so large a local epsilon.
    """
    part = delta / (20 * clients)
    local = law.epsilon(part) if law.error < part / 10 else None
    found = None if local is None else shuffling_epsilon(local, clients, delta / 2)
    if local is None or found is None:
        return None
    return found if approximate_shuffling_delta(found, local, clients, delta / 2, part) <= delta else None


def paper_curves(bits: int, delta: float = 1e-6, most: int = 1000) -> list[tuple[int, float, float, float, float]]:
    """Figure 6 of the paper: epsilon (79), signal to noise, remainder and MMSE (87) over the number of decoys."""
    rows = []
    for weights in range(2, most + 1):
        figures = paper_figures(Setting(bits, weights, delta))
        rows.append(
            (
                weights,
                figures["epsilon_eq_79"],
                figures["signal_to_noise"],
                figures["berry_esseen_remainder"],
                figures["mmse_eq_87"],
            )
        )
    return rows


@dataclass(frozen=True)
class PrivacyFigures:
    """The paper's figures and what holds, for one setting."""

    setting: Setting
    clients: int
    paper: Mapping[str, float]
    epsilon: float | None
    atoms: float
    mass: float
    gaussian: float
    shuffled: float | None
    pair: float
    """Delta after shuffling at the paper's epsilon, of one pair of inputs in the paper's model."""
    exact_pair: float
    """The same, of what is sent."""

    @property
    def reason(self) -> str:
        """Why there is no epsilon, if there is none."""
        if self.atoms >= self.setting.delta:
            return "the atoms of the noise exceed delta at every epsilon"
        if abs(self.mass + self.atoms - 1) > self.setting.delta / 2:
            return "the density of the noise is not computed that accurately"
        return "some masked numbers come from one sum only, more often than delta"


def analyse_privacy(bits: int, weights: int, delta: float = 1e-6, clients: int = 1000) -> PrivacyFigures:
    """All figures about what an aggregator learns from one masked number."""
    setting = Setting(bits, weights, delta)
    law = NoiseLaw(setting)
    epsilon = law.epsilon(delta)
    variance = bits**2 / (4 * (2 * bits - 1)) * 2 / (weights + 1)
    mu = setting.alpha * bits / ((1 - setting.alpha) * math.sqrt(variance))
    paper = paper_figures(setting, clients)
    return PrivacyFigures(
        setting,
        clients,
        paper,
        epsilon,
        setting.atoms,
        law.mass,
        gaussian_epsilon(delta, mu),
        shuffled_noise_epsilon(law, clients, delta),
        gaussian_pair_delta(paper["gaussian_mu"], clients, paper["shuffled_epsilon_eq_96"]),
        exact_pair_delta(law, clients, paper["shuffled_epsilon_eq_96"]),
    )


def cost_bits(bits: int, clients: int) -> dict[str, int]:
    """Bits that one client sends for one sum, and for all marginals, by backend.

    >>> cost_bits(100, 1000)
    {'polyveil': 2560000, 'polyveil-compressed': 128, 'shares, one sum': 34, 'shares, all marginals': 2000}
    """
    return {
        "polyveil": 64 * (2 * bits) ** 2,
        "polyveil-compressed": 128,
        "shares, one sum": 2 * (clients * bits).bit_length(),
        "shares, all marginals": 2 * bits * clients.bit_length(),
    }
