"""Commands that the pages run: each is the command line of safemargin in a process of its own.

So a page cannot do anything that a command cannot, writes the same bytes, and can be cancelled like a command.
"""

import json
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from safemargin.core import InputError, python_command, safe_environment
from safemargin.ui import PROGRESS, Part
from safemargin.web import command

PATIENCE = 10.0
"""Seconds that a cancelled command has to tidy up."""
AGAIN = 2.0
"""Seconds after which it is interrupted again: Python drops an interrupt that arrives in a callback."""
KEPT = 50
"""Jobs that are remembered."""
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

    @property
    def command(self) -> str:
        """What to type to do the same."""
        return shlex.join(["safemargin", *self.arguments])

    @property
    def out(self) -> str:
        """What the command writes, under a name that nothing had before."""
        return dict(zip(self.arguments, self.arguments[1:], strict=False)).get("--out", "")

    def status(self) -> dict[str, object]:
        """What the page asks for while the command runs."""
        names = ("number", "title", "state", "step", "done", "total", "message", "seconds")
        return {name: getattr(self, name) for name in names} | {"link": f"{self.link}job={self.number}"}


class Jobs:
    """All jobs of a workbench; one runs at a time."""

    def __init__(self) -> None:
        self.jobs: dict[int, Job] = {}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._cancelled = False
        self._count = 0

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
            for number in list(self.jobs)[:-KEPT]:
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
            process.stdin.write(json.dumps([*job.arguments, "--json"]) + "\n")
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
