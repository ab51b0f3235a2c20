"""The different window titles and addresses, and the orders a filter reads."""

from __future__ import annotations

import apsw


def m009_names(connection: apsw.Connection) -> None:
    # A filter is a piece of a title or an address: looked for among the different ones, of which
    # there are far fewer than frames, and then in the order of an index (`store.names`). Triggers
    # keep the two tables, so that no way of writing or deleting a frame can forget them.
    for column, table in (("window_name", "window_names"), ("browser_url", "browser_urls")):
        connection.execute(
            f"""
            create table {table} (name text primary key) without rowid;
            insert into {table} (name) select distinct {column} from frames where {column} is not null;
            create index frames_by_{column} on frames ({column}, id) where {column} is not null;

            create trigger {table}_insert after insert on frames when new.{column} is not null
            begin
                insert or ignore into {table} (name) values (new.{column});
            end;
            create trigger {table}_update after update of {column} on frames
            begin
                insert or ignore into {table} (name) select new.{column} where new.{column} is not null;
                delete from {table}
                where name = old.{column} and not exists (
                    select 1 from frames where {column} = old.{column}
                );
            end;
            create trigger {table}_delete after delete on frames when old.{column} is not null
            begin
                delete from {table}
                where name = old.{column} and not exists (
                    select 1 from frames where {column} = old.{column}
                );
            end;
            """
        )
    connection.execute(
        """
        create index frames_by_focus on frames (focused, id);
        create index frames_by_screen on frames (monitor, id);
        """
    )
