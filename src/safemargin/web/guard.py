"""Who may talk to the workbench: the browser that opened the one-time link, and no page of anybody else.

Other people on the same machine can connect, too, and see the arguments of every process. So a browser is not started
with the link but with a page that only we can read, which leads there.

Other pages in the same browser can send requests to loopback. Four checks keep them out: the name of the host (anybody
can point a name of theirs at 127.0.0.1), the origin of every change, a cookie that only our own pages send, and a path
that nobody can guess, so that services on other ports never see the cookie.
"""

import hmac
import time
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from safemargin.core import new_secret

COOKIE = "safemargin"
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # Not `no-referrer`: browsers would then send forms with the origin `null`, which is refused below.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
CLOSED = "default-src 'none'; frame-ancestors 'none'"
"""The policy of an answer that states none itself."""


class Guard:
    """Lets requests of one browser session pass; refuses all others in one line."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app, self.port = app, port
        self.token, self.session = new_secret()[:32], new_secret()
        self.start = f"/{new_secret()[:16]}/"
        self.is_used = False
        self.last = time.monotonic()
        """When the last request passed."""

    @property
    def address(self) -> str:
        """The link that works once."""
        return f"http://127.0.0.1:{self.port}/open?token={self.token}"

    @property
    def page(self) -> str:
        """A page that leads to the link."""
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>safemargin</title>'
            f'<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={self.address}">'
            f'<p><a href="{self.address}">Open the workbench</a></p></html>\n'
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            answer = self.check(scope)
            if answer is None:
                self.last = time.monotonic()
            await (answer or self.app)(scope, receive, _hardened(send))

    def check(self, scope: Scope) -> Response | None:
        """The answer to a request that does not pass; nothing for one that does."""
        headers = Headers(scope=scope)
        hosts = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if headers.get("host") not in hosts:
            return PlainTextResponse("Refused: this is not the address of the workbench.", 403)
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        changes = scope["method"] not in ("GET", "HEAD")
        if (origin is None and changes) or (origin is not None and origin != f"http://{headers['host']}"):
            return PlainTextResponse("Refused: the request comes from another page.", 403)
        if scope["path"] == "/open":
            if scope["method"] != "GET" or "sec-purpose" in headers or "purpose" in headers:
                # A program that only looks whether there is something, or loads ahead, uses nothing up.
                return PlainTextResponse("Refused: the link works once, for a browser that opens it.", 403)
            return self._admit(parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0])
        if not hmac.compare_digest(_cookie(headers.get("cookie", "")).encode(), self.session.encode()):
            return PlainTextResponse("Refused: open the link that safemargin open printed.", 403)
        if site not in ("same-origin", "none"):
            return PlainTextResponse("Refused: the request comes from another page.", 403)
        return None if scope["path"].startswith(self.start) else PlainTextResponse("There is no such page.", 404)

    def _admit(self, token: str) -> Response:
        if self.is_used or not hmac.compare_digest(token.encode(), self.token.encode()):
            return PlainTextResponse("Refused: the link works once. Run safemargin open again.", 403)
        self.is_used = True
        answer = RedirectResponse(self.start, 303)
        answer.set_cookie(COOKIE, self.session, path=self.start, httponly=True, samesite="strict")
        return answer


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _hardened(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in {**HEADERS, "content-security-policy": CLOSED}.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
