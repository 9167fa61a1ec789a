"""The manifest of a release: its target, its rule, and what it guarantees about noise."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, StrictFloat, StrictInt, StrictStr, ValidationError

from safemargin.core import InputError, Publication, Target
from safemargin.guarantees import guarantee_from
from safemargin.io import Manifest, check_keys, hash_file, read_json, read_manifest as read_hashes, read_text

CERTIFICATE = "certificate.json"


class ReleaseManifest(BaseModel):
    """What an audit reads of a manifest; other keys are for other readers."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    target: dict[str, StrictInt | StrictFloat | Literal["choice", "both"] | dict[str, Any]]
    rule: StrictStr
    rule_text: StrictStr = ""
    guarantees: list[dict[str, Any]] = []


def read_manifest(path: Path, tables: Sequence[Path]) -> Publication:
    """Target, rule and guarantees of a release, still without its tables; an error names the key that is wrong.

    They are believed only if every file has the hash that the manifest states, the certificate beside it states the
    same, and `tables` are files of this release.
    """
    text = read_text(path)
    check_keys(text, path)
    try:
        stated = ReleaseManifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"][:2])
        raise InputError(f"{path}: is not the manifest of a release: {key and key + ': '}{first['msg']}") from None
    allowed = [field.name for field in fields(Target)]
    if unknown := set(stated.target) - set(allowed):
        raise InputError(f"{path}: target has {', '.join(sorted(unknown))}; allowed are {', '.join(allowed)}")
    try:
        target = Target(**stated.target)  # type: ignore[arg-type]
    except (InputError, TypeError) as error:
        raise InputError(f"{path}: target: {error}" if isinstance(error, TypeError) else f"{path}: {error}") from None
    _check_hashes(path, read_hashes(path), tables)
    guarantees = [guarantee_from(value, f"{path}: guarantees[{n}]") for n, value in enumerate(stated.guarantees)]
    return Publication((), target, tuple(guarantees), stated.rule_text or stated.rule)


def _check_hashes(path: Path, manifest: Manifest, tables: Sequence[Path]) -> None:
    if CERTIFICATE not in manifest.files:
        raise InputError(
            f"{path}: does not name {CERTIFICATE}, so nothing shows that its target is that of the release"
        )
    if changed := manifest.changed(path.parent):
        raise InputError(f"{path}: {changed[0]} is missing or was changed after the manifest was written")
    certificate = read_json(path.parent / CERTIFICATE)
    stated = read_json(path)
    for key in ("title", "statement"):
        if not isinstance(certificate, dict) or certificate.get(key) != stated.get(key):
            raise InputError(f"{path}: states another {key} than the certificate")
    if _limits(certificate) != _limits(stated):
        raise InputError(f"{path}: states another target than the certificate")
    for table in tables:
        if table.name not in manifest.files:
            raise InputError(f"{table}: the manifest {path} does not name this file")
        if hash_file(table) != manifest.files[table.name]:
            raise InputError(f"{table}: the manifest {path} states another hash of this file")


def _limits(document: dict[str, Any]) -> tuple[object, ...]:
    """The limits of a manifest, in which `beta` is a number, or of a certificate, in which it may be a fraction."""
    target = document.get("target")
    target = target if isinstance(target, dict) else {}
    beta: Fraction | None = None
    with suppress(ValueError, ZeroDivisionError):
        beta = Fraction(str(target.get("beta"))).limit_denominator(10**9)
    return beta, target.get("kappa"), target.get("tau"), target.get("sensitive") or {}
