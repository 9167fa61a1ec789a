"""Another user of the same machine, with real processes: nothing of a running workbench is for them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

import pytest

from test_golden import FILES

NOBODY = 65534
SYSTEM_PYTHON = "/usr/bin/python3"
"""One that every user may run; the environment of the tests may be private."""
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not Path(SYSTEM_PYTHON).exists(), reason="only root can act as another user"
)
BROWSER = """\
#!/bin/sh
echo "$@" > {folder}/argv
exec 2>/dev/null  # whoever reads what the workbench says need not wait for us
sleep 60
"""
ATTACK = textwrap.dedent(
    """
    import http.client, json, os, re, stat, sys
    folder, victims, port = sys.argv[1], set(map(int, sys.argv[2].split(","))), int(sys.argv[3])
    seen, opened, entered = [], [], []

    def read(path):
        try:
            with open(path, "rb") as file:
                return file.read(1 << 20)
        except OSError:
            return None

    for number in filter(str.isdigit, os.listdir("/proc")):
        line = read(f"/proc/{number}/cmdline") or b""
        if int(number) in victims:
            seen.append(line.decode(errors="replace").replace(chr(0), " "))
            for name in ("environ", "mem", "maps", "auxv"):
                if read(f"/proc/{number}/{name}"):
                    opened.append(f"/proc/{number}/{name}")
            for name in ("cwd", "root", "exe", "fd"):
                try:
                    os.listdir(f"/proc/{number}/{name}")
                    opened.append(f"/proc/{number}/{name}")
                except OSError:
                    pass
            for word in re.findall(r"(?:file://)?(/[^ ]+)", seen[-1]):
                if "safemargin-" in word and read(word) is not None:
                    opened.append(word)
    for place, _, names in os.walk(folder):
        opened += [f"{place}/{name}" for name in names if read(f"{place}/{name}") is not None]
    tokens = set(re.findall("[0-9a-f]{32}", " ".join(seen)))
    for method in ("GET", "HEAD", "POST", "OPTIONS", "PUT"):
        for path in ("/", "/status", "/home", "/open", *(f"/open?token={token}" for token in tokens)):
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            line.request(method, path, headers={"Origin": f"http://127.0.0.1:{port}"} if method == "POST" else {})
            answer = line.getresponse()
            if answer.status < 400 or answer.getheader("set-cookie"):
                entered.append([method, path, answer.status])
            line.close()
    print(json.dumps({"seen": seen, "opened": opened, "entered": entered}))
    """
)


def children(number: int) -> set[int]:
    """A process and all that it started."""
    found = {number}
    for task in Path(f"/proc/{number}/task").glob("*/children"):
        for child in task.read_text().split():
            found |= children(int(child))
    return found


def attack(folder: Path, victim: int, port: int) -> dict[str, list[str]]:
    """What somebody else gets who looks at everything that the machine shows them."""
    numbers = ",".join(map(str, children(victim)))
    ran = subprocess.run(
        [SYSTEM_PYTHON, "-I", "-c", ATTACK, str(folder), numbers, str(port)],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, list[str]] = json.loads(ran.stdout)
    return found


@pytest.fixture(name="place")
def fixture_place() -> Iterator[Path]:
    """A folder that everybody can enter, and in which everybody can write, as `/tmp` is."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    for name in ("temporary", "work"):
        (folder / name).mkdir()
    (folder / "temporary").chmod(0o1777)
    for name in ("votes.csv", "project.toml"):
        (folder / "work" / name).write_text(FILES[name], encoding="utf-8")
        (folder / "work" / name).chmod(0o600)
    browser = folder / "browser"
    browser.write_text(BROWSER.format(folder=folder))
    browser.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


