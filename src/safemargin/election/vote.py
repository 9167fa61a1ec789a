"""What a person does, step by step, and the page for it: served by their own process on loopback, without scripts.

All cryptography is in this process. The page has a random address, so that no other page can reach it.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from safemargin.core import InputError
from safemargin.election.board import Board
from safemargin.election.client import Ask, enrol, fetch_board, fetch_tokens, send
from safemargin.election.keys import new_seed
from safemargin.election.manifest import Dimension, KnownElection
from safemargin.election.voter import Receipt, Wallet
from safemargin.io import read_json
from safemargin.ui import Html, element, joined, paragraphs, plural, points, render_page, section

TEXTS = {
    "protected": "Your answer is sealed on this computer. Nobody learns which answer is yours: not the organiser, not "
    "the offices that signed your tokens, not those who count.",
    "not_protected": "The first mixer can see that this computer takes part. If you show somebody this wallet before "
    "you delete its secrets, they can see how you answered. If you lose it before you answer, you cannot answer.",
    "spread": "Answers are sent at random times within {spread}. Keep this program running until all are sent.",
    "enrol": "Enrol",
    "row": "Your number on the roll",
    "code": "The code from your letter",
    "tokens": "Get tokens",
    "tokens_help": "One token per dimension. The offices sign them without seeing them.",
    "answer": "Answer",
    "choose": "Choose one option",
    "category": "Your category in {dimension}",
    "attested": "{dimension}: the registrar states {category}.",
    "part": "Count me in {dimension}",
    "check": "Check that my answers are on the board",
    "forget": "Delete the secrets of this wallet",
    "enrolled": "You are enrolled.",
    "has_tokens": "You have your tokens.",
    "waiting": "{name}: will be sent soon",
    "sent": "{name}: sent, with a signed receipt",
    "unsent": "{name}: no answer",
    "included": "{name}: included, {statement}",
    "missing": "{name}: not included: {statement}",
    "forgotten": "The secrets are deleted. Nobody can read your answers from this wallet any more.",
    "not_open": "Answering has not begun. Come back when the board has opened it.",
    "refused": "This was refused: {reason}",
}
"""Every text of the page; a translation is a JSON file with the same names."""


def read_texts(path: Path | None) -> Mapping[str, str]:
    """The texts in another language; what a file does not have stays English."""
    if path is None:
        return TEXTS
    given = read_json(path)
    if not isinstance(given, dict):
        raise InputError(f"{path}: must map names of texts to texts")
    if unknown := sorted(set(given) - set(TEXTS)):
        raise InputError(f"{path}: there is no text {unknown[0][:60]!r}; there are {', '.join(TEXTS)}")
    return {**TEXTS, **{name: str(text) for name, text in given.items()}}


class Desk:
    """A person's wallet at work: the same steps for the page and for the command line."""

    def __init__(self, election: KnownElection, path: Path, ask: Ask) -> None:
        self.election, self.path, self.ask = election, path, ask
        self.wallet = Wallet.read(election, path) if path.exists() else None
        self.receipts: list[Receipt] = []
        self.waiting: set[str] = set()

    @property
    def own(self) -> Wallet:
        """The wallet."""
        if self.wallet is None:
            raise InputError("enrol first: the wallet does not exist yet")
        return self.wallet

    @property
    def is_enrolled(self) -> bool:
        """Whether the registrar has answered."""
        return self.wallet is not None and "salt" in self.wallet.state

    @property
    def has_tokens(self) -> bool:
        """Whether enough issuers signed a token of every dimension."""
        if self.wallet is None:
            return False
        tokens = self.wallet.state["tokens"]
        return all(
            len(tokens.get(name, {}).get("signatures", ())) >= self.election.manifest.signers
            for name in self.election.dimensions
        )

    @property
    def is_forgotten(self) -> bool:
        """Whether the secrets were deleted."""
        tokens = {} if self.wallet is None else self.wallet.state["tokens"]
        return bool(tokens) and all("seed" not in token for token in tokens.values())

    def board(self) -> Board:
        """A fresh copy of the board, beside the wallet."""
        return fetch_board(self.election, self.path.with_suffix(".board"), self.ask)

    def enrol(self, row: str, code: str) -> None:
        """Make the wallet and enrol its key."""
        if self.wallet is None:
            self.wallet = Wallet.new(self.election, row.strip(), code.strip(), self.path)
        if self.wallet.state["row"] != row.strip() or not self.is_enrolled:
            self.wallet.state |= {"row": row.strip(), "code": code.strip()}
        enrol(self.wallet, self.ask)

    def tokens(self) -> None:
        """Ask all issuers for all tokens."""
        faults = fetch_tokens(self.own, self.ask)
        if not self.has_tokens:
            raise InputError("; ".join(sorted(set(faults.values()))) or "too few issuers signed")

    def cast(self, option: str, categories: Mapping[str, str], names: list[str]) -> dict[str, float]:
        """Seal the answers, and state in how many seconds each is to be sent."""
        signers = self.board().signers
        if not all(self.own.has_token(name, signers) for name in names):
            fetch_tokens(self.own, self.ask)  # an issuer that was away has signed since
        for name in names:
            self.own.cast(name, option, signers, categories.get(name))
        return self.own.send_times(names, self.election.manifest.spread)

    def send(self, name: str) -> None:
        """Send one sealed answer."""
        send(self.own, name, bytes.fromhex(self.own.state["tokens"][name]["onion"]), self.ask)

    def send_all(self, times: Mapping[str, float]) -> None:
        """Send every answer at its time."""
        started = time.monotonic()
        self.waiting |= set(times)
        for name, moment in sorted(times.items(), key=lambda each: each[1]):
            time.sleep(max(0.0, started + moment - time.monotonic()))
            self.send(name)
            self.waiting.discard(name)

    def unsent(self) -> list[str]:
        """Answers that were sealed and not sent, after this program was stopped too early."""
        tokens = {} if self.wallet is None else self.wallet.state["tokens"]
        return [name for name, token in tokens.items() if "onion" in token and "taken" not in token]

    def check(self) -> list[Receipt]:
        """Look every answer up on the board."""
        board = self.board()
        self.receipts = [self.own.check(n, board) for n, token in self.own.state["tokens"].items() if "layers" in token]
        return self.receipts


