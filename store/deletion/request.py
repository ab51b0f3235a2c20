"""What is asked to be deleted: what frames, captures of the spool and captures on their way are asked by."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any

import apsw

from store.core.database import Database, column, rows, scalar
from store.core.errors import StoreError
from store.core.keys import app_digest
from store.core.paths import DataDir
from store.deletion import places
from store.frames import visible_windows
from store.frames.frames import MAX_CAPTURED_MS, id_range
from store.privacy.rules import Rule, WindowFacts, as_document, validate
from store.search.filters import APP_NAMES
from store.spool import residual_files
from store.spool.residual_files import Waiting
from store.timeline import segments

log = logging.getLogger(__name__)

Parameters = dict[str, int | str | None]

EVER = 0, MAX_CAPTURED_MS
FRAMES_AT_ONCE = 1_000
_WINDOWS_KNOWN = 100_000
_COUNT_DEADLINE_S = 2.0


@dataclass(frozen=True, slots=True)
class DeletionScope:
    """Which frames go: everything after ``select id`` but for the order and the chunk.

    `fits` and `shows`, where they are, are the SQL functions of `source` of that name: `_WINDOWS`.
    """

    source: str
    parameters: Parameters
    fits: Callable[..., bool] | None = None
    shows: Callable[..., bool] | None = None

    @contextmanager
    def bound(self, connection: apsw.Connection) -> Iterator[None]:
        """Let a connection know the functions for this block: they remember what they were asked about."""
        functions = {"fits": self.fits, "shows": self.shows}
        for name, function in functions.items():
            connection.create_scalar_function(name, function, _ANY, deterministic=True)
        try:
            yield
        finally:
            for name in functions:
                connection.create_scalar_function(name, None, _ANY)

    def select_all(self, connection: apsw.Connection) -> int:
        """Put every frame into ``deletion_request``; returns how many."""
        with self.bound(connection):
            return places.select_frames(
                connection, f"select f.id {self.source}", self.parameters, "deletion_request"
            )

    def select(self, connection: apsw.Connection, after_id: int) -> int | None:
        """Put the next `FRAMES_AT_ONCE` frames of ``deletion_request`` above an id that are still to go into
        ``deletion_scope``; returns the last id that was looked at, None at the end.
        """
        while chunk := column(connection, _NEXT, (after_id, FRAMES_AT_ONCE)):
            after_id = chunk[-1]
            found = f"select f.id {self.source} and f.id in (select value from json_each(:chunk))"
            with self.bound(connection):
                parameters = {**self.parameters, "chunk": json.dumps(chunk)}
                if places.select_frames(connection, found, parameters):
                    return after_id
        return None

    def count(self, connection: apsw.Connection) -> int:
        """How many frames there are in all."""
        with self.bound(connection):
            return int(scalar(connection, f"select count(*) {self.source}", self.parameters))


@dataclass(frozen=True, slots=True)
class OnlyFront:
    """Frames that stay though they may show it behind the window in front, and when the last was captured.

    Capture notes which windows are there; a version before did not, and of an imported picture nobody knows.
    """

    frames: int = 0
    until_ms: int | None = None


@dataclass(frozen=True)
class Request:
    """Frames by id, or those captured in ``[start_ms, end_ms)``.

    With `app_name` only those with that app in front, compared as a whole without regard to case; with
    `rules` only those on which a window can be seen that one of them is known to fit, as capture leaves them
    out. The rules must be in force: they keep out what is on its way while the rest is deleted.
    """

    start_ms: int
    end_ms: int
    app_name: str | None = None
    frame_ids: tuple[int, ...] = ()
    rules: tuple[Rule, ...] = ()

    @classmethod
    def read(cls, noted: dict[str, Any]) -> Request:
        """One from what `note` gave."""
        rules = validate(noted.get("rules", ()))  # what a version before noted has none
        return cls(**{**noted, "frame_ids": tuple(noted["frame_ids"]), "rules": rules})

    def note(self) -> dict[str, Any]:
        return {**asdict(self), "rules": [as_document(rule) for rule in self.rules]}

    @property
    def is_whole_range(self) -> bool:
        return self.app_name is None and not self.frame_ids and not self.rules

    @property
    def app_digest(self) -> str | None:
        """What a tombstone knows a named app by; what rules fit is kept out by the rules."""
        return app_digest(self.app_name) if self.app_name and not self.rules else None

    @cached_property
    def scope(self) -> DeletionScope:
        if self.frame_ids:
            return DeletionScope(
                "from json_each(:ids) j cross join frames f on f.id = j.value where true",
                {"ids": json.dumps(self.frame_ids)},
            )
        first, after = id_range(self.start_ms, self.end_ms)
        return DeletionScope(
            f"from frames f where f.id >= :first and f.id < :after {self._of_app or self._condition}",
            {"first": first, "after": after},
            None if self.is_whole_range else self._fits,
            None if self.is_whole_range else self._shows,
        )

    @property
    def _condition(self) -> str:
        return "" if self.is_whole_range else f"and fits({_WINDOWS})"

    @property
    def _of_app(self) -> str:
        """The condition where an app is all that is asked for: an index lists its frames."""
        if self.app_name is None or self.rules:
            return ""
        return f"and f.app_name collate nocase in ({APP_NAMES} and fits(name, null, null))"

    @cached_property
    def _fits(self) -> Callable[..., bool]:
        """Of the many frames of a window this is asked once; `is_beside`: a window beside it is asked for."""
        named = None if self.app_name is None else self.app_name.casefold()

        @lru_cache(_WINDOWS_KNOWN)
        def fits(app: str | None, title: str | None, url: str | None, is_beside: bool | None = None) -> bool:
            if named is not None and (app is None or app.casefold() != named):
                return False
            slow = frozenset() if is_beside or not self.rules else self._too_slow(app, title, url)
            if is_beside or not self.rules or slow is None:
                return True
            self.undecided.update(slow)
            return False

        return fits

    @cached_property
    def _shows(self) -> Callable[[str], bool]:
        """Whether a list of windows, as it is stored, has one that is asked for."""
        named = None if self.app_name is None else self.app_name.casefold()

        @lru_cache(_WINDOWS_KNOWN)
        def shows(listed: str) -> bool:
            windows = visible_windows.decode(listed)
            if not self.rules:
                return any(app is not None and app.casefold() == named for app, *_ in windows)
            slow = [self._too_slow(*window) for window in windows]
            if None in slow:
                return True
            self.undecided.update(*filter(None, slow))
            return False

        return shows

    @cached_property
    def _too_slow(self) -> Callable[..., frozenset[str] | None]:
        """The rules that took too long on a window; None where one is known to fit it."""

        @lru_cache(_WINDOWS_KNOWN)
        def too_slow(app: str | None, title: str | None, url: str | None) -> frozenset[str] | None:
            known = {rule: rule.known_fit(WindowFacts(app, title, url)) for rule in self.rules}
            if any(known.values()):
                return None
            return frozenset(rule.sentence for rule, is_fit in known.items() if is_fit is None)

        return too_slow

    @cached_property
    def undecided(self) -> set[str]:
        """The rules that took too long on a window that was asked about: what it showed stays."""
        return set()

    def only_front(self, connection: apsw.Connection) -> OnlyFront:
        """Of rules: where nobody noted what is behind. Of an app, which is looked for in front alone: there,
        and where it is known to be behind.
        """
        if self.is_whole_range or self.frame_ids:
            return OnlyFront()
        first, after = id_range(self.start_ms, self.end_ms)
        with self.scope.bound(connection):
            found = rows(connection, _ONLY_FRONT, {"first": first, "after": after})
        return OnlyFront(*found[0])

    def waiting(self, data_dir: DataDir) -> list[Waiting]:
        """Captures of the spool that were asked for. One whose record cannot be read may be any window's."""
        if self.frame_ids:
            return []
        found = residual_files.captures(data_dir, self.start_ms, self.end_ms)
        return [entry for entry in found if entry.window is None or self._fits(*self._names(entry))]

    def _names(self, entry: Waiting) -> tuple[str | bool | None, ...]:
        """What `_WINDOWS` is of a frame."""
        assert entry.window is not None
        is_beside = entry.visible is not None and self._shows(visible_windows.encode(entry.visible))
        return entry.window.app_name, entry.window.window_name, entry.window.browser_url, is_beside

    def truncate_frames(self, connection: apsw.Connection) -> None:
        """Frames that were still on the screen when the range began: their time ends before it."""
        with self.scope.bound(connection):
            reaching = rows(connection, _REACHING + self._condition, {"start": self.start_ms})
        for frame_id, captured_ms, ended_ms in reaching:
            connection.execute("update frames set ended_ms = ? where id = ?", (self.start_ms - 1, frame_id))
            segments.rebuild(connection, captured_ms, ended_ms + 1)


