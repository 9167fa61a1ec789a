"""What people who vote read, in their language: pages, letters, and refusals in plain sentences."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from safemargin.core import InputError
from safemargin.io import read_json

LANGUAGES = ("en", "de", "fr")
Texts = Mapping[str, str]


@cache
def shipped_texts(language: str) -> Texts:
    """All texts in a language that is shipped."""
    content = files("safemargin.election").joinpath("texts", f"{language}.json").read_text(encoding="utf-8")
    return dict(json.loads(content))


def read_texts(chosen: str) -> tuple[Texts, str]:
    """Texts and language: one that is shipped, or a file whose name is the language; what it lacks stays English."""
    if chosen in LANGUAGES:
        return shipped_texts(chosen), chosen
    path = Path(chosen)
    if not path.suffix:
        raise InputError(f"texts = {chosen!r}: must be {', '.join(LANGUAGES)} or a file (JSON)")
    given, known = read_json(path), shipped_texts("en")
    if not isinstance(given, dict):
        raise InputError(f"{path}: must map names of texts to texts")
    if unknown := sorted(set(given) - set(known)):
        raise InputError(f"{path}: there is no text {unknown[0][:60]!r}; there are {', '.join(known)}")
    for name, text in given.items():
        try:
            worded = str(text).format(**{field: "" for field in fields_of(known[name])})
        except (LookupError, ValueError):
            worded = ""
        if not worded:
            raise InputError(f"{path}: {name}: is empty, or has other fields than {known[name]!r}")
    return {**known, **{name: str(text) for name, text in given.items()}}, path.stem


def fields_of(text: str) -> set[str]:
    """Names in braces, which are replaced."""
    return {part.partition("}")[0] for part in text.split("{")[1:]}


class PersonError(InputError):
    """A refusal that a person reads: a sentence in their language on the page, and in English elsewhere."""

    def __init__(self, sentence: str, **values: object) -> None:
        super().__init__(shipped_texts("en")[sentence].format(**values))
        self.sentence, self.values = sentence, values

    def worded(self, texts: Texts) -> str:
        """The sentence in a language."""
        return texts[self.sentence].format(**self.values)
