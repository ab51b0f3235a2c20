"""The key of an encrypted home, and the one pair of functions through which the bytes of its files pass.

A home is encrypted as long as ``encryption.json`` is in it: the home's key, wrapped by a second one that
scrypt makes of a passphrase. Neither is ever on the disk in the clear; the second may be in the system's
keyring. From the key come two more, for the database (`store.core.cipher`) and for files. A sealed file is
`MAGIC`, a random nonce and AES-256-GCM, bound to the name that it was sealed under: cut short, altered or put
in another's place it does not open.

Whoever asks for the `Box` of a home unlocks it with the first of these that there is: the key that the
program which started this one hands over, ``RECOLLECT_PASSPHRASE``, the keyring, a person at the terminal.
Without any there is `HomeLocked`, and nothing is read or written. The box of a home without the file lets
bytes pass as they are.
"""

from __future__ import annotations

import getpass
import hashlib
import hmac
import json
import os
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from store.core.errors import HomeLocked
from store.core.paths import DataDir, replace_file

MAGIC = b"RECOLLECT-SEAL1\n"
_NONCE_BYTES = 12
OVERHEAD_BYTES = len(MAGIC) + _NONCE_BYTES + 16
"""What sealing adds to a file."""
PASSPHRASE = "RECOLLECT_PASSPHRASE"
HANDED = "RECOLLECT_KEY"
"""Set to ``stdin`` for a program that is handed the key as the first line of its input."""
_SERVICE = "recollect"
_SCRYPT = {"n": 2**17, "r": 8, "p": 1, "maxmem": 2**28}  # 128 MB and half a second for each guess
_TRIES = 3

Stage = Literal["encrypting", "encrypted", "decrypting"]


@dataclass(frozen=True, slots=True)
class Lock:
    """What ``encryption.json`` says; bytes as hexadecimal digits. `id` is the keyring's name for the home."""

    id: str
    stage: Stage
    salt: str
    wrapped: str
    in_keyring: bool = False


class Box:
    """Of a home that is not encrypted."""

    key: bytes | None = None
    database_key: str | None = None
    """For SQLite, as hexadecimal digits."""

    def __init__(self, home: Path) -> None:
        self._lock = DataDir(home).encryption

    def seal(self, name: str, content: bytes) -> bytes:
        """What to write for a file of this name. Raises `HomeLocked` when the home is no longer as it was."""
        if self._lock.exists():
            raise HomeLocked("this home folder was encrypted meanwhile; restart Recollect")
        return content

    def open(self, name: str, content: bytes) -> bytes:
        """What such a file says. Raises `ValueError` when it is not what was sealed under this name."""
        return content


