"""A whole election on this machine: every party its own processes and keys, made-up people, TLS, one release.

Each party does what its organisation would do, by the documented commands, in a process of its own. A process that has
loaded the program already starts the others, since loading takes longer than most commands.
"""

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from safemargin.core import (
    Generator,
    InputError,
    OutputError,
    ProcessFamily,
    Progress,
    no_progress,
    numpy_generator,
    python_command,
    safe_environment,
    write_whole,
)
from safemargin.election.board import Board
from safemargin.election.board_verification import check_board
from safemargin.election.client import Ask, ask_over_http, enrol, fetch_board, fetch_tokens, send
from safemargin.election.manifests import NO_ANSWER, KnownElection
from safemargin.election.report import ElectionRehearsal
from safemargin.election.roll import roll_csv
from safemargin.election.setup import ElectionPlan, parse_plan, plan_text
from safemargin.election.voter import Wallet
from safemargin.parties.service import free_ports

STARTER = "safemargin.election.starter"
PATIENCE = 90.0
"""Seconds until a process that does not answer counts as failed."""
SENDERS = 8
"""People who act at the same time."""
ABSTAIN, SKIP = 0.1, 0.01
"""Shares of people who enrol and never vote, and of dimensions that people skip by casting an encrypted *no answer*."""

PLAN = plan_text(
    "Rehearsal",
    "Should the library open on Sundays?",
    ["yes", "no"],
    {"age": ["18-34", "35-54", "55+"], "region": ["North", "South"]},
    collector="Library",
    others=["Town hall", "University", "Court"],
    box="Post office",
    # A rehearsal has a few dozen people: with the default minimum group it would publish little to look at.
    settings={"kappa": 10, "share": 5, "bits": 2048},
    target={"beta": 0.05, "tau": 1},
)


class Starter:
    """A process that has the program loaded and runs its commands, each in a process of its own."""

    def __init__(self) -> None:
        self.family = ProcessFamily()
        self.process = subprocess.Popen(
            python_command("-m", STARTER),
            env=safe_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=self.family.group,
        )
        self.lock = threading.Lock()

    def start(self, arguments: Sequence[str], log: Path) -> int:
        """Start a command; what it prints goes to a file. The number of its process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with self.lock:
            self.process.stdin.write(json.dumps([list(arguments), str(log)]) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        if not answer:
            raise OutputError(f"{arguments[0]}: the process did not start")
        return int(answer)

    def stop(self) -> None:
        """End it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.family.end()


