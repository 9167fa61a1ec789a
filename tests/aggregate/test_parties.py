"""Parties that prove and verify: bad reports are refused and counted, a wrong aggregator is noticed or stated."""

import asyncio
import csv
import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn
from starlette.testclient import TestClient

from safemargin.aggregate.backends import make_backend
from safemargin.aggregate.batch import Submissions
from safemargin.aggregate.drive import LIES
from safemargin.aggregate.identity import Identity, new_identity, read_identity
from safemargin.aggregate.party import make_app
from safemargin.aggregate.processes import COMMAND
from safemargin.aggregate.rehearsal import run_session
from safemargin.aggregate.run import collect, key, plan, serve, submit
from safemargin.aggregate.server import Sum, collect_sum
from safemargin.aggregate.session import SessionParty
from safemargin.aggregate.session_file import SessionFile, make_session, verify_key
from safemargin.aggregate.submission import Connections, page_app, post_report
from safemargin.aggregate.verified import HELPER, LEADER, Prio3Sums, VerifiedReport
from safemargin.core import InputError, safe_environment
from safemargin.parties.certificates import make_certificate
from safemargin.parties.files import take_lock
from safemargin.parties.service import free_ports
from safemargin.parties.signature import VERSION, sign

pytestmark = pytest.mark.full

PAGE = "http://127.0.0.1:8000"
NAMES = [f"c{number}" for number in range(8)]
VALUES = np.random.default_rng(4).integers(0, 2, size=(8, 5))
KEYS = {name: Identity(name.encode().ljust(32, b"\0")) for name in (*NAMES, "server", LEADER, HELPER)}


class Net:
    """Both aggregators of a session with proofs, in this process."""

    def __init__(self, folder: Path, stack: ExitStack, name: str = "s", least: int = 3) -> None:
        stated = SessionFile(
            version=VERSION,
            name=name,
            backend="prio3",
            questions=list("abcde"),
            largest=1,
            least=least,
            parties={LEADER: "https://one.example", HELPER: "https://two.example"},
            clients={client: KEYS[client].public for client in NAMES},
            server=KEYS["server"].public,
            keys={role: KEYS[role].public for role in (LEADER, HELPER)},
        )
        self.session, self.name = make_session(stated), name
        assert isinstance(self.session.backend, Prio3Sums)
        self.backend: Prio3Sums = self.session.backend
        self.parties = {
            role: SessionParty(
                folder / f"{name} {role}.sqlite",
                role,
                self.backend,
                name,
                least,
                verify_key(self.session, KEYS[role], role),
            )
            for role in (LEADER, HELPER)
        }
        self.web = {
            role: stack.enter_context(
                TestClient(make_app(self.session, party, self.agreed, self.exchange, KEYS[role].signing))
            )
            for role, party in self.parties.items()
        }

    async def agreed(self, address: str) -> str | None:
        role = LEADER if "one" in address else HELPER
        return self.parties[role].agreed

    async def exchange(self, role: str, body: bytes, signature: str) -> dict[str, Any]:
        def post() -> Any:
            return self.web[role].post("/v1/exchange", content=body, headers={"x-signature": signature})

        answer = await asyncio.to_thread(post)
        if answer.status_code != 200:
            raise InputError(f"{role}: {answer.json()['refused']}")
        return dict(answer.json())

    def send(self, client: str, reports: dict[str, VerifiedReport]) -> list[int]:
        codes = []
        for role, report in reports.items():
            body = report.encode()
            signature = sign(KEYS[client].signing, self.name, role, client, "message", body)
            headers = {"x-signature": signature, "x-client": client}
            codes.append(self.web[role].post("/v1/message", content=body, headers=headers).status_code)
        return codes

    def ask(self, role: str, purpose: str, body: bytes) -> dict[str, Any]:
        signature = sign(KEYS["server"].signing, self.name, role, "server", purpose, body)
        answer = self.web[role].post(f"/v1/{purpose}", content=body, headers={"x-signature": signature})
        if answer.status_code != 200:
            raise InputError(f"{role}: {answer.json()['refused']}")
        return dict(answer.json())

    def collect(self) -> Sum:
        return collect_sum(self.session, KEYS["server"].signing, self.ask)

    def honest(self, clients: list[str] = NAMES) -> None:
        for client in clients:
            assert self.send(client, self.backend.report(VALUES[NAMES.index(client)].tolist())) == [200, 200]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused_and_counted_and_the_others_are_summed(tmp_path: Path, stack: ExitStack, lie: str) -> None:
    net = Net(tmp_path, stack)
    net.honest(NAMES[1:])
    assert net.send("c0", LIES[lie](net.backend, VALUES[0].tolist())) == [200, 200], "it shows only together"
    summed = net.collect()
    assert summed.clients == tuple(NAMES[1:])
    assert summed.totals.tolist() == VALUES[1:].sum(axis=0).tolist()
    for party in net.parties.values():
        assert party.status().refused == {"a report whose proof fails": 1}
    assert net.collect().totals.tolist() == summed.totals.tolist(), "and again"


