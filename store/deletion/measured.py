"""What code had measured for an answer: kept with its turn, so that its claims can be judged again.

It is the JSON value ``measured`` of a turn's payload and names the apps, windows and sites of the
turn's whole range, not only those of the frames it shows. So it goes when any frame of that range
is deleted, also one that was deleted while the model was thinking.
"""

from __future__ import annotations

import apsw

from store.frames.doomed import shown_in

_AFFECTED = f"""
from turns t
where json_type(t.payload, '$.measured') is not null and {shown_in("t.start_ms", "t.end_ms")}
"""

MEASURED_FACTS_COUNT = f"select count(*) {_AFFECTED}"


def forget_measured_facts(connection: apsw.Connection) -> None:
    """Erase what may tell of the frames in ``doomed``."""
    connection.execute(
        f"""
        update turns
        set payload = json_remove(payload, '$.measured')
        where id in (select t.id {_AFFECTED})
        """
    )
