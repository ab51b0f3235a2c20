"""Files that somebody attached to a question: what is known of each, and what it says.

A file belongs to nobody until its question is asked; from then on to that turn of its chat, and goes with
the chat. What nobody asked about goes after `UNSENT_MS`. The same file attached twice is two rows and one
file on the disk.

Files lie under their SHA-256 (``attachments/ab/abcd…``), and this is the only door to them. One comes in two
steps: it is staged under a name that nobody looks for, and kept (one rename) in the transaction that enters
its row. It is served only while its bytes are those of its name; anything else is `AttachmentGone`.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import apsw

from store.core import copies
from store.core.database import Database, change, column
from store.core.errors import AttachmentGone, AttachmentSent, NotFound, existing
from store.core.keys import box_of
from store.core.paths import DIRECTORY_MODE, DataDir, sync_directory, write_file
from store.core.records import columns, insert

Kind = Literal["text", "html", "pdf", "docx", "image"]

MAX_NAME_CHARS = 200
UNSENT_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Contents:
    """What was found in a file; `text` is "" for an image, `is_whole` false when there is more than that."""

    kind: Kind
    media_type: str
    text: str = ""
    is_whole: bool = True
    pages: int | None = None
    width_px: int | None = None
    height_px: int | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """One attached file without its text, which has so many `characters`. `chat_id` and `turn` are None
    until it was asked about.
    """

    id: int
    chat_id: int | None
    turn: int | None
    name: str
    kind: Kind
    media_type: str
    size_bytes: int
    sha256: str
    characters: int
    is_whole: bool
    pages: int | None
    width_px: int | None
    height_px: int | None
    added_ms: int

    @property
    def is_image(self) -> bool:
        return self.kind == "image"


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that is on the disk and not kept yet."""

    path: Path
    sha256: str
    size_bytes: int

    def discard(self) -> None:
        """It is not wanted; no error when it is kept already."""
        self.path.unlink(missing_ok=True)


def add(database: Database, staged: Staged, name: str, found: Contents, now_ms: int) -> Attachment:
    """Keep a staged file with what was found in it; it belongs to no chat yet."""
    with database.write() as connection:
        keep(database.data_dir, staged)
        attachment_id = insert(
            connection, "attachments", **asdict(found), sha256=staged.sha256, name=name[:MAX_NAME_CHARS],
            size_bytes=staged.size_bytes, added_ms=now_ms,
        )  # fmt: skip
        connection.execute("delete from attachment_trash where sha256 = ?", (staged.sha256,))
    return get(database, attachment_id)


def get(database: Database, attachment_id: int) -> Attachment:
    """One file. Raises `NotFound`."""
    found = _select(database, "id = ?", (attachment_id,))
    return existing(next(iter(found), None), "attachment", attachment_id)


def of_chat(database: Database, chat_id: int) -> list[Attachment]:
    """The files of a chat in the order of its questions."""
    return _select(database, "conversation_id = ?", (chat_id,))


def of_turn(database: Database, chat_id: int, turn: int) -> list[Attachment]:
    return _select(database, "conversation_id = ? and turn = ?", (chat_id, turn))


def usable(database: Database, attachment_ids: Sequence[int], chat_id: int | None) -> list[Attachment]:
    """Files that a question of this chat may bring, in their order, each once.

    Raises `NotFound` for one that is gone, or another chat's.
    """
    found = [get(database, each) for each in dict.fromkeys(attachment_ids)]
    for each in found:
        if each.chat_id is not None and each.chat_id != chat_id:
            raise NotFound("attachment", each.id)
    return found


def claim(
    connection: apsw.Connection, attachment_ids: Sequence[int], chat_id: int, turn: int, now_ms: int
) -> None:
    """Make files those of a turn, in the transaction that enters it; one of an earlier turn is there twice.

    Raises `NotFound` for one that is gone, or another chat's.
    """
    for attachment_id in dict.fromkeys(attachment_ids):
        sql = "update attachments set conversation_id = ?, turn = ? where id = ? and conversation_id is null"
        if change(connection, sql, (chat_id, turn, attachment_id)):
            continue
        again = f"""
            insert into attachments (conversation_id, turn, added_ms, {_FILE})
            select conversation_id, :turn, :now, {_FILE} from attachments
            where id = :id and conversation_id = :chat
            """
        values = {"turn": turn, "now": now_ms, "id": attachment_id, "chat": chat_id}
        if not change(connection, again, values):
            raise NotFound("attachment", attachment_id)


_FILE = "sha256, name, kind, media_type, size_bytes, text, is_whole, pages, width_px, height_px"


def text_of(database: Database, attachment_id: int, offset: int = 0, count: int = -1) -> str:
    """`count` characters from `offset` on, all for -1; "" beyond the end, and for a file that is gone."""
    count = 2**31 if count < 0 else count
    sql = "select substr(text, ? + 1, ?) from attachments where id = ?"
    found = database.scalar(sql, (offset, count, attachment_id))
    return str(found or "")


