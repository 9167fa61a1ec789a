"""A whole election on this machine: every role a process of its own, made-up people, real sockets, one release."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from safemargin.aggregate.rehearse import free_ports
from safemargin.core import (
    Generator,
    InputError,
    OutputError,
    Progress,
    no_progress,
    numpy_generator,
    python_command,
    safe_environment,
)
from safemargin.election.board import Board
from safemargin.election.client import Ask, ask_over_http, enrol, fetch_board, fetch_tokens, send
from safemargin.election.conduct import Conductor
from safemargin.election.keys import canonical
from safemargin.election.manifest import KnownElection
from safemargin.election.report import ElectionRehearsal
from safemargin.election.secret import Secret
from safemargin.election.service import KEYS, MANIFEST
from safemargin.election.setup import ElectionPlan, make_manifest, new_keys, parse_plan, plan_text, public_keys
from safemargin.election.verify import check_board
from safemargin.election.voter import Wallet
from safemargin.io import write_whole

PATIENCE = 90.0
"""Seconds until a process that does not answer counts as failed."""
SENDERS = 8
"""People who act at the same time."""
ABSTAIN, FORGET = 0.1, 0.01
"""Shares of people who never ask for a token, and of tokens that nobody uses."""

PLAN = plan_text(
    "Rehearsal",
    "Should the library open on Sundays?",
    ["yes", "no"],
    {"age": ["18-34", "35-54", "55+"], "region": ["North", "South"]},
    collector="Library",
    others=["Town hall", "University", "Court"],
    # A rehearsal has a few dozen people: with the default minimum group it would publish little to look at.
    settings={"kappa": 10, "share": 5, "tolerance": 10, "spread": 1, "bits": 2048},
    target={"beta": 0.05, "tau": 1},
)


class Processes:
    """One process per party; each can be killed and started again from its folder."""

    def __init__(self, election: KnownElection, folder: Path, place: str | None) -> None:
        self.election, self.folder, self.place = election, folder, place
        self.ports = dict(zip(election.parties, free_ports(len(election.parties)), strict=True))
        self.addresses = {name: f"http://127.0.0.1:{port}" for name, port in self.ports.items()}
        self.running: dict[str, int] = {}
        self.lock = threading.Lock()
        self.starter = subprocess.Popen(
            python_command("-m", "safemargin.election.service"),
            env=safe_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def start(self, name: str) -> None:
        """Start the process of a party."""
        role = self.election.parties[name].role
        place = None if role in ("board", "trustee") else self.place
        assert self.starter.stdin is not None and self.starter.stdout is not None
        with self.lock:
            self.starter.stdin.write(canonical([str(self.folder / name), self.ports[name], place]) + b"\n")
            self.starter.stdin.flush()
            answer = self.starter.stdout.readline()
        if not answer:
            raise OutputError(f"{name}: the process did not start")
        self.running[name] = int(answer)

    def is_running(self, name: str) -> bool:
        """Whether the process of a party is there."""
        try:
            os.kill(self.running[name], 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self, name: str) -> None:
        """Stop a party at once, as a power failure would."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.running[name], signal.SIGKILL)
        while self.is_running(name):
            time.sleep(0.005)

    def wait(self, ask: Ask) -> None:
        """Wait until every party answers. One that did not start gets another port: somebody may have taken its own."""
        for name in self.running:
            if not self.is_running(name):
                self.ports[name] = free_ports(1)[0]
                self.addresses[name] = f"http://127.0.0.1:{self.ports[name]}"
                self.start(name)
                time.sleep(1.0)
                if not self.is_running(name):
                    raise OutputError(f"{name}: the process did not start")
            with contextlib.suppress(InputError):  # a refusal is an answer
                ask(name, "nothing", b"")

    def stop(self) -> None:
        """Stop all of them."""
        for name in self.running:
            self.kill(name)
        assert self.starter.stdin is not None and self.starter.stdout is not None
        self.starter.stdin.close()
        self.starter.wait()
        self.starter.stdout.close()


