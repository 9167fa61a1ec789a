"""Attacks on what one party of PolyVeil sees, tried on simulated clients. Secret sharing faces the same inspector.

Every attack guesses bits (or permutation rows, or clients) and its rate of right guesses is measured. The paper's
statements about hardness (section 6) are about the density of a whole matrix; no attack here needs that one.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from safemargin.aggregate.block_posterior import MOST_BLOCKS, block_posterior
from safemargin.aggregate.mask import Draw, Mask, Masked, mask_bits
from safemargin.aggregate.matrix_posterior import MOST_BITS, MOST_DECOYS, posterior_of_matrix
from safemargin.aggregate.posterior import map_bits, map_sums
from safemargin.aggregate.rates import Rate, rate_of_guesses
from safemargin.core import FloatArray, IntArray, numpy_generator

Guess = Callable[[Mask, IntArray], FloatArray]
"""From a masked matrix: the chance given to a one, for every bit."""

MOST_BITS_FOR_PERMANENTS = 3
"""Ranking goes through 2^n candidates with a permanent of size 2n each: 8 of size 6 take milliseconds."""

MOST_COUNTED = 60
"""Clients of whom all masks are counted: 3 bits with 5 decoys take a fifth of a second on average, and up to 4 s."""


def blocks(matrix: IntArray) -> tuple[IntArray, IntArray]:
    """Both entries of each 2 x 2 block that a zero would raise (columns), and both that a one would raise."""
    even, odd = np.arange(0, len(matrix), 2), np.arange(1, len(matrix), 2)
    zero = np.stack([matrix[even, even], matrix[odd, odd]], axis=1)
    one = np.stack([matrix[even, odd], matrix[odd, even]], axis=1)
    return zero, one


def threshold(mask: Mask, matrix: IntArray) -> FloatArray:
    """The heavier diagonal of each block (eq. 120); right about Phi(z) of the time."""
    zero, one = blocks(matrix)
    return np.asarray(0.5 + 0.5 * np.sign(one.sum(axis=1) - zero.sum(axis=1)), dtype=np.float64)


def feasibility(mask: Mask, matrix: IntArray) -> FloatArray:
    """A bit is possible only if both entries that it raises hold the unit; where both are, a coin.

    The heavier diagonal would be right in less than a third of these cases.
    """
    zero, one = blocks(matrix)
    can_zero, can_one = (zero >= mask.unit).all(axis=1), (one >= mask.unit).all(axis=1)
    return np.where(can_zero & can_one, 0.5, can_one.astype(float))


def relaxation(mask: Mask, matrix: IntArray) -> FloatArray:
    """Linear program over fractional bits. Blocks do not share constraints, so each has an interval of its own.

    A bit x leaves a non-negative rest iff the diagonal holds `unit (1 - x)` and the other entries `unit x`.
    """
    zero, one = blocks(matrix)
    low = np.clip(1 - zero.min(axis=1) / mask.unit, 0, 1)
    high = np.clip(one.min(axis=1) / mask.unit, 0, 1)
    middle = (low + high) / 2
    return np.where(middle == 0.5, threshold(mask, matrix), middle)


def clustering(mask: Mask, matrix: IntArray) -> FloatArray:
    """Read the weights off as the most frequent entries, then see which bit explains all four entries of a block.

    With few decoys most entries are nothing or a single weight, so each weight stands in the matrix many times.
    """
    score = _explained_by_weights(mask, matrix)
    return np.where(score == 0, feasibility(mask, matrix), 0.5 + 0.5 * np.sign(score))


def _explained_by_weights(mask: Mask, matrix: IntArray) -> IntArray:
    """How many more entries of a block are sums of up to three weights if the bit is 1 than if it is 0."""
    values = Counter(matrix[matrix > 0].tolist())
    weights = [value for value, _ in values.most_common(mask.decoys)]
    sums = {0, *weights, *(a + b for a, b in combinations(weights, 2))}
    if mask.decoys <= 30:  # 4,060 triples at most
        sums |= {a + b + c for a, b, c in combinations(weights, 3)}
    known = np.array(sorted(sums))
    zeros, ones = blocks(matrix)

    def explained(raised: IntArray, rest: IntArray) -> IntArray:
        hits = np.isin(raised - mask.unit, known).sum(axis=1) + np.isin(rest, known).sum(axis=1)
        return np.asarray(hits, dtype=np.int64)

    return explained(ones, zeros) - explained(zeros, ones)


def birkhoff(mask: Mask, matrix: IntArray) -> FloatArray:
    """Greedy decomposition (Birkhoff and von Neumann): peel off heavy permutations, weigh the ones that fit a block.

    At most (2n - 1)^2 + 1 permutations are peeled off (Marcus and Ree); the decomposition is not unique.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import, and few commands need it

    rest = matrix.astype(np.int64).copy()
    even = np.arange(0, len(rest), 2)
    votes = np.zeros(len(even))
    for _ in range((len(rest) - 1) ** 2 + 1):
        if rest.max() <= 0:
            break
        # A logarithm turns the heaviest assignment into one without zeros, if there is any.
        cost = np.where(rest > 0, -np.log(np.maximum(rest, 1)), 1e6)
        rows, columns = linear_sum_assignment(cost)
        weight = int(rest[rows, columns].min())
        if weight <= 0:
            break
        flips = (columns[even] == even + 1) & (columns[even + 1] == even)
        keeps = (columns[even] == even) & (columns[even + 1] == even + 1)
        votes += weight * (flips.astype(float) - keeps.astype(float))
        rest[rows, columns] -= weight
    return np.where(votes == 0, threshold(mask, matrix), 0.5 + 0.5 * np.sign(votes))