class Page:
    """The pages of a desk. Every action is a form; the answer is the same page."""

    def __init__(self, desk: Desk, texts: Mapping[str, str] = TEXTS) -> None:
        self.desk, self.texts = desk, texts
        self.secret = new_seed().hex()[:32]
        self.notice = ""

    def app(self) -> Starlette:
        """The application, below an address that nobody can guess."""
        names = ("enrol", "tokens", "answer", "check", "forget")
        start = f"/{self.secret}"
        return Starlette(
            routes=[
                Route(f"{start}/", self.show),
                *(Route(f"{start}/{name}", self.act, methods=["POST"], name=name) for name in names),
            ]
        )

    async def show(self, request: Request) -> Response:
        """The page as things stand."""
        if request.url.hostname not in ("127.0.0.1", "localhost"):  # another name would be a page of somebody else
            return Response(status_code=404)
        title = self.desk.election.manifest.title
        intro = paragraphs(self.desk.election.manifest.question, self._text("protected"), self._text("not_protected"))
        notice = element("p", self.notice, role="status", id="notice") if self.notice else Html("")
        page = render_page(title, element("div", notice, intro, *self._sections()))
        return HTMLResponse(page, headers={"cache-control": "no-store", "referrer-policy": "no-referrer"})

    async def act(self, request: Request) -> Response:
        """Do what a form asks for, then show the page."""
        if request.url.hostname not in ("127.0.0.1", "localhost"):
            return Response(status_code=404)
        form = parse_qs((await request.body()).decode(errors="replace"))
        name = request.url.path.rsplit("/", 1)[1]
        self.notice = ""
        try:
            await asyncio.to_thread(self._do, name, {key: values for key, values in form.items()})
        except InputError as error:
            self.notice = self._text("refused", reason=str(error))
        return RedirectResponse(f"/{self.secret}/", status_code=303)

    def _do(self, name: str, form: Mapping[str, list[str]]) -> None:
        desk = self.desk
        if name == "enrol":
            desk.enrol(form.get("row", [""])[0], form.get("code", [""])[0])
        elif name == "tokens":
            desk.tokens()
        elif name == "answer":
            if "option" not in form:
                raise InputError(self._text("choose"))
            categories = {key.removeprefix("category "): v[0] for key, v in form.items() if key.startswith("category ")}
            times = desk.cast(form["option"][0], categories, [n for n in form.get("part", []) if n in self._names()])
            threading.Thread(target=desk.send_all, args=(times,), daemon=True).start()
        elif name == "check":
            desk.check()
        elif name == "forget":
            desk.own.forget()

    def _names(self) -> list[str]:
        return list(self.desk.election.dimensions)

    def _text(self, text: str, /, **values: object) -> str:
        return self.texts[text].format(**values)

    def _sections(self) -> list[Html]:
        desk = self.desk
        if not desk.is_enrolled:
            fields = [self._field("row", "text"), self._field("code", "text"), self._button("enrol")]
            return [section(self._text("enrol"), self._form("enrol", *fields))]
        if desk.is_forgotten:
            return [
                element("p", self._text("forgotten"), role="status"),
                self._state(),
                self._form("check", self._button("check")),
            ]
        if not desk.has_tokens:
            return [
                element("p", self._text("enrolled"), role="status"),
                section(self._text("tokens"), paragraphs(self._text("tokens_help"))),
                self._form("tokens", self._button("tokens")),
            ]
        answered = any("onion" in token for token in desk.own.state["tokens"].values())
        if not answered:
            return [
                element("p", self._text("has_tokens"), role="status"),
                section(self._text("answer"), self._ballot()),
            ]
        forms = [self._form("check", self._button("check"))]
        if desk.receipts and all(receipt.included for receipt in desk.receipts):
            forms.append(self._form("forget", self._button("forget")))
        return [self._state(), *forms]

    def _ballot(self) -> Html:
        manifest = self.desk.election.manifest
        radios = [self._choice("radio", "option", option, option) for option in manifest.options]
        question = element("fieldset", element("legend", manifest.question), *radios)
        parts = [self._part(dimension) for dimension in manifest.dimensions]
        seconds = manifest.spread
        spread = plural(-(-seconds // 3600), "hour") if seconds >= 3600 else plural(seconds, "second")
        note = element("p", self._text("spread", spread=spread))
        return self._form("answer", question, *parts, note, self._button("answer"))

    def _part(self, dimension: Dimension) -> Html:
        name = dimension.name
        chosen = self._choice("checkbox", "part", name, self._text("part", dimension=name), checked="checked")
        if dimension.is_open:
            return element("div", chosen)
        attested = self.desk.own.category(dimension)
        if attested is not None:
            return element("div", chosen, element("p", self._text("attested", dimension=name, category=attested)))
        options = [element("option", category, value=category) for category in dimension.categories]
        identity = f"category-{name}".replace(" ", "-")
        label = element("label", self._text("category", dimension=name), for_=identity)
        return element("div", chosen, label, element("select", *options, name=f"category {name}", id=identity))

    def _choice(self, kind: str, name: str, value: str, label: str, **more: str) -> Html:
        identity = f"{name}-{value}".replace(" ", "-")
        box = Html(
            str(element("input", type=kind, name=name, value=value, id=identity, **more)).removesuffix("</input>")
        )
        return element("p", box, " ", element("label", label, for_=identity))

    def _field(self, name: str, kind: str) -> Html:
        box = element("input", type=kind, name=name, id=name, required="required", autocomplete="off")
        return element("p", element("label", self._text(name), for_=name), " ", Html(str(box).removesuffix("</input>")))

    def _button(self, name: str) -> Html:
        return element("button", self._text(name), type="submit")

    def _form(self, name: str, *content: object) -> Html:
        return element("form", *content, method="post", action=f"/{self.secret}/{name}")

    def _state(self) -> Html:
        lines = []
        receipts = {receipt.dimension: receipt for receipt in self.desk.receipts}
        for name, token in self.desk.own.state["tokens"].items():
            if name in receipts:
                kind = "included" if receipts[name].included else "missing"
                lines.append(self._text(kind, name=name, statement=receipts[name].statement))
            elif "layers" in token:
                lines.append(self._text("sent" if "taken" in token else "waiting", name=name))
            else:
                lines.append(self._text("unsent", name=name))
        return element("div", joined([points(lines)]), role="status", id="state")


def serve_page(page: Page, port: int) -> None:
    """Serve the page on loopback until the program is stopped; what was sealed and not sent is sent first."""
    if unsent := page.desk.unsent():
        times = page.desk.own.send_times(unsent, page.desk.election.manifest.spread)
        threading.Thread(target=page.desk.send_all, args=(times,), daemon=True).start()
    uvicorn.run(page.app(), host="127.0.0.1", port=port, log_level="error", access_log=False)
