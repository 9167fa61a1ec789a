"""What is secret about an answer: sets of options that nobody may be known to have chosen within.

Let `K` options have overall shares `s_o`. A *secret* is a set `S` of options, not empty and not all of them. Nobody may
infer that more than `ceiling_S = 1 - min(beta, (1 - s_S) / 2)` of a checked group chose within `S`. Three families:

- `choice`: every single option; of an ordered question also its two halves (the middle one is in neither);
- `both`: also the complement of every option ("nobody here chose A"), which is a floor: `floor_A = 1 - ceiling_notA`;
- own sets, and other families for single options (`none` drops `{o}` as a secret and nothing else).

With two options the complement of one is the other, so `choice` and `both` are the same, and each option has a floor
and a ceiling. With three and more, a floor under every option would call every group irregular in which a small party
is small. Section 1 of the specification of answers has the reasons.

A *column* is what limits are stated about: each option by itself, then the sets that are neither one option nor the
complement of one. A column has a ceiling if its set is a secret, and a floor if the complement of its set is one.

>>> scale = ("1", "2", "3", "4", "5")
>>> [list(column.members) for column in Secrets().with_halves(scale).columns(scale)][5:]
[[0, 1], [3, 4]]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from safemargin.core.errors import InputError

FAMILIES = ("choice", "both", "none")


@dataclass(frozen=True)
class Column:
    """A set of options, by number, and which limits it has; `least` is the smallest count above 0 that may be known."""

    members: tuple[int, ...]
    has_floor: bool
    has_ceiling: bool
    least: int = 0


@dataclass(frozen=True)
class Secrets:
    """Which sets of options are secret: a family for all options, others for some by name, and own sets."""

    default: str = "choice"
    options: tuple[tuple[str, str], ...] = ()
    sets: tuple[tuple[str, ...], ...] = ()
    least: tuple[tuple[str, int], ...] = ()
    """Options of which no count above 0 and below this may be inferred, whatever the size of a group."""
    wide: bool = False
    """Whether each half of an ordered question is a secret together with the middle option, too."""

    @classmethod
    def parse(cls, stated: object, key: str = "target.secrets") -> "Secrets":
        """Secrets as a project file states them: a family, or a table of families by option and own sets."""
        if isinstance(stated, Secrets):
            return stated
        if isinstance(stated, str):
            return cls(_family(stated, f"{key} = {stated!r}", ("choice", "both")))
        if not isinstance(stated, Mapping):
            raise InputError(f'{key}: must be "choice", "both", or a table such as {{default = "choice", A = "both"}}')
        default, options, least = "choice", {}, {}
        for option, value in stated.items():
            if option == "ordered":
                if value != "wide":
                    raise InputError(f'{key}.ordered = {value!r}: must be "wide", or absent')
            elif option == "default":
                default = _family(value, f"{key}.default = {value!r}", ("choice", "both"))
            elif isinstance(value, Mapping) and option != "sets":
                least[str(option)] = _least(value, f"{key}.{option}")
            elif option != "sets":
                options[str(option)] = _family(value, f"{key}.{option} = {value!r}", FAMILIES)
        sets, wide = _own_sets(stated.get("sets", ()), key), "ordered" in stated
        return cls(default, tuple(options.items()), sets, tuple(least.items()), wide)

    def stated(self) -> str | dict[str, Any]:
        """The same as a project file would state it."""
        if not (self.options or self.sets or self.least or self.wide):
            return self.default
        return {
            "default": self.default,
            **dict(self.options),
            **{option: {"least": least} for option, least in self.least},
            **({"sets": [list(names) for names in self.sets]} if self.sets else {}),
            **({"ordered": "wide"} if self.wide else {}),
        }

    @property
    def named(self) -> tuple[str, ...]:
        """Every option that is named."""
        inside = (name for names in self.sets for name in names)
        return tuple(dict.fromkeys((*dict(self.options), *inside, *dict(self.least))))

    def renamed(self, labels: Mapping[str, str]) -> "Secrets":
        """The same where options have other names."""

        def name(option: str) -> str:
            return labels.get(option, option)

        return replace(
            self,
            options=tuple((name(option), family) for option, family in self.options),
            sets=tuple(tuple(dict.fromkeys(map(name, names))) for names in self.sets),
            least=tuple((name(option), least) for option, least in self.least),
        )

    def check(self, options: Sequence[str], key: str = "target.secrets") -> None:
        """Raise if an option is named that does not exist, or a set holds all of them."""
        for option in self.named:
            if option not in options:
                raise InputError(f"{key}: there is no option {option!r}; the options are {', '.join(options)}")
        for names in self.sets:
            if len(set(names)) == len(options):
                raise InputError(f"{key}.sets: {' or '.join(names)} are all options; everybody chose one of these")

    def with_halves(self, options: Sequence[str]) -> "Secrets":
        """The same with the halves of a scale as own sets, and if they are `wide`, each with the middle option too."""
        half, names = len(options) // 2, tuple(options)
        halves = [names[:half], names[-half:]] if half else []
        halves += [names[: len(names) - half], names[half:]] if half and self.wide else []
        unique = dict.fromkeys((*self.sets, *(tuple(sorted(inside)) for inside in halves if len(inside) > 1)))
        return replace(self, sets=tuple(unique), wide=False)

    def columns(self, options: Sequence[str], everybody: bool = True) -> tuple[Column, ...]:
        """What limits are stated about, for a question with these options.

        Where the options do not cover `everybody` who is counted, nobody knows how many of a group answered. Then the
        complement of an option holds those who did not, and every option keeps its floor.
        """
        secret = self.of(options, everybody)
        count, every = len(options), frozenset(range(len(options)))
        place = {option: number for number, option in enumerate(options)}
        fewest = {place[option]: least for option, least in self.least}
        singles = [frozenset([number]) for number in range(count)]
        others = [inside for inside in sorted(secret, key=sorted) if inside and inside != every]
        sets: list[frozenset[int]] = []
        for inside in others:  # a set and its complement are one column
            if inside not in singles and every - inside not in singles and every - inside not in sets:
                sets.append(inside)
        return tuple(
            Column(tuple(sorted(inside)), every - inside in secret, inside in secret, _only(inside, fewest))
            for inside in [*singles, *sets]
        )

    def of(self, options: Sequence[str], everybody: bool = True) -> frozenset[frozenset[int]]:
        """The secrets themselves: sets of options by number."""
        if self.named:
            self.check(options)
        count = len(options)
        every = frozenset(range(count))
        families, secret = dict(self.options), set[frozenset[int]]()
        for number, option in enumerate(options):
            family = families.get(option, self.default)
            if family != "none":
                secret.add(frozenset([number]))
            if family == "both" or not everybody or count < 2:
                secret.add(every - {number})
        place = {option: number for number, option in enumerate(options)}
        return frozenset(secret | {frozenset(place[name] for name in names) for names in self.sets})


def _only(inside: frozenset[int], fewest: Mapping[int, int]) -> int:
    return fewest.get(next(iter(inside)), 0) if len(inside) == 1 else 0


def _family(value: object, said: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise InputError(f"{said}: must be one of {', '.join(allowed)}")
    return str(value)


def _least(value: Mapping[str, object], key: str) -> int:
    least = value.get("least")
    if set(value) != {"least"} or not isinstance(least, int) or isinstance(least, bool) or least < 2:
        raise InputError(f"{key}: must be a family, or {{least = n}} with a whole number from 2")
    return least


def _own_sets(value: object, key: str) -> tuple[tuple[str, ...], ...]:
    listed: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
    for names in listed:
        if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
            raise InputError(f'{key}.sets: must list sets of options, as in [["Left", "Green"]]')
    unique = dict.fromkeys(tuple(sorted(set(names))) for names in listed)
    return tuple(unique)