def lattice(mask: Mask, matrix: IntArray) -> FloatArray:
    """Equal weights: an entry is a multiple of the weight, plus the unit where the true matrix has its one."""
    weight = (mask.scale - mask.unit) // mask.decoys
    zero, one = blocks(matrix % weight)
    unit = mask.unit % weight
    return np.asarray(0.5 + 0.5 * np.sign((one == unit).sum(axis=1) - (zero == unit).sum(axis=1)))


def permanent(matrix: IntArray) -> int:
    """Ryser's formula with whole numbers.

    >>> permanent(np.ones((3, 3), dtype=np.int64))
    6
    """
    size = len(matrix)
    total = 0
    for chosen in product((False, True), repeat=size):
        sums = matrix[:, np.array(chosen)].sum(axis=1)
        term = 1
        for value in sums.tolist():
            term *= value
        total += (-1) ** (size - sum(chosen)) * term
    return total


def permanent_ranking(mask: Mask, matrix: IntArray) -> FloatArray:
    """Rank candidates by the permanent of the support they leave (appendix B.0.3, eq. 118)."""
    best, ones = -1, np.full(mask.bits, 0.5)
    for candidate in product((0, 1), repeat=mask.bits):
        rest = matrix.copy()
        for bit, value in enumerate(candidate):
            row = 2 * bit
            rest[row, row + value] -= mask.unit
            rest[row + 1, row + 1 - value] -= mask.unit
        score = -1 if (rest < 0).any() else permanent((rest > 0).astype(np.int64))
        if score > best:
            best, ones = score, np.array(candidate, dtype=float)
    return ones


MATRIX_ATTACKS: Mapping[str, Guess] = {
    "threshold": threshold,
    "feasibility": feasibility,
    "relaxation": relaxation,
    "clustering": clustering,
    "birkhoff": birkhoff,
}
"""Attacks on the masked matrix of one client, by name."""


