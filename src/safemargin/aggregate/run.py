"""What organisations and clients do to run a sum: keys, a session file, a service per party, reports, the totals."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from safemargin.aggregate.answers import ClientAnswers, read_answers
from safemargin.aggregate.batch import Submissions, read_columns, read_identities, submit_rows, write_identities
from safemargin.aggregate.identity import new_identity, read_identity
from safemargin.aggregate.party import run_party
from safemargin.aggregate.server import Sum, ask_over_http, collect_sum
from safemargin.aggregate.session_file import Session, SessionFile, make_session, read_session
from safemargin.aggregate.sets import LEAST_CLIENTS, set_digest
from safemargin.aggregate.submission import Submission, run_page, submit_row
from safemargin.core import InputError, Progress, new_secret, no_progress, remove_parts
from safemargin.io import require_file
from safemargin.parties.certificates import make_certificate
from safemargin.parties.files import write_private
from safemargin.parties.signature import VERSION
from safemargin.ui import SCHEMA, Document, Figures, Grid, Paragraph, Report, Result, plural, write_text


@dataclass(frozen=True)
class NewKey(Result):
    """The public half of a new key."""

    file: str
    public: str
    """The public key, or the file with those of all clients."""
    certificate: str | None
    clients: int = 1

    def to_json(self) -> Document:
        """The document of `aggregate key --json`."""
        return {"schema": SCHEMA, **asdict(self)}

    def to_report(self) -> Report:
        if self.clients > 1:
            figures = {"clients": f"{self.clients:,}", "public keys": self.public}
            return Report("Keys", f"{self.file} is secret; hand in the list of public keys.", Figures(figures))
        figures = {"public key": self.public, **({"certificate": self.certificate} if self.certificate else {})}
        return Report("Key", f"{self.file} is secret; hand in the public key.", Figures(figures))


@dataclass(frozen=True)
class Planned(Result):
    """A session file that was written."""

    file: str
    backend: str
    parties: dict[str, str] = field(hash=False)
    clients: int
    learns: str
    dishonest: str

    def to_json(self) -> Document:
        """The document of `aggregate plan --json`."""
        return {"schema": SCHEMA, **asdict(self)}

    def to_report(self) -> Report:
        return Report(
            "Session",
            f"{self.file}: {plural(self.clients, 'client')}, {self.backend}. Give it to all parties and clients.",
            Grid(["party", "address"], list(self.parties.items())),
            self.learns,
            Paragraph(self.dishonest, "quiet"),
        )


@dataclass(frozen=True)
class Collected(Result):
    """The totals of a session, whose reports they are of, and what every party signed."""

    session: str
    backend: str
    totals: dict[str, int] = field(hash=False)
    clients: tuple[str, ...]
    refused: dict[str, dict[str, int]] = field(hash=False)
    """By party, messages that it refused, by reason."""
    absent: tuple[str, ...]
    added: int
    digest: str
    statements: dict[str, dict[str, Any]] = field(hash=False)
    dishonest: str

    def to_json(self) -> Document:
        """The document of `aggregate collect --json`: `statements` are the parties' signed results."""
        return {"schema": SCHEMA, **asdict(self)}

    def to_report(self) -> Report:
        rows = [
            [party, reason, f"{number:,}"] for party, each in self.refused.items() for reason, number in each.items()
        ]
        return Report(
            "Totals",
            f"{plural(len(self.clients), 'client')}, {self.backend}; set {self.digest[:16]}.",
            Grid(["question", "total"], list(self.totals.items())),
            Grid(["party", "refused because", "messages"], rows),
            Paragraph(self.dishonest, "quiet"),
        )


def key(path: Path | str, *, host: str | None = None, clients: Path | str | None = None) -> NewKey:
    """Make a key: a secret file to keep, and the public key that others need.

    With `host`, the name or number of a party's machine, also a certificate for TLS (`.crt`) and its key (`.tls`). With
    `clients`, a CSV file with a column client, one key for each of them: the list of public keys (`.public.csv`) is
    what `plan` reads.
    """
    file = Path(path)
    if clients is not None:
        if host is not None:
            raise InputError("clients: clients have no certificate; omit host")
        names = [row["client"] for row in read_columns(Path(clients), ("client",))]
        remove_parts(file)
        public = write_identities(file, {name: new_secret() for name in names})
        return NewKey(str(file), str(public), None, len(names))
    certificate, secret = file.with_suffix(".crt"), file.with_suffix(".tls")
    for part in (file, certificate, secret):
        remove_parts(part)
    if host is not None and file.is_file() and not certificate.exists():
        made = read_identity(file)  # by a run that was interrupted: its certificate, the last file, is missing
        secret.unlink(missing_ok=True)
    else:
        made = new_identity(file)
    if host is None:
        return NewKey(str(file), made.public, None)
    stated, private = make_certificate(host)
    write_private(secret, private.encode(), new=True)
    write_text(certificate, stated)
    return NewKey(str(file), made.public, str(certificate))


