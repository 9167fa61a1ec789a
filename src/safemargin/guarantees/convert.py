"""A budget of zCDP as epsilon at a delta, and back."""

from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console

from safemargin.core import Amount, InputError, exact_number
from safemargin.guarantees.conversion import printed_interval, published_epsilon, rho_squared_for, tight_epsilon
from safemargin.guarantees.guarantee_file import LARGEST
from safemargin.ui import SCHEMA, Document, Result, header, points, render_page, say, section

DELTA = 1e-10
"""At which the Census Bureau published its epsilons."""
Number = str | float | Fraction


@dataclass(frozen=True)
class Conversion(Result):
    """A budget in rho squared in other units; `between` are the budgets whose epsilon is printed alike."""

    rho_squared: Amount
    delta: float
    between: tuple[float, float] | None = None

    @property
    def epsilon(self) -> float:
        """Epsilon by the formula of Bun and Steinke, which most published figures use."""
        return published_epsilon(float(self.rho_squared), self.delta)

    @property
    def epsilon_tight(self) -> float:
        """Epsilon by Canonne, Kamath and Steinke."""
        return tight_epsilon(float(self.rho_squared), self.delta)

    def to_json(self) -> Document:
        rho_squared = float(self.rho_squared)
        return {
            "schema": SCHEMA,
            "rho_squared": rho_squared,
            "rho_squared_exact": str(self.rho_squared) if isinstance(self.rho_squared, Fraction) else None,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "epsilon_tight": self.epsilon_tight,
            **({} if self.between is None else {"rho_squared_between": list(self.between)}),
        }

    @property
    def _lines(self) -> list[str]:
        rho_squared = float(self.rho_squared)
        lines = [
            f"rho² = {rho_squared:.6g} at delta = {self.delta:g}:",
            f"  epsilon {self.epsilon:.4f} by the published formula (Bun and Steinke)",
            f"  epsilon {self.epsilon_tight:.4f} by the tighter one (Canonne, Kamath and Steinke)",
        ]
        if self.between is not None:
            low, high = self.between
            lines.append(f"  any rho² from {low:.6g} to {high:.6g} has this epsilon to the digits given")
        return lines

    def show(self, console: Console) -> None:
        for line in self._lines:
            say(console, line)

    def to_html(self) -> str:
        title, *lines = self._lines
        return render_page(title, header(title), section("Epsilon", points(lines)))


def convert(
    *,
    rho_squared: Number | None = None,
    epsilon: Number | None = None,
    delta: Number = DELTA,
    times: int = 1,
) -> Conversion:
    """A budget of zCDP in other units: give `rho_squared`, or `epsilon` at the delta.

    `rho_squared` is the parameter of zCDP, which adds up. Papers on the census write it as rho², most others, and the
    files of `topdown`, as rho; its square root is nowhere used.

    `times` is how many records one unit stands in: rho squared grows with its square. An `epsilon` as text, as
    somebody printed it, also gives all budgets that it may come from.
    """
    if (rho_squared is None) == (epsilon is None):
        raise InputError("give one of `rho_squared` and `epsilon`")
    if times < 1:
        raise InputError(f"times = {times}: must be at least 1")
    level = float(exact_amount("delta", delta))
    between = None
    squared: Amount
    if rho_squared is not None:
        squared = exact_amount("rho_squared", rho_squared)
    else:
        squared = rho_squared_for(float(exact_amount("epsilon", epsilon or 0)), level)
        if isinstance(epsilon, str) and "/" not in epsilon:
            low, high = printed_interval(epsilon, level)
            between = low * times**2, high * times**2
    if squared * times**2 > LARGEST:
        raise InputError(f"rho squared is larger than {LARGEST:.0e}")
    return Conversion(squared * times**2, level, between)


def exact_amount(name: str, value: Number) -> Fraction:
    """A number as it is written, from 0 up; messages call it `name`."""
    try:
        amount = value if isinstance(value, Fraction) else exact_number(str(value))
    except ValueError:
        raise InputError(f"{name} = {value}: must be a number or a fraction such as 293764/114921") from None
    if amount < 0:
        raise InputError(f"{name} = {value}: must not be negative")
    if amount > LARGEST:
        raise InputError(f"{name} = {value}: is larger than {LARGEST:.0e}")
    return amount
