"""Before an election, and around it: what each party does in its own folder with its own keys.

`init` makes keys, `join` hands the public part in, `approve` checks everything about this party before it signs the
manifest, `backup` and `restore` keep a party alive. Parts travel as files in a folder that all parties can reach.
"""

import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from nacl.exceptions import CryptoError
from nacl.pwhash import argon2id
from nacl.secret import SecretBox
from nacl.utils import random as random_bytes
from pydantic import ValidationError

from safemargin.core import InputError, OutputError, remove_parts, write_whole
from safemargin.election.handover import check_release
from safemargin.election.keys import canonical, fingerprint
from safemargin.election.manifests import TOTAL, KnownElection, StatedDealing, first_fault
from safemargin.election.roll import read_roll
from safemargin.election.secret import Secret
from safemargin.election.service import CERTIFICATE, CERTIFICATE_KEY, KEYS, MANIFEST, open_role
from safemargin.election.setup import (
    ElectionPlan,
    PublicKeys,
    deal,
    make_manifest,
    new_keys,
    public_keys,
    read_plan,
    read_public_keys,
)
from safemargin.election.trustee import tally_secret
from safemargin.io import check_folder, new_folder, read_bytes, read_json
from safemargin.parties.certificates import make_certificate
from safemargin.parties.files import write_private

PLAN, PUBLIC, SEEN = "plan.toml", "public.json", "pledges.json"
AGREED = ("title", "question", "options", "least", "kappa", "share", "opens", "closes", "retention")
"""What a manifest takes over from the plan as it is."""


def init_party(plan: Path, name: str, folder: Path, address: str = "", host: str = "") -> PublicKeys:
    """Keys of a party in a new folder; with `host`, also a certificate for TLS that signs itself."""
    planned = read_plan(plan)
    if address and not address.startswith("https://"):
        raise InputError(f"address = {address!r}: must begin with https://; codes and ballots travel encrypted only")
    for part in (KEYS, PUBLIC, PLAN, CERTIFICATE, CERTIFICATE_KEY):
        remove_parts(folder / part)
    if (folder / KEYS).exists() and not (
        folder / PUBLIC
    ).exists():  # by a run that was interrupted before the last file
        secret = Secret.read(folder / KEYS)
        if secret.name != name:
            raise InputError(f"{folder / KEYS}: holds the keys of {secret.name}, not of {name}; name another folder")
    else:
        secret = new_keys(planned, name)
        secret.write(folder / KEYS)
    certificate = ""
    if host:
        certificate, key = make_certificate(host)
        write_private(folder / CERTIFICATE_KEY, key.encode())
        write_whole(folder / CERTIFICATE, certificate.encode())
    write_whole(folder / PLAN, read_bytes(plan))
    public = public_keys(planned, secret, address=address, certificate=certificate)
    write_whole(folder / PUBLIC, public.document())
    return public


def public_fingerprint(public: PublicKeys) -> str:
    """What parties read to each other on the telephone to compare keys."""
    return fingerprint(hashlib.sha256(public.document()).digest())


def join_party(folder: Path, into: Path) -> list[Path]:
    """Hand the public part in; a trustee shows its part of the tally key once the hashes of all trustees are there.

    A trustee keeps the hashes that it saw: it will not sign a manifest with others.
    """
    secret, planned = Secret.read(folder / KEYS), read_plan(folder / PLAN)
    own = into / f"{secret.name}.public.json"
    content = read_bytes(folder / PUBLIC)
    if own.exists() and read_bytes(own) != content:
        raise OutputError(f"{own}: another party handed in keys under this name")
    write_whole(own, content)
    written = [own]
    pledged = {name: into / f"{name}.public.json" for name in planned.trustees}
    if secret.name in planned.trustees and all(path.exists() for path in pledged.values()):
        keys = {name: read_public_keys(path) for name, path in pledged.items()}
        seen = canonical({name: each.pledge for name, each in keys.items()})
        if (folder / SEEN).exists() and read_bytes(folder / SEEN) != seen:
            raise InputError(f"{into}: a trustee changed its hash after others showed theirs; start with new keys")
        write_whole(folder / SEEN, seen)
        shown = into / f"{secret.name}.dealing.json"
        if not shown.exists():
            write_whole(shown, canonical(deal(planned, secret, keys).model_dump()))
        written.append(shown)
    return written


