"""A session of a sum by hand: two aggregators with a service each, clients who send, and the server that collects."""

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from fault_server import TEMPORARY, WORK, Server
from fault_services import Turn, World
from recorded import folder_in_memory
from safemargin.aggregate import key
from safemargin.aggregate.prio3.scheme import NONCE
from safemargin.parties.service import free_ports

NAMES = ("one", "two")
ROLES = ("aggregator 1", "aggregator 2")
ANSWERS = {"a": (0, 1), "b": (1, 0), "c": (0, 1), "d": (1, 0)}
_SENT = "aggregate submit session.json --keys clients.keys --data answers.csv"
_LOST = (0, 1, 2)
"""After a run that every party has answered, a report is a second one, which no party takes; `submit` says so."""
TURNS = {
    "submit, everybody": Turn(_SENT, NAMES, ("one", "two"), _LOST),
    "submit, a client": Turn(
        "aggregate submit session.json --client a --key a.key --data own.csv", NAMES, ("one",), _LOST
    ),
    "collect": Turn(
        "aggregate collect session.json --key server.key --out totals.json --tally tally.csv --axis site",
        NAMES,
        ("one", "two"),
    ),
}
"""Commands in the order of a session."""


class Session(World):
    """A session of two aggregators and four clients."""

    turns = TURNS

    def __init__(self, server: Server, kept: Path, root: Path) -> None:
        super().__init__(server, kept, root)
        self.ports = dict(zip(NAMES, free_ports(len(NAMES)), strict=True))

    def serving(self, name: str) -> str:
        return (
            f"aggregate serve session.json --role '{ROLES[NAMES.index(name)]}' --key {name}.key "
            f"--database {name}.sqlite --port {self.ports[name]} --certificate {name}.crt --certificate-key {name}.tls"
        )

    def prepare(self) -> None:
        """Plan the session, and keep the folders as they are before each turn."""
        for name in (WORK, TEMPORARY):
            (self.root / name).mkdir()
        rows = ["role,address,key,certificate"]
        for name, role in zip(NAMES, ROLES, strict=True):
            made = key(self.work / f"{name}.key", host="127.0.0.1")
            rows.append(f"{role},https://127.0.0.1:{self.ports[name]},{made.public},{name}.crt")
        (self.work / "parties.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
        for name, clients in {"own": "a", "answers": "bcd"}.items():
            lines = [f"{client},{ANSWERS[client][0]},{ANSWERS[client][1]}" for client in clients]
            (self.work / f"{name}.csv").write_text("\n".join(["client,n: x,n: y", *lines, ""]), encoding="utf-8")
        public = key(self.work / "server.key").public
        self.run("aggregate key clients.keys --clients answers.csv")
        with (self.work / "clients.public.csv").open("a", encoding="utf-8") as file:
            file.write(f"a,{key(self.work / 'a.key').public}\n")
        self.run(
            "aggregate plan --name s --questions 'n: x,n: y' --parties parties.csv --clients clients.public.csv "
            f"--server {public} --least 3 --backend prio3-one --out session.json"
        )
        for turn in TURNS:
            shutil.copytree(self.work, self.kept / turn)
            self.start(NAMES)
            self.run(self.command(turn))
            self.stop()

    def faults(self) -> list[str]:
        totals = self.work / "totals.json"
        right = {"n: x": 2, "n: y": 2}
        counted = json.loads(totals.read_text())["totals"] if totals.exists() else right
        wrong = [] if counted == right else [f"counted {counted}"]
        one, two = (self._reports(name) for name in NAMES)
        return wrong if one == two else [*wrong, f"parts that do not fit: {one}, {two}"]

    def _reports(self, name: str) -> dict[str, bytes]:
        """By client, the number of the report of which this party holds a part: both parts have the same."""
        with contextlib.closing(sqlite3.connect(self.work / f"{name}.sqlite")) as database:
            return {client: body[:NONCE] for client, body in database.execute("SELECT client, body FROM message")}


@contextlib.contextmanager
def held_session(server: Server) -> Iterator[Session]:
    """A session with the folders before each turn."""
    with folder_in_memory() as kept, folder_in_memory() as root:
        session = Session(server, kept, root)
        try:
            session.prepare()
            yield session
        finally:
            session.stop()
