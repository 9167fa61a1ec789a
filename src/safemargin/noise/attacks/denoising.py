"""All attacks on noise together: averaging, fitting, revealing the bound, exploiting margins, differencing."""

from collections.abc import Sequence
from dataclasses import dataclass

from safemargin.core import InputError, PublishedTable
from safemargin.noise.attacks.averaging import averaging
from safemargin.noise.attacks.differencing import changes, nested
from safemargin.noise.attacks.exploiting import exploiting
from safemargin.noise.attacks.fitting import fitting
from safemargin.noise.attacks.noisy import Layout, Recovered, estimated_variance, laid_out
from safemargin.noise.attacks.revealing import Revealed, revealing
from safemargin.samplers.checks import positive

SURE = 0.95
"""How sure an attack must be of a count for it to be given away."""


@dataclass(frozen=True)
class Denoised:
    """What the attacks arrive at; `bound` is what `exploiting` went by, where it could."""

    variance: float
    estimated: bool
    revealed: Revealed
    bound: int | None
    attacks: dict[str, tuple[Recovered, ...]]

    def sure(self, confidence: float = SURE) -> tuple[Recovered, ...]:
        """Counts that an attack is this sure of."""
        return tuple(one for found in self.attacks.values() for one in found if one.confidence >= confidence)


def denoise(
    tables: Sequence[PublishedTable],
    *,
    variance: float | None = None,
    bound: int | None = None,
    before: Sequence[PublishedTable] = (),
    targets: Sequence[Sequence[str]] | None = None,
    confidence: float = SURE,
) -> Denoised:
    """Attack noisy tables as somebody who sees them, and may know the variance or the bound of the noise.

    What is not known is estimated from the tables. `targets` are the axes of the counts to average, instead of every
    table's. `before` are tables published earlier about almost the same people.
    """
    layout = laid_out(tables)
    spread = estimated_variance(layout) if variance is None else positive("variance", variance)
    revealed = revealing(layout, spread)
    if bound is not None and bound < revealed.least:
        raise InputError(f"bound = {bound}: does not explain the tables; the nearest is {revealed.least}")
    known = bound if bound is not None else revealed.least if revealed.confidence >= confidence else None
    attacks = {
        "averaging": tuple(averaging(layout, spread, targets)),
        "fitting": tuple(fitting(layout, spread)),
        "exploiting": () if known is None else tuple(exploiting(layout, known)),
        "differencing": tuple(nested(layout, spread)),
    }
    if before:
        both = laid_out([*tables, *before])
        now = Layout(both.categories, both.blocks[: len(layout.blocks)])
        then = Layout(both.categories, both.blocks[len(layout.blocks) :])
        attacks["changes"] = tuple(changes(now, then, spread))
    return Denoised(spread, variance is None, revealed, known, attacks)