def test_reports_that_no_client_sends_are_refused_at_once(tmp_path: Path, stack: ExitStack) -> None:
    net = Net(tmp_path, stack)
    report = net.backend.report(VALUES[0].tolist())[LEADER]
    for wrong in (
        replace(report, share=report.share[:-1]),
        replace(report, share=b"\xff" * len(report.share)),
        replace(report, public=report.public[:-1], share=report.share + b"\0"),
    ):
        assert net.send("c0", {LEADER: wrong}) == [409]
    body = report.encode()
    for cut in (body[:10], body[:-1], body[:16] + b"\1" + body[17:]):
        with pytest.raises(InputError):
            net.backend.check_report(LEADER, cut)


def test_a_copied_report_is_refused(tmp_path: Path, stack: ExitStack) -> None:
    """Somebody who sees a report sends it as their own, to count twice what another says: both are refused."""
    net = Net(tmp_path, stack)
    net.honest(NAMES[2:])
    copied = net.backend.report(VALUES[0].tolist())
    assert net.send("c0", copied) == net.send("c1", copied) == [200, 200]
    assert net.collect().clients == tuple(NAMES[2:])


def test_a_report_counts_in_its_session_only(tmp_path: Path, stack: ExitStack) -> None:
    """The session is in the proof: shares of another session fail even under a new signature."""
    net, other = Net(tmp_path, stack), Net(tmp_path, stack, "other")
    net.honest(NAMES[1:])
    net.send("c0", other.backend.report(VALUES[0].tolist()))
    assert net.collect().clients == tuple(NAMES[1:])


def test_a_client_that_reached_one_party_is_not_counted(tmp_path: Path, stack: ExitStack) -> None:
    net = Net(tmp_path, stack)
    net.honest(NAMES[2:])
    for client, role in (("c0", LEADER), ("c1", HELPER)):
        net.send(client, {role: net.backend.report(VALUES[0].tolist())[role]})
    assert net.collect().clients == tuple(NAMES[2:])
    assert net.parties[LEADER].unjudged() == ["c0"]


def test_an_aggregator_that_changes_a_set_is_noticed(tmp_path: Path, stack: ExitStack) -> None:
    net = Net(tmp_path, stack)
    net.honest()
    for role in (LEADER, HELPER):
        net.ask(role, "close", b"")
    net.ask(LEADER, "verify", b"")
    helper = net.parties[HELPER]
    helper.database.execute("UPDATE verdict SET output = NULL WHERE client = 'c3'")
    with pytest.raises(InputError, match="disagree on which reports are valid"):
        net.collect()
    # One that has a client in its set who is not in the other's: the other does not open.
    clients = json.dumps({"clients": NAMES[:5]}).encode()
    net.ask(LEADER, "agree", clients)
    helper.database.execute("UPDATE session SET state = 'agreed', agreed = 'another'")
    with pytest.raises(InputError, match="another set"):
        net.ask(LEADER, "result", b"")


