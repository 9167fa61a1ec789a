"""The best guesses from masked numbers: the most likely sum or bit, given the exact law of the noise (Prop. 5.3).

Of a masked number f the posterior of the sum s is proportional to prior(s) times the density of the noise at f - c s.
The law is `NoiseLaw`, with its atoms: where f - c s is a possible value of equal decoys, s is as good as certain. Bits
are fair, so the prior of a sum is binomial. No guess from the same number can be right more often.
"""

import numpy as np

from safemargin.aggregate.mask import Draw, Mask, mask_bits
from safemargin.aggregate.privacy_figures import NoiseLaw, Setting
from safemargin.aggregate.rates import Rate, rate_of_guesses
from safemargin.core import FloatArray, IntArray

CERTAIN = 1e12
"""What an atom weighs against a density."""


def posterior(mask: Mask, values: IntArray) -> FloatArray:
    """Chances of all sums (columns) for masked numbers (rows), at the paper's alpha of 1 / (4n)."""
    from scipy.special import gammaln  # slow to import, and few commands need it

    setting = Setting(mask.bits, mask.decoys)
    law, rest = NoiseLaw(setting), mask.scale - mask.unit
    sums = np.arange(mask.bits + 1)
    noise = values[:, None] - mask.unit * sums[None, :]
    density = np.interp(noise / rest, law.grid, law.density, left=0.0, right=0.0)
    whole = (noise % rest == 0) & (noise >= 0) & (noise <= mask.bits * rest)
    atoms = np.where(whole, setting.law[np.clip(noise // rest, 0, mask.bits)] ** mask.decoys, 0.0)
    n = mask.bits
    prior = np.exp(gammaln(n + 1) - gammaln(sums + 1) - gammaln(n - sums + 1) - n * np.log(2))
    weight = (density + CERTAIN * atoms + 1e-300) * prior
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def map_sums(mask: Mask, trials: int, draw: Draw) -> tuple[Rate, Rate]:
    """The most likely sum of a client from its masked number, and the best guess without looking."""
    bits = draw(2, (trials, mask.bits))
    truth = bits.sum(axis=1)
    chances = posterior(mask, mask_bits(mask, bits, draw).values.sum(axis=1))
    right = (chances.argmax(axis=1) == truth).astype(float)
    blind = (truth == mask.bits // 2).astype(float)
    return (
        rate_of_guesses("posterior", "clients' sums", right[:, None], "one number per client, named; fair bits"),
        rate_of_guesses("without looking", "clients' sums", blind[:, None], f"always {mask.bits // 2}"),
    )


def map_bits(decoys: int, trials: int, bits: int, draw: Draw) -> Rate:
    """The most likely bit where every bit is masked by itself (alpha 1/4)."""
    truth = draw(2, (trials, bits))
    alone = Mask(1, decoys)
    values = mask_bits(alone, truth.reshape(-1, 1), draw).values.reshape(-1)
    guess = posterior(alone, values).argmax(axis=1).reshape(truth.shape)
    return rate_of_guesses("posterior, bit by bit", "bits", (guess == truth).astype(float), "every bit by itself")