@contextlib.contextmanager
def killing(processes: Processes, generator: Generator, enabled: bool) -> Iterator[list[str]]:
    """Meanwhile kill every party once, at random points, and start it again."""
    killed: list[str] = []
    done = threading.Event()

    def work() -> None:
        for name in generator.permutation(sorted(processes.running)).tolist():
            done.wait(
                float(generator.uniform(0.05, 0.6))
            )  # at once where the others were faster, so that none is spared
            processes.kill(name)
            killed.append(name)
            processes.start(name)

    thread = threading.Thread(target=work, daemon=True)
    if enabled:
        thread.start()
    try:
        yield killed
    finally:
        done.set()
        if enabled:
            thread.join()


def write_parties(
    plan: ElectionPlan, roll: Mapping[str, Mapping[str, str]], folder: Path
) -> tuple[KnownElection, dict[str, Secret]]:
    """Keys, manifest and a folder for every party."""
    with ThreadPoolExecutor() as pool:  # making RSA keys releases the lock
        secrets = dict(zip(plan.parties, pool.map(lambda name: new_keys(plan, name), plan.parties), strict=True))
    election = make_manifest(plan, roll, [public_keys(secret) for secret in secrets.values()])
    for name, secret in secrets.items():
        secret.write(folder / name / KEYS)
        write_whole(folder / name / MANIFEST, election.content)
    return election, secrets


def made_up_roll(plan: ElectionPlan, voters: int, generator: Generator) -> dict[str, dict[str, str]]:
    """People with a category in every attested dimension."""
    attested = {name: d.categories for name, d in plan.dimensions.items() if not d.self_reported}
    draws = {name: generator.integers(0, len(names), voters) for name, names in attested.items()}
    return {
        f"person {number:05d}": {name: attested[name][int(draws[name][number])] for name in attested}
        for number in range(voters)
    }


def roll_csv(roll: Mapping[str, Mapping[str, str]]) -> bytes:
    """A roll as the registrar reads it."""
    names = list(next(iter(roll.values())))
    lines = [",".join(["row", *names]), *(",".join([row, *(by[name] for name in names)]) for row, by in roll.items())]
    return ("\n".join(lines) + "\n").encode()


class Crowd:
    """Made-up people with wallets in memory."""

    def __init__(self, election: KnownElection, codes: Mapping[str, str], ask: Ask, generator: Generator) -> None:
        self.election, self.ask = election, ask
        self.wallets = {row: Wallet.new(election, row, code) for row, code in codes.items()}
        rows = list(codes)
        self.silent = {row for row, draw in zip(rows, generator.random(len(rows)), strict=True) if draw < ABSTAIN}
        options = election.manifest.options
        shares = np.linspace(1.2, 0.8, len(options)) / len(options)
        drawn = generator.choice(len(options), len(rows), p=shares / shares.sum())
        self.option = {row: options[int(number)] for row, number in zip(rows, drawn, strict=True)}
        dimensions = list(election.dimensions)
        forgotten = generator.random((len(rows), len(dimensions))) < FORGET
        self.unused = {
            (row, name) for i, row in enumerate(rows) for j, name in enumerate(dimensions) if forgotten[i, j]
        }
        self.reported: dict[tuple[str, str], str] = {}
        for dimension in election.manifest.dimensions:
            if dimension.self_reported:  # people report what they are: as many of each category as the roll has
                own = generator.permutation(np.repeat(dimension.categories, dimension.people)).tolist()
                self.reported |= {(row, dimension.name): category for row, category in zip(rows, own, strict=True)}
        self.acknowledged: set[tuple[str, str]] = set()

    def _all(self, step: str, action: Callable[[Wallet], None], progress: Progress) -> None:
        done = 0
        with ThreadPoolExecutor(SENDERS) as pool:
            for _ in pool.map(action, self.wallets.values()):
                done += 1
                progress(step, done, len(self.wallets))

    def enrol(self, progress: Progress) -> None:
        """Everybody enrols."""
        self._all("enrolling", lambda wallet: enrol(wallet, self.ask), progress)

    def fetch_tokens(self, progress: Progress) -> None:
        """Most people ask for their tokens."""

        def fetch(wallet: Wallet) -> None:
            if wallet.state["row"] not in self.silent:
                fetch_tokens(wallet, self.ask)

        self._all("issuing", fetch, progress)

    def cast(self, signers: tuple[str, ...], progress: Progress) -> None:
        """Answers are sent at independent random times, in the order that these give."""
        due = []
        for row, wallet in self.wallets.items():
            names = [n for n in self.election.dimensions if row not in self.silent and (row, n) not in self.unused]
            times = wallet.send_times(names, self.election.manifest.spread)
            due += [(moment, row, name) for name, moment in times.items()]
        started = time.monotonic()

        def post(each: tuple[float, str, str]) -> None:
            moment, row, name = each
            time.sleep(max(0.0, started + moment - time.monotonic()))
            wallet = self.wallets[row]
            onion = wallet.cast(name, self.option[row], signers, self.reported.get((row, name)))
            send(wallet, name, onion, self.ask)
            self.acknowledged.add((row, name))

        with ThreadPoolExecutor(SENDERS) as pool:
            for number, _ in enumerate(pool.map(post, sorted(due)), 1):
                progress("casting", number, len(due))

    def lost(self, board: Board) -> int:
        """Acknowledged answers that are missing although their dimension was opened."""
        opened = {entry.body["dimension"] for entry in board.of("batch") if entry.body["opened"]}
        return sum(
            not self.wallets[row].check(name, board).holds() for row, name in self.acknowledged if name in opened
        )


