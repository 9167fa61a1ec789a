"""Ways to add up clients' vectors so that no single party sees one of them. One class and one line in a table each.

A backend turns a client's vector into one message per role. Every role but the server adds its messages up (or passes
them on in random order); the server puts the roles' results together. All of it is exact integer arithmetic.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from safemargin.aggregate.mask import Draw, Mask, mask_bits, unmask
from safemargin.core import InputError, IntArray, Progress, system_below

Messages = dict[str, IntArray]
"""One row of whole numbers per client, by role."""

PRIME = 2**56 - 5
"""Field of Shamir's shares: a product with a point up to 255 fits into 64 bits."""


@dataclass(frozen=True)
class PartyRole:
    """A party that clients send to. `forwards` says what it passes on: sums, or messages, in random order or named.

    A shuffler passes them on to the party `relay`, which clients never talk to; without one, to the server.
    """

    name: str
    width: int
    forwards: Literal["sum", "shuffled", "named"] = "sum"
    relay: str = ""


class Backend(ABC):
    """`questions` per client, each answered by a whole number from 0 to `largest`."""

    name: str
    validity: str
    """Which wrong inputs are noticed, and what one bad client can do otherwise."""

    def __init__(self, questions: int, clients: int, largest: int = 1) -> None:
        if questions < 1 or largest < 1:
            raise InputError(f"{questions} questions with answers up to {largest}: both must be at least 1")
        self.questions, self.clients, self.largest = questions, clients, largest
        self.roles = self._roles()

    @abstractmethod
    def _roles(self) -> tuple[PartyRole, ...]:
        """The parties that clients send to."""

    @abstractmethod
    def protect(self, values: IntArray, draw: Draw = system_below) -> Messages:
        """Messages of clients (rows) to every role."""

    @abstractmethod
    def add(self, role: str, messages: IntArray) -> IntArray:
        """What a role's messages (rows) add up to."""

    def add_sums(self, role: str, sums: IntArray) -> IntArray:
        """Sums of several blocks of clients (rows) put together."""
        return self.add(role, sums)

    @abstractmethod
    def combine(self, sums: Mapping[str, IntArray], clients: int) -> IntArray:
        """Totals by question from the sums of the roles."""

    @property
    def bytes_per_client(self) -> int:
        """Length of a client's messages to all roles, without headers."""
        return sum(role.width for role in self.roles)

    def check(self, role: str, message: IntArray) -> None:  # noqa: B027 - most backends have nothing to check
        """Refuse a message that an honest client cannot have sent."""

    @property
    def needed(self) -> int:
        """How many parties must agree on the clients and answer."""
        return len(self.roles)

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties but the server: those that clients send to, and those behind a shuffler."""
        return (*(role.name for role in self.roles), *(role.relay for role in self.roles if role.relay))

    def role(self, name: str) -> PartyRole:
        """The role of this name."""
        return next(role for role in self.roles if role.name == name)

    def check_values(self, values: IntArray) -> None:
        """Refuse vectors of the wrong length or range."""
        if values.ndim != 2 or values.shape[1] != self.questions:
            raise InputError(f"every client must answer {self.questions} questions")
        if values.size and (values.min() < 0 or values.max() > self.largest):
            raise InputError(f"answers must be whole numbers from 0 to {self.largest}")


class Shares(Backend):
    """Additive secret sharing of the whole vector: all shares but one are uniform noise, together they are the vector.

    Any number of aggregators but all of them together learn nothing: their view is uniform whatever the answers are.
    """

    name = "shares"
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


class Shamir(Backend):
    """Shamir's sharing: any `threshold` of the aggregators can open the sum, fewer learn nothing."""

    name = "shamir"
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


