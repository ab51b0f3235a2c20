"""Other machines of the person that hand in what they capture: what they said last, and what they are told.

A host is known by its token, never by what it says of itself; its name is the token's. Each asks every few
seconds for the rules and for the deletions that it has not carried out yet, and says which ones it has: the
receipt of a deletion names who answered. The numbers are those of this home, so a host needs to remember
none, and a home that was restored from a backup tells again what was not carried out by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import apsw

from store.core import tombstones
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
    return database.first(Host, f"select {columns(Host)} from hosts where key_id = ?", (key_id,))


def listed(database: Database) -> list[Host]:
    """All hosts that ever spoke, by name."""
    return database.records(Host, f"select {columns(Host)} from hosts order by name, key_id")


def orders(connection: apsw.Connection, after_id: int) -> tuple[list[Order], int]:
    """What is to be deleted after a deletion, and up to which number that is all. One that is under way is
    told when it is done: only then its span stands.
    """
    under_way = "select min(id) from deletions where receipt -> '$.under_way' is not null"
    through = scalar(connection, f"select coalesce(({under_way}) - 1, {tombstones.NEWEST})")
    found = load(Order, connection.execute(_ORDERS, {"after": after_id, "through": through, "most": _PAGE}))
    return found, found[-1].id if len(found) == _PAGE else max(through, after_id)


_ORDERS = """
select id, receipt ->> '$.start_ms', receipt ->> '$.end_ms', receipt ->> '$.app'
from deletions
where id > :after and id <= :through
    and (receipt -> '$.whole' = 'true' or receipt ->> '$.app' is not null)
order by id limit :most
"""


def receipts_of(database: Database, deletion_id: int) -> list[HostReceipt]:
    """Who has carried out a deletion and who has not yet, by name."""
    return database.records(
        HostReceipt,
        """
        select h.name, r.answered_ms, coalesce(r.removed, 0), k.id is null
        from hosts h
        left join access_keys k on k.id = h.key_id
        left join host_receipts r on r.deletion_id = :deletion and r.key_id = h.key_id
        order by h.name, h.key_id
        """,
        {"deletion": deletion_id},
    )


# -- writing (inside `database.write()`) --------------------------------------------------


def note(connection: apsw.Connection, said: Host, carried_out: Mapping[int, int]) -> Host:
    """Keep what a host said of itself and which deletions it has carried out (captures removed, by number);
    returns it as it is known now. Raises `HostTaken`.
    """
    sql = f"select {columns(Host)} from hosts where key_id = ?"
    known = next(iter(load(Host, connection.execute(sql, (said.key_id,)))), None)
    if known is not None and known.instance != said.instance:
        raise HostTaken(f"the token of {said.name} is used by another machine")
    # What it names was told it, so no number is beyond the newest: nobody can refuse what is to come.
    before = known.deletion_id if known else 0
    through = max(before, min(said.deletion_id, tombstones.newest(connection)))
    put(connection, "hosts", "key_id", **{**asdict(said), "deletion_id": through})
    answered = {"key": said.key_id, "at": said.seen_ms, "from": before, "through": through}
    connection.execute(_ANSWERED, answered)
    for deletion_id, removed in carried_out.items():
        if deletion_id <= through:
            told = {"key_id": said.key_id, "answered_ms": said.seen_ms, "removed": removed}
            connection.execute(_RECEIPT, {**told, "deletion_id": deletion_id})
    return next(iter(load(Host, connection.execute(sql, (said.key_id,)))))


_ANSWERED = """
insert or ignore into host_receipts (deletion_id, key_id, answered_ms, removed)
select id, :key, :at, 0 from deletions
where id > :from and id <= :through and receipt ->> '$.verified' is not null
"""
_RECEIPT = """
insert into host_receipts (deletion_id, key_id, answered_ms, removed)
values (:deletion_id, :key_id, :answered_ms, :removed)
on conflict (deletion_id, key_id) do update set removed = max(removed, excluded.removed)
"""


def note_skew(connection: apsw.Connection, key_id: int, skew_ms: int) -> None:
    """The way here takes time, never less than none: of two measurements the smaller is the truer."""
    connection.execute("update hosts set skew_ms = min(skew_ms, ?) where key_id = ?", (skew_ms, key_id))