def read_parts(plan: ElectionPlan, folder: Path) -> tuple[list[PublicKeys], dict[str, StatedDealing]]:
    """What all parties handed in."""
    for name in plan.parties:
        if not (folder / f"{name}.public.json").exists():
            raise InputError(f"{folder}: {name} has not handed in its keys")
    keys = [read_public_keys(folder / f"{name}.public.json") for name in plan.parties]
    dealings = {}
    for name in plan.trustees:
        path = folder / f"{name}.dealing.json"
        if not path.exists():
            raise InputError(f"{folder}: {name} has not shown its part of the tally key; it joins once more")
        try:
            dealings[name] = StatedDealing.model_validate(read_json(path))
        except ValidationError as error:
            raise InputError(f"{path}: {first_fault(error)}") from None
    return keys, dealings


def assemble(plan: Path, roll: Path, parts: Path) -> KnownElection:
    """The manifest from a plan, the roll and what the parties handed in."""
    planned = read_plan(plan)
    keys, dealings = read_parts(planned, parts)
    election = make_manifest(planned, read_roll(read_bytes(roll), str(roll)), keys, dealings)
    check_release(election)
    return election


def approve_manifest(folder: Path, manifest: Path, into: Path) -> tuple[KnownElection, Path]:
    """Check everything about this party and the rules of separation, keep the manifest, and sign it."""
    secret, election = Secret.read(folder / KEYS), KnownElection.read(manifest)
    if (folder / MANIFEST).exists() and read_bytes(folder / MANIFEST) != election.content:
        raise InputError(f"{folder / MANIFEST}: this party signed another manifest before")
    for fault in approval_faults(folder, secret, election):
        raise InputError(f"{manifest}: {fault}; not signed")
    write_whole(folder / MANIFEST, election.content)
    signature = election.sign(secret.signing, secret.name, "all", "manifest", election.content)
    path = into / f"{secret.name}.approval.json"
    write_whole(path, canonical({"name": secret.name, "manifest": election.mid.hex(), "signature": signature}))
    return election, path


def approval_faults(folder: Path, secret: Secret, election: KnownElection) -> list[str]:
    """Why this party must not sign a manifest: it is compared with the party's own keys, plan and memory."""
    planned, party = read_plan(folder / PLAN), election.parties.get(secret.name)
    public = PublicKeys(**read_json(folder / PUBLIC))
    if party is None:
        return [f"{secret.name} is no party of it"]
    faults = []
    if election.manifest.plan != planned.hash.hex():
        faults.append("it is not made from the plan of this party")
    faults += plan_faults(planned, election)
    own = (secret.signing.public_key().public_bytes_raw().hex(), secret.sealing.public)
    if (party.key, party.seal) != own or (party.address, party.certificate) != (public.address, public.certificate):
        faults.append(f"it has other keys, another address or another certificate of {secret.name}")
    stated = {name: (each.role, each.organisation) for name, each in election.parties.items()}
    if stated != {name: (each.role, each.organisation) for name, each in planned.parties.items()}:
        faults.append("it has other parties than the plan")
    if party.role == "issuer":
        for dimension in election.manifest.dimensions:
            for label, modulus in dimension.keys[secret.name].items():
                if int(modulus, 16) not in {signer.public.n for signer in secret.signers.values()}:
                    faults.append(f"{dimension.name}/{label}: the issuing key is not one of this party")
    if party.role == "escrow" and election.manifest.escrow is not None:
        if election.manifest.escrow.keys[secret.name] != public.escrow:
            faults.append("it has another escrow key of this party")
    if party.role == "trustee":
        faults += _trustee_faults(folder, secret, election, public)
    check_release(election)
    return faults