def measure_attacks(
    variant: str, bits: int, decoys: int, trials: int = 300, seed: int = 0, clients: int = 50
) -> tuple[Rate, ...]:
    """Success of every attack that applies to what a party sees in this variant, on simulated random bits."""
    generator = numpy_generator(seed)

    def draw(bound: int, shape: tuple[int, ...]) -> IntArray:
        return generator.integers(0, bound, size=shape)

    mask = Mask(bits, decoys)
    if variant == "shares":
        return _on_shares(bits, trials, draw)
    if variant in ("compressed", "shuffled"):
        scalar = map_sums(mask, trials, draw)
        return (_deshuffling(mask, trials, clients, draw), *scalar, map_bits(decoys, trials, bits, draw))
    truth = draw(2, (trials, bits))
    masked = mask_bits(mask, truth, draw)
    rates = [_zeros(masked)]
    rates += [_rate_of(name, guess, masked, truth) for name, guess in MATRIX_ATTACKS.items()]
    rates += [
        *_posteriors(masked, truth),
        _learned(mask, masked, truth, draw),
        _hungarian(masked),
    ]
    rates.append(_equal_weights(bits, decoys, min(trials, 100), draw))
    if bits <= MOST_BITS_FOR_PERMANENTS:
        rates.append(_rate_of("permanent ranking", permanent_ranking, masked, truth))
    else:
        note = f"not tried: 2^{bits} permanents of size {2 * bits}; at most {MOST_BITS_FOR_PERMANENTS} bits"
        rates.append(Rate("permanent ranking", "bits", None, None, 0, note))
    if variant == "full":  # the server holds the shuffled noise too (Theorem 5.1)
        rates.append(_deshuffling(mask, max(1, trials // clients), clients, draw))
    return tuple(rates)


def _right(guess: FloatArray, truth: IntArray) -> FloatArray:
    """One for a right guess; one half where the attack does not decide."""
    return np.asarray(np.where(guess == 0.5, 0.5, (guess > 0.5) == (truth == 1)), dtype=np.float64)


def _rate_of(name: str, guess: Guess, masked: Masked, truth: IntArray) -> Rate:
    right = [_right(guess(masked.mask, masked.matrix(client)), bits) for client, bits in enumerate(truth)]
    return rate_of_guesses(name, "bits", np.stack(right))


def _zeros(masked: Masked) -> Rate:
    shares = [np.array([float((masked.matrix(client) == 0).mean())]) for client in range(len(masked.values))]
    return rate_of_guesses(
        "zeros", "entries of the matrix that are 0", np.stack(shares), "what strict feasibility lives on"
    )


def _posteriors(masked: Masked, truth: IntArray) -> list[Rate]:
    """The most likely bit of every block, and the most likely bits of a client from all of its matrix; and guessing.

    The exact posterior goes through all masks. The heuristic adds what blocks show to what the weights show: an entry
    that known weights explain needs no free weight of its own, which is worth a factor of `scale - unit`.
    """
    mask, of = masked.mask, "clients with all bits right"
    exact = mask.bits <= MOST_BITS and mask.decoys <= MOST_DECOYS
    rights: dict[str, list[float]] = {"exact": [], "heuristic": [], "blocks": []}
    singles = []
    for client, bits in enumerate(truth[: max(2, MOST_BLOCKS // mask.bits)]):
        matrix = masked.matrix(client)
        if exact and client < (MOST_COUNTED if mask.bits == MOST_BITS else MOST_BLOCKS):
            chances = posterior_of_matrix(mask, matrix)
            best = [each for each, chance in chances.items() if chance == max(chances.values())]
            rights["exact"].append((tuple(bits.tolist()) in best) / len(best))
        alone = np.clip(block_posterior(mask, matrix), 1e-12, 1 - 1e-12)
        odds = np.log(alone / (1 - alone)) + np.log(mask.scale - mask.unit) * _explained_by_weights(mask, matrix)
        rights["heuristic"].append(float(_right(0.5 + 0.5 * np.sign(odds), bits).prod()))
        singles.append(_right(alone, bits))
        rights["blocks"].append(float(singles[-1].prod()))
    notes = {
        "exact": "the most likely bits given the whole matrix, by counting all masks",
        "heuristic": "blocks and weights together; no bound on what the posterior would reach",
        "blocks": "every bit from its own block",
    }
    rates = [rate_of_guesses("posterior of a block", "bits", np.stack(singles), "the best guess from four entries")]
    rates += [
        rate_of_guesses(f"whole matrix, {name}", of, np.array(right)[:, None], notes[name])
        for name, right in rights.items()
        if right
    ]
    if not exact:
        note = f"not tried: at most {MOST_BITS} bits and {MOST_DECOYS} decoys"
        rates.append(Rate("whole matrix, exact", of, None, None, 0, note))
    return [*rates, Rate("whole matrix, guessing", of, 0.5**mask.bits, None, 0, "without looking, by calculation")]


def _hungarian(masked: Masked) -> Rate:
    """The heaviest assignment (eq. 119): the right guess if decoys were Gaussian noise."""
    from scipy.optimize import linear_sum_assignment  # slow to import, and few commands need it

    right = []
    for client, columns in enumerate(masked.true):
        _, chosen = linear_sum_assignment(masked.matrix(client), maximize=True)
        right.append((chosen == columns).astype(float))
    return rate_of_guesses("hungarian", "rows of the permutation", np.stack(right))


def _equal_weights(bits: int, decoys: int, trials: int, draw: Draw) -> Rate:
    """The attack that Remark 8.19 forbids equal weights for."""
    unit = 2**20
    scale = unit + decoys * (-(-(4 * bits - 1) * unit // decoys))  # the weights are whole
    mask = Mask(bits, decoys, unit, scale)
    truth = draw(2, (trials, bits))
    weights = np.full((trials, decoys), (scale - unit) // decoys, dtype=np.int64)
    masked = mask_bits(mask, truth, draw, weights)
    rate = _rate_of("lattice", lattice, masked, truth)
    return replace(rate, note="with equal weights, which the product refuses")


def _features(mask: Mask, matrix: IntArray) -> FloatArray:
    zero, one = (np.sort(entries, axis=1) / mask.unit for entries in blocks(matrix))
    raw = np.column_stack([one - zero, np.minimum(one, 2) - np.minimum(zero, 2), (one >= 1) * 1.0 - (zero >= 1) * 1.0])
    return np.asarray(raw, dtype=np.float64)


def _learned(mask: Mask, masked: Masked, truth: IntArray, draw: Draw) -> Rate:
    """Logistic regression on features of a block, trained on simulated clients."""
    count = min(len(truth), 200)
    known = draw(2, (count, mask.bits))
    made_up = mask_bits(mask, known, draw)
    inputs = np.concatenate([_features(mask, made_up.matrix(client)) for client in range(count)])
    target = known.reshape(-1)
    weights = np.zeros(inputs.shape[1])
    for _ in range(30):  # Newton's steps with a small ridge, so that separable data stay finite
        chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        gradient = inputs.T @ (target - chance) - 1e-2 * weights
        curvature = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + 1e-2 * np.eye(len(weights))
        weights = weights + np.linalg.solve(curvature, gradient)

    def guess(_: Mask, matrix: IntArray) -> FloatArray:
        return np.asarray(1 / (1 + np.exp(-np.clip(_features(mask, matrix) @ weights, -30, 30))))

    return _rate_of("learned classifier", guess, masked, truth)


def deshuffle(mask: Mask, values: IntArray, noise: IntArray) -> IntArray:
    """Sums of clients from their named values and shuffled noise; -1 where several fit (Theorem 5.1).

    Of a right pair the difference is a multiple of the unit between 0 and n units. Remainders are matched by sorting.

    >>> deshuffle(Mask(2, 2, 6, 20), np.array([24, 28, 13]), np.array([16, 7, 18])).tolist()
    [1, 2, 1]
    """
    order = np.argsort(noise % mask.unit, kind="stable")
    remainders = (noise % mask.unit)[order]
    sums = np.full(len(values), -1, dtype=np.int64)
    for client, value in enumerate(values.tolist()):
        first, last = np.searchsorted(remainders, [value % mask.unit, value % mask.unit + 1])
        fits = {
            (value - int(noise[place])) // mask.unit
            for place in order[first:last]
            if 0 <= value - int(noise[place]) <= mask.bits * mask.unit
        }
        if len(fits) == 1:
            sums[client] = fits.pop()
    return sums


def _deshuffling(mask: Mask, rounds: int, clients: int, draw: Draw) -> Rate:
    right = []
    for _ in range(rounds):
        truth = draw(2, (clients, mask.bits))
        masked = mask_bits(mask, truth, draw)
        noise = masked.noise.sum(axis=1)
        shuffled = noise[np.argsort(draw(2**62, (clients,)))]
        right.append((deshuffle(mask, masked.values.sum(axis=1), shuffled) == truth.sum(axis=1)).astype(float))
    return rate_of_guesses("de-shuffling", "clients' sums", np.stack(right), f"{clients} clients at a time")


def _on_shares(bits: int, trials: int, draw: Draw) -> tuple[Rate, ...]:
    """The same inspector in front of one share: uniform whatever the bit is, so half of all guesses are right."""
    truth = draw(2, (trials, bits))
    share = draw(2**32, (trials, bits))
    other = (truth - share) % 2**32
    parity = rate_of_guesses("parity of a share", "bits", ((other & 1) == truth).astype(float))
    high = rate_of_guesses("size of a share", "bits", ((other >= 2**31) == (truth == 1)).astype(float))
    return parity, high
