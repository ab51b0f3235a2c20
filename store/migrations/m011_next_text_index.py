"""The index of words in the making (`store.text_index`), empty but for a rebuild."""

from __future__ import annotations

import apsw


def m011_next_text_index(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create virtual table frames_fts_next using fts5 (
            text, app_name, window_name, browser_url,
            content = 'frame_texts', content_rowid = 'id', tokenize = 'recollect'
        );
        insert into frames_fts_next (frames_fts_next, rank) values ('secure-delete', 1);
        """
    )
