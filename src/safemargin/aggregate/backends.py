"""The table of backends, and the two by secret sharing. One class and one line in the table each."""

from collections.abc import Mapping, Sequence

import numpy as np

from safemargin.aggregate.backend import Backend, MaskedReport, Messages, Options, PartyRole
from safemargin.aggregate.mask import Draw
from safemargin.aggregate.polyveil import (
    PolyVeil,
    PolyVeilCompressed,
    PolyVeilScalar,
    PolyVeilShuffled,
    PolyVeilTwoLayer,
)
from safemargin.aggregate.verified import Prio3One, Prio3Some, Prio3Statistic, Prio3Sums
from safemargin.core import InputError, IntArray, system_below

PRIME = 2**56 - 5
"""Field of Shamir's shares: a product with a point up to 255 fits into 64 bits."""


class Shares(MaskedReport):
    """Additive secret sharing of the whole vector: all shares but one are uniform noise, together they are the vector.

    Any number of aggregators but all of them together learn nothing: their view is uniform whatever the answers are.
    """

    name = "shares"
    learns = "No single aggregator learns anything; all of them together learn every answer."
    dishonest = "One aggregator can shift every total unseen, within the range from 0 to the largest possible total."
    validity = (
        "Shares are uniform, so no aggregator can check one. A client that lies can add any number to any total; the "
        "server notices totals beyond clients x largest answer only."
    )
    aggregators = 2

    def _roles(self) -> tuple[PartyRole, ...]:
        if self.clients * self.largest >= 2**63:
            raise InputError(f"{self.clients:,} clients with answers up to {self.largest:,}: totals pass 2^63")
        # Totals are found modulo 2^32 or 2^64: a smaller modulus would wrap around.
        self.bits = 32 if self.clients * self.largest < 2**32 else 64
        width = self.questions * self.bits // 8
        return tuple(PartyRole(f"aggregator {i + 1}", width) for i in range(self.aggregators))

    def protect(self, values: IntArray, draw: Draw = system_below) -> Messages:
        """Uniform shares, and the vector less all of them."""
        self.check_values(values)
        modulus = 2**self.bits
        # 64-bit words are drawn as two halves: numbers below 2^64 do not fit into a signed word.
        shares = [
            draw(2**32, values.shape).astype(np.uint64)
            + (draw(2**32, values.shape).astype(np.uint64) << np.uint64(32) if self.bits == 64 else np.uint64(0))
            for _ in range(self.aggregators - 1)
        ]
        last = values.astype(np.uint64)
        for share in shares:
            last = last - share  # unsigned arithmetic wraps around: exactly what is wanted
        last &= np.uint64(modulus - 1)
        return {role.name: share.astype(np.int64) for role, share in zip(self.roles, [*shares, last], strict=True)}

    def add(self, role: str, messages: IntArray) -> IntArray:
        """Sums modulo 2^32 or 2^64."""
        summed = messages.astype(np.uint64).sum(axis=0, dtype=np.uint64) & np.uint64(2**self.bits - 1)
        return np.asarray(summed.astype(np.int64))

    def combine(self, sums: Mapping[str, IntArray], clients: int) -> IntArray:
        """The sum of all shares is the sum of the vectors."""
        if set(sums) != {role.name for role in self.roles}:
            raise InputError(f"shares: sums of all {self.aggregators} aggregators are needed, {len(sums)} are there")
        return _checked_totals(self.add("", np.stack(list(sums.values()))), clients * self.largest)


