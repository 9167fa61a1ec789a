"""A table in PostgreSQL is counted as the same table in a file; no output repeats a password."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

import safemargin
from commands import without_salt
from safemargin.core import InputError
from safemargin.io import Address, open_counted
from safemargin.release.project import Project

ROWS = [(f"d{i % 3}", "old" if i % 2 else "young", "AB"[(i * 7919 + 3) % 11 < 5]) for i in range(600)]
SECTIONS = '[axes.district]\n[axes."the age"]\n[target]\nkappa = 20\ntau = 0\n'
PASSWORD = "s3cr/et@word"


@pytest.fixture(name="address")
def fixture_address(postgres: str) -> str:
    """A database of its own: other tests leave their tables on the server, and messages list the first twenty."""
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute("drop database if exists votes with (force)")
        server.execute("create database votes")
    address = postgres.replace("/postgres?", "/votes?")
    with psycopg.connect(address, autocommit=True) as database:
        database.execute("create schema office")
        database.execute('create table office."Votes %" (district text, "the age" text, vote text, weight int)')
        with database.cursor() as cursor:
            cursor.executemany('insert into office."Votes %%" values (%s, %s, %s, 1)', ROWS)
        database.execute("drop role if exists clerk")
        database.execute(f"create role clerk login superuser password '{PASSWORD}'")
    return address


def published(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "published").iterdir()}


@pytest.mark.slow
def test_a_table_is_released_as_from_a_file(address: str, tmp_path: Path) -> None:
    lines = ["district,the age,vote", *(",".join(row) for row in ROWS)]
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n")
    host = address.partition("host=")[2]
    with_password = f"postgresql://clerk:{PASSWORD.replace('/', '%2F').replace('@', '%40')}@/votes?host={host}"
    stated = f'source = "{with_password}"\ntable = "office.Votes %"'
    outputs = []
    for name, place in {"file": 'file = "votes.csv"', "server": stated}.items():
        project = tmp_path / f"{name}.toml"
        project.write_text(f'[data]\n{place}\nanswer = "vote"\n{SECTIONS}')
        command = [sys.executable, "-m", "safemargin", "release", str(project), "--out", str(tmp_path / name), "--json"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        outputs.append(run.stdout + run.stderr)
    assert without_salt(tmp_path / "file" / "published") == without_salt(tmp_path / "server" / "published")
    written = [path.read_bytes() for path in (tmp_path / "server").rglob("*") if path.is_file()]
    secrets = (PASSWORD, "s3cr", "clerk")
    assert not any(secret.encode() in content for secret in secrets for content in [*written, outputs[1].encode()])


def test_a_table_is_read_as_it_was_at_the_first_read(address: str) -> None:
    source = open_counted(Address(address), "office.Votes %")
    assert int(source.profiles(("district",)).counts.sum()) == 600
    with psycopg.connect(address, autocommit=True) as database:
        database.execute("delete from office.\"Votes %\" where district = 'd0'")
    assert int(source.profiles(("vote",)).counts.sum()) == 600


@pytest.mark.parametrize(
    ("table", "message"),
    [("votes", "there is no table 'votes'; the tables are .*office"), ("office.votes; drop", "there is no table")],
)
def test_an_unknown_table_is_one_line(address: str, table: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        open_counted(Address(address), table)
    assert "\n" not in str(caught.value)


def test_an_empty_table_and_an_unknown_column_are_one_line(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as database:
        database.execute("create table office.empty (district text)")
    source = open_counted(Address(address), "office.empty")
    with pytest.raises(InputError, match="table 'office.empty' is empty"):
        source.profiles(("district",))
    with pytest.raises(InputError, match="there is no column 'age'"):
        source.profiles(("age",))


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://clerk:{PASSWORD}@127.0.0.1:1/votes",
        "postgresql://clerk:hunter2@127.0.0.1:1/votes",
        "postgresql://clerk:hunter2@127.0.0.1:port/votes",
        "postgresql://127.0.0.1:1/votes?password=hunter2",
        "postgresql://127.0.0.1:1/votes?password=hunter2&colour=red",
        "postgresql:clerk:hunter2@host",
        "mysql://clerk:hunter2@host/votes",
    ],
)
def test_no_message_repeats_a_password(text: str) -> None:
    project = f'[data]\nsource = "{text}"\nanswer = "vote"\n{SECTIONS}'
    for call in (
        lambda: safemargin.release(Project.parse(project)),
        lambda: safemargin.release(text, answer="vote", by=["district"]),
        lambda: safemargin.release(Path(text), answer="vote", by=["district"]),
        lambda: Project.parse(project.replace("source", "file")),
        lambda: Project.parse(project.replace("source =", "source = 1\nsources =")),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert not any(secret in str(caught.value) for secret in ("hunter2", "s3cr", "word@", "clerk"))
        assert "\n" not in str(caught.value)


def test_the_environment_is_not_needed_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert os.environ.get("PGPASSWORD") is None
    with pytest.raises(InputError, match=r"safemargin\[postgres\]"):
        open_counted(Address("postgresql://127.0.0.1/votes"))
