"""Letters to the people on the roll: text for e-mail, and one page with all of them for printing."""

import csv
import io
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from safemargin.election.manifests import KnownElection
from safemargin.election.wording import Texts
from safemargin.ui import Html, element, joined, page_in, paragraphs

STYLE = """
.letter { break-after: page; max-width: 40rem; padding: 1rem 0 2rem; border-bottom: 1px solid; }
.letter .code { font-size: 1.25rem; letter-spacing: .05em; }
.letter code { overflow-wrap: anywhere; white-space: normal; }
@media print { header { display: none; } .letter { border: 0; padding: 0; } }
"""


@dataclass(frozen=True)
class Letter:
    """What one person gets: lines that say something, and lines to type."""

    title: str
    question: str
    dates: str
    facts: tuple[str, ...]
    code: str
    how: str
    command: str
    compare: str
    keep: str
    check: str

    @property
    def text(self) -> str:
        """As an e-mail."""
        parts = [self.title, self.question, self.dates, "\n".join([*self.facts, self.code])]
        parts += [self.how, f"    {self.command}", self.compare, self.keep, f"    {self.check}"]
        return "\n\n".join(part for part in parts if part) + "\n"

    @property
    def html(self) -> Html:
        """As a page to print."""
        return element(
            "article",
            element("h2", self.title),
            paragraphs(self.question, self.dates, *self.facts),
            element("p", element("strong", self.code), class_="code"),
            element("p", self.how),
            element("p", element("code", self.command)),
            paragraphs(self.compare, self.keep),
            element("p", element("code", self.check)),
            class_="letter",
        )


def codes_of(content: str) -> dict[str, str]:
    """Code of every row, as the registrar gives them."""
    with io.StringIO(content) as file:
        return {line["row"]: line["code"] for line in csv.DictReader(file)}


def letters_of(codes: Mapping[str, str], election: KnownElection, texts: Texts, language: str) -> list[Letter]:
    """A letter per row: what it is about, the code, the election's id, the address, and what to type."""
    manifest, address = election.manifest, election.only("board").address
    chosen = "" if language == "en" else f" --texts {language}"
    dates = texts["letter_dates"].format(opens=manifest.opens, closes=manifest.closes)
    return [
        Letter(
            texts["letter_greeting"].format(title=manifest.title),
            manifest.question,
            dates if manifest.opens and manifest.closes else "",
            (
                texts["letter_row"].format(row=row),
                texts["letter_address"].format(address=address),
                texts["letter_id"].format(id=election.fingerprint),
            ),
            texts["letter_code"].format(code=code),
            texts["letter_how"],
            f"safemargin election vote wallet.json --board {address} --id {election.fingerprint}{chosen}",
            texts["letter_compare"],
            texts["letter_keep"],
            f"safemargin election enrolled {address} --row {quoted(row)} --code {code} --id {election.fingerprint}",
        )
        for row, code in codes.items()
    ]


def quoted(text: str) -> str:
    """A text as one word of a command, on every system where it holds nothing that a shell would read."""
    if re.fullmatch(r"[\w.-]+", text):
        return text
    return f'"{text}"' if re.fullmatch(r"[\w. -]+", text) else shlex.quote(text)


def letters_page(election: KnownElection, letters: Sequence[Letter], language: str) -> str:
    """All letters, each on a sheet of its own when it is printed."""
    return page_in(language, election.manifest.title, joined(letter.html for letter in letters), STYLE)