class Shamir(MaskedReport):
    """Shamir's sharing: any `threshold` of the aggregators can open the sum, fewer learn nothing."""

    name = "shamir"
    learns = "Fewer aggregators than the threshold learn nothing; as many as the threshold learn every answer."
    dishonest = (
        "One aggregator that shifts its sum is noticed where all three answer, not which one it was; where only two "
        "answer, it shifts totals unseen."
    )
    validity = (
        "Aggregators beyond the threshold make inconsistent sums visible: all of them must lie on one polynomial. A "
        "client that lies about its answer can add any number to a total."
    )
    threshold, aggregators = 2, 3
    """More than half are needed: else two halves could open the sums of two sets of clients."""

    @property
    def needed(self) -> int:
        """Any so many aggregators can open a sum."""
        return self.threshold

    def _roles(self) -> tuple[PartyRole, ...]:
        if self.clients * self.largest >= PRIME:
            raise InputError(f"{self.clients:,} clients with answers up to {self.largest:,}: totals pass 2^56")
        return tuple(PartyRole(f"aggregator {i + 1}", self.questions * 8) for i in range(self.aggregators))

    def protect(self, values: IntArray, draw: Draw = system_below) -> Messages:
        """Values of a random polynomial with the answer at 0, at the points 1, 2, ..."""
        self.check_values(values)
        coefficients = [draw(PRIME, values.shape).astype(np.uint64) for _ in range(self.threshold - 1)]
        messages = {}
        for point, role in enumerate(self.roles, 1):
            value = np.zeros(values.shape, dtype=np.uint64)
            for coefficient in reversed(coefficients):  # Horner; a value below 2^56 times a point below 2^8
                value = (value * np.uint64(point) + coefficient) % np.uint64(PRIME)
            value = (value * np.uint64(point) + values.astype(np.uint64)) % np.uint64(PRIME)
            messages[role.name] = value.astype(np.int64)
        return messages

    def check(self, role: str, message: IntArray) -> None:
        """Shares are elements of the field; sums of larger numbers would pass 64 bits."""
        if (message < 0).any() or (message >= PRIME).any():
            raise InputError("a share is not an element of the field")

    def add(self, role: str, messages: IntArray) -> IntArray:
        """Sums in the field. Up to 2^7 values below 2^56 fit into 63 bits, so longer columns are reduced in runs."""
        total = np.zeros(messages.shape[1], dtype=np.int64)
        for start in range(0, len(messages), 64):
            total = (total + messages[start : start + 64].sum(axis=0)) % PRIME
        return total

    def combine(self, sums: Mapping[str, IntArray], clients: int) -> IntArray:
        """Lagrange's formula at 0 on the first `threshold` sums; every further one must agree."""
        points = {place: sums[role.name] for place, role in enumerate(self.roles, 1) if role.name in sums}
        if len(points) < self.threshold:
            raise InputError(f"shamir: {self.threshold} aggregators are needed to open a sum, {len(points)} answered")
        base = list(points)[: self.threshold]
        for place in list(points)[self.threshold :]:
            if np.any(_lagrange(points, base, place) != points[place]):
                raise InputError("shamir: the aggregators' sums do not lie on one polynomial; one of them is wrong")
        return _checked_totals(_lagrange(points, base, 0), clients * self.largest)


def _lagrange(points: Mapping[int, IntArray], base: Sequence[int], at: int) -> IntArray:
    """The value at a point of the polynomial through the points in `base`; Python integers, since products are long."""
    total = np.zeros(len(points[base[0]]), dtype=object)
    for place in base:
        factor = 1
        for other in base:
            if other != place:
                factor = factor * (at - other) * pow(place - other, -1, PRIME) % PRIME
        total = (total + points[place].astype(object) * factor) % PRIME
    return np.asarray(total.astype(np.int64))


def _checked_totals(totals: IntArray, most: int) -> IntArray:
    if np.any(totals < 0) or np.any(totals > most):
        worst = int(totals.max()) if totals.max() > most else int(totals.min())
        raise InputError(f"a total of {worst:,} is not between 0 and {most:,}: a message was changed")
    return totals


BACKENDS: Mapping[str, type[Backend]] = {
    backend.name: backend
    for backend in (
        Prio3Sums,
        Prio3One,
        Prio3Some,
        Prio3Statistic,
        Shares,
        Shamir,
        PolyVeil,
        PolyVeilCompressed,
        PolyVeilTwoLayer,
        PolyVeilShuffled,
        PolyVeilScalar,
    )
}
"""The first is the default: exact, nothing to learn for any party alone, and no client can spoil a sum."""


def make_backend(name: str, questions: int, clients: int, largest: int = 1, options: Options | None = None) -> Backend:
    """The backend of this name for so many questions and clients."""
    if name not in BACKENDS:
        raise InputError(f"backend = {name!r}: must be one of {', '.join(BACKENDS)}")
    return BACKENDS[name](questions, clients, largest, options)


def block_size(backend: Backend) -> int:
    """Clients whose messages are in memory at once: about 50 MB, since a masked matrix of 100 bits takes 320 kB."""
    return max(1, min(20_000, 50_000_000 // max(1, backend.bytes_per_client)))