def recorded(database: Database, rules: tuple[Rule, ...]) -> int | None:
    """How many frames that one of the rules fits are stored; None where that cannot be told, or not soon.

    It is asked of rules that are saved already: not to know the number is no reason to fail.
    """
    if not rules:
        return 0
    try:
        with database.read(_COUNT_DEADLINE_S) as connection:
            asked = Request(*EVER, rules=rules)
            number = asked.scope.count(connection)
            return None if asked.undecided else number
    except (StoreError, OSError, apsw.Error) as error:
        log.warning("the frames that privacy rules fit could not be counted: %s", error)
        return None


def has_only_front(database: Database) -> bool:
    """Whether there are frames of which nobody noted the windows behind the one in front."""
    return bool(database.column("select 1 from frames where visible_id is null limit 1"))


_ANY = -1  # number of arguments
_BESIDE = "f.visible_id in (select id from visible_windows where shows(windows))"  # asked once of each list
_WINDOWS = f"f.app_name, f.window_name, f.browser_url, {_BESIDE}"
_ONLY_FRONT = f"""
select count(*), max(f.captured_ms) from frames f
where f.id >= :first and f.id < :after and not fits({_WINDOWS})
    and (f.visible_id is null or {_BESIDE})
"""
_NEXT = "select id from deletion_request where id > ? order by id limit ?"
_REACHING = """
with recursive monitors (name) as (
    select min(monitor) from frames
    union all
    select (select min(f.monitor) from frames f where f.monitor > m.name)
    from monitors m
    where m.name is not null
)
select f.id, f.captured_ms, f.ended_ms
from monitors m
join frames f on f.id = (
    select id from frames
    where monitor = m.name and captured_ms < :start
    order by captured_ms desc, id desc
    limit 1
)
where f.ended_ms >= :start
"""
