"""Where much is lost, causes are named, and remedies keep what they say: each is decided again from a changed file."""

import random
from pathlib import Path

import pytest

import safemargin


@pytest.mark.alternatives
def test_silence_as_an_option_is_named_and_its_remedy_keeps_what_is_said() -> None:
    """Few are silent, nearly all of one site: counted as an answer that costs, skipped it does not."""
    draw = random.Random(3)
    rows = []
    for number in range(1200):
        site = "ABCDEFGH"[number % 8]
        silent = site == "A" and draw.random() < 0.97
        rows.append({"site": site, "sex": "fm"[number // 8 % 2], "vote": "" if silent else draw.choice(["yes", "no"])})
    said = {"answer": "vote", "by": ["site", "sex"]}
    document = safemargin.release(rows, blank="no answer", alternatives=True, **said).to_json()
    assert "'no answer' is counted as an answer" in document["causes"]
    remedies = {remedy["words"]: remedy for remedy in document["remedies"]}
    assert len(remedies) <= 2
    skipped = remedies["count only people who answered"]
    again = safemargin.release(rows, blank="skip", **said).to_json()
    people = [(cell["people"], cell["action"] == "exact") for cell in again["cells"] if cell["cell"]]
    share = sum(count for count, exact in people if exact) / sum(count for count, _ in people)
    assert skipped["share"] == pytest.approx(share) and skipped["asked"] == 2


def test_nothing_is_tried_where_nothing_is_lost(tmp_path: Path) -> None:
    rows = [{"site": "AB"[n % 2], "vote": "yn"[n // 2 % 2]} for n in range(400)]
    document = safemargin.release(rows, answer="vote", by=["site"], alternatives=True).to_json()
    assert document["causes"] == [] and document["remedies"] == []
