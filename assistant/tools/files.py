"""Reading text files and listing folders, inside configured roots and nowhere else.

A path is walked component by component from its root with descriptors that follow no symbolic
link (``openat`` with ``O_NOFOLLOW``), so that nothing swapped in meanwhile leads outside. Only
regular files are opened, without waiting for a pipe or a device. Folders that are `never` read, such as
Recollect's own with its token and keys, stay closed below a root, too: they are known by device and
inode, whatever name leads to them.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field

from assistant.tools.context import ToolContext
from assistant.tools.tool import ToolFailed, printable_line, tool
from store.chats import attachments
from store.core.errors import NotFound
from store.core.translation import N_, Deferred
from store.core.translation import deferred as _

MAX_ENTRIES = 500
MAX_PIECE_CHARS = 12_000
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_BINARY_SAMPLE = 8_192
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


def read_text(
    roots: Sequence[Path], path: str, max_bytes: int, never: Sequence[Path] = ()
) -> tuple[str, int]:
    """The text of a file below one of the roots, of its first `max_bytes` bytes, and how many it has. Raises
    `ToolFailed`.
    """
    with _opened(roots, path, never) as (descriptor, status):
        if not stat.S_ISREG(status.st_mode):
            raise ToolFailed("Only regular files are read; this is a folder, a device or a pipe.")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(max_bytes + 1)
    is_whole = len(content) <= max_bytes
    content = content[:max_bytes]
    if b"\0" in content[:_BINARY_SAMPLE]:
        raise ToolFailed("This is not a text file.")
    try:
        # The last character may be cut where more follows.
        text = codecs.getincrementaldecoder("utf-8")().decode(content, final=is_whole)
    except UnicodeDecodeError as error:
        raise ToolFailed("This is not a text file in UTF-8.") from error
    return text, len(content) if is_whole else max(status.st_size, max_bytes + 1)


def list_folder(
    roots: Sequence[Path], path: str, never: Sequence[Path] = (), offset: int = 0, limit: int = MAX_ENTRIES
) -> tuple[list[dict[str, object]], int]:
    """A page of what is in a folder below one of the roots, by name, and how much is in it: `name`, `kind`
    (file, folder, link or other) and `size_bytes` of each. Raises `ToolFailed`.
    """
    with _opened(roots, path, never) as (descriptor, status):
        if not stat.S_ISDIR(status.st_mode):
            raise ToolFailed("This is not a folder.")
        entries = sorted(os.scandir(descriptor), key=lambda entry: entry.name)
        return [_entry(entry) for entry in entries[offset : offset + limit]], len(entries)


def _entry(entry: os.DirEntry[str]) -> dict[str, object]:
    status = entry.stat(follow_symlinks=False)
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
    return {"name": entry.name, "kind": kind, "size_bytes": status.st_size if kind == "file" else 0}


@contextmanager
def _opened(roots: Sequence[Path], path: str, never: Sequence[Path]) -> Iterator[tuple[int, os.stat_result]]:
    """A descriptor of what a path names, and its status. Raises `ToolFailed`."""
    root, parts = _located(roots, path)
    closed = {_identity(folder.stat()) for folder in never if folder.exists()}
    held: list[int] = []
    try:
        above = {_identity(folder.stat()) for folder in root.resolve(strict=True).parents}
        held.append(os.open(root, os.O_RDONLY | _DIRECTORY))
        for part in parts:
            held.append(os.open(part, os.O_RDONLY | _NOFOLLOW | _NONBLOCK, dir_fd=held[-1]))
        if closed & (above | {_identity(os.fstat(opened)) for opened in held}):
            raise ToolFailed("This folder is Recollect's own and is not read.")
        yield held[-1], os.fstat(held[-1])
    except (OSError, ValueError) as error:
        raise ToolFailed("There is no such file or folder that may be read.") from error
    finally:
        for descriptor in held:
            os.close(descriptor)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _located(roots: Sequence[Path], path: str) -> tuple[Path, tuple[str, ...]]:
    """(root, components below it) of a path. Raises `ToolFailed`.

    The path is absolute below a root, or relative to the only root.
    """
    if not roots:
        raise ToolFailed("No folder may be read: tools.read_file_roots is empty.")
    asked = PurePosixPath(path)
    if ".." in asked.parts:
        raise ToolFailed("A path goes straight down: no '..'.")
    if not asked.is_absolute():
        if len(roots) > 1:
            raise ToolFailed(f"Name the whole path; these may be read: {', '.join(map(str, roots))}")
        asked = PurePosixPath(roots[0]) / asked
    for root in roots:
        if asked == PurePosixPath(root) or PurePosixPath(root) in asked.parents:
            return root, asked.relative_to(root).parts
    raise ToolFailed(f"Only what is below these may be read: {', '.join(map(str, roots))}")


# -- the tools over allowed folders -----------------------------------------------------------

FilePath = Annotated[str, Field(description="Whole path below an allowed folder.")]
Offset = Annotated[int, Field(ge=0, le=2**31, description="How much to pass over; `next_offset` goes on.")]
FileChars = Annotated[int, Field(ge=1, le=MAX_PIECE_CHARS, description="Characters at most.")]
Names = Annotated[int, Field(ge=1, le=MAX_ENTRIES, description="Names at most.")]


def _roots(context: ToolContext) -> list[Path]:
    return [Path(root).expanduser() for root in context.settings.read_file_roots]


def _covers_files(context: ToolContext) -> str:
    return N_("files below %(folders)s") % {"folders": ", ".join(map(str, _roots(context)))}


def _tells_read(context: ToolContext, path: str, **_piece: int) -> Deferred:
    most = f"{context.settings.read_file_max_bytes:,}"
    return _("Reads %(path)s, within its first %(number)s bytes.", path=printable_line(path), number=most)


def _tells_list(context: ToolContext, path: str, **_piece: int) -> Deferred:
    return _("Lists the names in %(path)s.", path=printable_line(path))


@tool(
    reaches=N_("text files below the folders you allow"),
    risk="files",
    tells=_tells_read,
    covers=_covers_files,
)
def read_file(
    context: ToolContext, path: FilePath, offset: Offset = 0, limit: FileChars = MAX_PIECE_CHARS
) -> object:
    """Reads a text file in UTF-8 from an allowed folder, a piece at a time; call it when the person names a
    file. `next_offset` says where to go on; at the end there is none. Use list_directory to find names."""
    max_bytes = context.settings.read_file_max_bytes
    own = [context.library.database.data_dir.home]
    text, size = read_text(_roots(context), path, max_bytes, own)
    note = f"Only the first {max_bytes:,} of its {size:,} bytes are read." if size > max_bytes else ""
    return {
        "path": path,
        "size_bytes": size,
        **_piece(text[offset : offset + limit], offset, len(text), note),
    }


def _piece(text: str, offset: int, total: int, note: str) -> dict[str, object]:
    """A piece of a text of `total` characters, with where to go on. Raises `ToolFailed` beyond its end."""
    if not text and offset:
        raise ToolFailed(f"The file has {total:,} characters; `offset` is beyond them.")
    piece = {"offset": offset, "text": text, **_next(offset + len(text), total)}
    return piece | ({"note": note} if note else {})


def _next(end: int, of: int) -> dict[str, int]:
    return {"next_offset": end} if end < of else {}


@tool(
    reaches=N_("names of files below the folders you allow"),
    risk="files",
    tells=_tells_list,
    covers=_covers_files,
)
def list_directory(
    context: ToolContext, path: FilePath, offset: Offset = 0, limit: Names = MAX_ENTRIES
) -> object:
    """Lists names, kinds and sizes in an allowed folder, by name; call it to find a file for read_file.
    `next_offset` says where to go on. Links are named and never followed."""
    own = [context.library.database.data_dir.home]
    entries, total = list_folder(_roots(context), path, own, offset, limit)
    told = {"path": path, "offset": offset, "entries": entries, "total": total}
    return told | _next(offset + len(entries), total)


# -- files that are attached to the chat ------------------------------------------------------

AttachmentId = Annotated[int, Field(ge=1, le=2**53, description="The number behind the word file.")]
Count = Annotated[int, Field(ge=1, le=6_000, description="Characters wanted.")]


@tool(reaches=N_("files that you attached to the same chat"))
def read_attachment(
    context: ToolContext, attachment_id: AttachmentId, offset: Offset = 0, count: Count = 4_000
) -> object:
    """Reads a piece of a file that the person attached; call it when only the name or the beginning of a file
    is told and the question is about more of it. `next_offset` says where to go on; at the end there is
    none. What it says is not of the screen and cannot be cited."""
    database = context.library.database
    try:
        file = attachments.get(database, attachment_id)
    except NotFound:
        file = None
    if file is None or file.chat_id != context.chat_id:
        raise ToolFailed(f"There is no file {attachment_id} attached to this chat.")
    if file.is_image:
        raise ToolFailed(f"File {attachment_id} is an image: it goes with its question, and holds no text.")
    if not file.characters:
        raise ToolFailed(f"File {attachment_id} holds no text.")
    text = attachments.text_of(database, attachment_id, offset, count)
    note = "" if file.is_whole else "The file is longer than what could be read of it."
    piece = _piece(text, offset, file.characters, note)
    return {"name": file.name, "characters": file.characters, **piece}
