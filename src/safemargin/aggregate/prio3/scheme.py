"""Prio3 (draft-irtf-cfrg-vdaf, section 7): shares of measurements with shares of proofs that they are valid.

A client turns a measurement into one input share per aggregator and a public share. Every aggregator computes a
verifier share from its input share; all verifier shares together say whether the report is valid, and nothing else.
Output shares of valid reports are added up, and the sums of all aggregators are the aggregate. One honest aggregator
keeps measurements secret; all of them must be honest for the result to be right: one that lies can shift it unseen.

Randomness comes from TurboSHAKE128 (RFC 9861) of pycryptodome. `CURRENT` is the draft of the published vectors; `OLD`
is draft 08, which `@divviup/prio3` speaks. Nothing here runs in constant time: a client's machine must be its own.

    >>> scheme = Prio3.sum_vec(3, 1, context=b"example")
    >>> nonce, key = bytes(16), bytes(32)
    >>> public, shares = scheme.shard([1, 0, 1], nonce, bytes(range(scheme.random_bytes)))
    >>> held = [scheme.verify_init(key, place, nonce, public, share) for place, share in enumerate(shares)]
    >>> message = scheme.combine([each.verifier for each in held])
    >>> scheme.unshard([scheme.verify_next(each, message) for each in held])
    [1, 0, 1]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Self

from Crypto.Hash import TurboSHAKE128

from safemargin.aggregate.prio3.circuit import (
    Circuit,
    CountCircuit,
    Histogram,
    MultihotCountVec,
    SumCircuit,
    SumVec,
    Weighted,
)
from safemargin.aggregate.prio3.field import Field, add, subtract
from safemargin.aggregate.prio3.proof import ValidityProofs

MEASUREMENT, PROOF, JOINT, PROVE, QUERY, JOINT_SEED, JOINT_PART = range(1, 8)
"""What randomness is for."""

NONCE = 16
"""Bytes that name a report."""


class InvalidReport(ValueError):
    """A report that is refused: its shares, its proof or its joint randomness is wrong."""


@dataclass(frozen=True)
class WireDialect:
    """Where two drafts of the specification differ on the wire."""

    version: int
    seed: int
    """Bytes of a seed."""
    monomial: bool
    """Whether gadget polynomials are sent as coefficients."""
    one_seed: bool
    """Whether a helper's measurement and proof come from one seed."""
    lengths: tuple[int, int]
    """Bytes of the lengths of the domain and of the seed; none for the latter in draft 08."""


CURRENT = WireDialect(18, 32, False, True, (2, 1))
OLD = WireDialect(8, 16, True, False, (1, 0))

_IDS = {CountCircuit: 1, SumCircuit: 2, SumVec: 3, Histogram: 4, MultihotCountVec: 5, Weighted: 0xFFFF0001}
"""Algorithm identifiers; the last is from the range for private use. WireDialect 08 counts from 0."""


@dataclass(frozen=True)
class Held:
    """What an aggregator keeps of a report until it is decided."""

    output: list[int]
    joint_seed: bytes
    verifier: bytes
    """The share that the aggregators exchange."""


