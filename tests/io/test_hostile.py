"""Names that would control a terminal, packed files without an end, and hierarchies of tidy tables."""

import gzip
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from safemargin import InputError, audit
from safemargin.core import SafemarginError, claimed, limit_memory, one_line, owner, printable
from safemargin.io import WRITERS, file_name, parse_json, parse_toml, read_tables, read_text, stale_drafts, write_folder
from safemargin.io.files import MOST_COLUMNS
from safemargin.io.folder import LOCK
from safemargin.io.rows import natural_order
from safemargin.ui import PlainConsole

CLEAR = "\x1b]0;title\x07\x1b[2J\u202e\x9b1m"


@given(st.text())
def test_no_text_controls_a_terminal(text: str) -> None:
    """Of what is printed, no character is a control, half a sign, or a mark that turns the line around."""
    shown = one_line(text)
    assert "\n" not in shown and all(letter not in shown for letter in "\x1b\x9b\x07\r\u202e\u2066")
    shown.encode()
    stream = io.StringIO()
    PlainConsole(file=stream, width=200, force_terminal=False).print(CLEAR + printable(text), markup=False)
    assert "\x1b" not in stream.getvalue() and "\x9b" not in stream.getvalue()


def test_colours_of_our_own_stay() -> None:
    stream = io.StringIO()
    console = PlainConsole(file=stream, force_terminal=True, color_system="standard", highlight=False)
    console.print(f"a{CLEAR}", style="red", markup=False)
    assert stream.getvalue() == "\x1b[31ma\\x1b]0;title\\x1b[2J\\u202e\\x9b1m\x1b[0m\n"


@pytest.mark.slow
@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda raw: raw.decode("latin-1")))
def test_parsers_give_a_value_or_one_line(text: str) -> None:
    for parse in (parse_json, parse_toml):
        try:
            parse(text, "file")
        except InputError as error:
            assert str(error).startswith("file: is not")


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "NaN", '"\\ud800"', "[" * 10**5, "9" * 5000, ""])
def test_json_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match="is not JSON"):
        parse_json(text, "file")


def test_json_with_whole_surrogate_pairs_is_read() -> None:
    assert parse_json(json.dumps("\U0001f600"), "file") == "\U0001f600"


def test_integers_of_toml_have_64_bits() -> None:
    assert parse_toml(f"a = {2**63 - 1}", "f") == {"a": 2**63 - 1}
    with pytest.raises(InputError, match=r"f: is not valid TOML: b\.0\.c has an integer beyond 64 bits"):
        parse_toml(f"b = [{{ c = {2**63} }}]", "f")


def test_a_packed_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(200):
            file.write(bytes(2**20))
    with pytest.raises(SafemarginError, match="unpacks to more than 500 times its size"):
        audit([path])


def test_columns_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    names = [f"c{number}" for number in range(MOST_COLUMNS + 1)]
    path.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    with pytest.raises(SafemarginError, match="has 5,001 columns, more than 5,000"):
        audit([path])


@pytest.mark.parametrize("name", ["/dev/zero", "a\0b", "\ud800", "x" * 5000, "/dev/null"])
def test_what_is_no_file(name: str) -> None:
    with pytest.raises(InputError):
        read_text(name)


def test_labels_with_more_digits_than_a_number_has() -> None:
    assert sorted(["9" * 5000, "10", "9"], key=natural_order) == ["9", "10", "9" * 5000]


def test_a_hierarchy_is_used_in_tidy_tables(tmp_path: Path) -> None:
    (tmp_path / "h.hrc").write_text("a\n@a1\n@a2\nb\n")
    (tmp_path / "t.csv").write_text("region,count\na,9\nb,8\n")
    (table,) = read_tables([tmp_path / "t.csv"], hierarchy=[f"region={tmp_path / 'h.hrc'}"])
    assert table.groups == ((frozenset({"a1", "a2"}), frozenset({"b"})),)
    (tmp_path / "t.csv").write_text("region,count\nc,9\n")
    with pytest.raises(InputError, match="line 2: region = 'c': is not in the hierarchy"):
        read_tables([tmp_path / "t.csv"], hierarchy=[f"region={tmp_path / 'h.hrc'}"])


@pytest.mark.parametrize(
    ("name", "safe"),
    [(".hidden", "_.hidden"), ("nul", "_nul"), ("COM1.x", "_COM1.x"), ("manifest", "_manifest"), ("a/../b", "a_.._b")],
)
def test_file_names_of_axes(name: str, safe: str) -> None:
    assert file_name(name) == safe and file_name("age") == "age" and file_name("") == "table"


@pytest.mark.parametrize("label", ["=1+1", "@SUM(A1)", "+cmd", "-a"])
def test_labels_that_a_spreadsheet_would_run(label: str) -> None:
    with pytest.warns(UserWarning, match="a spreadsheet takes this label for a formula"):
        WRITERS["csv"]([{"a": label, "count": 1}])
    assert WRITERS["csv"]([{"a": "-1", "count": 1}, {"a": "b=c", "count": 2}]).startswith(b"a,count")


def test_memory_is_a_size() -> None:
    for text in ("1", "100MiB", "many", "-2GiB", "nan", "1e9GiB"):
        with pytest.raises(InputError, match="give a size of at least 512MiB"):
            limit_memory(text)


def test_drafts_of_processes_that_ended(tmp_path: Path) -> None:
    write_folder(tmp_path / "a", {"x": b""})
    machine = owner().partition("-")[0]
    alive, own = (tmp_path / f".a-draft-{machine}-{process}-x" for process in (os.getppid(), os.getpid()))
    dead, elsewhere = tmp_path / f".a-draft-{machine}-999999999-x", tmp_path / ".a-draft-00000000-999999999-x"
    for path in (alive, own, dead, elsewhere):
        path.mkdir()
    assert set(stale_drafts(tmp_path)) == {dead, own}, "nothing of ours is at work"
    with claimed(own, own / LOCK), claimed(alive, alive / LOCK):
        for path in (own, alive):
            os.utime(path, (0, 0))
        assert stale_drafts(tmp_path) == [dead]
    assert set(stale_drafts(tmp_path)) == {dead, own, alive}, "the number is that of another process by now"
    write_folder(tmp_path / "b", {"x": b""})
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b", elsewhere.name}