def run_election(
    voters: int,
    out: Path,
    *,
    plan: str = PLAN,
    seed: int = 0,
    kill: bool = False,
    place: str | None = None,
    progress: Progress = no_progress,
) -> ElectionRehearsal:
    """From keys to a release, with every role as a process; `place` is a PostgreSQL database for the roles that store
    people or answers.
    """
    if out.exists() and any(out.iterdir()):
        raise OutputError(f"out = {str(out)!r}: exists already and is not empty; choose another folder")
    started, generator = time.monotonic(), numpy_generator(seed)
    planned = parse_plan(plan)
    progress("making keys")
    roll = made_up_roll(planned, voters, generator)
    election, secrets = write_parties(planned, roll, out / "parties")
    processes = Processes(election, out / "parties", place)
    operators = ask_over_http(election, processes.addresses, secrets, PATIENCE)
    people = ask_over_http(election, processes.addresses, None, PATIENCE)
    try:
        progress("starting")
        for name in election.parties:
            processes.start(name)
        processes.wait(operators)
        conductor = Conductor(election, operators)
        codes = conductor.begin_with_roll(roll_csv(roll))
        crowd = Crowd(election, codes, people, generator)
        with killing(processes, generator, kill) as first:
            crowd.enrol(progress)
            conductor.close_enrolment()
            crowd.fetch_tokens(progress)
            signers = conductor.close_issuing()
            conductor.open_casting(signers)
        with killing(processes, generator, kill) as second:
            crowd.cast(signers, progress)
            progress("mixing and collecting")
            conductor.close_casting()
            conductor.count()
        progress("opening and releasing")
        conductor.ceremony(out / "board", out / "release")
        board = fetch_board(election, out / "board", people)
        progress("verifying")
        check = check_board(board)
        storage = _storage(out / "parties")
        return ElectionRehearsal(
            out, check, crowd.lost(board), len(first) + len(second), time.monotonic() - started, storage
        )
    finally:
        processes.stop()


def _storage(folder: Path) -> dict[str, dict[str, int]]:
    """Names and sizes of everything that every role keeps."""
    found: dict[str, dict[str, int]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(("-wal", "-shm")):
            party, *rest = path.relative_to(folder).parts
            found.setdefault(party, {})["/".join(rest)] = path.stat().st_size
    return found
