"""Other machines of the person that hand in what they capture: what they said last, and what they are told.

A host is known by its token, never by what it says of itself; its name is the token's. Each asks every few
seconds for the rules and for the deletions that it has not carried out yet, and says which ones it has: the
receipt of a deletion names who answered. A host remembers the number of the last one that it carried out, and
the name of that deletion: a home that was put back from a copy uses numbers again, for other deletions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import apsw

from store.core.database import Database, scalar
from store.core.errors import StoreError
from store.core.records import columns, load, put

SKEW_SHOWN_MS = 2_000
"""Clocks that are closer are as good as the same; more is told to the person."""
_PAGE = 500


class HostTaken(StoreError):
    """Another machine uses the same token."""


@dataclass(frozen=True, slots=True)
class Host:
    """What is known of a host; the columns are explained in ``migrations/012_hosts.sql``."""

    key_id: int
    name: str
    instance: str
    seen_ms: int
    skew_ms: int
    waiting: int = 0
    problem: str = ""
    rules_sha256: str = ""
    deletion_id: int = 0

    @property
    def is_skewed(self) -> bool:
        return abs(self.skew_ms) > SKEW_SHOWN_MS


@dataclass(frozen=True, slots=True)
class Order:
    """A deletion that a host carries out in its spool: all of ``[start_ms, end_ms)``, or what one app had."""

    id: int
    start_ms: int
    end_ms: int
    app_sha256: str | None  # `store.core.keys.app_digest`


@dataclass(frozen=True, slots=True)
class HostReceipt:
    """Whether one host has carried out a deletion. One without a token (`is_revoked`) never will."""

    name: str
    answered_ms: int | None
    removed: int
    is_revoked: bool


def get(database: Database, key_id: int) -> Host | None:
    return database.first(Host, _HOST, (key_id,))


_HOST = f"select {columns(Host)} from hosts where key_id = ?"


def listed(database: Database) -> list[Host]:
    """All hosts that ever spoke, by name."""
    return database.records(Host, f"select {columns(Host)} from hosts order by name, key_id")


def name_of(connection: apsw.Connection, deletion_id: int) -> str:
    """What tells a deletion from another of that number; "" where there is none."""
    return str(scalar(connection, "select deleted_ms from deletions where id = ?", (deletion_id,)) or "")


def reached(connection: apsw.Connection, deletion_id: int, name: str) -> int:
    """Up to which deletion a host has carried all out, which says that number and name. What it says counts,
    also where it is less than was said before: its home may have been copied, or put back.

    Where the name is another's, this home was put back from a copy, and nobody knows how far the two went
    together: what was said before may have been said of another copy of the host. So all is told again.
    """
    return deletion_id if name and name_of(connection, deletion_id) == name else 0


def orders(connection: apsw.Connection, after_id: int) -> tuple[list[Order], int]:
    """What is to be deleted after a deletion, and up to which number that is all. One that is under way is
    told when it is done: only then its span stands.
    """
    under_way = "select min(id) from deletions where receipt -> '$.under_way' is not null"
    ended = f"select max(id) from deletions where id < coalesce(({under_way}), 1 << 62)"
    through = scalar(connection, f"select coalesce(({ended}), 0)")
    found = load(Order, connection.execute(_ORDERS, {"after": after_id, "through": through, "most": _PAGE}))
    return found, found[-1].id if len(found) == _PAGE else max(through, after_id)


_IS_ORDER = "(receipt -> '$.whole' = 'true' or receipt ->> '$.app' is not null)"
"""Other deletions are of frames, which no host has any more, or their app is forgotten."""
_ORDERS = f"""
select id, receipt ->> '$.start_ms', receipt ->> '$.end_ms', receipt ->> '$.app'
from deletions
where id > :after and id <= :through and {_IS_ORDER}
order by id limit :most
"""


def receipts_of(database: Database, deletion_id: int) -> list[HostReceipt]:
    """Who has carried out a deletion and who has not yet, by name. A token whose machine has another now is
    not waited for.
    """
    return database.records(HostReceipt, _RECEIPTS, {"deletion": deletion_id})


_RECEIPTS = f"""
select h.name, r.answered_ms, coalesce(r.removed, 0), k.id is null
from hosts h
left join access_keys k on k.id = h.key_id
left join host_receipts r on r.deletion_id = :deletion and r.key_id = h.key_id
where r.answered_ms is not null or (
    exists (select 1 from deletions where id = :deletion and {_IS_ORDER})
    and (k.id is not null or not exists (
        select 1 from hosts o join access_keys ok on ok.id = o.key_id where o.instance = h.instance
    ))
)
order by h.name, h.key_id
"""


# -- writing (inside `database.write()`) --------------------------------------------------


def note(connection: apsw.Connection, report: Host, name: str, carried_out: Mapping[int, int]) -> Host:
    """Keep what a host said of itself and which deletions it has carried out (captures removed, by number;
    `name` is that of the last); returns it as it is known now. Raises `HostTaken`.
    """
    known = next(iter(load(Host, connection.execute(_HOST, (report.key_id,)))), None)
    if known is not None and known.instance != report.instance:
        raise HostTaken(f"the token of {report.name} is used by another machine")
    before = known.deletion_id if known else 0
    through = reached(connection, report.deletion_id, name)
    put(connection, "hosts", "key_id", **{**asdict(report), "deletion_id": through})
    answered = {"key": report.key_id, "at": report.seen_ms, "from": before, "through": through}
    connection.execute(_ANSWERED, answered)
    for deletion_id, removed in carried_out.items():
        if deletion_id <= through:
            receipt = {"key_id": report.key_id, "answered_ms": report.seen_ms, "removed": removed}
            connection.execute(_RECEIPT, {**receipt, "deletion_id": deletion_id})
    return next(iter(load(Host, connection.execute(_HOST, (report.key_id,)))))


_ANSWERED = f"""
insert or ignore into host_receipts (deletion_id, key_id, answered_ms, removed)
select id, :key, :at, 0 from deletions
where id > :from and id <= :through and receipt ->> '$.verified' is not null and {_IS_ORDER}
"""
_RECEIPT = """
insert into host_receipts (deletion_id, key_id, answered_ms, removed)
values (:deletion_id, :key_id, :answered_ms, :removed)
on conflict (deletion_id, key_id) do update set removed = max(removed, excluded.removed)
"""


def note_skew(connection: apsw.Connection, key_id: int, skew_ms: int) -> None:
    """The way here takes time, never less than none: of two measurements the smaller is the truer."""
    connection.execute("update hosts set skew_ms = min(skew_ms, ?) where key_id = ?", (skew_ms, key_id))
