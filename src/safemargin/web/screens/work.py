"""A command at work: an estimate at once, how far the command is, and cancel."""

import re
from typing import Any

from safemargin.core import InputError
from safemargin.web.bench import Bench, Given, Screen


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The job, running or ended."""
    job = bench.jobs.find(given.get("id", ""))
    if job is None:
        raise InputError("this command is not known any more: look at Home for what was written")
    return {"job": job}


def cancel(bench: Bench, given: Given) -> str:
    """Interrupt the command, if it is still the one at work."""
    job = bench.jobs.running
    if job is not None and str(job.number) == given.get("id"):
        bench.jobs.cancel()
    return f"job?id={given.get('id', '')}"


def seen(bench: Bench, given: Given) -> str:
    """Take the notice of a job that ended away."""
    if (job := bench.jobs.find(given.get("id", ""))) is not None:
        job.seen = True
    here = given.get("here", "home")
    return here if re.fullmatch("[a-z]+", here) and here not in ("job", "home") else "./"


SCREEN = Screen("job", "", show, {"cancel": cancel, "seen": seen})
