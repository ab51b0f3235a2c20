"""The text index over what is read in frames and where it stood."""

from __future__ import annotations

import apsw


def m002_text_index(connection: apsw.Connection) -> None:
    # External content: the words are stored once, in `readings` and `frames`. The rowid is the
    # frame id, so deleting goes by rowid (DEL-6) and a time range is a rowid range.
    connection.execute(
        """
        create view frame_texts as
            select f.id, coalesce(r.text, '') as text, coalesce(f.app_name, '') as app_name,
                coalesce(f.window_name, '') as window_name, coalesce(f.browser_url, '') as browser_url
            from frames f
            left join readings r on r.frame_id = f.id and r.is_current = 1;
        create virtual table frames_fts using fts5 (
            text, app_name, window_name, browser_url,
            content = 'frame_texts', content_rowid = 'id', tokenize = 'recollect'
        );
        insert into frames_fts (frames_fts, rank) values ('secure-delete', 1);
        insert into frames_fts (frames_fts) values ('rebuild');
        """
    )