def test_what_a_wrong_share_does(tmp_path: Path, stack: ExitStack) -> None:
    """A shift out of range is noticed; a small one is not, and the backend says so. A signature keeps who said what."""
    net = Net(tmp_path, stack)
    net.honest()
    fair = net.collect().totals
    party, modulus = net.parties[LEADER], net.backend.scheme.field.modulus
    said = party.passed()[0]
    stack.enter_context(pytest.MonkeyPatch.context()).setattr(
        party, "passed", lambda: [[(said[0] + modulus // 3) % modulus, *said[1:]]]
    )
    with pytest.raises(InputError, match="an aggregator is wrong"):
        net.collect()
    room = 1 if fair[0] < len(NAMES) else -1
    stack.enter_context(pytest.MonkeyPatch.context()).setattr(
        party, "passed", lambda: [[(said[0] + room) % modulus, *said[1:]]]
    )
    assert net.collect().totals[0] == fair[0] + room
    assert "shift every total unseen" in net.backend.dishonest

    def replayed(role: str, purpose: str, body: bytes) -> dict[str, Any]:
        answer = net.ask(role, purpose, body)
        return {**answer, "rows": [said]} if purpose == "result" and role == LEADER else answer

    with pytest.raises(InputError, match="not signed"):
        collect_sum(net.session, KEYS["server"].signing, replayed)


def test_only_the_other_aggregator_may_exchange(tmp_path: Path, stack: ExitStack) -> None:
    net = Net(tmp_path, stack)
    net.honest()
    body = json.dumps({"clients": ["c0"], "verifiers": ["00"]}).encode()
    for name in ("server", "c0", HELPER):
        signature = sign(KEYS[name].signing, "s", HELPER, LEADER, "exchange", body)
        answer = net.web[HELPER].post("/v1/exchange", content=body, headers={"x-signature": signature})
        assert answer.status_code == 401
    signature = sign(KEYS[LEADER].signing, "s", HELPER, LEADER, "exchange", b"{")
    answer = net.web[HELPER].post("/v1/exchange", content=b"{", headers={"x-signature": signature})
    assert answer.status_code == 409


def test_nothing_is_verified_or_opened_too_early(tmp_path: Path, stack: ExitStack) -> None:
    net = Net(tmp_path, stack, least=5)
    net.honest(NAMES[:4])
    with pytest.raises(InputError, match="open still"):
        net.ask(LEADER, "verify", b"")
    with pytest.raises(InputError, match="4 clients: a sum needs at least 5"):
        net.collect()
    with pytest.raises(InputError, match="before all parties agreed"):
        net.ask(LEADER, "result", b"")


def test_sums_whose_difference_is_one_client_are_refused(tmp_path: Path, stack: ExitStack) -> None:
    first, second = Net(tmp_path, stack), Net(tmp_path, stack, "second")
    first.honest(NAMES[:7])
    first.collect()
    second.honest()
    with pytest.raises(InputError, match="the difference is about 1"):
        second.collect()


def test_files_are_private_and_keep_no_order(tmp_path: Path) -> None:
    """The same reports in two orders of arrival give the same file, up to counters in its first 100 bytes."""
    backend = make_backend("prio3", 5, 8)
    bodies = backend.reports(VALUES)[LEADER]
    pages = []
    for number, order in enumerate((range(8), [5, 2, 7, 0, 3, 6, 1, 4])):
        folder = tmp_path / str(number)
        folder.mkdir()
        party = SessionParty(folder / "p.sqlite", LEADER, backend, "s", key=bytes(32))
        for place in order:
            assert party.accept([(NAMES[place], bodies[place])]) == [None]
        for file in folder.iterdir():
            assert file.stat().st_mode & 0o077 == 0, file.name
        party.close()
        party.database.close()
        assert not (folder / "p.sqlite-wal").exists()
        pages.append((folder / "p.sqlite").read_bytes()[100:])
        with sqlite3.connect(folder / "p.sqlite") as database, pytest.raises(sqlite3.OperationalError):
            database.execute("SELECT rowid FROM message")
        database.close()
    assert pages[0] == pages[1]


def test_a_busy_party_answers_503_and_the_client_sends_again(
    tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The party cannot store anything twice; the third time it does, and the message is held once."""
    net, codes = Net(tmp_path, stack), list[int]()
    party, web = net.parties[LEADER], net.web[LEADER]
    store, broken = party.accept, [True, True]

    def accept(messages: list[tuple[str, bytes]]) -> list[str | None]:
        if broken:
            broken.pop()
            raise sqlite3.OperationalError("database or disk is full")
        return store(messages)

    class Local(Connections):
        def post(self, role: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
            answer = web.post(path, content=body, headers=dict(headers))
            codes.append(answer.status_code)
            return answer.status_code, answer.json().get("refused", "")

    monkeypatch.setattr(party, "accept", accept)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    body = net.backend.report(VALUES[0].tolist())[LEADER].encode()
    connections = Local(net.session, {})
    assert post_report(connections, "c0", KEYS["c0"].signing, LEADER, body) == (200, "") and codes == [503, 503, 200]
    assert (party.status().held, party.status().refused) == (1, {})
    assert "OperationalError" in capsys.readouterr().err
    broken.append(True)
    status, reason = post_report(connections, "c1", KEYS["c1"].signing, LEADER, body, patience=-1.0)
    assert status == 503 and reason, "somebody without patience hears that it is not held"
    assert party.status().held == 1


def test_a_second_process_on_a_database_is_refused(tmp_path: Path, stack: ExitStack) -> None:
    (tmp_path / "s.json").write_text(Net(tmp_path, stack).session.file.model_dump_json())
    key(tmp_path / "a.key")
    database = tmp_path / "hospital.sqlite"
    lock = take_lock(Path(f"{database}.lock"), "taken")
    try:
        with pytest.raises(InputError, match=r"hospital\.sqlite: another process serves this party"):
            serve(tmp_path / "s.json", role=LEADER, key=tmp_path / "a.key", database=database, port=1)
    finally:
        os.close(lock)
    assert not database.exists()


def test_keys(tmp_path: Path) -> None:
    made = key(tmp_path / "a.key", host="sums.example.org")
    assert read_identity(tmp_path / "a.key").public == made.public and len(made.public) == 128
    for name in ("a.key", "a.tls"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert made.certificate is not None and "BEGIN CERTIFICATE" in Path(made.certificate).read_text()
    with pytest.raises(Exception, match="never overwritten"):
        new_identity(tmp_path / "a.key")
    (tmp_path / "b.key").write_text("secret")
    with pytest.raises(InputError, match="is not a key"):
        read_identity(tmp_path / "b.key")


def test_the_key_that_verifies_is_of_two_parties_and_one_session() -> None:
    one, two, three = KEYS[LEADER], KEYS[HELPER], KEYS["server"]
    assert one.agree(two.public, "s") == two.agree(one.public, "s")
    assert len({one.agree(two.public, "s"), one.agree(two.public, "t"), one.agree(three.public, "s")}) == 3


class Served:
    """Both aggregators behind TLS, by threads, with a session file, keys and data in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.servers = folder, list[uvicorn.Server]()
        ports = free_ports(2)
        rows = ["role,address,key,certificate"]
        for place, role in enumerate((LEADER, HELPER)):
            made = key(folder / f"{place}.key", host="127.0.0.1")
            rows.append(f"{role},https://127.0.0.1:{ports[place]},{made.public},{place}.crt")
        (folder / "parties.csv").write_text("\n".join(rows) + "\n")
        clients = [f"{name},{key(folder / f'{name}.key').public}" for name in NAMES]
        (folder / "clients.csv").write_text("client,key\n" + "\n".join(clients) + "\n")
        lines = [",".join(map(str, (name, *row))) for name, row in zip(NAMES, VALUES.tolist(), strict=True)]
        (folder / "answers.csv").write_text("client,a,b,c,d,e\n" + "\n".join(lines) + "\n")
        server = key(folder / "server.key").public
        self.file = folder / "session.json"
        self.planned = plan(
            name="wards",
            questions=list("abcde"),
            parties=folder / "parties.csv",
            clients=folder / "clients.csv",
            server=server,
            out=self.file,
        )
        self.session = make_session(SessionFile.model_validate_json(self.file.read_text()))
        for place, role in enumerate((LEADER, HELPER)):
            identity = read_identity(folder / f"{place}.key")
            home = folder / str(place)
            home.mkdir()
            party = SessionParty(
                home / "p.sqlite", role, self.session.backend, "wards", key=verify_key(self.session, identity, role)
            )
            config = uvicorn.Config(
                make_app(self.session, party, key=identity.signing),
                port=ports[place],
                log_level="error",
                ssl_certfile=str(folder / f"{place}.crt"),
                ssl_keyfile=str(folder / f"{place}.tls"),
            )
            self.servers.append(uvicorn.Server(config))
            threading.Thread(target=self.servers[-1].run, daemon=True).start()
            while not self.servers[-1].started:
                time.sleep(0.01)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    for server in made.servers:
        server.should_exit = True


def test_a_sum_over_tls_by_the_functions_of_the_commands(served: Served) -> None:
    folder = served.folder
    for name in NAMES[:6]:
        sent = submit(served.file, client=name, key=folder / f"{name}.key", data=folder / "answers.csv")
        assert sent.holds and set(sent.answers) == {LEADER, HELPER}
    wrong = submit(served.file, client="c6", key=folder / "c7.key", data=folder / "answers.csv")
    assert not wrong.holds and "signature" in wrong.answers[LEADER]
    with pytest.raises(InputError, match="is not enrolled"):
        submit(served.file, client="stranger", key=folder / "c7.key", data=_with_stranger(folder))
    own = folder / "c7.key"
    page = TestClient(page_app(served.session, "c7", read_identity(own).signing, own, "/own/"), base_url=PAGE)
    assert page.get("/own/", headers={"host": "evil.example"}).status_code == 400
    assert page.get("/").status_code == page.post("/", data={"q0": "1"}).status_code == 404, (
        "another user of the machine"
    )
    assert page.post("/own/", data={"q0": "1"}, headers={"origin": "https://evil.example"}).status_code == 403
    assert 'name="q4"' in page.get("/own/").text
    assert page.post("/own/", data={"q0": "7"}).status_code == 422
    typed = page.post("/own/", data={f"q{place}": str(value) for place, value in enumerate(VALUES[7])})
    assert typed.status_code == 200 and typed.text.count("held") == 2
    total = collect(served.file, key=folder / "server.key", out=folder / "totals.json")
    counted = [*range(6), 7]
    assert total.clients == tuple(NAMES[place] for place in counted)
    assert list(total.totals.values()) == VALUES[counted].sum(axis=0).tolist()
    written = json.loads((folder / "totals.json").read_text())
    assert set(written["statements"]) == {LEADER, HELPER}
    assert all(len(each["signature"]) == 128 for each in written["statements"].values())
    assert total.refused[LEADER] == {"the signature does not fit the client, the session or the role": 1}
    late = submit(served.file, client="c6", key=folder / "c6.key", data=folder / "answers.csv")
    assert "too late" in late.answers[LEADER]


def test_a_run_that_ends_between_two_parties_is_repeated_with_the_same_reports(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It drew new shares: the first party refused them, and the client was not counted."""
    folder, post = served.folder, Connections.post
    enrolled = [f"{name},{(folder / f'{name}.key').read_text().strip()}" for name in NAMES[1:]]
    (folder / "own.keys").write_text("\n".join(["client,secret", *enrolled]) + "\n")
    rows = (folder / "answers.csv").read_text().splitlines()
    (folder / "rest.csv").write_text("\n".join([rows[0], *rows[2:], ""]))
    other = rows[1].rsplit(",", 1)[0] + (",0" if rows[1].endswith(",1") else ",1")
    (folder / "other.csv").write_text("\n".join([rows[0], other, *rows[2:], ""]))
    single = {"client": "c0", "key": folder / "c0.key", "data": folder / "answers.csv"}
    every = {"keys": folder / "own.keys", "data": folder / "rest.csv"}

    def away(self: Connections, role: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
        if role == HELPER:
            raise OSError("away")
        return post(self, role, path, body, headers)

    with monkeypatch.context() as patched:
        patched.setattr(Connections, "post", away)
        for given in (single, every):
            with pytest.raises(InputError, match="aggregator 2: does not answer"):
                submit(served.file, patience=0, **given)
    kept = sorted(folder.glob("*.sending"))
    assert [path.name.partition(".key")[0] for path in kept] == ["c0", "own"]
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    with pytest.raises(InputError, match="with other answers"):
        submit(served.file, **{**single, "data": folder / "other.csv"})
    assert kept == sorted(folder.glob("*.sending")), "they are there until they are sent"
    assert submit(served.file, **single).holds and submit(served.file, **every).holds
    assert not list(folder.glob("*.sending*"))
    total = collect(served.file, key=folder / "server.key")
    assert total.clients == tuple(NAMES) and list(total.totals.values()) == VALUES.sum(axis=0).tolist()


def test_one_organisation_sends_the_rows_of_many_clients(served: Served) -> None:
    """Keys of many clients are one private file; each row is a report of its client; a second run changes nothing."""
    folder = served.folder
    made = key(folder / "ward.keys", clients=folder / "answers.csv")
    assert made.clients == len(NAMES) and (folder / "ward.keys").stat().st_mode & 0o777 == 0o600
    listed = dict(csv.reader((folder / "ward.public.csv").read_text().splitlines()[1:]))
    secrets = dict(csv.reader((folder / "ward.keys").read_text().splitlines()[1:]))
    assert list(listed) == list(secrets) == list(NAMES) and len(set(secrets.values())) == len(NAMES)
    with pytest.raises(InputError, match="never overwritten"):
        key(folder / "ward.keys", clients=folder / "answers.csv")
    (folder / "ward.public.csv").unlink()  # as after a run that was interrupted
    key(folder / "ward.keys", clients=folder / "answers.csv")
    assert dict(csv.reader((folder / "ward.public.csv").read_text().splitlines()[1:])) == listed
    forged = submit(served.file, keys=folder / "ward.keys", data=folder / "answers.csv")  # keys that nobody enrolled
    assert not forged.holds and forged.answers[LEADER] == f"{len(NAMES)} refused"
    enrolled = [f"{name},{(folder / f'{name}.key').read_text().strip()}" for name in NAMES]
    (folder / "own.keys").write_text("\n".join(["client,secret", *enrolled]) + "\n")
    sent = submit(served.file, keys=folder / "own.keys", data=folder / "answers.csv")
    assert sent.holds and sent.answers == {LEADER: "held", HELPER: "held"} and "8" in sent.to_text()
    again = submit(served.file, keys=folder / "own.keys", data=folder / "answers.csv")
    assert isinstance(again, Submissions) and again.missing == tuple(NAMES)
    assert again.refused == {LEADER: {"a second message of one client": len(NAMES)}, HELPER: {}}, "nothing was sent"
    assert not list(folder.glob("*.sending*"))
    for wrong, match in (
        ({"keys": folder / "own.keys", "client": "c0", "data": folder / "answers.csv"}, "neither client"),
        ({"keys": folder / "own.keys"}, "needs data"),
        ({"keys": folder / "own.keys", "data": _with_stranger(folder)}, "stranger.*nothing was sent"),
        ({"keys": folder / "answers.csv", "data": folder / "answers.csv"}, "column 'secret'"),
        ({"data": folder / "answers.csv"}, "name the client"),
    ):
        with pytest.raises(InputError, match=match):
            submit(served.file, **wrong)
    total = collect(served.file, key=folder / "server.key")
    assert total.clients == tuple(NAMES) and list(total.totals.values()) == VALUES.sum(axis=0).tolist()


def _with_stranger(folder: Path) -> Path:
    path = folder / "stranger.csv"
    path.write_text("client,a,b,c,d,e\nstranger,0,0,0,0,0\n")
    return path


def test_another_certificate_is_refused(served: Served) -> None:
    """Somebody who answers at a party's address with a certificate of their own gets nothing."""
    forged, _ = make_certificate("127.0.0.1")
    stated = json.loads(served.file.read_text())
    stated["certificates"][LEADER] = forged
    other = served.folder / "other.json"
    other.write_text(json.dumps(stated))
    with pytest.raises(InputError, match="certificate is not the one"):
        submit(other, client="c0", key=served.folder / "c0.key", data=served.folder / "answers.csv")


def test_plans_and_rows_are_checked(served: Served) -> None:
    folder = served.folder
    fine: dict[str, Any] = {
        "name": "x",
        "questions": ["a"],
        "parties": folder / "parties.csv",
        "clients": folder / "clients.csv",
        "server": "00" * 32,
        "out": folder / "x.json",
    }
    (folder / "empty.csv").write_text("client,key\n")
    (folder / "gap.csv").write_text("client,key\na,\n")
    (folder / "twice.csv").write_text(f"client,key\na,{'00' * 32}\na,{'00' * 32}\n")
    plain = (folder / "parties.csv").read_text().replace("https", "http").replace("127.0.0.1", "example.org")
    (folder / "plain.csv").write_text(plain)
    for change, match in (
        ({"clients": folder / "empty.csv"}, "has no rows"),
        ({"clients": folder / "gap.csv"}, "row 1: column 'key'"),
        ({"clients": folder / "twice.csv"}, "client 'a' is there twice"),
        ({"parties": folder / "plain.csv"}, "must begin with https"),
        ({"least": 2}, "at least 3"),
        ({"server": "zz"}, "public key"),
        ({"backend": "prio3-statistic"}, "0 weights for 1 questions"),
        ({"backend": "shamir"}, "not a party of shamir"),
    ):
        with pytest.raises(InputError, match=match):
            plan(**fine | change)
    assert not (folder / "x.json").exists()
    secret = folder / "c0.key"
    with pytest.raises(InputError, match="no row of client"):
        submit(served.file, client="c9", key=secret, data=folder / "answers.csv")
    (folder / "odd.csv").write_text("client,a\nc0,1\n")
    with pytest.raises(InputError, match="not those of the session"):
        submit(served.file, client="c0", key=secret, data=folder / "odd.csv")
    with pytest.raises(InputError, match="name the CSV file"):
        submit(served.file, client="c0", key=secret)


def test_a_party_that_is_away_is_named(tmp_path: Path, served: Served) -> None:
    stated = json.loads(served.file.read_text())
    with socket.socket() as reserved:  # bound, not listening: nobody answers there
        reserved.bind(("127.0.0.1", 0))
        stated["parties"][HELPER] = f"https://127.0.0.1:{reserved.getsockname()[1]}"
        other = served.folder / "away.json"
        other.write_text(json.dumps(stated))
        with pytest.raises(InputError, match="aggregator 2"):
            submit(other, client="c0", key=served.folder / "c0.key", data=served.folder / "answers.csv", patience=0.1)


def test_child_processes_do_not_import_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A numpy.py or a safemargin folder where somebody rehearses must not run."""
    for name in ("numpy", "safemargin", "starlette", "csv"):
        (tmp_path / f"{name}.py").write_text(f"open('ran {name}', 'w').close()")
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}.{os.pathsep}")  # the folder where the process runs, twice
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "numpy.py"))
    loose = dict(os.environ)
    environment = safe_environment()
    ran = subprocess.run(
        [*COMMAND, "key", "a.key"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0 and (tmp_path / "a.key").exists(), ran.stderr
    assert not list(tmp_path.glob("ran *"))
    command = [part for part in COMMAND if part != "-P"]
    subprocess.run([*command, "key", "b.key"], cwd=tmp_path, env=loose, capture_output=True, check=False)
    assert list(tmp_path.glob("ran *")), "in the environment as it is, without -P, it would: the test can fail"
    assert sys.executable in COMMAND


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["prio3", "prio3-one", "prio3-some", "prio3-statistic"])
def test_rehearsal_with_clients_that_lie(backend: str) -> None:
    """Processes, TLS, every party killed once, 10 % that lie in every way: exact totals of the honest."""
    run = run_session(200, 4, backend=backend, dropouts=0.05, malicious=0.1)
    assert run.holds and run.restarts == 2
    assert (run.counted, run.dropped, run.malicious, run.spoiled) == (170, 10, 20, 0)
    assert run.refused["a report whose proof fails"] == 2 * run.malicious
    with pytest.raises(InputError, match="cannot distinguish"):
        run_session(20, 4, backend="shares", malicious=0.1)
