"""Whether the person is there: seconds since the last input, and locked, asleep or elsewhere.

Only "how long ago", never which key or where. Away states pause capture;
who looks at the windows adds screen lockers that no system service knows of.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from typing import Any, Protocol

log = logging.getLogger(__name__)

ACTIVE_WITHIN_S = 60.0
"""A person is taken to be there for so long after the last input."""


@dataclass(frozen=True, slots=True)
class Activity:
    """`idle_s` is None when unknown. `away` is "" or locked, screensaver, asleep, switched_user."""

    idle_s: float | None = None
    away: str = ""

    @property
    def is_active(self) -> bool:
        """Whether the person is there, as far as anybody knows."""
        return not self.away and (self.idle_s is None or self.idle_s < ACTIVE_WITHIN_S)


class ActivitySource(Protocol):
    """A way to know whether the person is there."""

    def read(self) -> Activity:
        """What is known now. Raises `SourceFailed` when the display is gone."""

    def close(self) -> None: ...


class Present:
    """A source without a person, such as a folder: nobody is away, nobody is known to be active."""

    def read(self) -> Activity:
        return Activity()

    def close(self) -> None:
        return


class LinuxActivity:
    """Idle time as the display tells it, away states by logind (where it runs)."""

    def __init__(self, idle: ActivitySource, logind: Logind) -> None:
        self._idle = idle
        self._logind = logind

    def read(self) -> Activity:
        known = self._idle.read()
        return Activity(known.idle_s, self._logind.away() or known.away)

    def close(self) -> None:
        self._idle.close()
        self._logind.close()


class Logind:
    """Locked, asleep or switched away, as systemd-logind says on the system bus.

    Source: https://www.freedesktop.org/software/systemd/man/latest/org.freedesktop.login1.html
    """

    _RETRY_S = 60.0

    def __init__(self, connect: Any = None, monotonic: Any = time.monotonic) -> None:
        self._connect = connect
        self._monotonic = monotonic
        self._connection: Any = None
        self._next_try_s = float("-inf")

    def away(self) -> str:
        """ "" when nobody says otherwise: many machines have no logind, and that is no failure."""
        if self._connection is None and not self._open():
            return ""
        try:
            if self._property("/org/freedesktop/login1", "Manager", "PreparingForSleep"):
                return "asleep"
            session = f"/org/freedesktop/login1/session/{_escaped(os.environ.get('XDG_SESSION_ID', 'auto'))}"
            if self._property(session, "Session", "LockedHint"):
                return "locked"
            return "switched_user" if self._property(session, "Session", "Active") is False else ""
        except (OSError, TimeoutError, ValueError) as error:
            log.warning("logind does not answer: %s", error)
            self.close()
            self._next_try_s = self._monotonic() + self._RETRY_S
            return ""

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> bool:
        if self._monotonic() < self._next_try_s:
            return False
        self._next_try_s = self._monotonic() + self._RETRY_S
        try:
            from jeepney.io.blocking import open_dbus_connection

            self._connection = self._connect() if self._connect else open_dbus_connection(bus="SYSTEM")
        except (OSError, KeyError, ValueError, ImportError) as error:
            log.info("no logind to ask: %s", error)
            return False
        return True

    def _property(self, path: str, interface: str, name: str) -> Any:
        from jeepney import DBusAddress, MessageType, Properties

        address = DBusAddress(path, "org.freedesktop.login1", f"org.freedesktop.login1.{interface}")
        reply = self._connection.send_and_get_reply(Properties(address).get(name), timeout=1.0)
        if reply.header.message_type is not MessageType.method_return:
            return None  # no such session: capture may run outside of one
        return reply.body[0][1]


def _escaped(label: str) -> str:
    """A D-Bus path element: everything but letters and digits as _xx, a leading digit too."""
    return "".join(
        c if (c.isascii() and c.isalnum()) and (i or not c.isdigit()) else f"_{ord(c):02x}"
        for i, c in enumerate(label)
    )


_JITTER_MS = 1_000
"""Two clocks tell when the last input was; a difference under this is no new input."""

_CONTINUOUS_MS = 5_000
"""Between two readings further apart than this, more may have happened than the last input."""

IdleInterval = tuple[int, int]


class Inactivity:
    """Turns readings of the idle time into stretches ``[start_ms, end_ms)``; `take` gives what is new.

    Reading needs no keys, so a stretch counts only when it has lasted `after_s`; then all of it does, from
    its last input on (the rule of ActivityWatch's watcher). Who watches a film without touching anything
    cannot be told from who went away. A stretch that goes on is given in parts that meet. Nothing is said
    of the time before `now_ms`, nor of the time between `left` and the reading after it.
    """

    def __init__(self, after_s: float, now_ms: int) -> None:
        self._after_ms = round(after_s * 1000)
        self._earliest_ms = now_ms
        self._input_ms: int | None = None  # the input that the open stretch follows
        self._taken_ms = self._until_ms = now_ms
        self._ended: list[IdleInterval] = []

    def read(self, activity: Activity, now_ms: int) -> None:
        """What is known now. A person who is away is told so by another word from here on."""
        if activity.away or activity.idle_s is None:
            if self._input_ms is not None and activity.away:
                self._until_ms = max(self._until_ms, now_ms)
            self.left(now_ms)
            return
        input_ms = now_ms - round(activity.idle_s * 1000)
        if self._input_ms is not None and input_ms > self._input_ms + _JITTER_MS:
            if now_ms - self._until_ms <= _CONTINUOUS_MS:
                self._until_ms = max(self._until_ms, input_ms)
            self._end()
        if self._input_ms is None:
            if now_ms - input_ms < self._after_ms:
                return
            self._input_ms = input_ms
            self._taken_ms = max(input_ms, self._earliest_ms)
        self._until_ms = max(self._until_ms, now_ms)

    def left(self, now_ms: int) -> None:
        """Nobody reads the idle time: capture is held, or the person is away by another word."""
        self._end()
        self._earliest_ms = max(self._earliest_ms, now_ms)

    def take(self) -> list[IdleInterval]:
        """The stretches, or parts of them, that were not given before."""
        ended, self._ended = self._ended, []
        if self._input_ms is not None and self._until_ms > self._taken_ms:
            ended.append((self._taken_ms, self._until_ms))
            self._taken_ms = self._until_ms
        return ended

    def _end(self) -> None:
        if self._input_ms is None:
            return
        if self._until_ms > self._taken_ms:
            self._ended.append((self._taken_ms, self._until_ms))
        self._input_ms = None
        self._earliest_ms = max(self._earliest_ms, self._until_ms)
