"""Commands that the pages run: each is the command line of safemargin in a process of its own.

So a page cannot do anything that a command cannot, writes the same bytes, and can be cancelled like a command.
"""

import json
import re
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from safemargin.core import InputError, OutputError, python_command, safe_environment, write_whole
from safemargin.io import natural_order, read_json
from safemargin.ui import PROGRESS, Part
from safemargin.web import command

PATIENCE = 10.0
"""Seconds that a cancelled command has to tidy up."""
AGAIN = 2.0
"""Seconds after which it is interrupted again: Python drops an interrupt that arrives in a callback."""
KEPT = 50
"""Jobs that are remembered."""
MOST_STEPS = 12
LARGEST = 32 << 20
"""Bytes of a result that is kept beside its project."""
ENDED = ("done", "failed", "cancelled")
LINK = re.compile(r"[a-z]+\?[^\s\\:]*")
"""A page of the workbench."""
TOO_LATE = "It ended before it could be cancelled."
PREFIX = "safemargin: "


@dataclass
class Job:
    """One command: how far it is, and what came out."""

    number: int
    arguments: tuple[str, ...]
    folder: Path
    title: str
    link: str
    """The screen that shows the result."""
    back: str = ""
    """The screen to go back to if there is none."""
    estimate: tuple[Part, ...] = ()
    """What can be said at once; it is not certified."""
    after: "Callable[[Job], None] | None" = None
    """Called when the command has done its work."""
    state: str = "running"
    """`running`, `done`, `failed` or `cancelled`."""
    step: str = "starting"
    done: int = 0
    total: int | None = None
    message: str = ""
    warnings: list[str] = field(default_factory=list)
    document: dict[str, Any] | None = None
    seconds: float = 0.0
    """How long it took, or has taken when it last said something."""
    store: Path | None = None
    """The private folder of the project that it belongs to; none where no project is open."""
    moment: float = field(default_factory=time.time)
    page: Path | None = None
    """Where the command also writes its page, for this workbench alone."""
    steps: list[tuple[str, float]] = field(default_factory=list)
    """What it did so far, each with the seconds after which that began."""
    seen: bool = False
    """Whether somebody looked at how it ended."""
    _started: float = field(default_factory=time.monotonic)

    @property
    def command(self) -> str:
        """What to type to do the same."""
        return shlex.join(["safemargin", *self.arguments])

    @property
    def out(self) -> str:
        """What the command writes, under a name that nothing had before."""
        return dict(zip(self.arguments, self.arguments[1:], strict=False)).get("--out", "")

    @property
    def elapsed(self) -> float:
        """Seconds since it began, or that it took."""
        return time.monotonic() - self._started if self.state == "running" else self.seconds

    @property
    def when(self) -> str:
        """The time at which it began."""
        return datetime.fromtimestamp(self.moment).strftime("%Y-%m-%d %H:%M")

    @property
    def result(self) -> str:
        """The screen with the result."""
        return f"{self.link}job={self.number}"

    def status(self) -> dict[str, object]:
        """What the page asks for while the command runs."""
        names = ("number", "title", "state", "step", "done", "total", "message", "seen")
        steps = [[words, round(begun)] for words, begun in self.steps]
        return {name: getattr(self, name) for name in names} | {
            "link": self.result,
            "seconds": self.elapsed,
            "steps": steps,
        }


def _kept(job: Job, state: str) -> bytes:
    """A job as it is kept beside its project."""
    values = {name: getattr(job, name) for name in ("title", "link", "back", "message", "seconds", "moment")}
    values |= {"state": state, "arguments": list(job.arguments), "warnings": job.warnings, "document": job.document}
    content = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")
    return content if len(content) <= LARGEST else json.dumps({**values, "document": None}).encode()


def _read(path: Path, number: int) -> Job | None:
    """A job that was kept; nothing if the file says something else, since anybody may have sent the folder."""
    try:
        said = read_json(path)
        job = Job(number, tuple(map(str, said["arguments"])), path.parents[1], str(said["title"]), str(said["link"]))
        job.back, job.state, job.message = str(said["back"]), str(said["state"]), str(said["message"])
        job.seconds, job.moment, job.document = float(said["seconds"]), float(said["moment"]), said["document"]
        job.warnings, job.store, job.seen = list(map(str, said["warnings"])), path.parent, True
        assert job.when
    except (InputError, OSError, LookupError, TypeError, ValueError, OverflowError):
        return None
    is_ours = LINK.fullmatch(job.link) and LINK.fullmatch(f"{job.back}?") and job.state in ENDED
    return job if is_ours and (job.document is None or isinstance(job.document, dict)) else None


