"""The manifest of a release: its target, its rule, and what it guarantees about noise."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, StrictFloat, StrictInt, StrictStr, ValidationError

from safemargin.core import InputError, Publication, Target
from safemargin.guarantees.guarantee_file import guarantee_from
from safemargin.io import read_text


class ReleaseManifest(BaseModel):
    """What an audit reads of a manifest; other keys are for other readers."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    target: dict[str, StrictInt | StrictFloat]
    rule: StrictStr
    guarantees: list[dict[str, Any]] = []


def read_manifest(path: Path) -> Publication:
    """Target, rule and guarantees of a release, still without its tables; an error names the key that is wrong."""
    try:
        stated = ReleaseManifest.model_validate_json(read_text(path))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"][:2])
        raise InputError(f"{path}: is not the manifest of a release: {key and key + ': '}{first['msg']}") from None
    allowed = [field.name for field in fields(Target)]
    if unknown := set(stated.target) - set(allowed):
        raise InputError(f"{path}: target has {', '.join(sorted(unknown))}; allowed are {', '.join(allowed)}")
    try:
        target = Target(**stated.target)  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    guarantees = [guarantee_from(value, f"{path}: guarantees[{n}]") for n, value in enumerate(stated.guarantees)]
    return Publication((), target, tuple(guarantees), stated.rule)