class PartyProcesses:
    """The folders and processes of all parties."""

    def __init__(self, plan: ElectionPlan, folder: Path, database: str | None) -> None:
        self.plan, self.folder, self.database = plan, folder, database
        self.ports = dict(zip(plan.parties, free_ports(len(plan.parties)), strict=True))
        self.running: dict[str, int] = {}
        self.starter = Starter()
        (folder / "logs").mkdir(parents=True)

    def run(self, name: str, *arguments: str | Path) -> str:
        """Run a command of a party to its end, and give what it printed."""
        log = self.folder / "logs" / f"{name} {arguments[0]}.txt"
        done = Path(f"{log}.code")
        done.unlink(missing_ok=True)
        number = self.starter.start([str(each) for each in arguments], log)
        while _is_running(number) or not done.exists():
            if not _is_running(number) and not done.exists():
                time.sleep(0.05)
                if not done.exists():
                    raise OutputError(f"{name}: {arguments[0]} ended without an answer")
            time.sleep(0.01)
        text = log.read_text(encoding="utf-8")
        if done.read_text(encoding="ascii") != "0":
            raise InputError(f"{name}: {arguments[0]}: {text.strip() or 'failed'}")
        return text

    def all(self, command: Callable[[str], Sequence[str | Path]], names: Sequence[str] | None = None) -> None:
        """Run a command of several parties side by side."""
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            list(pool.map(lambda name: self.run(name, *command(name)), names or list(self.plan.parties)))

    def of(self, *roles: str) -> list[str]:
        """Names of the parties of some roles."""
        return [name for name, party in self.plan.parties.items() if party.role in roles]

    def serve(self, name: str) -> None:
        """Start the service of a party."""
        arguments = ["serve", str(self.folder / name), "--port", str(self.ports[name])]
        if self.database and self.plan.parties[name].role in ("registrar", "issuer", "collector"):
            arguments += ["--database", self.database]
        self.running[name] = self.starter.start(arguments, self.folder / "logs" / f"{name} serve.txt")

    def kill(self, name: str) -> None:
        """Stop a party at once, as a power failure would."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.running[name], signal.SIGKILL)
        while _is_running(self.running[name]):
            time.sleep(0.005)

    def wait(self, ask: Ask) -> None:
        """Wait until every party answers."""
        for name, number in self.running.items():
            if not _is_running(number):
                log = (self.folder / "logs" / f"{name} serve.txt").read_text(encoding="utf-8")
                raise OutputError(f"{name}: the service did not start: {log.strip()[-300:]}")
            with contextlib.suppress(InputError):  # a refusal is an answer
                ask(name, "nothing", b"")

    def stop(self) -> None:
        """Stop all of them."""
        for name in self.running:
            self.kill(name)
        self.starter.stop()


def _is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@contextlib.contextmanager
def killing(parties: PartyProcesses, generator: Generator, enabled: bool) -> Iterator[list[str]]:
    """Meanwhile kill every party once, at random points, and start it again."""
    killed: list[str] = []
    done = threading.Event()

    def work() -> None:
        for name in generator.permutation(sorted(parties.running)).tolist():
            done.wait(float(generator.uniform(0.05, 0.6)))  # at once where the others were faster
            parties.kill(name)
            killed.append(name)
            parties.serve(name)

    thread = threading.Thread(target=work, daemon=True)
    if enabled:
        thread.start()
    try:
        yield killed
    finally:
        done.set()
        if enabled:
            thread.join()


def made_up_roll(plan: ElectionPlan, voters: int, generator: Generator) -> dict[str, dict[str, str]]:
    """People with a category in every attested dimension."""
    attested = {name: d.categories for name, d in plan.dimensions.items() if not d.self_reported}
    draws = {name: generator.integers(0, len(names), voters) for name, names in attested.items()}
    return {
        f"person {number:05d}": {name: attested[name][int(draws[name][number])] for name in attested}
        for number in range(voters)
    }


class SimulatedVoters:
    """Made-up people with wallets in memory: each enrols, answers and casts in one visit."""

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
        skipped = generator.random((len(rows), len(dimensions))) < SKIP
        self.skipped = {(row, name) for i, row in enumerate(rows) for j, name in enumerate(dimensions) if skipped[i, j]}
        self.reported: dict[tuple[str, str], str] = {}
        for dimension in election.manifest.dimensions:
            if dimension.self_reported:  # people report what they are: as many of each category as the roll has
                own = generator.permutation(np.repeat(dimension.categories, dimension.people)).tolist()
                self.reported |= {(row, dimension.name): category for row, category in zip(rows, own, strict=True)}
        self.acknowledged: set[tuple[str, str]] = set()

    def answer(self, row: str, name: str) -> str:
        """What a person casts in a dimension."""
        return NO_ANSWER if (row, name) in self.skipped else self.option[row]

    def visit(self, row: str) -> None:
        """One visit of one person; some enrol and do nothing more."""
        wallet = self.wallets[row]
        enrol(wallet, self.ask)
        if row in self.silent:
            return
        fetch_tokens(wallet, self.ask)
        for name in self.election.dimensions:
            wallet.cast(wallet.prepare(name, self.answer(row, name), self.reported.get((row, name))))
            send(wallet, name, self.ask)
            self.acknowledged.add((row, name))

    def vote(self, progress: Progress) -> None:
        """Everybody who takes part."""
        with ThreadPoolExecutor(SENDERS) as pool:
            for number, _ in enumerate(pool.map(self.visit, self.wallets), 1):
                progress("voting", number, len(self.wallets))

    def truth(self) -> dict[str, int]:
        """The total as the people know it; a rehearsal compares it with what was published."""
        chosen = [self.answer(row, "total") for row, name in self.acknowledged if name == "total"]
        return {option: chosen.count(option) for option in (*self.election.manifest.options, NO_ANSWER)}

    def lost(self, board: Board) -> int:
        """Acknowledged ballots that are missing on the board."""
        return sum(not self.wallets[row].check(name, board).included for row, name in self.acknowledged)


def set_up(parties: PartyProcesses, roll: Path) -> KnownElection:
    """From keys to the first entry of the board, every party by its own commands."""
    folder, drop, manifest = parties.folder, parties.folder / "drop", parties.folder / "manifest.json"
    plan = folder / "plan.toml"

    def init(name: str) -> Sequence[str | Path]:
        address = f"https://127.0.0.1:{parties.ports[name]}"
        return ["init", plan, name, "--out", folder / name, "--address", address, "--self-signed", "127.0.0.1"]

    parties.all(init)
    parties.all(lambda name: ["join", folder / name, "--into", drop])
    parties.all(lambda name: ["join", folder / name, "--into", drop], parties.of("trustee"))
    parties.run("organiser", "manifest", plan, "--roll", roll, "--parts", drop, "--out", manifest)
    parties.all(lambda name: ["approve", folder / name, "--manifest", manifest, "--into", drop])
    return KnownElection.read(manifest)


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
    """From keys to a release, every party by its own commands; `place` is a PostgreSQL database for registrar, issuers
    and collector.
    """
    if out.exists() and any(out.iterdir()):
        raise OutputError(f"out = {str(out)!r}: exists already and is not empty; choose another folder")
    started, generator = time.monotonic(), numpy_generator(seed)
    planned = parse_plan(plan)
    folder = out / "parties"
    write_whole(folder / "plan.toml", plan.encode())
    write_whole(folder / "roll.csv", roll_csv(made_up_roll(planned, voters, generator)))
    progress("making keys")
    parties = PartyProcesses(planned, folder, place)
    try:
        election = set_up(parties, folder / "roll.csv")
        with ask_over_http(election, None, PATIENCE) as people:
            return _conduct(parties, election, people, out, generator, kill, started, progress)
    finally:
        parties.stop()


def _conduct(
    parties: PartyProcesses,
    election: KnownElection,
    people: Ask,
    out: Path,
    generator: Generator,
    kill: bool,
    started: float,
    progress: Progress,
) -> ElectionRehearsal:
    """From the first entry of the board to the last check."""
    folder = parties.folder
    progress("starting")
    for name in parties.plan.parties:
        parties.serve(name)
    parties.wait(people)
    registrar, board = parties.of("registrar")[0], parties.of("board")[0]
    parties.run(board, "publish", folder / board, "--approvals", folder / "drop")
    codes = folder / registrar / "codes.csv"
    parties.run(registrar, "letters", folder / registrar, "--roll", folder / "roll.csv", "--codes", codes)
    crowd = SimulatedVoters(election, read_codes(codes), people, generator)
    with killing(parties, generator, kill) as first:
        crowd.vote(progress)
    with killing(parties, generator, kill) as second:
        progress("closing and counting")
        close_all(parties)
    progress("tallying")
    count_all(parties, out / "release")
    copy = fetch_board(election, out / "board", people)
    progress("verifying")
    check = check_board(copy, progress, pinned=election.fingerprint)
    if check.total and check.total != crowd.truth():
        check.findings.append("the total is not what the made-up people chose")
    storage = _storage(folder)
    kills = len(first) + len(second)
    taken = time.monotonic() - started
    return ElectionRehearsal(out, election.fingerprint, check, crowd.lost(copy), kills, taken, storage)


def read_codes(path: Path) -> dict[str, str]:
    """The codes that a registrar wrote for the letters."""
    text = path.read_text(encoding="utf-8")
    return {line["row"]: line["code"] for line in csv.DictReader(io.StringIO(text))}


def close_all(parties: PartyProcesses) -> None:
    """Close the election, publish the ballots, and end the objection period."""
    (collector,) = parties.of("collector")
    folder = parties.folder
    parties.run(collector, "close", folder / collector)
    for name in parties.of("registrar", "issuer", "box"):
        parties.run(name, "close", folder / name)
    for _ in range(2):
        parties.run(collector, "close", folder / collector)


def count_all(parties: PartyProcesses, out: Path) -> None:
    """Freeze, decrypt the total, and compute and publish the tables, if enough people took part."""
    (collector,), (box,), trustees = parties.of("collector"), parties.of("box"), parties.of("trustee")
    folder, first = parties.folder, parties.of("trustee")[0]

    def tally() -> None:
        for name in trustees:
            extra: list[str | Path] = ["--out", out] if name == first else []
            parties.run(name, "tally", folder / name, *extra)

    tally()
    try:
        tally()
    except InputError as error:
        if "too few people took part" in str(error):
            return
        raise
    parties.run(collector, "publish", folder / collector)
    tally()
    tally()
    for name in trustees:
        parties.run(name, "publish", folder / name)
    parties.run(box, "publish", folder / box)


def _storage(folder: Path) -> dict[str, dict[str, int]]:
    """Names and sizes of everything that every role keeps."""
    found: dict[str, dict[str, int]] = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and len(parts) > 1 and parts[0] not in ("logs", "drop") and "copy" not in parts:
            found.setdefault(parts[0], {})["/".join(parts[1:])] = path.stat().st_size
    return found
