"""Two hospitals and a survey platform: the commands as organisations call them, from keys to a release."""

import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import evidence
from safemargin.aggregate.processes import COMMAND
from safemargin.core import python_command, safe_environment
from safemargin.parties.service import free_ports

DATA = Path(__file__).parent.parent.parent / "examples/data/sum_without_a_server"
EXAMPLES = [("falls.csv", "hospital", "hospitals.toml"), ("survey.csv", "age", "survey.toml")]
ROLES = ("aggregator 1", "aggregator 2")


def called(folder: Path, *arguments: object, group: bool = True) -> Any:
    """The document of a command that ends with 0."""
    command = COMMAND if group else python_command("-m", "safemargin")
    ran = subprocess.run(
        [*command, *map(str, arguments)],
        cwd=folder,
        env=safe_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout) if "--json" in arguments else ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("answers", "axis", "project"), evidence.sample(EXAMPLES, 1))
def test_from_keys_to_a_release(tmp_path: Path, answers: str, axis: str, project: str) -> None:
    """Every organisation a process with TLS; the tally that `collect` writes is the plain count, and is released."""
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    rows = ["role,address,key,certificate"]
    ports = free_ports(2)
    for place, role in enumerate(ROLES):
        made = called(tmp_path, "key", f"{place}.key", "--host", "127.0.0.1", "--json")
        rows.append(f"{role},https://127.0.0.1:{ports[place]},{made['public']},{place}.crt")
    (tmp_path / "parties.csv").write_text("\n".join(rows) + "\n")
    server = called(tmp_path, "key", "server.key", "--json")["public"]
    called(tmp_path, "key", "clients.keys", "--clients", answers)
    with (tmp_path / answers).open(newline="") as file:
        given = list(csv.DictReader(file))
    questions = [name for name in given[0] if name != "client"]
    lists = ("--parties", "parties.csv", "--clients", "clients.public.csv")
    options = ("--questions", ",".join(questions), "--least", 20, "--backend", "prio3-one", *lists)
    called(tmp_path, "plan", "--name", axis, *options, "--server", server)
    serving = [
        subprocess.Popen(
            [*COMMAND, "serve", "session.json", "--role", role, "--key", f"{place}.key"]
            + ["--database", f"{place}.sqlite", "--port", str(ports[place])]
            + ["--certificate", f"{place}.crt", "--certificate-key", f"{place}.tls"],
            cwd=tmp_path,
            env=safe_environment(),
        )
        for place, role in enumerate(ROLES)
    ]
    try:
        sent = called(tmp_path, "submit", "session.json", "--keys", "clients.keys", "--data", answers, "--json")
        assert (sent["clients"], sent["held"], sent["missing"]) == (len(given), len(given), [])
        out = ("--out", "totals.json", "--tally", f"{axis}.csv", "--axis", axis)
        called(tmp_path, "collect", "session.json", "--key", "server.key", *out)
    finally:
        for each in serving:
            each.kill()
            each.wait()
    plain = {name: sum(int(row[name]) for row in given) for name in questions}
    totals = json.loads((tmp_path / "totals.json").read_text())
    assert totals["totals"] == plain and set(totals["statements"]) == set(ROLES)
    assert len(totals["clients"]) == len(given) and sum(plain.values()) == len(given)
    called(tmp_path, "release", project, "--out", "published folder", group=False)
    assert (tmp_path / "published folder/published").is_dir()