def remove(database: Database, attachment_id: int) -> None:
    """Take back a file that was not asked about. Raises `NotFound`, `AttachmentSent`."""
    with database.write() as connection:
        if get(database, attachment_id).chat_id is not None:
            raise AttachmentSent(attachment_id)
        connection.execute("delete from attachments where id = ?", (attachment_id,))
        copies.outdate(connection)
    empty_trash(database)


def sweep(database: Database, now_ms: int) -> int:
    """Remove what nobody asked about in a day, and what a crash left; returns how many rows went."""
    sql = "delete from attachments where conversation_id is null and added_ms < ?"
    removed = database.change(sql, (now_ms - UNSENT_MS,))
    for path in database.data_dir.attachments.glob(f"*{STAGED}"):
        with suppress(FileNotFoundError):  # kept or discarded meanwhile
            if time.time() - path.stat().st_mtime > _ABANDONED_S:
                path.unlink()
    empty_trash(database)
    return removed


def empty_trash(database: Database) -> int:
    """Unlink the files of rows that are gone; returns the bytes freed."""
    if not database.scalar("select 1 from attachment_trash"):
        return 0
    with database.write() as connection:
        # The lock is held: nobody enters the same file meanwhile.
        gone = column(connection, "select sha256 from attachment_trash")
        freed = sum(remove_file(database.data_dir, sha256) for sha256 in gone)
        connection.execute("delete from attachment_trash")
    database.checkpoint()
    return freed


def having(database: Database, words: str, limit: int) -> list[Attachment]:
    """Files that were asked about with all of the words in their name or text, the last one first."""
    condition = """
        conversation_id is not null and not exists (
            select 1 from json_each(?) word
            where instr(recollect_casefold(name || char(10) || text), word.value) = 0
        )
        """
    return _select(database, condition, (json.dumps(words.casefold().split()),), f"id desc limit {limit}")


def usage(database: Database) -> tuple[int, int]:
    """(number of files, their bytes); the same file attached twice counts once."""
    ((count, size),) = database.rows(
        "select count(*), coalesce(sum(size_bytes), 0) "
        "from (select distinct sha256, size_bytes from attachments)"
    )
    return count, size


def _select(
    database: Database, condition: str, values: tuple[Any, ...], order: str = "turn, id"
) -> list[Attachment]:
    own = columns(Attachment, chat_id="conversation_id", characters="length(text)")
    sql = f"select {own} from attachments where {condition} order by {order}"
    return database.records(Attachment, sql, values)


STAGED = ".staged"
_NAME = re.compile(r"[0-9a-f]{64}")
_ABANDONED_S = 3_600.0
"""A staged file this old belongs to nobody: reading one takes seconds."""


def stage(data_dir: DataDir, content: bytes) -> Staged:
    """Durably write a file that may be kept."""
    folder = data_dir.attachments
    folder.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    path = folder / f"{uuid.uuid4().hex}{STAGED}"
    sha256 = hashlib.sha256(content).hexdigest()
    try:
        write_file(path, box_of(data_dir.home).seal(sealed_name(sha256), content))
    except OSError:  # the disk is full: half a file is of no use to anybody
        path.unlink(missing_ok=True)
        raise
    return Staged(path, sha256, len(content))


def keep(data_dir: DataDir, staged: Staged) -> None:
    """Give a staged file its name. Call it, like `remove`, inside `Database.write()`: one at a time."""
    final = path_of(data_dir, staged.sha256)
    if not final.parent.exists():
        final.parent.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        sync_directory(data_dir.attachments)
    staged.path.replace(final)
    sync_directory(final.parent)


def exact(data_dir: DataDir, sha256: str) -> bytes:
    """The file, byte for byte. Raises `AttachmentGone` when it is missing or altered."""
    path = path_of(data_dir, sha256)
    if path.is_symlink():
        raise AttachmentGone(sha256, "altered")
    try:
        content = box_of(data_dir.home).open(sealed_name(sha256), path.read_bytes())
    except OSError as error:
        raise AttachmentGone(sha256, "missing") from error
    except ValueError as error:
        raise AttachmentGone(sha256, "altered") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise AttachmentGone(sha256, "altered")
    return content


def remove_file(data_dir: DataDir, sha256: str) -> int:
    """Unlink a file, and its folder when that becomes empty; returns the bytes freed."""
    path = path_of(data_dir, sha256)
    try:
        size = path.lstat().st_size
        path.unlink()
    except FileNotFoundError:
        return 0
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
    return size


def files(data_dir: DataDir) -> list[Path]:
    """Every file that is not staged, sorted."""
    found = data_dir.attachments.rglob("*")
    return sorted(path for path in found if path.is_file() and path.suffix != STAGED)


def path_of(data_dir: DataDir, sha256: str) -> Path:
    """Where a file is kept. Raises `ValueError` for what is no SHA-256: it becomes a path."""
    if not _NAME.fullmatch(sha256):
        raise ValueError(f"{sha256!r} is no SHA-256 in hexadecimal")
    return data_dir.attachments / sha256[:2] / sha256


def sealed_name(sha256: str) -> str:
    """The name under which a file is encrypted."""
    return f"attachments/{sha256}"
