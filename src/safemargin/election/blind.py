"""Blind RSA signatures of RFC 9474: the signer sees neither the message nor the signature.

Encoding is `hashlib`, the raw RSA step is `gmpy2` (`cryptography` offers none on purpose), and every signature is
verified by `cryptography`. All vectors of the RFC are a test.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import gmpy2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from safemargin.core import InputError, new_secret

EXPONENT = 65537
ROOTS = 8
"""Roots in the certificate of a key."""
SALT, PREFIX = 48, 32
"""Bytes of salt and of the message's random prefix in RSABSSA-SHA384-PSS-Randomized, the variant that tokens use."""
_HASH = hashes.SHA384()
_PADDING = {length: padding.PSS(padding.MGF1(_HASH), length) for length in (0, SALT)}


@dataclass(frozen=True)
class BlindKey:
    """The public key of one issuer for one category of one dimension."""

    n: int

    @cached_property
    def verifier(self) -> rsa.RSAPublicKey:
        """The same key for `cryptography`."""
        return rsa.RSAPublicNumbers(EXPONENT, self.n).public_key()

    @property
    def size(self) -> int:
        """Bytes of a signature."""
        return (self.n.bit_length() + 7) // 8

    def _challenge(self, number: int) -> int:
        """A number below the modulus that nobody chose; 128 bits more, so that the remainder is uniform."""
        seed = b"GV-key" + self.n.to_bytes(self.size, "big") + bytes([number])
        return int.from_bytes(hashlib.shake_256(seed).digest(self.size + 16), "big") % self.n

    def is_permutation(self, certificate: bytes) -> bool:
        """Whether eight roots show that signing has one result for every message.

        Under another key at most one number in 65,537 has a root, so that eight roots are a proof up to 2^-128
        (Goldberg, Reyzin, Sagga and Baldimtsi 2019, cited by RFC 9474). With such a key a signer could recognise people
        by the requests that fail.
        """
        if len(certificate) != ROOTS * self.size:
            return False
        for number in range(ROOTS):
            root = int.from_bytes(certificate[number * self.size : (number + 1) * self.size], "big")
            if not 0 < root < self.n or gmpy2.powmod(root, EXPONENT, self.n) != self._challenge(number):
                return False
        return True

    def is_signed(self, message: bytes, signature: bytes, salt: int = SALT) -> bool:
        """Whether a finished signature is valid."""
        try:
            self.verifier.verify(signature, message, _PADDING[salt], _HASH)
        except (InvalidSignature, ValueError):
            return False
        return True

    def blind(self, message: bytes, salt: bytes, factor: int) -> tuple[bytes, int]:
        """The blinded message for the signer, and the inverse that undoes `factor` later (RFC 9474, section 4.2)."""
        encoded = int.from_bytes(encode_pss(message, self.n.bit_length() - 1, salt), "big")
        if gmpy2.gcd(encoded, self.n) != 1 or gmpy2.gcd(factor, self.n) != 1:
            raise InputError("the message or the blinding factor shares a divisor with the key; draw again")
        blinded = encoded * int(gmpy2.powmod(factor, EXPONENT, self.n)) % self.n
        return blinded.to_bytes(self.size, "big"), int(gmpy2.invert(factor, self.n))

    def finish(self, message: bytes, answer: bytes, inverse: int, salt: int = SALT) -> bytes:
        """The signature from the signer's answer; refused unless it is valid (RFC 9474, section 4.4)."""
        if len(answer) != self.size:
            raise InputError(f"an answer of {len(answer)} bytes: must be {self.size}")
        signature = (int.from_bytes(answer, "big") * inverse % self.n).to_bytes(self.size, "big")
        if not self.is_signed(message, signature, salt):
            raise InputError("the issuer's answer is no signature of this request; keep it as evidence")
        return signature


class BlindSigner:
    """The private key: signs blinded messages with the Chinese remainder theorem, hidden from timing and checked.

    For development and small elections; a hardware module does the same raw step without the key in this process.
    """

    def __init__(self, p: int, q: int) -> None:
        self.p, self.q = gmpy2.mpz(p), gmpy2.mpz(q)
        self.public = BlindKey(p * q)
        self._n = self.p * self.q
        d = gmpy2.invert(EXPONENT, (self.p - 1) * (self.q - 1))
        self._dp, self._dq, self._q_inverse = d % (self.p - 1), d % (self.q - 1), gmpy2.invert(self.q, self.p)
        # Base blinding: the exponentiation never sees a number that somebody chose. Squaring keeps the pair fresh.
        mask = 2 + int.from_bytes(bytes.fromhex("".join(new_secret() for _ in range(9)))) % (self._n - 3)
        self._mask, self._unmask = gmpy2.powmod(mask, EXPONENT, self._n), gmpy2.invert(mask, self._n)

    @classmethod
    def generate(cls, bits: int) -> "BlindSigner":
        """A new key from system entropy."""
        numbers = rsa.generate_private_key(EXPONENT, bits).private_numbers()
        return cls(numbers.p, numbers.q)

    def certificate(self) -> bytes:
        """Eight roots that show that the key is one; see `BlindKey.is_permutation`."""
        size = self.public.size
        return b"".join(self.sign(self.public._challenge(number).to_bytes(size, "big")) for number in range(ROOTS))

    def sign(self, blinded: bytes) -> bytes:
        """The raw RSA step on a blinded message (RFC 9474, section 4.3)."""
        value = gmpy2.mpz(int.from_bytes(blinded, "big"))
        if len(blinded) != self.public.size or not 1 < value < self._n or gmpy2.gcd(value, self._n) != 1:
            raise InputError("a blinded message must be a number below the modulus without a common divisor")
        self._mask, self._unmask = self._mask**2 % self._n, self._unmask**2 % self._n
        masked = value * self._mask % self._n
        low = gmpy2.powmod_sec(masked, self._dq, self.q)
        high = gmpy2.powmod_sec(masked, self._dp, self.p)
        signed = (low + (high - low) * self._q_inverse % self.p * self.q) * self._unmask % self._n
        # A fault in one half would give the factors to whoever sees the answer (Boneh, DeMillo and Lipton 1997).
        if gmpy2.powmod(signed, EXPONENT, self._n) != value:
            raise RuntimeError("the signature does not verify: the key or the machine is faulty")
        return int(signed).to_bytes(self.public.size, "big")


def encode_pss(message: bytes, bits: int, salt: bytes) -> bytes:
    """EMSA-PSS with SHA-384 and MGF1-SHA-384 (RFC 8017, section 9.1.1)."""
    length = (bits + 7) // 8
    hidden = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    block = bytes(length - len(salt) - len(hidden) - 2) + b"\x01" + salt
    mask = b"".join(
        hashlib.sha384(hidden + counter.to_bytes(4, "big")).digest() for counter in range(-(-len(block) // 48))
    )
    masked = bytearray(a ^ b for a, b in zip(block, mask, strict=False))
    masked[0] &= 0xFF >> (8 * length - bits)
    return bytes(masked) + hidden + b"\xbc"