class Window:
    """The browser of the person who started the workbench."""

    def __init__(self, address: str) -> None:
        self.home = re.match(r"http://[^/]+", address)[0]  # type: ignore[index]
        with pytest.raises(HTTPError) as answer:
            build_opener(_Stay).open(address)
        assert answer.value.code == 303
        self.start = answer.value.headers["location"]
        self.cookie = SimpleCookie(answer.value.headers["set-cookie"])["safemargin"].value
        answer.value.close()

    def ask(self, path: str, form: dict[str, str] | None = None) -> str:
        headers = {"Cookie": f"safemargin={self.cookie}", "Origin": self.home}
        body = None if form is None else urlencode(form).encode()
        with build_opener().open(Request(f"{self.home}{self.start}{path}", body, headers)) as answer:
            return str(answer.read().decode())


def wait_for(path: Path) -> None:
    end = time.monotonic() + 120
    while not path.exists() or not path.read_bytes():
        assert time.monotonic() < end, path
        time.sleep(0.02)


@pytest.mark.slow
def test_another_user_gets_nothing(place: Path) -> None:
    environment = {
        **os.environ,
        "TMPDIR": str(place / "temporary"),
        "BROWSER": f"{place / 'browser'} %s",
        "DISPLAY": ":0",
    }
    command = [sys.executable, "-P", "-m", "safemargin", "open", "project.toml"]
    # What everybody may read when a workbench runs is decided by us, not by a careful umask.
    with subprocess.Popen(
        command, cwd=place / "work", env=environment, stderr=subprocess.PIPE, text=True, umask=0o022
    ) as server:
        try:
            assert server.stderr is not None
            printed = re.search(r"http://127\.0\.0\.1:(\d+)/open\?token=([0-9a-f]{32})", server.stderr.readline())
            assert printed is not None
            port, token = int(printed[1]), printed[2]
            wait_for(place / "argv")
            (page,) = (place / "temporary").glob("safemargin-*/open.html")
            argv = (place / "argv").read_text()
            assert page.as_uri() in argv and token not in argv
            found = attack(place / "temporary", server.pid, port)
            assert any("browser" in line for line in found["seen"]), "the browser was looked at"
            assert not any(token in line for line in found["seen"])
            assert found["opened"] == [] and found["entered"] == []

            window = Window(re.search('url=([^"]+)', page.read_text())[1])  # type: ignore[index]
            assert "project.toml" in window.ask("")
            window.ask("plan", {"do": "decide"})
            looks = []
            while json.loads(window.ask("status"))["job"]["state"] == "running":
                looks.append(attack(place / "temporary", server.pid, port))
                drafts = [path for path in (place / "work").glob(".*-draft-*")]
                assert all(path.stat().st_mode & 0o077 == 0 for path in drafts if path.exists())
            assert json.loads(window.ask("status"))["job"]["state"] == "done"
            assert looks and all(look["opened"] == [] and look["entered"] == [] for look in looks)
            commands = [line for look in looks for line in look["seen"]]
            assert any("safemargin.web.command" in line for line in commands), "the job was looked at"
            assert not any("--out" in line or window.cookie in line for line in commands)
            assert attack(place / "temporary", server.pid, port)["opened"] == []
            # What the job wrote for the office alone is for the office alone.
            readable = attack(place / "work", server.pid, port)["opened"]
            hidden = ("/confidential/", "/auditors/", "/.safemargin-")
            assert not [name for name in readable if any(each in name for each in hidden)]
            assert list((place / "work/.safemargin-project").glob("job-*.json")), "what ran is remembered"
            assert not page.exists(), "the page is gone once it was used"
        finally:
            server.terminate()
            server.stderr.read() if server.stderr else None
    assert list((place / "temporary").glob("safemargin-*")) == []


@pytest.mark.slow
def test_a_killed_workbench_leaves_nothing_to_the_next(place: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(place / "temporary")}
    command = [sys.executable, "-P", "-m", "safemargin", "open", "project.toml", "--no-browser"]
    for _ in range(2):
        with subprocess.Popen(
            command, cwd=place / "work", env=environment, stderr=subprocess.PIPE, text=True
        ) as server:
            assert server.stderr is not None and "http" in server.stderr.readline()
            server.kill()
        assert len(list((place / "temporary").glob("safemargin-*"))) == 1
