"""Comparisons as JSON, in a terminal, and as a page."""

import io
import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from pictures import validate
from safemargin.core import Target
from safemargin.release.compare.comparison import (
    PROPERTY_WORDS,
    Binding,
    Comparison,
    Learnt,
    MeasuredMethod,
    PropertyAnswer,
    tradeoff_chart,
)

EXACT = MeasuredMethod(
    method="nothing <done>",
    family="nothing done",
    does="every count is printed",
    draws=1,
    mean_error=0.0,
    standard_error=0.0,
    worst_error=0.0,
    mean_relative_error=0.0,
    worst_relative_error=0.0,
    exact_cells=1.0,
    exact_people=1.0,
    binding=Binding(True, 0.0, 1.0),
    loss=None,
    learnt=(Learnt("analyst", {"contained": 1, "open": 2, "disclosed": 3}, 1370, ("joint",)),),
)
NOISY = replace(
    EXACT,
    method="global DP, epsilon 0.1",
    family="global DP",
    draws=100,
    mean_error=60.4,
    standard_error=0.3,
    worst_error=387.2,
    mean_relative_error=1.6,
    exact_cells=0.0,
    exact_people=0.0,
    binding=Binding(False, 58.9, 0.93),
    loss=0.1,
    learnt=(Learnt("analyst", {"contained": 0, "open": 6, "disclosed": 0}, 0),),
)
REFUSED = replace(
    EXACT,
    method="safemargin",
    family="safemargin",
    does="nothing is published",
    draws=0,
    mean_error=None,
    standard_error=None,
    worst_error=None,
    mean_relative_error=None,
    worst_relative_error=None,
    exact_cells=0.0,
    exact_people=0.0,
    binding=Binding(False, None, 0.0),
    learnt=(Learnt("analyst", {}, 0),),
    is_published=False,
)
METHODS = (EXACT, NOISY, REFUSED)
COMPARISON = Comparison(
    methods=METHODS,
    properties={
        name: (PropertyAnswer("yes", "all <b>bold</b>"), PropertyAnswer("partly", "some"), PropertyAnswer("no", "none"))
        for name in PROPERTY_WORDS
    },
    target=Target(kappa=10, tau=0),
    threshold=10,
    people=20_000,
    cells=336,
    axes=5,
)


class Reader(HTMLParser):
    """What a page says, and what it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href") and value]
        assert tag != "b"

    def handle_data(self, data: str) -> None:
        self.text += data


def test_document() -> None:
    document = json.loads(json.dumps(COMPARISON.to_json()))
    assert document["schema"] == 1 and len(document["methods"]) == 3
    first, noisy, refused = document["methods"]
    assert (noisy["method"], noisy["mean_error"], noisy["loss"], noisy["draws"]) == (NOISY.method, 60.4, 0.1, 100)
    assert noisy["binding"] == {"exact": False, "mean_error": 58.9, "winner_kept": 0.93}
    assert first["people_exposed"] == 1370 and first["onlookers"][0]["attacks"] == ["joint"]
    assert refused["published"] is False and refused["mean_error"] is None
    assert list(document["properties"]) == list(PROPERTY_WORDS)
    assert document["properties"]["per_cell_cost"]["safemargin"] == {"holds": "no", "fact": "none"}


@pytest.mark.parametrize("width", [80, 130])
def test_terminal(width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    COMPARISON.show(console)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "20,000 people; 336 counts in the tables of 5 axes, and the total. Noise: means over 100 draws." in " ".join(
        said.split()
    )
    assert "1,370" in said and "60.4" in said and "93 %" in said
    assert all(words.split()[0] in said for words in PROPERTY_WORDS.values())
    assert max(map(len, said.splitlines())) <= width


def test_dp_stands_apart_with_its_epsilon_in_words() -> None:
    text = COMPARISON.to_text(80).partition("What is kept, and who is exposed")[2]
    kept, apart = text.split("Differential privacy, global and local")[:2]
    apart = " ".join(apart.partition("What onlookers can infer")[0].split())
    assert EXACT.method in kept and REFUSED.method in kept and NOISY.method not in kept
    assert NOISY.method in apart and EXACT.method not in apart and REFUSED.method not in apart
    assert (
        "epsilon 0.1: one person changes the odds by a factor of 1.11 at most; a guess of 50 % can become 52 %" in apart
    )


def test_page() -> None:
    text = replace(COMPARISON, title="Staff & others").to_html()
    reader = Reader()
    reader.feed(text)
    assert not [target for target in reader.fetched if not target.startswith("#")]
    for words in ("Do not publish it", "nothing <done>", "all <b>bold</b>", *PROPERTY_WORDS.values()):
        assert words in reader.text
    assert "people exposed" in reader.text and text.count("<svg") == 1
    assert "a guess of 50\u00a0% can become 52\u00a0%" in reader.text and "<script" not in text


def test_picture_follows_the_schema_and_leaves_out_what_is_refused() -> None:
    for methods in (METHODS, (REFUSED,)):
        spec = tradeoff_chart(replace(COMPARISON, methods=methods))
        validate(spec)
        assert len(spec["data"]["values"]) == sum(m.is_published and m.family != "global DP" for m in methods)
