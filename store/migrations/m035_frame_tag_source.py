"""Who marked a frame: a rule as it came in, or a person."""

from __future__ import annotations

import apsw


def m035_frame_tag_source(connection: apsw.Connection) -> None:
    connection.execute("alter table frame_tags add column source text not null default 'person'")
