"""The command, and what a release says about its result."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import safemargin
from commands import Run, in_process
from safemargin.ui import Result
from safemargin.voting.privacy import curve_chart
from safemargin.voting.result import result_privacy

UNIFORM = ("--rule", "borda", "--candidates", "3", "--voters", "50", "--belief", "uniform")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def test_json(run: Run) -> None:
    found = run("outcome", *UNIFORM, "--epsilon", "0", "--json").document
    assert found["delta"] == pytest.approx(0.12246269191113174, abs=1e-9)
    assert (found["epsilon"], found["exact"], found["engine"]) == (0.0, True, "convolution")
    assert found["worst_pair"] == ["a>b>c", "b>c>a"]
    low, high = found["interval"]  # type: ignore[misc]
    assert low <= found["delta"] <= high


def test_the_function_gives_what_the_command_prints(run: Run) -> None:
    privacy = safemargin.outcome("borda", 3, 50, classify=True, simulator=True)
    printed = run("outcome", *UNIFORM, "--class", "--simulator", "--json").document
    assert isinstance(privacy, Result) and json.loads(json.dumps(privacy.to_json())) == printed
    assert privacy.to_text(120) == run("outcome", *UNIFORM, "--class", "--simulator").out
    assert "How private is the outcome?" in privacy.to_html()
    assert printed["simulator_delta"] < printed["delta"]  # type: ignore[operator]
    assert printed["class"]["slope"] == pytest.approx(1.396263, abs=1e-6)  # type: ignore[index]
    assert list(privacy.likely) == ["a>b>c", "a>c>b", "b>a>c", "b>c>a", "c>a>b", "c>b>a"]
    assert sum(privacy.likely["a>b>c"].values()) == pytest.approx(1)


def test_the_simulator_is_for_one_belief_and_the_winner(run: Run) -> None:
    assert "simulator: needs the winner" in run("outcome", *UNIFORM, "--publish", "tops", "--simulator").err


def test_the_command_loads_few_modules() -> None:
    script = (
        "import sys; sys.argv[1:] = 'outcome --rule borda --candidates 3 --voters 50'.split()\n"
        "from safemargin.cli import main; main()"
    )
    count = "print(sum(name == 'safemargin' or name.startswith('safemargin.') for name in sys.modules))"
    code = f"import atexit, sys; atexit.register(lambda: {count})\n{script}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "(0, 0.122)-private" in ran.stdout and int(ran.stdout.split()[-1]) < 68


def test_classes_follow_the_publication(run: Run) -> None:
    for publish, kind in (
        ("winner", "unstable"),
        ("histogram", "unstable"),
        ("tops", "unstable"),
        ("scores", "uncovered"),
    ):
        found = run("outcome", *UNIFORM[:-2], "--publish", publish, "--class", "--json").document
        assert found["class"]["kind"] == kind  # type: ignore[index]


def test_intervals_of_sums_and_counts_overlap() -> None:
    """First places and the sums of plurality are the same publication, computed in two ways."""
    tops, scores = (safemargin.outcome("plurality", 3, 50, publish=what).interval for what in ("tops", "scores"))
    assert tops[0] < tops[1] and scores[0] < scores[1] and max(tops[0], scores[0]) <= min(tops[1], scores[1])


def test_histogram_and_partial_tallies(run: Run) -> None:
    deltas = [run("outcome", *UNIFORM, "--publish", what, "--json").document["delta"] for what in ("histogram", "tops")]
    assert deltas == [pytest.approx(0.194459, abs=1e-6), pytest.approx(0.138026, abs=1e-6)]


def test_belief_from_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "belief.csv"
    rows = zip("a>b>c a>c>b b>a>c b>c>a c>a>b c>b>a".split(), (0.3, 0.2, 0.15, 0.15, 0.1, 0.1), strict=True)
    path.write_text("ranking,probability\n" + "".join(f"{ranking},{share}\n" for ranking, share in rows))
    found = run("outcome", "--rule", "plurality", "--voters", 50, "--belief", path, "--curve", "--json").document
    assert found["delta"] == pytest.approx(0.03216546152476787, abs=1e-9)
    assert found["pure_epsilon"] == pytest.approx(1.0581, abs=1e-4)
    both = run("outcome", "--rule", "plurality", "--voters", 50, "--belief", path, "--belief", "uniform", "--json")
    assert both.document["delta"] == pytest.approx(0.108785, abs=1e-6)
    path.write_text("ranking,probability\nann>bob,0.3\nbob>ann,0.7\n")
    for size in ((), ("--candidates", 2), ("--candidates", "ann,bob")):
        found = run("outcome", "--voters", 4, "--belief", path, *size, "--json").document
        assert found["candidates"] == ["ann", "bob"] and found["delta"] == pytest.approx(0.441)
    assert "unknown candidate 'ann'" in run("outcome", "--voters", 4, "--belief", path, "--candidates", 3).err


def test_words_and_page(run: Run, tmp_path: Path) -> None:
    said = run("outcome", *UNIFORM, "--class", "--rational", "--out", tmp_path / "page.html")
    assert said.code == 0 and "Somebody who votes a>b>c rather than b>c>a is most exposed" in " ".join(said.out.split())
    assert "As a fraction" in said.out and "1/sqrt(voters)" in said.out
    page = (tmp_path / "page.html").read_text()
    assert "<svg" in page and "Assumptions" in page


def test_smallest_electorate(run: Run) -> None:
    found = run("outcome", "--rule", "majority", "--candidates", 2, "--voters", 9, "--delta", "0.01", "--json").document
    assert found["smallest_electorate"] == 6366
    least = found["least_epsilon"]
    again = run("outcome", "--rule", "majority", "--candidates", 2, "--voters", 9, "--epsilon", least, "--json")
    assert again.document["delta"] == pytest.approx(0.01, rel=1e-5)


def test_intervals_and_polls(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "intervals.csv"
    path.write_text("ranking,low,high\na>b,0.4,0.6\nb>a,0.4,0.6\n")
    found = run("outcome", "--rule", "majority", "--voters", 5, "--belief", path, "--json").document
    assert found["delta"] == pytest.approx(0.375, rel=1e-3) and not found["exact"]
    assert "searched" in found["notes"][0]  # type: ignore[index]
    path.write_text("ranking,count\na>b,50\nb>a,50\n")
    fitted = run("outcome", "--rule", "majority", "--voters", 5, "--belief", path, "--json").document
    assert fitted["delta"] == pytest.approx(0.375) and "half a vote more" in str(fitted["belief"])


def test_ties(run: Run) -> None:
    plain = run("outcome", "--rule", "stv", "--candidates", 3, "--voters", 8, "--json").document
    turned = run("outcome", "--rule", "stv", "--candidates", 3, "--voters", 8, "--ties", "c,b,a", "--json").document
    every = run("outcome", "--rule", "stv", "--candidates", 3, "--voters", 8, "--ties", "all", "--json").document
    assert turned["delta"] == pytest.approx(plain["delta"]) and plain["results"] == ["a"]
    assert every["results"] == ["a", "a=b", "a=c"]
    assert turned["candidates"] == ["c", "b", "a"]


def test_votes_and_known_votes(run: Run, tmp_path: Path) -> None:
    cast = tmp_path / "cast.csv"
    cast.write_text("ranking,count\nann>bob,6\nbob>ann,4\ncem,3\n")
    found = run("outcome", "--rule", "stv", "--votes", cast, "--json").document
    assert (found["winner"], found["voters"], found["candidates"]) == ("ann", 13, ["ann", "bob", "cem"])
    some = tmp_path / "known.csv"
    some.write_text("ranking,count\nann>bob,5\n")
    knowing = run("outcome", "--rule", "stv", "--votes", cast, "--known", some, "--json").document
    assert knowing["delta"] != found["delta"]


def test_leaked_votes(run: Run) -> None:
    asked = ("outcome", "--rule", "plurality", "--candidates", 3, "--voters", 6, "--json")
    deltas = [run(*asked, "--leaked", count).document["delta"] for count in (0, 2, 5)]
    assert deltas[0] == run(*asked).document["delta"] and deltas[0] < deltas[1] < deltas[2] == 1  # type: ignore[operator]
    assert "name the votes in --known" in run(*asked, "--leaked", 400).err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--voters", "5"), "candidates: say how many"),
        (("--candidates", "3"), "voters: say how many"),
        (("--candidates", "3", "--voters", "0"), "there must be at least 1"),
        (("--candidates", "a,a", "--voters", "5"), "names somebody twice"),
        (("--candidates", "3", "--voters", "5", "--epsilon", "-1"), "must be at least 0"),
        (("--candidates", "3", "--voters", "5", "--epsilon", "nan"), "epsilon = nan: must be at least 0"),
        (("--candidates", "3", "--voters", "5", "--epsilon", "1000"), "at most 300"),
        (("--candidates", "3", "--voters", "5", "--publish", "names"), "must be one of winner"),
        (("--candidates", "3", "--voters", "5", "--belief", "none.csv"), "none.csv: there is no such file"),
        (("--candidates", "3", "--voters", "5", "--belief", "result"), "name their file in --votes"),
        (("--candidates", "3", "--voters", "5", "--ties", "a,b"), "must name every candidate once"),
    ],
)
def test_wrong_questions(run: Run, arguments: tuple[str, ...], words: str) -> None:
    said = run("outcome", *arguments)
    assert said.code == 2 and words in said.err and said.err.count("\n") == 1


def test_polls_count_whole_votes(run: Run, tmp_path: Path) -> None:
    poll = tmp_path / "poll.csv"
    for count, wrong in (("5.5", "is not a whole number"), ("-1", "is negative"), ("", "is not a number")):
        poll.write_text(f"ranking,count\na>b,{count}\nb>a,1\n")
        said = run("outcome", "--voters", "5", "--belief", poll)
        assert said.code == 2 and f"line 2: count {count!r} {wrong}" in said.err


def test_another_belief() -> None:
    even = result_privacy(("a", "b"), (10, 20), "uniform")
    assert even is not None and "equally likely" in even.belief
    assert result_privacy(("yes",), (10,)) is None


def test_the_curve_is_drawn_as_far_as_it_matters() -> None:
    near = curve_chart([(0.0, 0.1), (0.5, 0.05), (1.0, 0.0), (2.0, 0.0)])
    assert [value["delta"] for value in near["data"]["values"]] == [0.1, 0.05, 0.0]
    far = curve_chart([(0.0, 0.1), (0.1, 1e-4), (0.2, 1e-9), (0.5, 0.0)])
    assert far["layer"][0]["encoding"]["y"]["scale"]["type"] == "log" and len(far["data"]["values"]) == 3
