"""Time to the first answer in a real browser: the first screen with its estimate, then the certified plan."""

import argparse
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from safemargin.release.demo import write_city

LONGEST = 1_800_000
"""Milliseconds that a plan may take."""


def measure(people: int) -> str:
    """One line about a city of so many people."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        project = write_city(Path(folder, "city"), people=people)
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(LONGEST)
        started = time.perf_counter()
        command = [sys.executable, "-m", "safemargin", "open", str(project), "--no-browser"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            found = re.search(r"http://\S+", server.stderr.readline())
            assert found is not None
            page.goto(found[0])
            page.get_by_text("Estimate, not certified.").wait_for()
            first = time.perf_counter() - started
            home, again = page.url, time.perf_counter()
            page.goto(home)
            repeated = time.perf_counter() - again
            page.goto(f"{home}plan")
            planned = time.perf_counter()
            page.get_by_role("button", name="Make a plan").click()
            page.get_by_text("Estimate, not certified.").wait_for()
            estimate = time.perf_counter() - planned
            page.locator("p.verdict").wait_for()
            certified = time.perf_counter() - planned
            browser.close()
            server.send_signal(signal.SIGINT)
    return (
        f"{people:,} people: first screen with estimate {first:.1f} s after the command, again {repeated:.2f} s; "
        f"estimate of a plan {estimate:.1f} s, certified plan {certified:.1f} s after the click"
    )


def main() -> None:
    """Print one line per size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, nargs="*", default=[500_000, 1_000_000])
    for people in parser.parse_args().people:
        print(measure(people), flush=True)


if __name__ == "__main__":
    main()
