"""The index of words with lists of its own for beginnings of one to three letters (``e*``).

Without them FTS5 gathers the frames of every word that begins so before it gives the first
(https://sqlite.org/fts5.html#prefix_indexes): half a second for one letter of a million frames. The
index is made anew, a minute for 300,000 frames.
"""

from __future__ import annotations

import apsw


def m015_prefixes(connection: apsw.Connection) -> None:
    # An index that was half made beside the one in use is begun anew.
    for name in ("frames_fts", "frames_fts_next"):
        connection.execute(
            f"""
            drop table {name};
            create virtual table {name} using fts5 (
                text, app_name, window_name, browser_url,
                content = 'frame_texts', content_rowid = 'id', tokenize = 'recollect', prefix = '1 2 3'
            );
            insert into {name} ({name}, rank) values ('secure-delete', 1);
            """
        )
    connection.execute("insert into frames_fts (frames_fts) values ('rebuild')")
