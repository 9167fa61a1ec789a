"""Sums of reports whose validity is proved: Prio3 between two aggregators as backends.

A report to one aggregator has the layout of a report share in DAP (draft-ietf-ppm-dap, section 4.5): report ID, time
(0: no order of arrival is kept), extensions (none), public share and input share, each with its length. After the
session is closed both aggregators exchange verifier shares: each finds out for itself which reports are valid, and both
come to the same answer, since both combine the same shares. Output shares of valid reports of the agreed set are added
up.

    >>> import numpy as np
    >>> Prio3Sums(2, 3).add_up([np.array([[1, 0], [1, 1], [0, 0]])], 3, lambda *_: None).tolist()
    [2, 1]
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.aggregate.backend import Backend, PartyRole
from safemargin.aggregate.prio3.scheme import NONCE, Held, InvalidReport, Prio3
from safemargin.core import InputError, IntArray, Progress, system_words

LEADER, HELPER = "aggregator 1", "aggregator 2"
PLACES = {LEADER: 0, HELPER: 1}
_HEAD = struct.Struct(">16sQH")
_LENGTH = struct.Struct(">I")


def random_bytes(count: int) -> bytes:
    """Bytes of the operating system."""
    return system_words(-(-count // 8)).tobytes()[:count]


@dataclass(frozen=True)
class VerifiedReport:
    """One aggregator's part of a client's report."""

    nonce: bytes
    public: bytes
    share: bytes

    def encode(self) -> bytes:
        """The bytes that a client posts."""
        parts = b"".join(_LENGTH.pack(len(part)) + part for part in (self.public, self.share))
        return _HEAD.pack(self.nonce, 0, 0) + parts

    @classmethod
    def decode(cls, body: bytes) -> "VerifiedReport":
        """The inverse; anything else is refused."""
        try:
            nonce, time, extensions = _HEAD.unpack_from(body)
            place, parts = _HEAD.size, []
            for _ in range(2):
                (length,) = _LENGTH.unpack_from(body, place)
                place += _LENGTH.size + length
                parts.append(body[place - length : place])
        except struct.error:
            raise InvalidReport("a report ends too early") from None
        if time or extensions or place != len(body):
            raise InvalidReport("a report has a time, extensions or a rest")
        return cls(nonce, *parts)


class Prio3Sums(Backend):
    """Numbers from 0 to `largest` by question."""

    name = "prio3"
    learns = (
        "No single aggregator learns anything but which reports are invalid; both together learn every answer. The "
        "server learns the totals only."
    )
    validity = (
        "Every report proves that its answers are in range. A report that is wrong in any way is refused and counted; "
        "a client that lies within the range counts with what it says."
    )
    dishonest = (
        "One aggregator can shift every total unseen within the range of possible totals, and can have honest reports "
        "refused: proofs are about clients, not about aggregators."
    )
    proves = True

    def _roles(self) -> tuple[PartyRole, ...]:
        if self.clients * self.largest >= 2**62:
            raise InputError(f"{self.clients:,} clients with answers up to {self.largest:,}: totals pass 2^62")
        try:
            self.scheme = self._make()
        except ValueError as error:
            raise InputError(f"{self.name}: {error}") from None
        head = _HEAD.size + 2 * _LENGTH.size + self.scheme.public_bytes
        return tuple(PartyRole(name, head + self.scheme.share_bytes[place]) for name, place in PLACES.items())

    def _make(self) -> Prio3:
        context = self.options.context
        if self.questions == 1:
            return Prio3.count(context=context) if self.largest == 1 else Prio3.sum(self.largest, context=context)
        return Prio3.sum_vec(self.questions, self.largest, context=context)

    def measurement(self, row: Sequence[int]) -> list[int]:
        """What of a client's answers the scheme takes."""
        return list(row)

    def report(self, row: Sequence[int]) -> dict[str, VerifiedReport]:
        """A client's reports to both aggregators."""
        try:
            elements = self.scheme.circuit.encode(self.measurement(row))
        except ValueError as error:
            raise InputError(str(error)) from None
        return self.shard(elements)

    def shard(self, elements: Sequence[int]) -> dict[str, VerifiedReport]:
        """Reports from encoded answers, valid or not."""
        nonce = random_bytes(NONCE)
        public, shares = self.scheme.shard_elements(elements, nonce, random_bytes(self.scheme.random_bytes))
        return {name: VerifiedReport(nonce, public, shares[place]) for name, place in PLACES.items()}

    def reports(self, values: IntArray) -> dict[str, list[bytes]]:
        self.check_values(values)
        made = [self.report(row) for row in values.tolist()]
        return {name: [each[name].encode() for each in made] for name in PLACES}

    def check_report(self, role: str, body: bytes) -> None:
        try:
            report = VerifiedReport.decode(body)
            self.scheme.elements(PLACES[role], report.share)
        except InvalidReport as error:
            raise InputError(str(error)) from None
        if len(report.public) != self.scheme.public_bytes:
            raise InputError(f"a public share of {len(report.public)} bytes: must be {self.scheme.public_bytes}")

    def elements(self, role: str, body: bytes) -> list[int]:
        """The share of a client's encoded answers in a report."""
        return self.scheme.elements(PLACES[role], VerifiedReport.decode(body).share)

    def start(self, key: bytes, role: str, body: bytes) -> Held | None:
        """An aggregator's side of the verification; None for a report that cannot be valid."""
        try:
            report = VerifiedReport.decode(body)
            return self.scheme.verify_init(key, PLACES[role], report.nonce, report.public, report.share)
        except InvalidReport:
            return None

    def finish(self, held: Held | None, verifiers: Sequence[bytes]) -> list[int] | None:
        """The output share, if all verifier shares together show a valid report."""
        if held is None:
            return None
        try:
            return self.scheme.verify_next(held, self.scheme.combine(verifiers))
        except InvalidReport:
            return None

    def add_outputs(self, outputs: Iterable[Sequence[int]]) -> list[int]:
        """The sum of output shares."""
        total = [0] * self.scheme.circuit.outputs
        for output in outputs:
            total = [a + b for a, b in zip(total, output, strict=True)]
        return [each % self.scheme.field.modulus for each in total]

    def range(self, clients: int) -> tuple[int, int]:
        """The least and the largest total that so many clients can give."""
        return 0, clients * self.largest

    def open(self, passed: Mapping[str, Sequence[Sequence[int]]], clients: int) -> IntArray:
        if set(passed) != set(PLACES):
            raise InputError(f"{self.name}: sums of both aggregators are needed, {len(passed)} are there")
        modulus = self.scheme.field.modulus
        totals = self.scheme.unshard([passed[name][0] for name in PLACES])
        signed = [total - modulus if total > modulus // 2 else total for total in totals]
        least, most = self.range(clients)
        for total in signed:
            if not least <= total <= most:
                raise InputError(f"a total of {total:,} is not between {least:,} and {most:,}: an aggregator is wrong")
        return np.array(signed, dtype=np.int64)

    def add_up(self, blocks: Iterable[IntArray], clients: int, progress: Progress) -> IntArray:
        key, done = random_bytes(32), 0
        sums: dict[str, list[list[int]]] = {name: [] for name in PLACES}
        for values in blocks:
            outputs: dict[str, list[list[int]]] = {name: [] for name in PLACES}
            self.check_values(values)
            for row in values.tolist():
                if done % 500 == 0:
                    progress("adding up", done, clients)
                done += 1
                held = {name: self.start(key, name, each.encode()) for name, each in self.report(row).items()}
                verifiers = [each.verifier for each in held.values() if each is not None]
                for name, each in held.items():
                    output = self.finish(each, verifiers)
                    assert output is not None, "an honest report is valid"
                    outputs[name].append(output)
            for name in PLACES:
                sums[name].append(self.add_outputs(outputs[name]))
        return self.open({name: [self.add_outputs(parts)] for name, parts in sums.items()}, clients)


class Prio3One(Prio3Sums):
    """Exactly one of the questions is answered by 1: categories."""

    name = "prio3-one"
    validity = (
        "Every report proves that exactly one category is chosen. A report that is wrong in any way is refused and "
        "counted."
    )

    def _make(self) -> Prio3:
        if self.largest > 1:
            raise InputError(f"prio3-one: answers up to {self.largest}: a category is chosen (1) or not (0)")
        return Prio3.histogram(self.questions, context=self.options.context)

    def measurement(self, row: Sequence[int]) -> list[int]:
        if sorted(row)[-1:] != [1] or sum(row) != 1:
            raise InputError(f"prio3-one: {sum(row)} categories are chosen: must be exactly one")
        return [list(row).index(1)]


class Prio3Some(Prio3Sums):
    """Up to `most` of the questions are answered by 1."""

    name = "prio3-some"
    validity = (
        "Every report proves that at most the allowed number of categories is chosen. A report that is wrong in any "
        "way is refused and counted."
    )

    def _make(self) -> Prio3:
        if self.largest > 1 or not self.options.most:
            raise InputError("prio3-some: answers are 0 or 1, and `most` says how many of them may be 1")
        return Prio3.multihot(self.questions, self.options.most, context=self.options.context)


class Prio3Statistic(Prio3Sums):
    """One linear statistic of the answers, `weights . answers`, is opened, and nothing else ever."""

    name = "prio3-statistic"
    learns = (
        "No single aggregator learns anything but which reports are invalid; both together learn every answer. The "
        "server learns one weighted total, and no total of a question."
    )

    def _make(self) -> Prio3:
        weights = self.options.weights
        if len(weights) != self.questions:
            raise InputError(f"prio3-statistic: {len(weights)} weights for {self.questions} questions")
        if self.clients * self.largest * sum(map(abs, weights)) >= 2**62:
            raise InputError("prio3-statistic: the weighted total may pass 2^62")
        return Prio3.weighted(weights, self.largest, context=self.options.context)

    def labels(self, questions: Sequence[str]) -> list[str]:
        named = zip(self.options.weights, questions, strict=True)
        return [" ".join(f"{weight:+d} {question}" for weight, question in named if weight).removeprefix("+")]

    def range(self, clients: int) -> tuple[int, int]:
        most = clients * self.largest
        weights = self.options.weights
        return most * sum(w for w in weights if w < 0), most * sum(w for w in weights if w > 0)