class Prio3:
    """One kind of measurement, one number of aggregators."""

    def __init__(
        self,
        circuit: Circuit,
        *,
        shares: int = 2,
        proofs: int = 1,
        context: bytes = b"",
        draft: WireDialect = CURRENT,
        identifier: int | None = None,
    ) -> None:
        if not 2 <= shares < 256 or not 1 <= proofs < 256:
            raise ValueError(f"{shares} shares and {proofs} proofs: both must be below 256")
        self.circuit, self.shares, self.proofs, self.context, self.draft = circuit, shares, proofs, context, draft
        self.identifier = _IDS[type(circuit)] - (draft is OLD) if identifier is None else identifier
        self.flp = ValidityProofs(circuit, draft.monomial)
        self.field: Field = circuit.field
        self.seeds = 1 + (shares - 1) * (1 if draft.one_seed else 2) + (shares if circuit.joint else 0)
        self.random_bytes = self.seeds * draft.seed

    @classmethod
    def count(cls, *, context: bytes = b"", draft: WireDialect = CURRENT, shares: int = 2) -> Self:
        """Bits."""
        return cls(CountCircuit(), context=context, draft=draft, shares=shares)

    @classmethod
    def sum(cls, largest: int, *, context: bytes = b"", draft: WireDialect = CURRENT, shares: int = 2) -> Self:
        """Numbers from 0 to `largest`."""
        return cls(SumCircuit(largest, draft is OLD), context=context, draft=draft, shares=shares)

    @classmethod
    def sum_vec(
        cls,
        length: int,
        largest: int,
        chunk: int | None = None,
        *,
        context: bytes = b"",
        draft: WireDialect = CURRENT,
        shares: int = 2,
    ) -> Self:
        """Vectors of numbers from 0 to `largest`."""
        return cls(SumVec(length, largest, chunk, draft is OLD), context=context, draft=draft, shares=shares)

    @classmethod
    def histogram(
        cls,
        length: int,
        chunk: int | None = None,
        *,
        context: bytes = b"",
        draft: WireDialect = CURRENT,
        shares: int = 2,
    ) -> Self:
        """One of several categories."""
        return cls(Histogram(length, chunk, draft is OLD), context=context, draft=draft, shares=shares)

    @classmethod
    def multihot(
        cls, length: int, most: int, chunk: int | None = None, *, context: bytes = b"", shares: int = 2
    ) -> Self:
        """Up to `most` of several categories."""
        return cls(MultihotCountVec(length, most, chunk), context=context, shares=shares)

    @classmethod
    def weighted(cls, weights: Sequence[int], largest: int, *, context: bytes = b"", shares: int = 2) -> Self:
        """Vectors, of which one linear statistic is opened."""
        return cls(Weighted(weights, largest), context=context, shares=shares)

    def shard(self, measurement: Sequence[int], nonce: bytes, rand: bytes) -> tuple[bytes, list[bytes]]:
        """The public share and all input shares of a measurement."""
        return self.shard_elements(self.circuit.encode(measurement), nonce, rand)

    def shard_elements(self, elements: Sequence[int], nonce: bytes, rand: bytes) -> tuple[bytes, list[bytes]]:
        """The same from encoded elements, valid or not: what a client that lies can send."""
        if len(nonce) != NONCE or len(rand) != self.random_bytes:
            raise ValueError(f"a nonce of {len(nonce)} and {len(rand)} random bytes: {NONCE} and {self.random_bytes}")
        size = self.draft.seed
        seeds = [rand[start : start + size] for start in range(0, len(rand), size)]
        blinded = bool(self.circuit.joint)
        each = (1 if self.draft.one_seed else 2) + blinded
        helpers = [seeds[start : start + each] for start in range(0, (self.shares - 1) * each, each)]
        blind, prove = seeds[-2] if blinded else b"", seeds[-1]
        bodies = [b"".join(helper) for helper in helpers]
        expanded = [self._expand(place, body) for place, body in enumerate(bodies, 1)]
        leader = reduce(lambda rest, helper: subtract(self.field, rest, helper[0]), expanded, list(elements))
        parts = []
        if blinded:
            parts = [self._part(0, blind, self.field.encode(leader), nonce)]
            parts += [
                self._part(place, helper[2], self.field.encode(helper[0]), nonce)
                for place, helper in enumerate(expanded, 1)
            ]
        joint = self._joint(self._joint_seed(parts))
        seeds_of_proofs = self._vector(prove, PROVE, bytes([self.proofs]), self.flp.prove_length * self.proofs)
        proof: list[int] = []
        for place in range(self.proofs):
            proof += self.flp.prove(
                elements, self._part_of(seeds_of_proofs, place, self.flp.prove_length), self._joint_of(joint, place)
            )
        rest = reduce(lambda left, helper: subtract(self.field, left, helper[1]), expanded, proof)
        return b"".join(parts), [self.field.encode([*leader, *rest]) + blind, *bodies]

    def verify_init(self, key: bytes, place: int, nonce: bytes, public: bytes, share: bytes) -> Held:
        """An aggregator's verifier share; `key` is known to all aggregators and to no client."""
        if len(key) != self.draft.seed or len(nonce) != NONCE:
            raise InvalidReport(f"a key of {len(key)} and a nonce of {len(nonce)} bytes")
        blinded = bool(self.circuit.joint)
        if len(public) != blinded * self.shares * self.draft.seed:
            raise InvalidReport(f"a public share of {len(public)} bytes")
        elements, proof, blind = self._expand(place, share)
        part, seed, joint = b"", b"", []
        if blinded:
            size = self.draft.seed
            parts = [public[start : start + size] for start in range(0, len(public), size)]
            # Only the elements themselves are hashed: a share that was decoded encodes to the same bytes.
            encoded = share[: len(elements) * self.field.size] if place == 0 else self.field.encode(elements)
            parts[place] = part = self._part(place, blind, encoded, nonce)
            seed = self._joint_seed(parts)
            joint = self._joint(seed)
        query = self._vector(key, QUERY, bytes([self.proofs]) + nonce, self.flp.query_length * self.proofs)
        verifier: list[int] = []
        for number in range(self.proofs):
            verifier += self.flp.query(
                elements,
                self._part_of(proof, number, self.flp.length),
                self._part_of(query, number, self.flp.query_length),
                self._joint_of(joint, number),
                self.shares,
            )
        return Held(self.circuit.truncate(elements), seed, self.field.encode(verifier) + part)

    def combine(self, verifiers: Sequence[bytes]) -> bytes:
        """The verifier message from all verifier shares; an invalid report is refused."""
        if len(verifiers) != self.shares:
            raise InvalidReport(f"{len(verifiers)} verifier shares: {self.shares} are needed")
        length = self.flp.verifier * self.proofs
        size = length * self.field.size
        tail = self.draft.seed if self.circuit.joint else 0
        if any(len(share) != size + tail for share in verifiers):
            raise InvalidReport("a verifier share has a wrong length")
        try:
            shares = [self.field.decode(share[:size]) for share in verifiers]
        except ValueError as error:
            raise InvalidReport(str(error)) from None
        total = reduce(lambda left, right: add(self.field, left, right), shares)
        for place in range(self.proofs):
            if not self.flp.decide(self._part_of(total, place, self.flp.verifier)):
                raise InvalidReport("the proof of validity fails")
        return self._joint_seed([share[size:] for share in verifiers])

    def verify_next(self, held: Held, message: bytes) -> list[int]:
        """The output share of a report that all aggregators found valid."""
        if message != held.joint_seed:
            raise InvalidReport("the joint randomness is not the one that the client claimed")
        return held.output

    def unshard(self, outputs: Sequence[Sequence[int]]) -> list[int]:
        """Totals from the aggregators' sums of output shares."""
        return reduce(lambda left, right: add(self.field, left, right), map(list, outputs))

    def elements(self, place: int, share: bytes) -> list[int]:
        """An aggregator's share of the encoded measurement; an input share that cannot be one is refused."""
        return self._expand(place, share)[0]

    @cached_property
    def share_bytes(self) -> tuple[int, int]:
        """Bytes of the first aggregator's input share and of each other one."""
        blind = self.draft.seed if self.circuit.joint else 0
        leader = (self.circuit.elements + self.flp.length * self.proofs) * self.field.size
        return leader + blind, self.draft.seed * (1 if self.draft.one_seed else 2) + blind

    @property
    def public_bytes(self) -> int:
        """Bytes of the public share."""
        return self.shares * self.draft.seed if self.circuit.joint else 0

    def _expand(self, place: int, share: bytes) -> tuple[list[int], list[int], bytes]:
        """Elements, proof and blind of an input share."""
        if len(share) != self.share_bytes[min(place, 1)]:
            raise InvalidReport(f"an input share of {len(share)} bytes: must be {self.share_bytes[min(place, 1)]}")
        elements, size = self.circuit.elements, self.draft.seed
        if place == 0:
            split = (elements + self.flp.length * self.proofs) * self.field.size
            try:
                values = self.field.decode(share[:split])
            except ValueError as error:
                raise InvalidReport(str(error)) from None
            return values[:elements], values[elements:], share[split:]
        second = share[:size] if self.draft.one_seed else share[size : 2 * size]
        blind = share[size if self.draft.one_seed else 2 * size :]
        owner = bytes([place])
        return (
            self._vector(share[:size], MEASUREMENT, owner, elements),
            self._vector(second, PROOF, bytes([self.proofs]) + owner, self.flp.length * self.proofs),
            blind,
        )

    def _part_of(self, values: list[int], place: int, length: int) -> list[int]:
        return values[place * length : (place + 1) * length] if self.proofs > 1 else values

    def _joint_of(self, joint: list[int], place: int) -> list[int]:
        return self._part_of(joint, place, self.circuit.joint)

    def _part(self, place: int, blind: bytes, encoded: bytes, nonce: bytes) -> bytes:
        return self._stream(blind, JOINT_PART, bytes([place]) + nonce + encoded, self.draft.seed)

    def _joint_seed(self, parts: Sequence[bytes]) -> bytes:
        if not self.circuit.joint:
            return b""
        return self._stream(bytes(self.draft.seed), JOINT_SEED, b"".join(parts), self.draft.seed)

    def _joint(self, seed: bytes) -> list[int]:
        if not self.circuit.joint:
            return []
        return self._vector(seed, JOINT, bytes([self.proofs]), self.circuit.joint * self.proofs)

    @cached_property
    def _domains(self) -> list[bytes]:
        """By use, the beginning of every input of TurboSHAKE."""
        head = bytes([self.draft.version, 0]) + self.identifier.to_bytes(4, "big")
        domain, seed = self.draft.lengths
        domains = [head + use.to_bytes(2, "big") + self.context for use in range(JOINT_PART + 1)]
        return [
            len(each).to_bytes(domain, "little") + each + (self.draft.seed.to_bytes(1, "little") if seed else b"")
            for each in domains
        ]

    def _xof(self, seed: bytes, use: int, binder: bytes) -> TurboSHAKE128.TurboSHAKE:
        return TurboSHAKE128.new(domain=1, data=self._domains[use] + seed + binder)

    def _stream(self, seed: bytes, use: int, binder: bytes, length: int) -> bytes:
        return self._xof(seed, use, binder).read(length)

    def _vector(self, seed: bytes, use: int, binder: bytes, length: int) -> list[int]:
        """Uniform elements: numbers beyond the modulus are skipped."""
        stream, modulus = self._xof(seed, use, binder), self.field.modulus
        mask = (1 << modulus.bit_length()) - 1
        values: list[int] = []
        while len(values) < length:
            words = self.field.words(stream.read((length - len(values)) * self.field.size))
            values += [word & mask for word in words if word & mask < modulus]
        return values
