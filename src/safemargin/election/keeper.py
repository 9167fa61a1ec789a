"""The board as a role: it appends what parties sign, and hands out heads, proofs and files to anybody."""

from pathlib import Path

from safemargin.core import InputError
from safemargin.election.board import KINDS, Board, make_entry
from safemargin.election.keys import canonical, parse
from safemargin.election.manifests import KnownElection
from safemargin.election.role import Role, Step, single
from safemargin.election.secret import Secret

PIECE = 1 << 23
"""Bytes of a file that are handed out at once."""


WRITERS = ("registrar", "box", "collector", "trustee")


class BoardKeeper(Role):
    """Runs the board; its folder is public."""

    def __init__(self, election: KnownElection, secret: Secret, place: Path | str) -> None:
        super().__init__(election, secret, place)
        if isinstance(place, str):
            raise InputError("the board is a folder of files, not a database")
        self.board = Board(place / "board", election, secret)

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        return [
            Step("begin", single(self.begin), "operator", "Write the first entry: the manifest with all signatures"),
            Step("append", single(self.append), "anybody", "Append an entry that its author signed"),
            Step(
                "extension",
                single(self.extension),
                "anybody",
                "The head, with the proof that it continues an older one",
            ),
            Step("cosign", single(self.cosign), "anybody", "Keep a witness's signature of the head"),
            Step("proof", single(self.proof), "anybody", "The proof that an entry of a type is in the log"),
            Step("files", single(self.files), "anybody", "Names of all files of the board"),
            Step("file", single(self.file), "anybody", "One file of the board"),
            Step("put", single(self.put), "party", "Keep a file that an entry names", roles=WRITERS),
            Step("status", single(self.status), "operator", "Numbers of this party"),
        ]

    def begin(self, body: bytes) -> bytes:
        """The first entry, from everybody's signature on the manifest."""
        signatures = parse(body)
        for name in self.election.parties:
            if not self.election.is_signed(signatures.get(name), name, "all", "manifest", self.election.content):
                raise InputError(f"{name}: has not signed this manifest")
        statement = {"manifest": self.election.mid.hex(), "signatures": signatures}
        return self.append(make_entry(self.election, self.secret, "manifest", statement).content)

    def append(self, body: bytes) -> bytes:
        """See `Board.append`."""
        return canonical({"index": self.board.append(body)})

    def extension(self, body: bytes) -> bytes:
        """See `Board.extension`."""
        old = parse(body).get("old")
        if not isinstance(old, int) or isinstance(old, bool) or old < 0:
            raise InputError("old: must be the number of entries of an older head")
        return canonical(self.board.extension(old))

    def cosign(self, body: bytes) -> bytes:
        """See `Board.add_witness`."""
        match parse(body):
            case {"name": str(name), "signature": str(signature)}:
                return canonical(self.board.add_witness(name, signature).document())
        raise InputError("the message holds no signature of a witness")

    def proof(self, body: bytes) -> bytes:
        """See `Board.proof`; the first entry of the type, or the one about a record."""
        stated = parse(body)
        type_, name, author = stated.get("type"), stated.get("nullifier"), stated.get("author")
        for index, entry in enumerate(self.board.entries):
            if entry.type == type_ and name in (None, entry.body.get("nullifier")) and author in (None, entry.author):
                return canonical(self.board.proof(index))
        raise InputError("the log has no entry of this type")

    def files(self, _: bytes) -> bytes:
        """All files, in order."""
        folder = self.board.folder
        names = [str(path.relative_to(folder)) for kind in KINDS for path in sorted((folder / kind).glob("[!.]*"))]
        sizes = {name: (folder / name).stat().st_size for name in ["manifest.json", *names]}
        return canonical({"files": sizes})

    def status(self, _: bytes) -> bytes:
        """How many entries there are, by type."""
        types = [entry.type for entry in self.board.entries]
        return canonical({"entries": {name: types.count(name) for name in dict.fromkeys(types)}})

    def close(self) -> None:
        """See `Role`; the lock is given back."""
        super().close()
        self.board.close()

    def file(self, body: bytes) -> bytes:
        """A piece of one of the files that `files` lists, from an offset on."""
        stated = parse(body)
        name, offset = stated.get("name"), stated.get("offset", 0)
        if name not in parse(self.files(b""))["files"] or not isinstance(offset, int) or offset < 0:
            raise InputError("there is no file of this name")
        with (self.board.folder / str(name)).open("rb") as file:
            file.seek(offset)
            return file.read(PIECE)

    def put(self, body: bytes) -> bytes:
        """See `Board.put`: a line with kind and name, then the content."""
        head, _, content = body.partition(b"\n")
        match parse(head):
            case {"kind": str(kind), "name": str(name)}:
                self.board.put(kind, name, content)
                return b"{}"
        raise InputError("the message names no file")
