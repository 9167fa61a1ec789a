"""What a project with a ledger must say: whether people were asked again, and how it is known who came and went."""

from safemargin.core import InputError


def check_waves(answers: str | None, name: str | None, turnover: str | None, names_people: bool) -> None:
    """Raise unless a project chooses `answers`, and one of `id` (a column that names people) and `turnover`."""
    if answers is None:
        raise InputError(
            'ledger.answers is missing: add answers = "kept" (the same answers are published again, or more of them) '
            'or answers = "new" (people were asked again since the last release)'
        )
    if (name is None) == (turnover is None):
        raise InputError(
            'ledger: give one of id (the column that names people in every cycle) and turnover = "net" (only net '
            "changes between cycles are compared, so people who came and went at once are not protected)"
        )
    if name is not None and not names_people:
        raise InputError(f"ledger.id = {name!r}: needs [data] with a row per person, and no [roll]")
