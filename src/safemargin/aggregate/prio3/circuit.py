"""Validity circuits: what a report may be, as polynomial equations that an honest measurement fulfils.

A circuit encodes a measurement as field elements and feeds them to one gadget of degree d, `calls` times. Its outputs,
linear in the gadget's answers and the elements, are all 0 for a valid measurement. Two kinds of gadgets are enough:

- `Products`: the sum of `count` products of pairs. With inputs `r^(j+1) x_j` and `x_j - 1` it is 0 for every r iff all
  x_j are bits; for one that is not, by chance over r only.
- `Polynomial`: one polynomial at one input, as `x^2 - x`.

Circuits are those of the specification (draft-irtf-cfrg-vdaf, section 7.4; `old` in the form of draft 08, which
`@divviup/prio3` speaks). `Weighted` is ours: vectors as in `SumVec`, of which one linear statistic is opened.

    >>> SumVec(2, 5).encode([3, 5])
    [1, 1, 0, 1, 1, 1]
    >>> SumVec(2, 5).truncate([1, 1, 0, 1, 1, 1])
    [3, 5]
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt

from safemargin.aggregate.prio3.field import Field, Field64, Field128, dot

Wires = list[list[int]]
"""By wire, the inputs of all calls of the gadget."""


class Gadget(ABC):
    """A polynomial in `arity` inputs."""

    arity: int
    degree: int

    @abstractmethod
    def value(self, inputs: Sequence[int]) -> int:
        """The value, not reduced."""


@dataclass(frozen=True)
class Products(Gadget):
    """The sum of `count` products of two neighbouring inputs."""

    count: int
    degree = 2

    @property
    def arity(self) -> int:  # type: ignore[override]
        """Two inputs of each product."""
        return 2 * self.count

    def value(self, inputs: Sequence[int]) -> int:
        return dot(inputs[0::2], inputs[1::2])


@dataclass(frozen=True)
class Polynomial(Gadget):
    """One polynomial, its constant first."""

    coefficients: tuple[int, ...]
    arity = 1

    @property
    def degree(self) -> int:  # type: ignore[override]
        """The highest power."""
        return len(self.coefficients) - 1

    def value(self, inputs: Sequence[int]) -> int:
        total = 0
        for coefficient in reversed(self.coefficients):
            total = total * inputs[0] + coefficient
        return total


class Circuit(ABC):
    """`elements` per encoded measurement, `outputs` per aggregate, `joint` elements of joint randomness."""

    field: Field
    gadget: Gadget
    calls: int
    elements: int
    outputs: int
    joint = 0
    results = 1
    """Equations; more than one are reduced to one by random factors."""

    @abstractmethod
    def encode(self, measurement: Sequence[int]) -> list[int]:
        """Elements of a valid measurement; others are refused."""

    @abstractmethod
    def wires(self, elements: Sequence[int], joint: Sequence[int], share: int) -> Wires:
        """Inputs of the gadget; constants are multiplied by `share`, the reciprocal of the number of shares."""

    @abstractmethod
    def evaluate(self, answers: Sequence[int], elements: Sequence[int], joint: Sequence[int], share: int) -> list[int]:
        """The equations' left sides from the gadget's answers."""

    def truncate(self, elements: Sequence[int]) -> list[int]:
        """What of the elements is added up."""
        return list(elements)


def _range(values: Sequence[int], length: int, largest: int) -> None:
    if len(values) != length:
        raise ValueError(f"{len(values)} answers: must be {length}")
    if values and (min(values) < 0 or max(values) > largest):
        raise ValueError(f"answers must be whole numbers from 0 to {largest}")


@dataclass(frozen=True)
class Digits:
    """Numbers from 0 to `largest` as bits, whose weights are powers of two and a last one: no other number can be said.

    >>> [Digits(5).encode(value) for value in (2, 3, 4)], Digits(5).weights
    ([[0, 1, 0], [1, 1, 0], [0, 1, 1]], [1, 2, 2])
    """

    largest: int

    @property
    def count(self) -> int:
        return self.largest.bit_length()

    @property
    def weights(self) -> list[int]:
        ones = (1 << (self.count - 1)) - 1
        return [1 << place for place in range(self.count - 1)] + [self.largest - ones]

    def encode(self, value: int) -> list[int]:
        ones = (1 << (self.count - 1)) - 1
        last = int(value > ones)
        rest = value - last * (self.largest - ones)
        return [rest >> place & 1 for place in range(self.count - 1)] + [last]


class CountCircuit(Circuit):
    """One bit."""

    def __init__(self) -> None:
        self.field, self.gadget, self.calls, self.elements, self.outputs = Field64, Products(1), 1, 1, 1

    def encode(self, measurement: Sequence[int]) -> list[int]:
        _range(measurement, 1, 1)
        return list(measurement)

    def wires(self, elements: Sequence[int], joint: Sequence[int], share: int) -> Wires:
        return [[elements[0]], [elements[0]]]

    def evaluate(self, answers: Sequence[int], elements: Sequence[int], joint: Sequence[int], share: int) -> list[int]:
        return [answers[0] - elements[0]]


class SumCircuit(Circuit):
    """One number from 0 to `largest`, digit by digit."""

    def __init__(self, largest: int, old: bool = False) -> None:
        self.field = Field128 if old else Field64
        self.digits, self.old = Digits(largest), old
        if largest < 1 or largest * 2 >= self.field.modulus:
            raise ValueError(f"a largest answer of {largest} does not fit the field")
        if old and largest & (largest + 1):
            raise ValueError("draft 08 sums numbers below a power of two")
        self.gadget, self.calls, self.elements, self.outputs = Polynomial((0, -1, 1)), *[self.digits.count] * 2, 1
        self.results, self.joint = (1, 1) if old else (self.digits.count, 0)

    def encode(self, measurement: Sequence[int]) -> list[int]:
        _range(measurement, 1, self.digits.largest)
        return self.digits.encode(measurement[0])

    def wires(self, elements: Sequence[int], joint: Sequence[int], share: int) -> Wires:
        return [list(elements)]

    def evaluate(self, answers: Sequence[int], elements: Sequence[int], joint: Sequence[int], share: int) -> list[int]:
        if self.old:
            return [dot(list(powers(joint[0], len(answers), self.field.modulus)), answers)]
        return list(answers)

    def truncate(self, elements: Sequence[int]) -> list[int]:
        return [dot(self.digits.weights, elements) % self.field.modulus]


def powers(base: int, count: int, modulus: int) -> Iterator[int]:
    """`base`, its square, and so on."""
    power = 1
    for _ in range(count):
        power = power * base % modulus
        yield power


class Bits(Circuit):
    """Elements that are all bits, checked in chunks by one gadget; further equations in classes below."""

    field = Field128

    def __init__(self, elements: int, chunk: int | None, old: bool) -> None:
        self.chunk = chunk or max(1, isqrt(elements))
        if elements < 1 or self.chunk < 1:
            raise ValueError("a vector and its chunks have at least one element")
        self.old, self.elements = old, elements
        self.gadget, self.calls = Products(self.chunk), -(-elements // self.chunk)
        self.joint = 1 if old else self.calls

    def factors(self, joint: Sequence[int]) -> list[int]:
        """By element, the random factor of its equation. Draft 08 takes powers of one number, later ones of one per
        chunk.
        """
        modulus, padded = self.field.modulus, self.calls * self.chunk
        if self.old:
            return list(powers(joint[0], padded, modulus))
        return [power for base in joint for power in powers(base, self.chunk, modulus)]

    def wires(self, elements: Sequence[int], joint: Sequence[int], share: int) -> Wires:
        modulus, chunk, calls = self.field.modulus, self.chunk, self.calls
        padded = [*elements, *[0] * (calls * chunk - len(elements))]
        scaled = [a * b % modulus for a, b in zip(self.factors(joint), padded, strict=True)]
        less = [element - share for element in padded]
        return [row[place::chunk] for place in range(chunk) for row in (scaled, less)]

    def evaluate(self, answers: Sequence[int], elements: Sequence[int], joint: Sequence[int], share: int) -> list[int]:
        return [sum(answers)]


class SumVec(Bits):
    """A vector of numbers from 0 to `largest`, added up entry by entry."""

    def __init__(
        self, length: int, largest: int, chunk: int | None = None, old: bool = False, field: Field = Field128
    ) -> None:
        self.field = field
        if largest < 1 or largest * 2 >= field.modulus:
            raise ValueError(f"a largest answer of {largest} does not fit the field")
        if old and largest & (largest + 1):
            raise ValueError("draft 08 sums numbers below a power of two")
        self.digits, self.length = Digits(largest), length
        super().__init__(length * self.digits.count, chunk, old)
        self.outputs = length

    def encode(self, measurement: Sequence[int]) -> list[int]:
        _range(measurement, self.length, self.digits.largest)
        if self.digits.largest == 1:
            return list(measurement)
        return [digit for value in measurement for digit in self.digits.encode(value)]

    def truncate(self, elements: Sequence[int]) -> list[int]:
        width, weights = self.digits.count, self.digits.weights
        if width == 1:
            return list(elements)
        starts = range(0, self.elements, width)
        return [dot(weights, elements[start : start + width]) % self.field.modulus for start in starts]


class Weighted(SumVec):
    """The same vectors, of which only `weights . answers` is added up: nothing else is ever opened."""

    def __init__(self, weights: Sequence[int], largest: int, chunk: int | None = None) -> None:
        super().__init__(len(weights), largest, chunk)
        self.weights, self.outputs = tuple(weights), 1

    def truncate(self, elements: Sequence[int]) -> list[int]:
        return [dot(self.weights, super().truncate(elements)) % self.field.modulus]


class Histogram(Bits):
    """One of `length` categories: bits, of which exactly one is set."""

    def __init__(self, length: int, chunk: int | None = None, old: bool = False) -> None:
        super().__init__(length, chunk, old)
        self.outputs = length
        self.joint, self.results = (2, 1) if old else (self.calls, 2)

    def encode(self, measurement: Sequence[int]) -> list[int]:
        _range(measurement, 1, self.elements - 1)
        return [int(place == measurement[0]) for place in range(self.elements)]

    def factors(self, joint: Sequence[int]) -> list[int]:
        return super().factors(joint[:1] if self.old else joint)

    def evaluate(self, answers: Sequence[int], elements: Sequence[int], joint: Sequence[int], share: int) -> list[int]:
        bits, one = sum(answers), sum(elements) - share
        return [joint[1] * bits + joint[1] ** 2 * one] if self.old else [bits, one]


class MultihotCountVec(Bits):
    """Up to `most` of `length` categories: the claimed number is in the report as digits, and must be right."""

    results = 2

    def __init__(self, length: int, most: int, chunk: int | None = None) -> None:
        if not 1 <= most <= length:
            raise ValueError(f"at most {most} of {length} categories")
        self.length, self.digits = length, Digits(most)
        super().__init__(length + self.digits.count, chunk, False)
        self.outputs = length

    def encode(self, measurement: Sequence[int]) -> list[int]:
        _range(measurement, self.length, 1)
        if sum(measurement) > self.digits.largest:
            raise ValueError(f"{sum(measurement)} categories: at most {self.digits.largest} may be chosen")
        return [*map(int, measurement), *self.digits.encode(sum(measurement))]

    def evaluate(self, answers: Sequence[int], elements: Sequence[int], joint: Sequence[int], share: int) -> list[int]:
        claimed = dot(self.digits.weights, elements[self.length :])
        return [sum(answers), sum(elements[: self.length]) - claimed]

    def truncate(self, elements: Sequence[int]) -> list[int]:
        return list(elements[: self.length])
