"""How far an election is: for the organiser, who has no key."""

from typing import Any

from safemargin.core import InputError
from safemargin.election.client import Ask
from safemargin.election.keys import canonical, parse
from safemargin.election.manifests import KnownElection
from safemargin.election.report import ElectionStatus

AWAY = 2.0
"""Seconds after which a party that does not answer counts as away."""
TURNS = (
    "manifest",
    "closed",
    "register",
    "issued",
    "received",
    "ballots",
    "freeze",
    "total",
    "result",
    "private",
    "compared",
    "release",
)


def election_status(election: KnownElection, ask: Ask) -> ElectionStatus:
    """Every party, what the board shows, and what comes next."""
    answers = {name: _answers(ask, name) for name in election.parties}
    board = election.only("board").name
    entries: list[dict[str, Any]] = []
    if answers[board]:
        names = parse(ask(board, "files", b""))["files"]
        listed = sorted(name for name in names if name.startswith("entries/"))
        entries = [parse(ask(board, "file", canonical({"name": name}))) for name in listed]
    authors: dict[str, list[str]] = {}
    for entry in entries:
        authors.setdefault(entry["type"], []).append(entry["author"])
    parties = [
        {
            "party": name,
            "role": party.role,
            "organisation": party.organisation,
            "answers": answers[name],
            "entries": [entry["type"] for entry in entries if entry["author"] == name],
        }
        for name, party in election.parties.items()
    ]
    missing = _missing(election, authors) if answers[board] else [f"{board}: does not answer"]
    return ElectionStatus(election.fingerprint, parties, _counts(entries), missing)


def _answers(ask: Ask, name: str) -> bool:
    """Whether a party is there; it refuses a step that no role has, and a refusal is an answer."""
    try:
        ask(name, "nothing", b"")
    except InputError as error:
        return getattr(error, "sentence", "") != "away"
    return True


def _counts(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers that are public so far."""
    counts: dict[str, Any] = {}
    for entry in entries:
        type_, body = entry["type"], entry["body"]
        if type_ == "register":
            counts["enrolled"] = body["enrolled"]
        elif type_ == "issued":
            issued = {name: sum(by.values()) for name, by in body["counts"].items()}
            counts.setdefault("issued", {})[entry["author"]] = issued
        elif type_ == "received":
            counts["messages in the box"] = body["count"]
        elif type_ == "ballots":
            found = counts.setdefault("published ballots", {})
            for name, stated in body["dimensions"].items():
                found[name] = found.get(name, 0) + stated["accepted"]
        elif type_ == "result":
            counts["total"] = body["counts"]
    return counts


def _missing(election: KnownElection, authors: dict[str, list[str]]) -> list[str]:
    """The entries of the next turn that are not there: where fewer than all trustees decrypt, of enough of them."""
    collector = election.only("collector").name
    issuers, trustees = ([party.name for party in election.manifest.of(role)] for role in ("issuer", "trustee"))
    wanted = {
        "manifest": [election.only("board").name],
        "closed": [collector],
        "register": [election.only("registrar").name],
        "issued": issuers,
        "received": [election.only("box").name],
        "ballots": [collector, collector],
        "result": [collector],
    }
    for type_ in TURNS:
        there = authors.get(type_, [])
        needed = election.manifest.freezers if type_ == "freeze" else election.manifest.openers
        if type_ not in wanted and len(there) >= needed:
            continue
        waiting = [name for name in wanted.get(type_, trustees) if name not in there]
        if type_ == "ballots" and len(there) == 1:
            waiting = [f"{collector} (objections)"]
        if waiting:
            return [f"{type_}: {name}" for name in waiting]
    return []
