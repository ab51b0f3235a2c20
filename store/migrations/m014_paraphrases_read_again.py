"""Sources that nothing was quoted from are looked at again, too, when their frame is read again."""

from __future__ import annotations

import apsw


def m014_paraphrases_read_again(connection: apsw.Connection) -> None:
    # A paraphrase is judged by the whole text of its frame, so that text changing matters to it as
    # much as to a quote.
    connection.execute(
        """
        drop trigger evidence_read_again;
        drop trigger evidence_reading_chosen;
        create trigger evidence_read_again after insert on readings when new.is_current = 1
        begin
            update evidence set state = 'not_checked', needs_check = 1
            where frame_id = new.frame_id and n is not null and state <> 'deleted';
        end;
        create trigger evidence_reading_chosen after update of is_current on readings
        when new.is_current = 1 and old.is_current <> 1
        begin
            update evidence set state = 'not_checked', needs_check = 1
            where frame_id = new.frame_id and n is not null and state <> 'deleted';
        end;
        """
    )
