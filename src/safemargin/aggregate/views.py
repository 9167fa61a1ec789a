"""Who sees what: every role's view of a sum, byte for byte, and what coalitions of roles make of it."""

import hashlib
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from rich.console import Console

from safemargin.aggregate.attacks import deshuffle
from safemargin.aggregate.backends import Backend, Messages, PolyVeil, Shamir, Shares
from safemargin.aggregate.mask import Draw, Mask, crossings, draw_permutations, draw_weights
from safemargin.aggregate.session import encode_numbers, shuffled_order
from safemargin.core import IntArray, system_below
from safemargin.ui import SCHEMA, Document, Result, header, joined, render_page, section, text_table
from safemargin.ui import table as html_table


@dataclass(frozen=True)
class View:
    """What one role received: a message per client, in the order in which it came."""

    role: str
    named: bool
    """Whether the role knows which client a message is from."""
    messages: tuple[bytes, ...]

    @property
    def digest(self) -> str:
        """One name for all that was seen."""
        return hashlib.sha256(b"".join(self.messages)).hexdigest()


def views(backend: Backend, messages: Messages) -> tuple[View, ...]:
    """Every role's view, and the server's of what the roles pass on."""
    seen = []
    for role in backend.roles:
        rows = tuple(encode_numbers(row, backend, role.name) for row in messages[role.name])
        seen.append(View(role.name, True, rows))
    passed: list[bytes] = []
    for role in backend.roles:
        received = messages[role.name]
        if role.forwards == "sum":
            passed.append(backend.add(role.name, received).astype("<i8").tobytes())
        else:
            order = np.arange(len(received)) if role.forwards == "named" else shuffled_order(len(received))
            passed += [received[row].astype("<i8").tobytes() for row in order]
    seen.append(View("server, from the roles", False, tuple(passed)))
    return tuple(seen)


def coalition_learns(backend: Backend, messages: Messages, roles: set[str]) -> IntArray | None:
    """The answers that roles work out together, exactly; None where they learn nothing about single clients.

    Additive shares need all parties, Shamir's the threshold; the two sides of PolyVeil undo the mask by subtraction,
    because both know whom a message is from.
    """
    names = {role.name for role in backend.roles}
    if isinstance(backend, Shares):
        if not names <= roles:
            return None
        return np.stack([backend.combine({r: messages[r][t] for r in names}, 1) for t in range(_clients(messages))])
    if isinstance(backend, Shamir):
        held = [role.name for role in backend.roles if role.name in roles]
        if len(held) < backend.threshold:
            return None
        return np.stack([backend.combine({r: messages[r][t] for r in held}, 1) for t in range(_clients(messages))])
    assert isinstance(backend, PolyVeil)
    if names <= roles:
        return np.stack(
            [
                backend.combine({r: backend.add(r, messages[r][t : t + 1]) for r in names}, 1)
                for t in range(_clients(messages))
            ]
        )
    if backend.first.forwards == "named" and backend.first.name in roles:
        return _server_reads(backend, messages)
    return None


def inspect(backend: Backend, values: IntArray) -> "Inspection":
    """Protect the answers once, and tell for every role and pair of roles what it sees and works out."""
    messages = backend.protect(values)
    names = [role.name for role in backend.roles]
    coalitions = [{name} for name in names] + [{a, b} for a, b in combinations(names, 2)]
    if len(names) > 2:
        coalitions.append(set(names))
    learnt = {}
    for members in coalitions:
        answers = coalition_learns(backend, messages, members)
        if answers is None:
            learnt[" + ".join(sorted(members))] = "nothing about a single client that is certain"
        elif answers.shape[1] == values.shape[1] and (answers == values).all():
            learnt[" + ".join(sorted(members))] = "every answer of every client"
        else:
            learnt[" + ".join(sorted(members))] = "the sum of every client's answers"
    return Inspection(backend.name, len(values), views(backend, messages), learnt)


@dataclass(frozen=True)
class Inspection(Result):
    """Who sees what in one sum, and what coalitions work out."""

    backend: str
    clients: int
    views: tuple[View, ...]
    coalitions: dict[str, str] = field(hash=False)

    def to_json(self) -> Document:
        """The document of `aggregate views --json`: first bytes of every view, and its hash."""
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

    def show(self, console: Console) -> None:
        """Two tables in a terminal."""
        console.print(text_table(["party", "messages", "bytes", "begins with"], self.rows))
        console.print(text_table(["together", "work out"], [[who, what] for who, what in self.coalitions.items()]))

    def to_html(self) -> str:
        """A page with both tables."""
        title = f"Who sees what: {self.backend}"
        seen = html_table(["party", "messages", "bytes", "begins with"], self.rows)
        known = html_table(["together", "work out"], [[who, what] for who, what in self.coalitions.items()])
        return render_page(title, header(title), joined([section("Views", seen), section("Coalitions", known)]))


def _server_reads(backend: PolyVeil, messages: Messages) -> IntArray | None:
    """Algorithms 1 and 2: the server matches named values with shuffled noise on the lattice (Theorem 5.1)."""
    first, second = messages[backend.first.name], messages[backend.second.name]
    values = np.stack([backend.add(backend.first.name, first[t : t + 1]) for t in range(len(first))])
    shuffled = second[shuffled_order(len(second))]
    # The same permutation of clients explains every bit; one number per client is enough to find it.
    whole = Mask(max(1, values.shape[1]), backend.mask.decoys, backend.mask.unit, backend.mask.scale)
    sums = deshuffle(whole, values.sum(axis=1), shuffled.sum(axis=1))
    return None if (sums < 0).any() else sums[:, None]


def _clients(messages: Messages) -> int:
    return len(next(iter(messages.values())))


def simulate_server(mask: Mask, total: int, clients: int, draw: Draw = system_below) -> tuple[int, int]:
    """The server's view of a two-layer sum, made from the total alone (Theorem 6.2): fresh noise, and the total on top.

    Its law is that of the real view exactly, in whole numbers; with floats it would not be.
    """
    weights = draw_weights(mask, clients, draw)
    decoys = draw_permutations(clients * mask.decoys, 2 * mask.bits, draw).reshape(clients, mask.decoys, -1)
    noise = int((weights * crossings(decoys).sum(axis=2)).sum())
    return mask.unit * total + noise, noise
