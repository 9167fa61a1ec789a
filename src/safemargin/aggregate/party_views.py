"""Who sees what: every role's view of a sum, byte for byte, and what coalitions of roles make of it."""

import hashlib
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from safemargin.aggregate.backend import Backend, MaskedReport, Messages
from safemargin.aggregate.polyveil import PolyVeil, PolyVeilScalar
from safemargin.aggregate.session import shuffled_order
from safemargin.aggregate.verified import Prio3Sums, random_bytes
from safemargin.core import IntArray
from safemargin.ui import SCHEMA, Document, Grid, Report, Result


@dataclass(frozen=True)
class PartyView:
    """What one role received: a message per client, in the order in which it came."""

    role: str
    named: bool
    """Whether the role knows which client a message is from."""
    messages: tuple[bytes, ...]

    @property
    def digest(self) -> str:
        """One name for all that was seen."""
        return hashlib.sha256(b"".join(self.messages)).hexdigest()


def views(backend: MaskedReport, messages: Messages) -> tuple[PartyView, ...]:
    """Every role's view, and the server's of what the roles pass on."""
    seen = []
    for role in backend.roles:
        rows = tuple(backend.encode(row) for row in messages[role.name])
        seen.append(PartyView(role.name, True, rows))
    passed: list[bytes] = []
    for role in backend.roles:
        received = messages[role.name]
        order = shuffled_order(len(received)) if role.forwards == "shuffled" else np.arange(len(received))
        rows = tuple(received[row].astype("<i8").tobytes() for row in order)
        if role.relay:  # the party behind the shuffler adds up, so that the server gets a sum from it
            seen.append(PartyView(role.relay, False, rows))
        if role.forwards == "sum" or role.relay:
            passed.append(backend.add(role.name, received).astype("<i8").tobytes())
        else:
            passed += rows
    seen.append(PartyView("server, from the roles", False, tuple(passed)))
    return tuple(seen)


def coalition_learns(backend: MaskedReport, messages: Messages, roles: set[str]) -> IntArray | None:
    """The answers that roles work out together, exactly; None where they learn nothing about single clients.

    Additive shares need all parties, Shamir's the threshold; the two sides of PolyVeil undo the mask by subtraction,
    because both know whom a message is from.
    """
    held = [role.name for role in backend.roles if role.name in roles]
    if len(held) >= backend.needed:
        clients = range(len(messages[held[0]]))
        return np.stack(
            [backend.combine({r: backend.add(r, messages[r][t : t + 1]) for r in held}, 1) for t in clients]
        )
    if not isinstance(backend, PolyVeil):
        return None
    if backend.first.forwards == "named" and backend.first.name in roles:
        return _matched(backend, messages, backend.first.name)
    if {backend.first.relay, backend.second.name} <= roles:
        return _matched(backend, messages, backend.second.name)
    return None


def certain_bits(backend: PolyVeil, message: IntArray) -> int:
    """How many bits one client's masked matrix or numbers leave no choice about."""
    unit, most = backend.mask.unit, backend.mask.scale - backend.mask.unit
    if not backend.matrices:  # the noise lies between 0 and `most`
        return int(((message < unit) | (message > most)).sum())
    square = message.reshape(2 * backend.mask.bits, -1)
    even = np.arange(0, len(square), 2)
    one = np.minimum(square[even, even + 1], square[even + 1, even]) >= unit
    nought = np.minimum(square[even, even], square[even + 1, even + 1]) >= unit
    return int((one != nought).sum())


def _alone(backend: MaskedReport, messages: Messages, roles: set[str]) -> str:
    """What roles that cannot undo the mask know for certain."""
    if isinstance(backend, PolyVeilScalar) and backend.first.name in roles:
        return "the masked sum of every client; good guesses of it (aggregate.attack)"
    if isinstance(backend, PolyVeil) and roles & {backend.first.name, backend.first.relay}:
        shown = messages[backend.first.name]
        bits = len(shown) * messages[backend.second.name].shape[1]
        known = sum(certain_bits(backend, message) for message in shown)
        nameless = "" if backend.first.name in roles else ", without names"
        return f"{known:,} of {bits:,} bits for certain{nameless}; good guesses of others (aggregate.attack)"
    return "nothing about a single client that is certain"


