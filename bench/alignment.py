"""The matrix that brings the multilingual encoder's vectors into the space of the English model.

Least squares with a little ridge over English texts that both models read: words and short phrases
of the English model's own vocabulary, and sentences of the standard library's documentation; half of
the mean is taken off the English vectors first. What is fitted on English holds for the other languages,
because the multilingual encoder puts a sentence and its translation in one place (Yang et al., 2019).
Mapping one space onto another with a matrix is from Mikolov, Le and Sutskever, "Exploiting similarities
among languages for machine translation", 2013.

Takes some minutes and writes ``engines/embeddings/alignment.npz``, so this runs only when it is named::

    python -m bench alignment
"""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.report import Report
from engines.embeddings.local import use_one_thread
from engines.embeddings.minilm import MiniLM, minilm_folder
from engines.embeddings.multilingual import ALIGNMENT, MultilingualEncoder
from engines.embeddings.protocol import Vectors, unit

ON_REQUEST = True
"""Left out when all measurements run."""

_WORDS, _PHRASES, _SENTENCES = 8_000, 6_000, 8_000
_RIDGE = 0.03
_CENTRED = 0.5  # of the mean: without the whole of it short English questions find less
_HELD_OUT = 10  # every tenth text
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n")


def main(report: Report) -> None:
    """Fit the matrix, print how much of held-out texts it explains, and write it."""
    use_one_thread()
    found = texts()
    english = MiniLM().embed(found)
    mean = (_CENTRED * english.mean(axis=0)).astype(np.float16)
    english = unit(english - mean)
    multilingual = MultilingualEncoder().embed(found)
    test = np.arange(len(found)) % _HELD_OUT == 0
    matrix, shift = fitted(multilingual[~test], english[~test])
    made = multilingual[test] @ matrix + shift
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    report.row("texts", f"{len(found)}")
    report.row("mean cosine, held-out texts", f"{(made * english[test]).sum(axis=1).mean():.3f}")
    words = multilingual[:_WORDS].mean(axis=0)
    made_of = {"matrix": matrix, "shift": shift, "mean": mean, "words": words}
    np.savez_compressed(ALIGNMENT, **{name: array.astype(np.float16) for name, array in made_of.items()})


def fitted(given: Vectors, wanted: Vectors) -> tuple[Vectors, Vectors]:
    """``(matrix, shift)`` such that ``given @ matrix + shift`` is near `wanted`."""
    given_mean, wanted_mean = given.mean(axis=0), wanted.mean(axis=0)
    x, y = (given - given_mean).astype(np.float64), (wanted - wanted_mean).astype(np.float64)
    ridge = _RIDGE * len(x) / x.shape[1] * np.eye(x.shape[1])
    matrix = np.linalg.solve(x.T @ x + ridge, x.T @ y).astype(np.float32)
    return matrix, np.asarray(wanted_mean - given_mean @ matrix, dtype=np.float32)


def texts(seed: int = 1) -> list[str]:
    """English texts of one to some twenty words, single words first; the same for the same Python."""
    rng = random.Random(seed)
    vocabulary = (minilm_folder() / "vocab.txt").read_text(encoding="utf-8").split("\n")
    words = [word for word in vocabulary if len(word) > 2 and word.isascii() and word.isalpha()]
    phrases = [" ".join(rng.sample(words, rng.randint(2, 4))) for _ in range(_PHRASES)]
    sentences = sorted(set(_sentences(Path(sysconfig.get_paths()["stdlib"]))))
    return [
        *rng.sample(words, _WORDS),
        *phrases,
        *rng.sample(sentences, min(_SENTENCES, len(sentences))),
    ]


def _sentences(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        if {"site-packages", "test", "tests", "idlelib", "lib2to3"} & set(path.parts):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:  # the standard library keeps some for its own tests
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                for sentence in _SENTENCE.split(ast.get_docstring(node) or ""):
                    plain = " ".join(sentence.split())
                    if plain.isascii() and 3 <= len(plain.split()) <= 25:
                        yield plain
