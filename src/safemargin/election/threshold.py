"""The tally key, which nobody ever holds: trustees make shares of it together, without a dealer.

With as many openers as trustees (n of n) every trustee draws `x_u`, publishes the hash of `Y_u = x_u G` first and `Y_u`
with a proof of possession only when all hashes are known; `Y` is the sum. With fewer openers (T of U) every trustee
deals by Feldman's scheme: T commitments to a polynomial, hashed first, and a share for every other trustee, sealed to
it. A trustee signs the manifest only if every share for it verifies; any fault means that all start again with new
keys.

Nobody can choose its part after it saw those of others, since hashes come first. T - 1 trustees learn nothing about a
ciphertext under the decisional Diffie-Hellman assumption; T together can decrypt everything.

    >>> parts = [scalar_of(3), scalar_of(4)]
    >>> total = Ciphertext(base(scalar_of(5)), add(multiply(scalar_of(5), base(scalar_of(7))), base(scalar_of(42))))
    >>> small_logarithm(combine(total, {n: multiply(x, total.first) for n, x in enumerate(parts, 1)}, False), 100)
    42
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from safemargin.core import InputError
from safemargin.election.group import (
    GENERATOR,
    IDENTITY,
    Point,
    Scalar,
    add,
    add_all,
    add_scalars,
    base,
    invert_scalar,
    multiply,
    multiply_scalars,
    name_of,
    negate_point,
    read_point,
    reduce_scalar,
    scalar_of,
    subtract,
)
from safemargin.election.keys import derive
from safemargin.election.proofs import Ciphertext, is_possessed, prove_possession


def polynomial(seed: bytes, needed: int, trustees: int) -> list[Scalar]:
    """A trustee's secret: one scalar where all trustees decrypt together, else the coefficients of its polynomial."""
    count = 1 if needed == trustees else needed
    return [reduce_scalar(derive(seed, f"tally key {power}", 64)) for power in range(count)]


def evaluate(coefficients: Sequence[Scalar], place: int) -> Scalar:
    """The value of a polynomial at a trustee's place, counted from 1."""
    total = scalar_of(0)
    for coefficient in reversed(coefficients):
        total = add_scalars(multiply_scalars(total, scalar_of(place)), coefficient)
    return total


def evaluate_public(commitments: Sequence[Point], place: int) -> Point:
    """The same in the exponent: what a dealt share must be the logarithm of."""
    total = IDENTITY
    for commitment in reversed(commitments):
        total = add(multiply(scalar_of(place), total), commitment)
    return total


def pledge_of(plan: bytes, name: str, commitments: Sequence[Point]) -> str:
    """The hash that a trustee hands in before it shows its commitments."""
    return name_of("pledge", [plan, name.encode(), *commitments]).hex()


def possession_context(plan: bytes, name: str) -> list[bytes]:
    """Binds a proof of possession to one trustee of one plan."""
    return [plan, name.encode()]


@dataclass(frozen=True)
class Dealing:
    """What a trustee shows when all hashes are there."""

    name: str
    commitments: tuple[Point, ...]
    proof: bytes

    @classmethod
    def make(cls, plan: bytes, name: str, coefficients: Sequence[Scalar]) -> "Dealing":
        """The public part of a polynomial."""
        proof = prove_possession(coefficients[0], possession_context(plan, name))
        return cls(name, tuple(base(each) for each in coefficients), proof)

    def fault(self, plan: bytes, pledge: str, needed: int, trustees: int) -> str | None:
        """Why this is not what the trustee pledged, or no dealing."""
        try:
            for point in self.commitments:
                read_point(point)
        except InputError as error:
            return f"{self.name}: {error}"
        if len(self.commitments) != (1 if needed == trustees else needed):
            return f"{self.name}: {len(self.commitments)} commitments; a trustee has exactly as many as open"
        if pledge_of(plan, self.name, self.commitments) != pledge:
            return f"{self.name}: the commitments are not those that were pledged by hash"
        if not is_possessed(self.commitments[0], self.proof, possession_context(plan, self.name)):
            return f"{self.name}: the proof of possession is wrong"
        return None


@dataclass(frozen=True)
class TallyKey:
    """The public side: dealings in the order of the trustees, and how many trustees decrypt together."""

    dealings: tuple[Dealing, ...]
    needed: int

    @property
    def is_shared(self) -> bool:
        """Whether fewer than all trustees suffice (Feldman)."""
        return self.needed < len(self.dealings)

    @cached_property
    def public(self) -> Point:
        """The key that ballots are encrypted to."""
        return read_point(add_all(dealing.commitments[0] for dealing in self.dealings))

    @cached_property
    def shares(self) -> dict[str, Point]:
        """Every trustee's public share `Y_u`."""
        if not self.is_shared:
            return {dealing.name: dealing.commitments[0] for dealing in self.dealings}
        return {
            dealing.name: read_point(add_all(evaluate_public(each.commitments, place) for each in self.dealings))
            for place, dealing in enumerate(self.dealings, 1)
        }

    def place(self, name: str) -> int:
        """A trustee's place, counted from 1."""
        return [dealing.name for dealing in self.dealings].index(name) + 1

    def combine(self, total: Ciphertext, parts: Mapping[str, Point]) -> Point:
        """`v G` from verified parts; the same from all sets of enough trustees."""
        if len(parts) < self.needed:
            raise InputError(f"{len(parts)} parts of a decryption: {self.needed} trustees are needed")
        chosen = {self.place(name): part for name, part in sorted(parts.items())[: self.needed]}
        return combine(total, chosen, self.is_shared)

    def decrypt(self, total: Ciphertext, parts: Mapping[str, Point], most: int) -> int:
        """The number in a sum, from verified parts of enough trustees; it is at most `most`."""
        return small_logarithm(self.combine(total, parts), most)


def combine(total: Ciphertext, parts: Mapping[int, Point], shared: bool) -> Point:
    """`v G` from the parts by the place of their trustee (Lagrange at 0 where keys are shared)."""
    mask = add_all(multiply(_weight(place, list(parts)) if shared else scalar_of(1), parts[place]) for place in parts)
    return subtract(total.second, mask)


def _weight(place: int, places: Sequence[int]) -> Scalar:
    weight = scalar_of(1)
    for other in places:
        if other != place:
            weight = multiply_scalars(weight, scalar_of(other))
            weight = multiply_scalars(weight, invert_scalar(scalar_of(other - place)))
    return weight


def small_logarithm(point: Point, most: int) -> int:
    """The number n from 0 to `most` with `n G = point` (Shanks: about 2 sqrt(most) additions); refused if none."""
    step = math.isqrt(most) + 1
    table: dict[Point, int] = {}
    here = IDENTITY
    for number in range(step):
        table[here] = number
        here = add(here, GENERATOR)
    giant, here = negate_point(base(scalar_of(step))), point
    for stride in range(step + 1):
        if (found := table.get(here)) is not None and stride * step + found <= most:
            return stride * step + found
        here = add(here, giant)
    raise InputError(f"a sum decrypts to no number from 0 to {most:,}: a part of the decryption is wrong")