def inspect(backend: Backend, values: IntArray) -> "Inspection":
    """Protect the answers once, and state for every role and pair of roles what it sees and works out."""
    if isinstance(backend, Prio3Sums):
        return _inspect_verified(backend, values)
    assert isinstance(backend, MaskedReport)
    messages = backend.protect(values)
    names = list(backend.parties)
    coalitions = [{name} for name in names] + [{a, b} for a, b in combinations(names, 2)]
    if len(names) > 2:
        coalitions.append(set(names))
    learnt = {}
    for members in coalitions:
        answers = coalition_learns(backend, messages, members)
        if answers is None:
            learnt[" + ".join(sorted(members))] = _alone(backend, messages, members)
        else:
            assert (answers == backend.shown(values)).all()
            whole = backend.shown(values).shape == values.shape
            learnt[" + ".join(sorted(members))] = "every answer of every client" if whole else "every client's sum"
    return Inspection(backend.name, len(values), views(backend, messages), learnt)


def _inspect_verified(backend: Prio3Sums, values: IntArray) -> "Inspection":
    """Reports, the verifier shares that the aggregators exchange, and the two sums that the server gets."""
    bodies, key = backend.reports(values), random_bytes(32)
    held = {name: [backend.start(key, name, body) for body in rows] for name, rows in bodies.items()}
    verifiers = {name: tuple(each.verifier for each in rows if each) for name, rows in held.items()}
    one, other = bodies
    seen = [PartyView(name, True, tuple(rows)) for name, rows in bodies.items()]
    seen += [
        PartyView(f"{name}, from {source}", True, verifiers[source]) for name, source in ((one, other), (other, one))
    ]
    sums = []
    for rows in held.values():
        outputs = [backend.finish(each, [verifiers[role][place] for role in bodies]) for place, each in enumerate(rows)]
        sums.append(
            backend.scheme.field.encode(backend.add_outputs([output for output in outputs if output is not None]))
        )
    seen.append(PartyView("server, from the roles", False, tuple(sums)))
    # Both together hold all shares of a client's elements: their sum is what the client encoded.
    for place, row in enumerate(values.tolist()):
        parts = [backend.elements(name, bodies[name][place]) for name in bodies]
        elements = [sum(pair) % backend.scheme.field.modulus for pair in zip(*parts, strict=True)]
        assert elements == backend.scheme.circuit.encode(backend.measurement(row))
    nothing = "nothing about a single client that is certain"
    learnt = {one: nothing, other: nothing, f"{one} + {other}": "every answer of every client"}
    return Inspection(backend.name, len(values), tuple(seen), learnt)


@dataclass(frozen=True)
class Inspection(Result):
    """Who sees what in one sum, and what coalitions work out."""

    backend: str
    clients: int
    views: tuple[PartyView, ...]
    coalitions: dict[str, str] = field(hash=False)

    def to_json(self) -> Document:
        """The document of `aggregate.views`: first bytes of every view, and its hash."""
        return {
            "schema": SCHEMA,
            "backend": self.backend,
            "clients": self.clients,
            "views": [
                {
                    "role": view.role,
                    "named": view.named,
                    "messages": len(view.messages),
                    "bytes": sum(map(len, view.messages)),
                    "sha256": view.digest,
                    "first": [message[:32].hex() for message in view.messages[:3]],
                }
                for view in self.views
            ],
            "coalitions": self.coalitions,
        }

    @property
    def rows(self) -> list[list[str]]:
        """A row per view."""
        return [
            [view.role, f"{len(view.messages):,}", f"{sum(map(len, view.messages)):,}", view.messages[0][:12].hex()]
            for view in self.views
        ]

    def to_report(self) -> Report:
        return Report(
            f"Who sees what: {self.backend}",
            Grid(["party", "messages", "bytes", "begins with"], self.rows),
            Grid(["together", "work out"], list(self.coalitions.items())),
        )


def _matched(backend: PolyVeil, messages: Messages, named: str) -> IntArray | None:
    """Answers from named messages of one side and nameless ones of the other, matched on the lattice (Theorem 5.1).

    Remainders of all numbers of a client by the unit identify the pairs; then every difference must be a bit.
    """
    values = {
        role.name: np.stack([backend.add(role.name, message[None]) for message in messages[role.name]])
        for role in (backend.first, backend.second)
    }
    (other,) = set(values) - {named}
    sign = 1 if named == backend.first.name else -1
    pool: dict[bytes, list[IntArray]] = {}
    for row in values[other][shuffled_order(len(values[other]))]:
        pool.setdefault((row % backend.mask.unit).tobytes(), []).append(row)
    answers = []
    for row in values[named]:
        fits = {tuple(sign * (row - each)) for each in pool.get((row % backend.mask.unit).tobytes(), ())}
        bits = [fit for fit in fits if set(fit) <= {0, backend.mask.unit}]
        if len(bits) != 1:
            return None
        answers.append(np.array(bits[0]) // backend.mask.unit)
    weights = 1 << np.arange(backend.digits)
    return np.stack([bits.reshape(-1, backend.digits) @ weights for bits in answers])
