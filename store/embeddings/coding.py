"""Two bits for each of at most 128 numbers of a vector, which tell about how near it is to a question.

A vector is turned so that its first numbers tell most of where vectors of a store differ, and each of them
about as much as another (Gong and Lazebnik, "Iterative Quantization", 2011). One bit says whether such a
number is positive (Charikar, "Similarity estimation techniques from rounding algorithms", 2002), a second
whether it is one of the larger. A question's own numbers count in four bits (Gao and Long, "RaBitQ", 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

NUMBERS = 128
_AT_ONCE = 16_384
"""So many are compared by both bits at once: they fit the cache."""
_PLANES = 4
_ROUNDS = 12

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Coding:
    """How vectors become bits: what turns them, and from where on a number is one of the larger."""

    turn: npt.NDArray[np.float32]  # [dimension, at most NUMBERS]
    large: float
    learnt_from: int

    def bits(self, rows: npt.NDArray[np.int8]) -> tuple[Words, Words]:
        """``uint64[n, words]`` twice: of -3, -1, 1, 3 halves of `large` the higher and the lower bit."""
        vectors = rows.astype(np.float32)
        turned = vectors @ self.turn
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        is_large = np.abs(turned) > self.large * lengths[:, None]
        return packed(turned > 0), packed(is_large == (turned > 0))


def learn(rows: npt.NDArray[np.int8], number: int) -> Coding:
    """Principal axes, turned among themselves until signs tell the most."""
    units = rows.astype(np.float32)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    axes = np.linalg.eigh(units.T @ units)[1][:, : -NUMBERS - 1 : -1]
    along = units @ axes
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((axes.shape[1],) * 2, np.float32))
    for _ in range(_ROUNDS):
        left, _, right = np.linalg.svd(along.T @ np.sign(along @ turn))
        turn = left @ right
    # Of a number that scatters as by chance 0.996 of its spread parts the larger half of what it tells.
    large = 0.996 * float((along @ turn).std())
    return Coding(np.ascontiguousarray(axes @ turn), large, number)


def nearness(turned: npt.NDArray[np.float32], higher: Words, lower: Words) -> npt.NDArray[np.float32]:
    """About the product of a question with each row, over the row's length: by both bits of it."""
    least = turned.min()
    step = (turned.max() - least) / (2**_PLANES - 1) or 1.0
    numbers = np.rint((turned - least) / step).astype(np.uint8)
    planes = packed(numbers >> np.arange(_PLANES, dtype=np.uint8)[:, None] & 1 > 0)
    found = np.empty(higher.shape[1], np.float32)
    for first in range(0, found.size, _AT_ONCE):
        here = slice(first, first + _AT_ONCE)
        of_both = [_product(words[:, here], planes, step, least) for words in (higher, lower)]
        smaller = reduce(np.add, map(np.bitwise_count, higher[:, here] ^ lower[:, here])).astype(np.float32)
        product = 4 * of_both[0] + 2 * of_both[1] - 3 * turned.sum()
        found[here] = product / np.sqrt(9 * turned.size - 8 * smaller)
    return found


def _product(words: Words, planes: Words, step: float, least: float) -> npt.NDArray[np.float32]:
    """Of each column of bits the sum of the question's numbers where they are set."""
    steps, ones = np.zeros(words.shape[1], np.uint16), np.zeros(words.shape[1], np.uint16)
    for place, word in enumerate(words):
        ones += np.bitwise_count(word)
        for power, plane in enumerate(planes[:, place]):
            steps += np.left_shift(np.bitwise_count(word & plane), power, dtype=np.uint16)
    return np.float32(step) * steps + np.float32(least) * ones


def packed(bits: npt.NDArray[np.bool_]) -> Words:
    """``uint64[n, words]`` of ``bool[n, d]``."""
    octets = np.packbits(bits, axis=1)
    whole = np.zeros((len(bits), -(-bits.shape[1] // 64) * 8), np.uint8)
    whole[:, : octets.shape[1]] = octets
    return whole.view(np.uint64)
