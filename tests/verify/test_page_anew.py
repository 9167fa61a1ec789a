"""`verify --page`: the page of a release is made anew from what is published, and every number on it compared."""

import json
import random
import re
from pathlib import Path

import pytest

import certificate_vectors as vectors
from commands import Run, in_process
from evidence import seeds
from safemargin import checker, verify


def published(vector: vectors.Vector, place: Path) -> Path:
    place.mkdir()
    for name, content in vectors.resealed(vector).published.items():
        (place / name).write_bytes(content)
    return place


def test_the_page_follows_from_what_is_published(tmp_path: Path) -> None:
    """Every number of every cross table is compared, and nothing that the page shows is left unchecked."""
    rng, made, forged = random.Random(3), 0, 0
    for seed in seeds(0, 4, 60):
        vector = vectors.released(seed, tmp_path / str(seed))
        if vector is None:
            continue
        made += 1
        own = verify(tmp_path / str(seed) / "published", whole_page=True)
        assert not own.failures and checker.PAGE_NOTE not in own.unchecked, seed
        assert not any("made anew it differs" in note for note in own.unchecked), seed
        page = vector.published[checker.PAGE].decode()
        places = [m for m in re.finditer(r">([0-9][0-9,]*)(?=</td>| <strong>)", page) if '"ct"' in page[: m.start()]]
        places = [m for m in places if "Rows of the file" not in page[: m.start()]]
        for place in rng.sample(places, min(len(places), 3)):
            other = f">{int(place[1].replace(',', '')) + 1:,}"
            files = {**vector.published, checker.PAGE: (page[: place.start()] + other + page[place.end() :]).encode()}
            folder = published(vectors.replace(vector, published=files), tmp_path / f"{seed} {place.start()}")
            found = verify(folder, whole_page=True)
            assert any("cross table" in failure for failure in found.failures), (seed, place[0])
            forged += 1
    assert made > 2 and forged > 4


def test_another_word_is_named_and_another_table_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Run = in_process(monkeypatch, capsys)
    vector = next(v for seed in range(9) if (v := vectors.released(seed, tmp_path / str(seed))) is not None)
    page = vector.published[checker.PAGE].decode()
    files = {**vector.published, checker.PAGE: page.replace("</main>", "<p>Not so.</p></main>").encode()}
    folder = published(vectors.replace(vector, published=files), tmp_path / "words")
    document = json.loads(run("verify", folder, "--page", "--json").out)
    assert not document["failures"] and any("made anew it differs" in note for note in document["unchecked"])
    more = page.replace("</main>", '<table class="ct"><tr><td>1</td></tr></table></main>')
    files = {**vector.published, checker.PAGE: more.encode()}
    folder = published(vectors.replace(vector, published=files), tmp_path / "more")
    assert run("verify", folder, "--page").code == 1