class PolyVeil(Backend):
    """Algorithm 1: masked matrices to the server, noise to a shuffler. The server can read all sums (Theorem 5.1)."""

    name = "polyveil"
    validity = (
        "The server checks that each matrix is non-negative with equal row and column sums. Nothing ties the noise to "
        "it: one client can move the total of a bit by up to 1 / alpha (4n), the sum of all totals by 4 n^2."
    )
    decoys = 9
    matrices = True
    first, second = PartyRole("server", 0, "named"), PartyRole("shuffler", 0, "shuffled")

    def _roles(self) -> tuple[PartyRole, ...]:
        self.digits = max(1, self.largest.bit_length())
        bits = self.questions * self.digits
        # A scalar shows one sum only, so compressed variants mask every bit by itself.
        self.mask = Mask(bits if self.matrices else 1, self.decoys)
        self.mask.check_total(self.clients)
        size = (2 * bits) ** 2 if self.matrices else bits
        return replace(self.first, width=8 * size), replace(self.second, width=8 * bits)

    def protect(self, values: IntArray, draw: Draw = system_below) -> Messages:
        """Masked matrices or values for one side, the noise in them for the other."""
        self.check_values(values)
        bits = self._digits(values)
        shape = bits.shape if self.matrices else (bits.size, 1)
        masked = mask_bits(self.mask, bits.reshape(shape), draw)
        shown = (
            np.stack([masked.matrix(client).ravel() for client in range(len(bits))])
            if self.matrices
            else masked.values.reshape(bits.shape)
        )
        return {self.first.name: shown, self.second.name: masked.noise.reshape(bits.shape)}

    def _digits(self, values: IntArray) -> IntArray:
        """Binary digits of the answers: weighted sums of bits give sums of counts (Theorem 7.3)."""
        return ((values[:, :, None] >> np.arange(self.digits)) & 1).reshape(len(values), -1)

    def check(self, role: str, message: IntArray) -> None:
        """Matrices must be doubly stochastic; noise must be what some decoys can give."""
        if role == self.first.name and self.matrices:
            size = 2 * self.mask.bits
            square = message.reshape(size, size)
            sums = (square.sum(axis=0) != self.mask.scale).any() or (square.sum(axis=1) != self.mask.scale).any()
            if (square < 0).any() or (square > self.mask.scale).any() or sums:  # 64-bit sums of larger ones wrap around
                raise InputError("a masked matrix must be non-negative with equal row and column sums")
        elif (message < 0).any() or (message > self.mask.scale).any():
            raise InputError("a masked value lies outside what decoys can give")

    def add(self, role: str, messages: IntArray) -> IntArray:
        """Sums by bit: of a matrix, what its rows 0, 2, 4, ... hold in the odd columns."""
        if role == self.first.name and self.matrices:
            size = 2 * self.mask.bits
            square = messages.sum(axis=0).reshape(size, size)
            return np.asarray(square[0::2, 1::2].sum(axis=1), dtype=np.int64)
        return np.asarray(messages.sum(axis=0), dtype=np.int64)

    def add_sums(self, role: str, sums: IntArray) -> IntArray:
        """Sums by bit are plain numbers, whatever the messages were."""
        return np.asarray(sums.sum(axis=0), dtype=np.int64)

    def combine(self, sums: Mapping[str, IntArray], clients: int) -> IntArray:
        """`(F - H) / c` by bit, then the digits of counts put together."""
        if set(sums) != {self.first.name, self.second.name}:
            raise InputError(f"{self.name}: the sums of {self.first.name} and {self.second.name} are needed")
        totals = unmask(self.mask, sums[self.first.name], sums[self.second.name], clients)
        if np.any(totals > clients):
            raise InputError(f"a total of {int(totals.max()):,} cannot come from {clients:,} clients")
        return np.asarray(totals.reshape(-1, self.digits) @ (1 << np.arange(self.digits)), dtype=np.int64)


class PolyVeilCompressed(PolyVeil):
    """Algorithm 2: one masked number per bit to the server, noise to a shuffler. De-shuffling reads all sums."""

    name = "polyveil-compressed"
    validity = (
        "Masked numbers and noise are checked for their range only, and nothing ties one to the other: one client can "
        "move the total of a bit by up to 4."
    )
    matrices = False


class PolyVeilTwoLayer(PolyVeil):
    """Algorithm 3: matrices to an aggregator, noise to a second one; the server gets two sums, hence totals only.

    The aggregator can read nearly every bit of a matrix (specification, section 3.5).
    """

    name = "polyveil-two-layer"
    first, second = PartyRole("aggregator", 0), PartyRole("noise aggregator", 0)


class PolyVeilShuffled(PolyVeilCompressed):
    """Algorithm 4 behind a shuffler: masked numbers in random order to an aggregator, noise to a second one."""

    name = "polyveil-shuffled"
    first, second = PartyRole("shuffler", 0, "shuffled", relay="aggregator"), PartyRole("noise aggregator", 0)


BACKENDS: Mapping[str, type[Backend]] = {
    backend.name: backend
    for backend in (Shares, Shamir, PolyVeil, PolyVeilCompressed, PolyVeilTwoLayer, PolyVeilShuffled)
}
"""The first is the default: exact, cheapest, and nothing to learn for any party alone."""


def make_backend(name: str, questions: int, clients: int, largest: int = 1) -> Backend:
    """The backend of this name for so many questions and clients."""
    if name not in BACKENDS:
        raise InputError(f"backend = {name!r}: must be one of {', '.join(BACKENDS)}")
    return BACKENDS[name](questions, clients, largest)


def block_size(backend: Backend) -> int:
    """Clients whose messages are in memory at once: about 50 MB, since a masked matrix of 100 bits takes 320 kB."""
    return max(1, min(20_000, 50_000_000 // max(1, backend.bytes_per_client)))


def add_up(backend: Backend, blocks: Iterable[IntArray], clients: int, progress: Progress) -> IntArray:
    """Totals by question: clients protect, roles add, the server combines; block by block."""
    sums: dict[str, list[IntArray]] = {role.name: [] for role in backend.roles}
    done = 0
    for values in blocks:
        progress("adding up", done, clients)
        for role, rows in backend.protect(values).items():
            sums[role].append(backend.add(role, rows))
        done += len(values)
    return backend.combine({role: backend.add_sums(role, np.stack(parts)) for role, parts in sums.items()}, clients)