def plan(
    *,
    name: str,
    questions: Sequence[str],
    parties: Path | str,
    clients: Path | str,
    server: str,
    backend: str = "prio3",
    largest: int = 1,
    least: int = LEAST_CLIENTS,
    weights: Sequence[int] = (),
    most: int = 0,
    out: Path | str = "session.json",
) -> Planned:
    """Write the session file: what all parties and clients must know before a sum starts.

    `parties` is a CSV file with the columns role, address, key and, for a certificate that signs itself, certificate (a
    file); `clients` one with client and key. `server` is the public key of whoever collects.
    """
    listed = read_columns(Path(parties), ("role", "address", "key"))
    enrolled = read_columns(Path(clients), ("client", "key"))
    if least < LEAST_CLIENTS:
        raise InputError(f"least = {least}: must be at least {LEAST_CLIENTS}")
    folder = Path(parties).parent
    stated = SessionFile(
        version=VERSION,
        name=name,
        backend=backend,
        questions=list(questions),
        largest=largest,
        least=least,
        parties={row["role"]: row["address"] for row in listed},
        clients={row["client"]: row["key"] for row in enrolled},
        server=server,
        keys={row["role"]: row["key"] for row in listed},
        certificates={row["role"]: _text(folder / row["certificate"]) for row in listed if row.get("certificate")},
        weights=list(weights),
        most=most,
    )
    session = make_session(stated)
    write_text(Path(out), json.dumps(stated.model_dump(), indent=1) + "\n")
    made = session.backend
    return Planned(str(out), backend, stated.parties, len(enrolled), made.learns, made.dishonest)


def _text(path: Path) -> str:
    require_file(path)
    return path.read_text(encoding="utf-8")


def serve(
    session: Path | str,
    *,
    role: str,
    key: Path | str,
    database: Path | str,
    port: int,
    host: str = "127.0.0.1",
    certificate: Path | str | None = None,
    certificate_key: Path | str | None = None,
) -> None:
    """Run one party of a session as a service, until the process is stopped."""
    known = read_session(Path(session))
    if role not in known.backend.parties:
        raise InputError(f"role = {role!r}: must be one of {', '.join(known.backend.parties)}")
    identity = read_identity(Path(key))
    tls = None
    if certificate is not None and certificate_key is not None:
        tls = Path(certificate), Path(certificate_key)
        for each in tls:
            require_file(each)
    elif known.file.parties[role].startswith("https:") and host != "127.0.0.1":
        raise InputError(f"{role}: {known.file.parties[role]} needs certificate and certificate_key")
    run_party(known, role, identity, Path(database), host=host, port=port, tls=tls)


def submit(
    session: Path | str,
    *,
    client: str | None = None,
    key: Path | str | None = None,
    keys: Path | str | None = None,
    data: Path | str | None = None,
    page: int | None = None,
    patience: float = 60.0,
    progress: Progress = no_progress,
) -> Submission | Submissions:
    """Send a client's report: its row of a CSV file, or what is typed into a page of this machine.

    `data` has a column `client` and one per question; `page` is the port of the page. With `keys`, the secrets of
    clients that `key --clients` made, all rows of `data` are sent, each as its client. A run that was interrupted is
    repeated with the same answers: it sends the same reports, which are kept beside the key until then.
    """
    known = read_session(Path(session))
    if keys is not None:
        if client is not None or key is not None or page is not None or data is None:
            raise InputError("keys: needs data, and neither client, key nor page: every row is sent")
        secrets = {name: each.signing for name, each in read_identities(Path(keys)).items()}
        return submit_rows(known, secrets, Path(keys), _answers(data, known), patience, progress)
    if client is None or key is None:
        raise InputError("client: name the client and its key, or the keys of all clients of the file")
    identity = read_identity(Path(key))
    if page is not None:
        run_page(known, client, identity.signing, Path(key), page)  # until it is stopped
        return Submission(known.file.name, client, {})
    if data is None:
        raise InputError("data: name the CSV file with the answers, or the port of a page")
    answers = _answers(data, known)
    if client not in answers.clients:
        raise InputError(f"{data}: there is no row of client {client!r}")
    row = answers.values[answers.clients.index(client)].tolist()
    return submit_row(known, client, identity.signing, Path(key), row, patience)


def _answers(data: Path | str, session: Session) -> ClientAnswers:
    answers = read_answers(data)
    if answers.questions != tuple(session.file.questions):
        raise InputError(f"{data}: its questions are {', '.join(answers.questions)}; not those of the session")
    return answers


def collect(session: Path | str, *, key: Path | str, out: Path | str | None = None) -> Collected:
    """Close a session, have its parties agree on one set of clients, and put the totals together.

    `out` is a file for the totals, the set and the parties' signed statements.
    """
    known, identity = read_session(Path(session)), read_identity(Path(key))
    try:
        with ask_over_http(known, identity.signing) as ask:
            summed: Sum = collect_sum(known, identity.signing, ask)
            parties = [role for role in known.file.parties if role not in summed.absent]
            refused = {role: ask(role, "status", b"")["refused"] for role in parties}
    except httpx2.HTTPError as error:
        raise InputError(f"a party cannot be reached ({error})") from None
    collected = Collected(
        known.file.name,
        known.file.backend,
        dict(zip(known.backend.labels(known.file.questions), summed.totals.tolist(), strict=True)),
        summed.clients,
        refused,
        summed.absent,
        summed.added,
        set_digest(summed.clients),
        summed.statements,
        known.backend.dishonest,
    )
    if out is not None:
        write_text(Path(out), json.dumps(collected.to_json(), indent=1) + "\n")
    return collected
