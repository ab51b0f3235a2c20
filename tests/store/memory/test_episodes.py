"""Episodes: what belongs together of a day's observations."""

from __future__ import annotations

from store.core.database import Database
from store.memory import observation_writer, observations
from store.memory.episodes import LOOK_MS, PAUSE_MS, Episode, episodes
from tests.factories import NOON_MS
from tests.memories import put_observation

MINUTE = 60_000


def of_day(database: Database) -> list[Episode]:
    return episodes(observations.between(database, NOON_MS, NOON_MS + 24 * 60 * MINUTE))


def test_a_look_goes_to_the_longest_episode_of_its_app_near_it(database: Database) -> None:
    put_observation(database, start_ms=NOON_MS, active_ms=5 * MINUTE, app_name="Web", title="carillon")
    put_observation(
        database, start_ms=NOON_MS + MINUTE, active_ms=LOOK_MS - 1, app_name="Web", title="permit"
    )
    put_observation(database, start_ms=NOON_MS + 2 * MINUTE, active_ms=0, app_name="Mail", title="a mail")
    put_observation(database, start_ms=NOON_MS + 3 * MINUTE, active_ms=LOOK_MS, app_name="Web", title="bank")
    put_observation(
        database, start_ms=NOON_MS + 5 * MINUTE + PAUSE_MS, active_ms=2_000, app_name="Web", title="after"
    )
    put_observation(
        database, start_ms=NOON_MS + 7 * MINUTE + PAUSE_MS, active_ms=2_000, app_name="Web", title="by itself"
    )
    found = of_day(database)
    assert [each.lead.title for each in found] == ["carillon", "a mail", "bank", "by itself"]
    assert [one.title for one in found[0].observations] == ["carillon", "permit", "after"]
    assert found[0].active_ms == 5 * MINUTE + LOOK_MS - 1 + 2_000


def test_a_look_that_a_person_wrote_of_and_a_picture_are_rows_of_their_own(database: Database) -> None:
    put_observation(database, start_ms=NOON_MS, active_ms=5 * MINUTE, app_name=None)
    put_observation(database, start_ms=NOON_MS + MINUTE, active_ms=0, app_name=None, kind="picture")
    written = put_observation(database, start_ms=NOON_MS + 2 * MINUTE, active_ms=1_000, app_name=None)
    observation_writer.edit(database, written, {"title": "Paid the bill"}, NOON_MS)
    assert [each.lead.title for each in of_day(database)][-1] == "Paid the bill"
    assert len(of_day(database)) == 3
