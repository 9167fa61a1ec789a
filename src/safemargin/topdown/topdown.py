"""Counts of areas with differential privacy: the public function of the command `topdown`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from safemargin.core import InputError, Progress, no_progress
from safemargin.topdown.folder import write_text
from safemargin.topdown.joint import JointRelease, is_joint, run_joint
from safemargin.topdown.report import Recomputation, TopDownPlan, TopDownRelease
from safemargin.topdown.run import plan_release, recompute, run


def topdown(
    source: Path | str,
    folder: Path | str | None = None,
    *,
    beside: Mapping[str, Path | str] | None = None,
    attack: tuple[Sequence[str], str] | None = None,
    plan: bool = False,
    progress: Progress = no_progress,
) -> TopDownRelease | JointRelease | TopDownPlan | Recomputation:
    """Publish counts of areas with differential privacy, as the TOML file `source` describes.

    The release is written to `folder` (default: beside the file); an interrupted run in it is resumed. `beside` names
    files of people protected by other methods, to compare errors with. `attack` has the attributes that an onlooker
    knows and another one, which a reconstruction attack on all of them states. With `plan`, nothing is drawn: the
    result is the guarantee and the precision that the release would have. A file with the section `joint` releases
    households and persons together. If `source` is the public folder of a release, its tables are computed again and
    compared.
    """
    path = Path(source)
    if path.is_dir():
        return recompute(path, progress)
    target = Path(folder) if folder is not None else path.parent / f"{path.stem}-release"
    if is_joint(path):
        if plan or beside or attack:
            raise InputError(f"{path}: is a joint release; plan and compare its two files one by one")
        both = run_joint(path, target, progress=progress)
        write_text(target / "confidential" / "report.html", both.to_html())
        return both
    if plan:
        return plan_release(path)
    others = {name: Path(file) for name, file in (beside or {}).items()}
    release = run(path, target, beside=others, attack=attack, progress=progress)
    write_text(release.report, release.to_html())
    return release