class Jobs:
    """All jobs of a workbench; one runs at a time. Those of a project are kept in its private folder."""

    def __init__(self) -> None:
        self.jobs: dict[int, Job] = {}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._cancelled = False
        self._count = 0
        self._read: set[Path] = set()

    def read(self, store: Path | None) -> None:
        """Remember what ran in a project before; once, however often it is opened."""
        with self._lock:
            if store is None or store in self._read:
                return
            self._read.add(store)
            for path in sorted(store.glob("job-*.json"), key=lambda path: natural_order(path.name))[-KEPT:]:
                if (job := _read(path, self._count + 1)) is not None:
                    self._count += 1
                    self.jobs[job.number] = job

    def of(self, store: Path | None) -> list[Job]:
        """The jobs of a project, the latest first."""
        return sorted((job for job in self.jobs.values() if job.store == store), key=lambda job: -job.number)

    @property
    def news(self) -> list[Job]:
        """Jobs that ended while nobody looked."""
        return [job for job in self.jobs.values() if job.state in ENDED and not job.seen]

    def _keep(self, job: Job, state: str) -> None:
        """Write a job that ended beside its project; where that fails, it is remembered until the workbench ends."""
        if job.store is None or state == "cancelled":
            return
        with suppress(OSError, OutputError):
            job.store.mkdir(0o700, exist_ok=True)
            names = {path.name for path in job.store.glob("job-*.json")}
            number = next(n for n in range(1, len(names) + 2) if f"job-{n}.json" not in names)
            number = max([number, *(int(n[4:-5]) + 1 for n in names if n[4:-5].isdecimal())])
            write_whole(job.store / f"job-{number}.json", _kept(job, state), 0o600)
            for old in sorted(names, key=natural_order)[: max(0, len(names) + 1 - KEPT)]:
                (job.store / old).unlink(missing_ok=True)

    @property
    def running(self) -> Job | None:
        """The job at work."""
        return next((job for job in self.jobs.values() if job.state == "running"), None)

    def find(self, number: str) -> Job | None:
        """A job by its number, as a page names it."""
        return self.jobs.get(int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else None

    def start(self, arguments: Sequence[str], folder: Path, title: str, link: str, **more: Any) -> Job:
        """Start a command in a folder; refused while another one runs."""
        with self._lock:
            if (busy := self.running) is not None:
                raise InputError(f"{busy.title} is still running: wait for it or cancel it")
            self._count += 1
            more.setdefault("back", link.partition("?")[0])
            job = Job(self._count, tuple(arguments), folder, title, f"{link}{'&' if '?' in link else '?'}", **more)
            self.jobs[job.number] = job
            for number in list(self.jobs)[: -4 * KEPT]:
                del self.jobs[number]
            self._cancelled = False
            printed = tempfile.TemporaryFile("w+", encoding="utf-8")  # a pipe that nobody reads would fill up
            self._process = self._launch(job, printed)
        threading.Thread(target=self._follow, args=(job, self._process, printed), daemon=True).start()
        return job

    def _launch(self, job: Job, printed: IO[str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            python_command("-m", command.__name__),
            cwd=job.folder,
            env={**safe_environment(), PROGRESS: "json", "PYTHONUTF8": "1"},
            stdin=subprocess.PIPE,
            stdout=printed,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # Ctrl-C in the terminal is for the workbench, which cancels the command itself
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin:  # a process that has ended says so by its exit code
            more = [] if job.page is None or "--out" in job.arguments else ["--out", str(job.page)]
            process.stdin.write(json.dumps([*job.arguments, *more, "--json"]) + "\n")
        return process

    def _follow(self, job: Job, process: subprocess.Popen[str], printed: IO[str]) -> None:
        started = time.monotonic()
        said: list[str] = []
        assert process.stderr is not None
        for line in process.stderr:
            job.seconds = time.monotonic() - started
            if line.startswith("{"):
                with suppress(ValueError, TypeError, KeyError):
                    document = json.loads(line)
                    job.step, job.done, job.total = document["step"], document["done"], document["total"]
                    if not job.steps or job.steps[-1][0] != job.step:
                        job.steps.append((job.step, job.seconds))
                        del job.steps[:-MOST_STEPS]
                continue
            text = line.strip().removeprefix(PREFIX)
            (job.warnings if text.startswith("warning: ") else said).append(text.removeprefix("warning: "))
        code = process.wait()
        process.stderr.close()
        job.seconds = time.monotonic() - started
        with printed:
            printed.seek(0)
            self._finish(job, code, said[-1] if said else "", printed.read())

    def _finish(self, job: Job, code: int, message: str, printed: str) -> None:
        with suppress(ValueError):
            job.document = json.loads(printed)
        if code in (0, 1, 3) and job.document is not None:  # 1: the target is not met; 3: the reading is doubtful
            state, job.message = "done", TOO_LATE if self._cancelled else ""
        elif self._cancelled:  # whatever the exit code: a library may turn an interrupt into an error of its own
            left = job.out if job.out and (job.folder / job.out).exists() else "Nothing"
            state, job.message = "cancelled", f"Cancelled. {left} was written."
        else:
            state, job.message = "failed", message or f"the command ended with exit code {code}"
        if state == "done" and job.after is not None:
            try:
                job.after(job)
            except InputError as error:
                state, job.message = "failed", str(error)
        job.document = None if job.arguments[0] == "release" else job.document  # it is in the folder of the run
        self._keep(job, state)
        job.state = state

    def cancel(self) -> None:
        """Interrupt the job at work, as Ctrl-C does, and wait until it has tidied up."""
        process, job = self._process, self.running
        if process is None or job is None:
            return
        self._cancelled = True
        end = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < end:
            process.terminate()  # handled as an interrupt: drafts are removed
            with suppress(subprocess.TimeoutExpired):
                process.wait(AGAIN)
        process.kill()  # does nothing to one that has ended
        end = time.monotonic() + PATIENCE
        while job.state == "running" and time.monotonic() < end:
            time.sleep(0.02)
