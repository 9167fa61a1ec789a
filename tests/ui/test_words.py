"""One word for one thing: verdicts, colours and counts mean the same on every page, in every terminal."""

import ast
import re
from pathlib import Path

import pytest

from safemargin import audit, ui
from safemargin.release.report.charts import OTHER_COLOUR, WAY_COLOURS
from safemargin.release.report.forecast import COLOURS as FORECAST
from safemargin.ui.counts import STATUS
from safemargin.ui.formatting import KIND_WORDS
from safemargin.ui.terminal import STYLES
from safemargin.web.screens.check import audit_parts
from test_golden import FILES, GOLDEN

SOURCE = Path(ui.__file__).parent.parent
STYLE_SHEETS = [*SOURCE.glob("ui/templates/*.css"), *SOURCE.glob("web/templates/*.css")]
GREEN = {"exact", "contained", "within", "yes", "sound"}
AMBER = {"partly", "warning", "cancelled"}
RED = {"disclosed", "exposed", "no", "unsound", "failed", "bad", "wrong"}
TOKENS = {"--exact": GREEN, "--warn": AMBER, "--bad": RED}


def test_a_verdict_has_one_name() -> None:
    assert str(ui.Tag("open")) == KIND_WORDS["open"] == STATUS["interval"].words
    assert str(ui.Tag("contained")) == str(ui.Tag("within")) == STATUS["within"].words
    words = [status.words for status in STATUS.values()]
    assert len(set(words)) == len(words)


def test_no_tag_has_words_of_its_own_for_a_verdict() -> None:
    """`Tag("open", ...)` with a text would be a second name."""
    wrong = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Tag", "ui.Tag") and len(node.args) > 1:
                kind, text = node.args[0], node.args[1]
                if isinstance(kind, ast.Constant) and kind.value in KIND_WORDS and isinstance(text, ast.Constant):
                    wrong.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert wrong == []


def test_what_is_printed_names_verdicts_by_these_words() -> None:
    """Of the runs that are kept: no verdict under its name in files."""
    for path in GOLDEN.glob("run-*.txt"):
        text = " ".join(path.read_text(encoding="utf-8").split())
        found = re.findall(r"\d (?:open|contained)\b|\| (?:open|contained) \|", text)
        assert found == [], f"{path.name}: {found}"


@pytest.mark.parametrize("path", STYLE_SHEETS, ids=lambda path: path.name)
def test_green_amber_and_red_mean_one_thing(path: Path) -> None:
    """A rule that paints in one of the three colours is about nothing else, in pages and in the workbench."""
    everything = GREEN | AMBER | RED
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", path.read_text(encoding="utf-8")):
        named = set(re.findall(r"\.(?:is-|as-)?([a-z]+)", selector)) & everything
        for token, meaning in TOKENS.items():
            if re.search(rf"(?:background|color|border[a-z-]*|fill|stroke):[^;]*var\({token}(?:-bg)?\)", body):
                assert not named - meaning, f"{selector.strip()} is painted in {token}"


def test_charts_use_the_colours_of_the_pages() -> None:
    """What is exact, merged, noised or lost has the colour of its token."""
    page = (SOURCE / "ui/templates/page.css").read_text(encoding="utf-8")
    tokens = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", page.partition("@media")[0]))
    assert FORECAST == {"exact": tokens["exact"], "merged": tokens["merged"], "lost": tokens["supp"]}
    assert WAY_COLOURS == {"merge": tokens["merged"], "noise": tokens["noised"], "suppress": tokens["supp"]}
    for colour in {*FORECAST.values(), *WAY_COLOURS.values(), OTHER_COLOUR}:
        assert f'[stroke="{colour}"]' in page and f'[fill="{colour}"]' in page, "the dark scheme has another"


def test_the_terminal_has_the_same_colours() -> None:
    for kind, style in STYLES.items():
        for colour, meaning in (("green", GREEN), ("yellow", AMBER), ("red", RED)):
            assert (colour not in style) or kind in meaning, f"{kind}: {style}"


def test_one_number_for_one_fact(tmp_path: Path) -> None:
    """Page, terminal, document and workbench state the same number of disclosed counts: each count once."""
    for name in ("accidents.csv",):
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
        found = audit(tmp_path / name)
        document = found.to_json()
        each = {(frozenset(one["cell"].items()), one["option"]) for a in document["attacks"] for one in a["findings"]}
        assert len(each) > 1
        headline = audit_parts(document)[0]
        assert isinstance(headline, ui.Headline) and headline.headline.startswith(
            f"Do not publish: {len(each)} counts could be"
        )
        assert f"{len(each)} counts are disclosed" in found.to_html() or "suppressed counts could" in found.to_html()