def plan_faults(planned: ElectionPlan, election: KnownElection) -> list[str]:
    """What a manifest states otherwise than the plan of a party: a hash of the plan in it proves nothing about that."""
    manifest = election.manifest
    wanted = {**planned.model_dump(include=set(AGREED)), "openers": planned.needed}
    stated = {name: getattr(manifest, name) for name in wanted}
    faults = [
        f"{name}: it has {stated[name]!r}, the plan {wanted[name]!r}" for name in wanted if stated[name] != wanted[name]
    ]
    if canonical(election.release_sections) != canonical(planned.release):
        faults.append("release: it has other limits than the plan")
    governed = None if manifest.escrow is None else (manifest.escrow.candidates, manifest.escrow.quorum)
    if governed != (None if planned.escrow is None else (planned.escrow.candidates, planned.escrow.quorum)):
        faults.append("escrow: it has another one than the plan")
    if manifest.joint is not None and not planned.joint_roll_is_public:
        faults.append("joint: it shows the roll by all dimensions together; the plan does not")
    if [dimension.name for dimension in manifest.dimensions] != [TOTAL, *planned.dimensions]:
        return [*faults, "dimensions: it has others than the plan"]
    for dimension in manifest.dimensions[1:]:
        own = planned.dimensions[dimension.name]
        labels = [label for part in dimension.parts for label in part]
        if (labels, dimension.self_reported) != (own.categories, own.self_reported):
            faults.append(f"{dimension.name}: it has other categories than the plan, or asks people for them")
        sizes = {label: (own.sizes or {}).get(label, 0) for label in own.categories}
        if own.self_reported and sizes != dimension.sizes:
            faults.append(f"{dimension.name}: it has other sizes than the plan")
        if not own.self_reported and len(dimension.people) > 1 and min(dimension.people) < planned.kappa:
            faults.append(f"{dimension.name}: it has a group of fewer than {planned.kappa:,} people")
    return faults


def _trustee_faults(folder: Path, secret: Secret, election: KnownElection, public: PublicKeys) -> list[str]:
    faults = []
    seen = read_json(folder / SEEN) if (folder / SEEN).exists() else None
    if seen != {name: stated.pledge for name, stated in election.manifest.tally.items()}:
        faults.append("the hashes of the tally key are not those that this trustee saw before it showed its part")
    if election.manifest.tally[secret.name].pledge != public.pledge:
        faults.append("the part of the tally key is not the one of this trustee")
    tally_secret(election, secret)  # a wrong share that was dealt to this trustee is refused by name
    return faults


def read_approvals(election: KnownElection, folder: Path) -> dict[str, str]:
    """All signatures on the manifest; a missing or wrong one is named."""
    signatures = {}
    for name in election.parties:
        path = folder / f"{name}.approval.json"
        stated = read_json(path) if path.exists() else {}
        signature = stated.get("signature") if isinstance(stated, Mapping) else None
        if not election.is_signed(signature, name, "all", "manifest", election.content):
            raise InputError(f"{folder}: {name} has not approved this manifest")
        signatures[name] = str(signature)
    return signatures


def backup_folder(folder: Path, out: Path, passphrase: str) -> None:
    """Everything of a party in one encrypted file (Argon2id and XSalsa20-Poly1305); stop the service first."""
    _check_passphrase(passphrase)
    open_role(folder).close() if (folder / MANIFEST).exists() else None  # refused while another process works there
    with io.BytesIO() as buffer:
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and path.name != ".lock" and "copy" not in path.relative_to(folder).parts:
                    archive.add(path, path.relative_to(folder).as_posix())
        content = buffer.getvalue()
    salt = random_bytes(argon2id.SALTBYTES)
    write_private(out, salt + SecretBox(_stretched(passphrase, salt)).encrypt(content), new=True)


def restore_folder(backup: Path, folder: Path, passphrase: str) -> None:
    """A party from its backup. It refuses to sign until it has caught up with what happened since."""
    check_folder(folder)
    sealed = read_bytes(backup)
    salt = sealed[: argon2id.SALTBYTES]
    try:
        content = SecretBox(_stretched(passphrase, salt)).decrypt(sealed[argon2id.SALTBYTES :])
    except (CryptoError, ValueError):
        raise InputError(f"{backup}: the passphrase is wrong, or this is no backup") from None
    with new_folder(folder) as draft:  # a folder with half of a party's keys would look like a party
        draft.chmod(0o700)
        # errorlevel 2: a mode that cannot be set is an error, or keys would be left for others to read
        with tarfile.open(fileobj=io.BytesIO(content), errorlevel=2) as archive:
            try:
                archive.extractall(draft, filter="data")
            except tarfile.ExtractError as error:
                raise OutputError(f"{folder}: cannot be written ({error})") from None
        if (draft / MANIFEST).exists():
            role = open_role(draft)
            role.mark_restored()
            role.close()
            (draft / ".lock").unlink(missing_ok=True)


def _check_passphrase(passphrase: str) -> None:
    if len(passphrase) < 12:
        raise InputError("passphrase: must have at least 12 characters")


def _stretched(passphrase: str, salt: bytes) -> bytes:
    return bytes(
        argon2id.kdf(
            SecretBox.KEY_SIZE,
            passphrase.encode(),
            salt,
            opslimit=argon2id.OPSLIMIT_INTERACTIVE,
            memlimit=argon2id.MEMLIMIT_INTERACTIVE,
        )
    )
