"""Fully linear proofs (Boneh, Boyle, Corrigan-Gibbs, Gilboa and Ishai 2019, Theorem 4.3).

By wire, the inputs of all calls of a gadget are the values of a polynomial at powers of a root of unity of order p; its
value at the first power is a random seed, so that one further value discloses nothing. The gadget of these polynomials
is a polynomial of degree d (p - 1): the proof is the seeds and its values. All of it is linear in the elements and the
proof, so aggregators that hold shares compute shares of the circuit's output, of the wires at a random point and of the
gadget polynomial there; the sums of these shares show whether the proof is right and nothing else. A wrong statement
passes with a chance of about d (p - 1) / |F|.

    >>> from safemargin.aggregate.prio3.circuit import CountCircuit
    >>> flp = ValidityProofs(CountCircuit())
    >>> flp.decide(flp.query([1], flp.prove([1], [5, 6], []), [99], [], 1))
    True
    >>> flp.decide(flp.query([2], flp.prove([2], [5, 6], []), [99], [], 1))
    False
"""

from collections.abc import Sequence

from safemargin.aggregate.prio3.circuit import Circuit
from safemargin.aggregate.prio3.field import apply, carry, dot, from_coefficients, nodes, to_coefficients


def power_of_two(number: int) -> int:
    """The smallest power of two that is at least `number`."""
    return 1 << (number - 1).bit_length()


class ValidityProofs:
    """Proofs for one circuit. With `monomial`, gadget polynomials are sent as coefficients (draft 08), not values."""

    def __init__(self, circuit: Circuit, monomial: bool = False) -> None:
        self.circuit, self.field, self.monomial = circuit, circuit.field, monomial
        gadget = circuit.gadget
        self.wire = power_of_two(1 + circuit.calls)
        """Values of a wire's polynomial."""
        self.values = gadget.degree * (self.wire - 1) + 1
        """Values that determine the gadget's polynomial, at roots of order `order`."""
        self.order = power_of_two(self.values)
        self.prove_length = gadget.arity
        self.query_length = 1 + (circuit.results if circuit.results > 1 else 0)
        self.length = gadget.arity + self.values
        self.verifier = 2 + gadget.arity

    def prove(self, elements: Sequence[int], seeds: Sequence[int], joint: Sequence[int]) -> list[int]:
        """The proof that a measurement is valid; of an invalid one, a proof that fails."""
        modulus = self.field.modulus
        known = [[seed, *wire] for seed, wire in zip(seeds, self.circuit.wires(elements, joint, 1), strict=True)]
        matrix = carry(self.field, self.wire, self.wire, self.order)
        step, gadget = self.order // self.wire, self.circuit.gadget
        values = []
        for place in range(self.values):
            call, between = divmod(place, step)
            if between:
                row = matrix[place][: 1 + self.circuit.calls]
                inputs = [dot(row, wire) % modulus for wire in known]
            else:  # the wires' own values, and 0 beyond the last call
                inputs = [wire[call] if call < len(wire) else 0 for wire in known]
            values.append(gadget.value(inputs) % modulus)
        if self.monomial:
            values += [
                dot(row, values) % modulus
                for row in carry(self.field, self.order, self.values, self.order)[self.values :]
            ]
            values = apply(self.field, to_coefficients(self.field, self.order), values)[: self.values]
        return [*seeds, *values]

    def query(
        self, elements: Sequence[int], proof: Sequence[int], query: Sequence[int], joint: Sequence[int], shares: int
    ) -> list[int]:
        """A verifier share from shares of the elements and the proof: output, wires and gadget at a random point."""
        circuit, modulus = self.circuit, self.field.modulus
        seeds, values = proof[: circuit.gadget.arity], list(proof[circuit.gadget.arity :])
        if self.monomial:
            values = apply(self.field, from_coefficients(self.field, self.order, self.values), values)
        share = self.field.inverse(shares)
        outputs = circuit.evaluate(self._answers(values), elements, joint, share)
        if circuit.results > 1:
            output, at = dot(query[:-1], outputs), query[-1]
        else:
            output, at = outputs[0], query[0]
        if pow(at, self.wire, modulus) == 1:
            raise ValueError("the random point is a root of unity")  # would show an input; about once in 2^60
        here = nodes(self.field, self.wire, self.wire).coefficients(at)
        wires = [
            (here[0] * seed + dot(here[1:], wire)) % modulus
            for seed, wire in zip(seeds, circuit.wires(elements, joint, share), strict=True)
        ]
        gadget = dot(nodes(self.field, self.order, self.values).coefficients(at), values) % modulus
        return [output % modulus, *wires, gadget]

    def _answers(self, values: list[int]) -> list[int]:
        """The gadget's answers to its calls, from its polynomial."""
        step, calls = self.order // self.wire, self.circuit.calls
        if calls * step < len(values):
            return values[step : calls * step + 1 : step]
        matrix = carry(self.field, self.order, self.values, self.wire)
        return apply(self.field, matrix[1 : calls + 1], values)

    def decide(self, verifier: Sequence[int]) -> bool:
        """Whether the sum of all verifier shares is that of a valid report."""
        output, *wires, gadget = verifier
        return output == 0 and self.circuit.gadget.value(wires) % self.field.modulus == gadget
