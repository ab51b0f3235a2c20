"""Receipts of deletions, files to unlink, preferences and used launch codes."""

from __future__ import annotations

import apsw


def m005_deletion_and_preferences(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table deletions (
            id integer primary key,
            start_ms integer not null,
            end_ms integer not null,
            deleted_ms integer not null,
            receipt text not null
        );
        create index deletions_by_time on deletions (start_ms);

        -- Files to unlink: written in the transaction that removes the rows, emptied by a sweep,
        -- so that a crash between the two leaves no picture behind (DEL-2).
        create table media_trash (path text primary key) without rowid;

        create table preferences (key text primary key, value text not null) without rowid;

        -- A launch link opens the door once.
        create table used_launch_codes (code_hash text primary key, expires_ms integer not null)
        without rowid;
        """
    )
