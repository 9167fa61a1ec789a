"""The manifest that stands beside a release: its target, and the rule by which cells were protected."""

import json
from dataclasses import fields
from pathlib import Path

from safemargin.core import Guarantee, InputError, Target
from safemargin.guarantees.guarantee_file import guarantee_from


def read_manifest(path: Path) -> tuple[Target, str]:
    """Target and rule of a release; an error names the key that is wrong."""
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: the manifest cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: is not the manifest of a release: {error}") from None
    for key, kind in (("target", dict), ("rule", str)):
        if not isinstance(stated, dict) or not isinstance(stated.get(key), kind):
            raise InputError(f"{path}: is not the manifest of a release: it has no {key!r}")
    for key, value in stated["target"].items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{path}: target.{key} = {value!r}: must be a number")
    try:
        return Target(**stated["target"]), stated["rule"]
    except TypeError:
        names = ", ".join(field.name for field in fields(Target))
        raise InputError(f"{path}: target has {', '.join(stated['target'])}; allowed are {names}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_promises(path: Path) -> tuple[Guarantee, ...]:
    """The promises about noise that a manifest states."""
    stated = json.loads(path.read_text(encoding="utf-8")).get("guarantees", [])
    if not isinstance(stated, list) or not all(isinstance(each, dict) for each in stated):
        raise InputError(f"{path}: guarantees: is not a list of promises")
    return tuple(guarantee_from(each, f"{path}: guarantees[{n}]") for n, each in enumerate(stated))