class SealedBox(Box):
    def __init__(self, home: Path, lock: Lock, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        super().__init__(home)
        self._id = lock.id
        self.key = key
        self.database_key = hmac.digest(key, b"database", "sha256").hex()
        self._files = AESGCM(hmac.digest(key, b"files", "sha256"))

    def seal(self, name: str, content: bytes) -> bytes:
        if not self._lock.exists():
            raise HomeLocked("this home folder was decrypted meanwhile; restart Recollect")
        nonce = os.urandom(_NONCE_BYTES)
        return MAGIC + nonce + self._files.encrypt(nonce, content, name.encode())

    def open(self, name: str, content: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        start = len(MAGIC) + _NONCE_BYTES
        if not content.startswith(MAGIC) or len(content) < OVERHEAD_BYTES:
            raise ValueError(f"{name} is not encrypted, or cut short")
        try:
            return self._files.decrypt(content[len(MAGIC) : start], content[start:], name.encode())
        except InvalidTag as error:
            raise ValueError(f"{name} was altered, or is another home's") from error


def box_of(home: Path) -> Box:
    """The box of a home folder. Raises `HomeLocked` where it is locked, or encrypted in part."""
    lock = read(home)
    if lock is None:
        return Box(home)
    if lock.stage != "encrypted":
        if lock.stage == "decrypting":
            raise HomeLocked("`recollect decrypt` was broken off; run it again to finish it")
        raise HomeLocked(
            "`recollect encrypt` was broken off; run it again to finish it, or `recollect decrypt` to undo it"
        )
    return SealedBox(home, lock, unlock(home, lock))


# -- locks ------------------------------------------------------------------------------------------

_known: dict[str, bytes] = {}
_unlocking = threading.Lock()


def read(home: Path) -> Lock | None:
    """How a home is encrypted, or None where it is not. Raises `HomeLocked` when the file cannot be used."""
    try:
        return Lock(**json.loads(DataDir(home).encryption.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise HomeLocked(f"encryption.json cannot be used; put back the one of a backup: {error}") from error


def write(home: Path, lock: Lock) -> None:
    """Durably let a home be encrypted so."""
    replace_file(DataDir(home).encryption, json.dumps(asdict(lock)).encode())


def new_lock(key: bytes, passphrase: str, *, in_keyring: bool, lock_id: str = "", stage: Stage) -> Lock:
    """A lock that a passphrase opens, and the keyring where that is wanted. Raises `HomeLocked`."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    lock_id, salt, nonce = lock_id or uuid.uuid4().hex, os.urandom(16), os.urandom(_NONCE_BYTES)
    wrapping = _stretched(passphrase, salt)
    wrapped = nonce + AESGCM(wrapping).encrypt(nonce, key, lock_id.encode())
    if in_keyring:
        _in_keyring("set_password", lock_id, wrapping.hex())
    _known[lock_id] = key
    return Lock(lock_id, stage, salt.hex(), wrapped.hex(), in_keyring)


def unlock(home: Path, lock: Lock) -> bytes:
    """The key of a home; once in the life of a program. Raises `HomeLocked`."""
    with _unlocking:
        if lock.id not in _known:
            # Taken out of the environment: no program that this one starts is handed the key by accident.
            is_handed = os.environ.pop(HANDED, "") == "stdin"
            handed = bytes.fromhex(sys.stdin.buffer.readline().decode()) if is_handed else b""
            _known[lock.id] = handed or _unlocked(home, lock)
        return _known[lock.id]


def app_digest(app_name: str) -> str:
    """What a receipt knows an app by while something of it may be on its way: names of what was deleted stay
    nowhere.
    """
    return hashlib.sha256(app_name.casefold().encode("utf-8", "replace")).hexdigest()


def handing(key: bytes | None) -> tuple[dict[str, str] | None, bytes]:
    """The environment and the input of a program that is handed the key; (None, b"") where there is none."""
    return (None, b"") if key is None else ({**os.environ, HANDED: "stdin"}, key.hex().encode() + b"\n")


def forget(lock: Lock) -> None:
    """Forget a home's key, in the keyring as well."""
    _known.pop(lock.id, None)
    if lock.in_keyring:
        with suppress(_KeyringFailed):  # what stays there opens nothing any more
            _in_keyring("delete_password", lock.id)


def _unlocked(home: Path, lock: Lock) -> bytes:
    salt, tried = bytes.fromhex(lock.salt), False
    for wrapping in _wrappings(home, lock, salt):
        tried = True
        if key := _unwrapped(lock, wrapping):
            return key
    if tried:
        raise HomeLocked(f"{home} is locked: the passphrase is wrong")
    raise HomeLocked(
        f"{home} is locked: start Recollect in a terminal and type the passphrase, set {PASSPHRASE}, "
        "or let the keyring keep it with `recollect encrypt --keyring`"
    )


def _wrappings(home: Path, lock: Lock, salt: bytes) -> Iterator[bytes]:
    if given := os.environ.get(PASSPHRASE):
        yield _stretched(given, salt)
        return
    with suppress(_KeyringFailed):  # a person may still be there
        if lock.in_keyring and (kept := _in_keyring("get_password", lock.id)):
            yield bytes.fromhex(kept)
    if sys.stdin is not None and sys.stdin.isatty():
        for _ in range(_TRIES):
            yield _stretched(getpass.getpass(f"Passphrase of {home}: "), salt)


def _unwrapped(lock: Lock, wrapping: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    wrapped = bytes.fromhex(lock.wrapped)
    try:
        return AESGCM(wrapping).decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], lock.id.encode())
    except InvalidTag:
        return None


def _stretched(passphrase: str, salt: bytes) -> bytes:
    return hashlib.scrypt(passphrase.encode(), salt=salt, dklen=32, **_SCRYPT)


# -- the system's keyring, a library that may not be there ------------------------------------------


class _KeyringFailed(HomeLocked):
    """It is not installed, locked, or none runs."""


def _in_keyring(call: str, *words: str) -> str | None:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        raise _KeyringFailed("the keyring needs `pip install recollect[encryption]`") from error
    try:
        answer: str | None = getattr(keyring, call)(_SERVICE, *words)
    except KeyringError as error:
        raise _KeyringFailed(f"the keyring could not keep the key: {error}") from error
    return answer
