"""PolyVeil (Vepakomma, *Combinatorial Privacy*) as backends: algorithms 1 to 4, to be studied and attacked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from safemargin.aggregate.backend import MaskedReport, Messages, PartyRole
from safemargin.aggregate.mask import Draw, Mask, mask_bits, unmask
from safemargin.core import InputError, IntArray, system_below


class PolyVeil(MaskedReport):
    """Algorithm 1: masked matrices to the server, noise to a shuffler. The server can read all sums (Theorem 5.1)."""

    name = "polyveil"
    learns = (
        "The server can work out every client's answer by undoing the shuffle, and from the matrix alone nearly "
        "every bit."
    )
    dishonest = "The shuffler can shift every total unseen. The server states the totals: nobody can check them."
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
    learns = "The server can work out every client's answer by undoing the shuffle."
    validity = (
        "Masked numbers and noise are checked for their range only, and nothing ties one to the other: one client can "
        "move the total of a bit by up to 4."
    )
    matrices = False


class PolyVeilScalar(PolyVeil):
    """Algorithm 4 as it is printed: one masked number per client with alpha 1 / (4n), and one number of noise.

    The only total is the sum of all bits. What the aggregator learns is what `aggregate.privacy` computes.
    """

    name = "polyveil-scalar"
    learns = (
        "The server learns one total only. The aggregator sees the masked sum of every client, whose epsilon "
        "`aggregate.privacy` states; both aggregators together read every client's sum."
    )
    validity = (
        "Masked sums and noise are checked for their range only, and nothing ties one to the other: one client can "
        "move the total by up to 4 n^2."
    )
    dishonest = "Either aggregator can shift the total unseen, by multiples of the unit within the possible range."
    matrices = False
    first, second = PartyRole("aggregator", 0), PartyRole("noise aggregator", 0)

    def _roles(self) -> tuple[PartyRole, ...]:
        if self.largest > 1:
            raise InputError(f"polyveil-scalar: answers up to {self.largest}: the paper masks bits")
        self.digits, self.mask = 1, Mask(self.questions, self.decoys)
        self.mask.check_total(self.clients)
        return replace(self.first, width=8), replace(self.second, width=8)

    def protect(self, values: IntArray, draw: Draw = system_below) -> Messages:
        """One masked sum and its noise per client."""
        self.check_values(values)
        masked = mask_bits(self.mask, values, draw)
        sums = {self.first.name: masked.values, self.second.name: masked.noise}
        return {name: np.asarray(each.sum(axis=1, keepdims=True)) for name, each in sums.items()}

    def check(self, role: str, message: IntArray) -> None:
        """A sum of n bits and its noise lies within n times the scale."""
        if (message < 0).any() or (message > self.mask.bits * self.mask.scale).any():
            raise InputError("a masked sum lies outside what decoys can give")

    def combine(self, sums: Mapping[str, IntArray], clients: int) -> IntArray:
        """`(F - H) / c`: the sum of all bits of all clients."""
        if set(sums) != {self.first.name, self.second.name}:
            raise InputError(f"{self.name}: the sums of {self.first.name} and {self.second.name} are needed")
        return unmask(self.mask, sums[self.first.name], sums[self.second.name], clients)

    def shown(self, values: IntArray) -> IntArray:
        return np.asarray(values.sum(axis=1, keepdims=True), dtype=np.int64)

    def labels(self, questions: Sequence[str]) -> list[str]:
        return ["all questions"]


class PolyVeilTwoLayer(PolyVeil):
    """Algorithm 3: matrices to an aggregator, noise to a second one; the server gets two sums, hence totals only.

    The aggregator can read nearly every bit of a matrix (specification, section 3.5).
    """

    name = "polyveil-two-layer"
    learns = (
        "The server learns the totals only. The aggregator can read nearly every bit of a matrix; both aggregators "
        "together read all of them."
    )
    dishonest = "Either aggregator can shift every total unseen, by multiples of the unit within the possible range."
    first, second = PartyRole("aggregator", 0), PartyRole("noise aggregator", 0)


class PolyVeilShuffled(PolyVeilCompressed):
    """Algorithm 4 behind a shuffler: masked numbers in random order to an aggregator, noise to a second one."""

    name = "polyveil-shuffled"
    learns = (
        "The server learns the totals only. The shuffler sees masked bits with names, the aggregator without: some are "
        "certain, most can be guessed. Either of them learns every answer with the noise aggregator."
    )
    dishonest = (
        "The shuffler and either aggregator can shift every total unseen, by multiples of the unit within the possible "
        "range."
    )
    first, second = PartyRole("shuffler", 0, "shuffled", relay="aggregator"), PartyRole("noise aggregator", 0)
