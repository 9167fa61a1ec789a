"""The voter's page: served by the voter's own process on loopback, without scripts, in the voter's language.

All cryptography is in this process. The page has a random address, so that no other page can reach it. Enrolling,
answering and casting are one visit.
"""

import asyncio
import json
import socket
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from safemargin.core import InputError
from safemargin.election.desk import Desk, hash_of
from safemargin.election.keys import new_seed
from safemargin.election.manifests import TOTAL, Dimension
from safemargin.election.receipts import DROPPED, Receipt
from safemargin.election.wording import PersonError, shipped_texts
from safemargin.ui import Html, element, joined, marked, page_in, paragraphs, points, section, style_of

LOOPBACK = ("127.0.0.1", "localhost")
ACTIONS = ("enrol", "recover", "prepare", "cast", "audit", "change", "check", "object")


STEPS = ("enrol", "answer", "review", "cast")
"""What a person does, one after the other."""
Form = Mapping[str, list[str]]


class Page:
    """The pages of a desk. Every action is a form; the answer is the same page."""

    def __init__(self, desk: Desk, texts: Mapping[str, str] | None = None, language: str = "en") -> None:
        self.desk, self.texts, self.language = desk, texts or shipped_texts("en"), language
        self.secret = new_seed().hex()[:32]
        self.notice, self.opened, self.changing = "", "", False
        self.typed: Form = {}
        """The form that was refused: nobody has to fill it in again."""

    def app(self) -> Starlette:
        """The application, below an address that nobody can guess."""
        start = f"/{self.secret}"
        return Starlette(
            routes=[
                Route(f"{start}/", self.show),
                *(Route(f"{start}/{name}", self.act, methods=["POST"], name=name) for name in ACTIONS),
            ]
        )

    async def show(self, request: Request) -> Response:
        """The page as things stand."""
        if request.url.hostname not in LOOPBACK:  # another name would be a page of somebody else
            return Response(status_code=404)
        election = self.desk.election
        known = paragraphs(self._text("protected"), self._text("not_protected"))
        is_open = {} if self.desk.has_tokens else {"open": "open"}  # who begins reads it; after that it is in the way
        known = element("details", element("summary", self._text("what")), known, **is_open)
        asked = Html("") if self.desk.has_tokens else element("p", election.manifest.question, class_="lead")
        intro = joined([asked, element("p", self._text("id", id=election.fingerprint), class_="id")])
        body = element("div", self._steps(), self._notice(), intro, *self._sections(), known)
        page = page_in(self.language, election.manifest.title, body, style_of("voter.css"))
        return HTMLResponse(page, headers={"cache-control": "no-store", "referrer-policy": "no-referrer"})

    def _steps(self) -> Html:
        """How far the person is: what is done, and what comes now."""
        desk = self.desk
        at = 0 if not desk.has_tokens else 2 if desk.prepared else 1 if not desk.has_cast or self.changing else 4
        lines = []
        for place, step in enumerate(STEPS):
            given = {"class_": "done"} if place < at else {"aria_current": "step"} if place == at else {}
            lines.append(element("li", self._text(step), **given))
        return element("ol", *lines, class_="steps")

    def _notice(self) -> Html:
        """What was refused: readers of screens begin there."""
        if not self.notice:
            return Html("")
        return element("p", self.notice, role="alert", id="notice", tabindex="-1", autofocus="autofocus")

    async def act(self, request: Request) -> Response:
        """Do what a form asks for, then show the page."""
        if request.url.hostname not in LOOPBACK:
            return Response(status_code=404)
        form = parse_qs((await request.body()).decode(errors="replace"))
        self.notice, self.typed = "", form
        try:
            await asyncio.to_thread(self._do, request.url.path.rsplit("/", 1)[1], form)
            self.typed = {}
        except PersonError as error:
            self.notice = error.worded(self.texts)
        except InputError as error:
            self.notice = self._text("refused", reason=str(error))
        return RedirectResponse(f"/{self.secret}/", status_code=303)

    def _do(self, name: str, form: Form) -> None:
        desk = self.desk

        def field(key: str) -> str:
            return form.get(key, [""])[0]

        if name == "enrol":
            desk.enrol(field("row"), field("code"))
        elif name == "recover":
            desk.recover(field("row"), field("code"), field("sheet"))
        elif name == "prepare":
            if "option" not in form:
                raise PersonError("choose")
            categories = {key.removeprefix("category "): v[0] for key, v in form.items() if key.startswith("category ")}
            asked = {d.name for d in desk.election.manifest.dimensions if d.self_reported}
            for dimension in form.get("part", []):
                if dimension in asked and dimension not in categories:
                    raise PersonError("choose_category", dimension=dimension)
            wanted = {*form.get("part", []), *(d.name for d in desk.election.manifest.dimensions if d.is_total)}
            self.opened = ""
            desk.prepare(field("option"), categories, [n for n in desk.election.dimensions if n not in wanted])
        elif name == "cast":
            desk.cast()
            self.changing = False
        elif name == "audit":
            self.opened = json.dumps(desk.openings())
        elif name == "change":
            self.changing = True
        elif name == "check":
            desk.check()
        elif name == "object":
            said = [self._line(receipt) for receipt in desk.object()]
            self.notice = " ".join(said) or self._text("nothing_missing")

    def _text(self, text: str, /, **values: object) -> str:
        return self.texts[text].format(**values)

    def _sections(self) -> list[Html]:
        desk = self.desk
        if not desk.has_tokens:
            fields = [self._field("row"), self._field("code")]
            sheet = [self._field("row", "recover-"), self._field("code", "recover-"), self._field("sheet")]
            return [
                section(self._text("enrol"), self._form("enrol", *fields, self._button("enrol"))),
                element(
                    "details",
                    element("summary", self._text("recover")),
                    self._form("recover", *sheet, self._button("recover")),
                ),
            ]
        if desk.prepared:
            shown = element("p", element("code", self._text("hash", hash=hash_of(desk.prepared))), id="hash")
            return [
                section(self._text("review"), element("p", self._text("review_help"), role="status"), shown),
                self._form("cast", self._button("cast")),
                self._form("audit", self._button("audit", "plain")),
            ]
        if not desk.has_cast or self.changing:
            opened = []
            if self.opened:
                text = element(
                    "textarea", self.opened, readonly="readonly", id="opening", rows="6", aria_label="opening"
                )
                opened = [element("p", self._text("opened"), role="status"), text]
            sheet = [element("p", self._text("sheet_help")), element("p", element("code", desk.own.sheet), id="sheet")]
            return [
                element("p", self._text("enrolled"), role="status"),
                *sheet,
                *opened,
                section(self._text("answer"), self._ballot()),
            ]
        forms = [self._form(name, self._button(name, kind)) for name, kind in (("check", ""), ("change", "plain"))]
        if any(receipt.sentence in DROPPED for receipt in desk.receipts):
            forms.append(self._form("object", self._button("object")))
        return [self._state(), *forms, paragraphs(self._text("change_help"))]

    def _ballot(self) -> Html:
        manifest = self.desk.election.manifest
        chosen = self.typed.get("option", [])
        radios = [self._choice("radio", "option", o, o, **_checked(o in chosen)) for o in manifest.options]
        question = element("fieldset", element("legend", manifest.question), *radios)
        parts = [self._part(dimension) for dimension in manifest.dimensions if not dimension.is_total]
        return self._form("prepare", question, *parts, self._button("review"))

    def _part(self, dimension: Dimension) -> Html:
        name = dimension.name
        counted = "option" not in self.typed or name in self.typed.get("part", [])
        chosen = self._choice("checkbox", "part", name, self._text("part", dimension=name), **_checked(counted))
        attested = self.desk.own.category(dimension)
        if attested is not None:
            said = element("p", self._text("attested", dimension=name, category=attested))
            return element("div", chosen, said, class_="part")
        options = [element("option", self._text("pick"), value="")]  # nobody is in a group by doing nothing
        for category in dimension.categories:
            picked = {"selected": "selected"} if category in self.typed.get(f"category {name}", []) else {}
            options.append(element("option", category, value=category, **picked))
        identity = f"category-{name}".replace(" ", "-")
        label = element("label", self._text("category", dimension=name), for_=identity, class_="of")
        select = element("select", *options, name=f"category {name}", id=identity)
        return element("div", chosen, label, select, class_="part")

    def _choice(self, kind: str, name: str, value: str, label: str, **more: str) -> Html:
        identity = f"{name}-{value}".replace(" ", "-")
        box = Html(
            str(element("input", type=kind, name=name, value=value, id=identity, **more)).removesuffix("</input>")
        )
        return element("p", box, " ", element("label", label, for_=identity), class_="choice")

    def _field(self, name: str, prefix: str = "") -> Html:
        identity = f"{prefix}{name}"
        kept = {"value": text} if (text := self.typed.get(name, [""])[0]) else {}
        box = element("input", type="text", name=name, id=identity, required="required", autocomplete="off", **kept)
        label = element("label", self._text(name), for_=identity)
        return element("p", label, " ", Html(str(box).removesuffix("</input>")))

    def _button(self, name: str, kind: str = "") -> Html:
        return element("button", self._text(name), type="submit", **({"class_": kind} if kind else {}))

    def _form(self, name: str, *content: object) -> Html:
        return element("form", *content, method="post", action=f"/{self.secret}/{name}")

    def _name(self, dimension: str) -> str:
        return self._text("total") if dimension == TOTAL else dimension

    def _line(self, receipt: Receipt) -> str:
        return receipt.worded(self.texts, self._name(receipt.dimension))

    def _state(self) -> Html:
        lines: list[Html] = []
        receipts = {receipt.dimension: receipt for receipt in self.desk.receipts}
        for name, token in self.desk.own.state["tokens"].items():
            if name in receipts:
                receipt = receipts[name]
                lines.append(marked("unsound" if receipt.sentence in DROPPED else "sound", self._line(receipt)))
            elif "ballot" in token:
                is_sent = "receipt" in token
                words = self._text("sent" if is_sent else "waiting", name=self._name(name))
                lines.append(marked("sound" if is_sent else "partly", words))
            else:
                lines.append(marked("open", self._text("unsent", name=self._name(name))))
        return element("div", joined([points(lines)]), role="status", id="state")


def _checked(is_checked: bool) -> dict[str, str]:
    """The attribute of a box that is ticked."""
    return {"checked": "checked"} if is_checked else {}


def serve_page(page: Page, port: int, announce: Callable[[str], None]) -> None:
    """Serve the page on loopback until the program is stopped; what was sealed and not sent is sent first.

    The address is announced when the port takes connections, and not before. With port 0 the system chooses one.
    """
    if page.desk.has_cast:
        page.desk.send()
    with socket.socket() as listening:
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("127.0.0.1", port))
        except OSError as error:
            raise InputError(f"port = {port}: cannot be used ({error.strerror}); choose another one") from None
        listening.listen(100)
        announce(f"http://127.0.0.1:{listening.getsockname()[1]}/{page.secret}/")
        server = uvicorn.Server(uvicorn.Config(page.app(), log_level="error", access_log=False))
        server.run(sockets=[listening])
