"""The keys of one home: what a cookie or a bearer token must hold, how long it is good, and wrong ones.

The token file opens everything. Everything else is a row of `store.egress.access_keys`: a browser that was
signed in, or a token for one purpose. Secrets have 256 bits, so that nobody guesses one however often they
try. Too many wrong ones are answered with 429 all the same, to spare the log and the machine; a right one is
let in even then, else any program of this machine could lock its owner out.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable

import apsw

from store.core.database import Database, clean_text
from store.core.errors import StoreError
from store.egress import access_keys
from store.egress.access_keys import BROWSER, AccessKey
from webapp.security.access import derive_key, is_token

log = logging.getLogger(__name__)

_DAY_MS = 86_400_000
IDLE_MS = 7 * _DAY_MS
"""A browser that was not used for a week is signed out: a cookie that was forgotten, or copied, dies."""
LIFETIME_MS = 30 * _DAY_MS
"""However often it is used, as whoever took a cookie uses it, too. Signing in again is one command."""
_NOTED_EVERY_MS = 10 * 60_000

OWNER = AccessKey(0, "all", "", 0, 0, None)
"""Who has the token file."""

MAX_WRONG = 20
WRONG_SPAN_MS = 60_000
_MAX_ADDRESSES = 1_024
_MAX_NAME_CHARS = 100


class Keyring:
    """The keys of one home, as one process looks at them."""

    def __init__(self, database: Database, token: str, clock: Callable[[], int]) -> None:
        self._database = database
        self._token = token
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, int]] = OrderedDict()  # address -> (since, how many)

    def make(self, connection: apsw.Connection, scope: str, name: str, port: int = 0, user: str = "") -> str:
        """A new key's secret, which is kept nowhere. Call inside `Database.write()`.

        With a `user` it is good for connections of that user of this machine only (`webapp.security.peers`).
        """
        now_ms = self._clock()
        name = clean_text(name).strip()[:_MAX_NAME_CHARS] or scope
        access_keys.forget_browsers(connection, now_ms - LIFETIME_MS, now_ms - IDLE_MS)
        secret = secrets.token_urlsafe(32)
        used_ms = now_ms if scope == BROWSER else None
        access_keys.add(
            connection, self._hash(secret, user), AccessKey(0, scope, name, port, now_ms, used_ms)
        )
        return secret

    def browser(self, secret: str, port: int, user: str) -> AccessKey | None:
        """The browser that was signed in to the pages of this port with this cookie, while that is good."""
        key = access_keys.by_hash(self._database, self._hash(secret, user))
        if key is None and user:  # nobody could tell whose browser it was
            key = access_keys.by_hash(self._database, self._hash(secret))
        if key is None or key.scope != BROWSER or key.port != port or self._is_over(key):
            return None
        self._note_use(key)
        return key

    def bearer(self, shown: str, address: str) -> AccessKey | None:
        """Whose token this is: `OWNER`, or one for a purpose. A wrong one is counted for who sent it."""
        if is_token(shown, self._token):
            return OWNER
        key = access_keys.by_hash(self._database, self._hash(shown)) if shown else None
        if key is None or key.scope == BROWSER:
            if shown:
                self.note_wrong(address)
            return None
        self._note_use(key)
        return key

    def is_good(self, key: AccessKey) -> bool:
        """Whether a key that opened a door earlier would open it now: it may have been revoked meanwhile."""
        found = key if key == OWNER else access_keys.by_id(self._database, key.id)
        return found is not None and not self._is_over(found)

    def listed(self) -> list[AccessKey]:
        """Those that are good, the newest first."""
        return [key for key in access_keys.listed(self._database) if not self._is_over(key)]

    def _hash(self, secret: str, user: str = "") -> bytes:
        """Each user has a key: whatever another one shows, nothing makes this user's hash of it."""
        key = derive_key(self._token, f"access keys of {user}" if user else "access keys")
        return hmac.digest(key, secret.encode("utf-8", "surrogatepass"), "sha256")

    def _is_over(self, key: AccessKey) -> bool:
        """Also where it was made far ahead, on a clock that was wrong: it would live for so much longer."""
        now_ms = self._clock()
        is_old = abs(now_ms - key.made_ms) > LIFETIME_MS or now_ms - (key.used_ms or 0) > IDLE_MS
        return key.scope == BROWSER and is_old

    def _note_use(self, key: AccessKey) -> None:
        """Nobody waits for this: where it cannot be written at once, the next request tries again."""
        now_ms = self._clock()
        if key.used_ms is not None and 0 <= now_ms - key.used_ms < _NOTED_EVERY_MS:
            return
        try:
            with self._database.write_at_once() as connection:
                access_keys.note_use(connection, key.id, now_ms)
        except (StoreError, OSError) as error:
            # On a full disk pages must open all the same, to make room.
            log.warning("the use of a key could not be noted: %s", error)

    # -- wrong ones, counted by address in a bounded table ---------------------------------------

    def note_wrong(self, address: str) -> None:
        since_ms, count = self._span(address)
        self._wrong.pop(address, None)
        self._wrong[address] = since_ms, count + 1  # the last one now
        while len(self._wrong) > _MAX_ADDRESSES:
            self._wrong.popitem(last=False)

    def wait_s(self, address: str) -> int:
        """How long somebody with another wrong key is asked to wait; 0 while they had few."""
        since_ms, count = self._span(address)
        return max(1, -((self._clock() - since_ms - WRONG_SPAN_MS) // 1_000)) if count > MAX_WRONG else 0

    def _span(self, address: str) -> tuple[int, int]:
        now_ms = self._clock()
        since_ms, count = self._wrong.get(address, (now_ms, 0))
        return (since_ms, count) if 0 <= now_ms - since_ms < WRONG_SPAN_MS else (now_ms, 0)
