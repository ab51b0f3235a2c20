"""Insights: one current version of each anchor, whatever happens, and nothing left of what was deleted."""

from __future__ import annotations

import json
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.chats import conversations, records
from store.chats.conversations import DELETED_ANSWER
from store.chats.records import Anchor, AnchoredChat, StoredEvidence
from store.core.database import Database, rows, scalar
from store.core.errors import NotFound
from store.core.paths import DataDir
from store.deletion import deletion, receipts
from store.deletion.request import Request
from store.embeddings.knn import RetrievalQuery
from store.frames import tags
from store.frames.media import Media
from store.frames.tags import RetentionReason
from store.memory import insights, search
from store.memory.insights import Insight, InsightFilter
from store.memory.search import search_insights
from store.spool.queue import Spool
from store.verify.verify import verify
from tests.factories import NOON_MS, store_frame
from tests.store.deletion.test_deletion import SECRET, places_with, put_secret

LATER_MS = NOON_MS + 3_600_000
MOMENT = Anchor("moment", NOON_MS, NOON_MS + 600_000)
TOLD = [
    {"role": "system", "content": "Voice: calm."},
    {"role": "user", "content": f"| the word is {SECRET}"},
    {"role": "assistant", "content": "You planned the week."},
]


def told(
    database: Database,
    anchor: Anchor = MOMENT,
    text: str = "You planned the week.",
    *,
    title: str = "The week",
    evidence: tuple[StoredEvidence, ...] = (),
    amends: int | None = None,
    messages: Any = TOLD,
) -> Insight:
    """An insight as a turn makes it."""
    chat_id = conversations.create(database, "What?", LATER_MS, "Voice: calm.", AnchoredChat(anchor, amends))
    turn = conversations.add_turn(
        database, chat_id, mode="agent", model="m", question="What?", start_ms=anchor.start_ms,
        end_ms=anchor.end_ms, timezone="UTC", now_ms=LATER_MS,
    )  # fmt: skip
    conversations.finish_turn(database, turn.id, text, {"claims": []}, evidence, LATER_MS)
    number = insights.put(database, turn.id, anchor, title, messages, LATER_MS)
    assert number is not None
    return insights.get(database, number)


def current_ids(database: Database) -> list[int]:
    return [each.id for each in insights.list_insights(database)]


def test_a_version_takes_the_place_of_the_one_before_and_changes_nothing_of_it(database: Database) -> None:
    first = told(database)
    before = insights.messages(database, first.id)
    second = told(database, text="You rested.", title="Rest", amends=first.id)
    shown = insights.versions(database, MOMENT)
    assert [(each.id, each.is_current, each.version, each.versions) for each in shown] == [
        (second.id, True, 2, 2),
        (first.id, False, 1, 2),
    ]
    assert insights.get(database, first.id).summary == "You planned the week."
    assert insights.messages(database, first.id) == before == TOLD
    assert second.amends_id == first.id
    insights.restore(database, first.id)
    assert current_ids(database) == [first.id]
    assert insights.current(database, MOMENT) == insights.get(database, first.id)


def test_the_database_itself_refuses_a_second_current_one(database: Database) -> None:
    told(database)
    second = told(database)
    with pytest.raises(apsw.ConstraintError), database.write() as connection:
        connection.execute("update insights set is_current = 1 where id <> ?", (second.id,))


@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(["put", "restore", "delete"]), st.integers(0, 5)), max_size=12)
)
def test_exactly_one_is_current_after_any_steps(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    from store.core.database import open_database

    database = open_database(DataDir(tmp_path_factory.mktemp("home")))
    there: list[int] = []
    for step, n in steps:
        if step == "put" or not there:
            there.append(told(database, text=f"You did {n}.").id)
        elif step == "restore":
            insights.restore(database, there[n % len(there)])
        else:
            insights.delete(database, there.pop(n % len(there)))
        assert sum(each.is_current for each in insights.versions(database, MOMENT)) == (1 if there else 0)
        assert [each.id for each in insights.versions(database, MOMENT)] == sorted(there, reverse=True)
        with database.read() as connection:
            documents = rows(connection, "select sqlite_id from memory_documents where doc_type = 'insight'")
        assert [number for (number,) in documents] == current_ids(database)
    database.close_thread()


def test_frames_and_moments_of_the_same_time_are_different_anchors(
    database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, NOON_MS, "notes")
    anchor = records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms)
    of_frame, of_moment = told(database, anchor), told(database, Anchor("moment", NOON_MS, NOON_MS + 1))
    assert current_ids(database) == [of_moment.id, of_frame.id]
    # The frame stayed on the screen for longer: it is the same anchor.
    longer = told(database, records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms + 5_000))
    assert [each.id for each in insights.versions(database, anchor)] == [longer.id, of_frame.id]
    assert [each.id for each in insights.list_insights(database, InsightFilter(frame_id=frame.id))] == [
        longer.id
    ]


def test_lists_are_filtered_and_paged(database: Database) -> None:
    made = [
        told(database, Anchor("moment", NOON_MS + n * 1_000, NOON_MS + n * 1_000 + 500)).id for n in range(5)
    ]
    assert current_ids(database) == made[::-1]
    page = insights.list_insights(database, limit=2)
    after = insights.list_insights(database, limit=2, before=(page[-1].anchor.start_ms, page[-1].id))
    assert [each.id for each in [*page, *after]] == made[:0:-1]
    within = InsightFilter(start_ms=NOON_MS + 1_000, end_ms=NOON_MS + 2_001)
    assert [each.id for each in insights.list_insights(database, within)] == [made[2], made[1]]


def test_insights_are_found_by_their_words(database: Database) -> None:
    first = told(database, text="You compared retention policies.", title="Retention")
    told(
        database, Anchor("moment", NOON_MS + 1_000_000, NOON_MS + 2_000_000), "You had lunch.", title="Lunch"
    )

    def found(words: str) -> list[tuple[str, int]]:
        page = search.search_memory(database, RetrievalQuery(words), ("insight",), now_ms=LATER_MS)
        return [(entry.type, entry.id) for entry in page.entries]

    assert found("retention") == [("insight", first.id)]
    second = told(database, text="You rested.", title="Rest", amends=first.id)
    assert found("retention") == [] and found("rested") == [("insight", second.id)]
    insights.restore(database, first.id)
    assert found("retention") == [("insight", first.id)]
    insights.delete(database, first.id)
    assert found("retention") == [] and found("rested") == [("insight", second.id)]
    with pytest.raises(NotFound):
        insights.get(database, first.id)


def test_every_insight_that_fits_is_paged_through_and_counted(database: Database) -> None:
    """More than a memory search looks at (100), of which another persona's and another time's are none."""
    made = [
        told(
            database, Anchor("moment", NOON_MS + n * 1_000, NOON_MS + n * 1_000 + 500),
            f"You rested for the {n}th time.", title="Rest" if n % 2 else "Lunch",
        ).id
        for n in range(150)
    ]  # fmt: skip

    def pages(wanted: InsightFilter) -> list[int]:
        seen: list[int] = []
        while (
            page := search_insights(database, RetrievalQuery("rest*"), wanted, limit=40, offset=len(seen))
        ).insights:
            seen += [each.id for each in page.insights]
        assert len(seen) == page.total == len(set(seen))
        return seen

    assert sorted(pages(InsightFilter())) == made
    assert insights.count(database) == 150
    within = InsightFilter(start_ms=NOON_MS + 10_000, end_ms=NOON_MS + 20_000)
    assert sorted(pages(within)) == made[10:20] and insights.count(database, within) == 10
    assert (
        pages(InsightFilter(persona_id=99)) == []
        and insights.count(database, InsightFilter(persona_id=99)) == 0
    )
    assert pages(InsightFilter(frame_id=1)) == []
    assert search_insights(database, RetrievalQuery("  "), InsightFilter(), limit=40).total == 0


def test_deleting_the_chat_of_the_current_one_lets_the_one_before_be_current(database: Database) -> None:
    first, second = told(database), told(database)
    assert conversations.delete(database, second.chat_id)
    assert current_ids(database) == [first.id]


def test_a_title_is_one_bare_line() -> None:
    assert insights.title_of('\n  **"Planning   the week."**\nmore') == "Planning the week"
    assert len(insights.title_of("word " * 100)) <= insights.MAX_TITLE_CHARS


# -- forgetting ---------------------------------------------------------------------------


def cited(frame: Any, n: int | None = 1) -> StoredEvidence:
    return StoredEvidence(n, frame.id, frame.captured_ms, snippet=SECRET, quote=SECRET, state="found")


def test_deleting_a_frame_takes_its_insight_every_version_and_every_word(
    database: Database, data_dir: DataDir
) -> None:
    frame = put_secret(database, data_dir)
    anchor = records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms)
    first = told(database, anchor, f"You read {SECRET}.", title=SECRET, evidence=(cited(frame),))
    told(database, anchor, f"{SECRET} again.", title=SECRET, evidence=(cited(frame, None),), amends=first.id)
    assert places_with(data_dir, [SECRET.encode()])
    assert receipts.preview(database, Request(NOON_MS, NOON_MS + 1)).counts.insights == 2
    receipt = deletion.delete_frames(database, Media(data_dir.media), [frame.id])
    assert (receipt.verified, receipt.counts.insights, receipt.left) == (True, 2, ())
    assert insights.list_insights(database, InsightFilter(all_versions=True)) == []
    assert records.anchor_of_chat(database, first.chat_id) is None
    assert places_with(data_dir, [SECRET.encode()]) == []


def test_an_insight_of_a_moment_loses_what_quotes_the_frame_and_keeps_its_place(
    database: Database, data_dir: DataDir
) -> None:
    frame = put_secret(database, data_dir)
    store_frame(database, data_dir, NOON_MS + 60_000, "the plan for the week")
    first = told(database, text=f"You read {SECRET}.", title=SECRET, evidence=(cited(frame),))
    harmless = told(
        database, text="You planned.", title="Plans", evidence=(cited(frame, None),), amends=first.id
    )
    titled = told(database, text="You planned.", title=f"{SECRET} window", evidence=(cited(frame, None),))
    receipt = deletion.delete_frames(database, Media(data_dir.media), [frame.id])
    assert (receipt.verified, receipt.counts.insights) == (True, 3)
    assert insights.get(database, titled.id).title == ""
    kept = insights.get(database, first.id)
    assert (kept.title, kept.summary, kept.is_forgotten) == ("", DELETED_ANSWER, True)
    assert insights.messages(database, first.id) == [
        TOLD[0],
        {"role": "user", "content": DELETED_ANSWER},
        {"role": "assistant", "content": DELETED_ANSWER},
    ]
    other = insights.get(database, harmless.id)
    assert (other.title, other.summary, other.is_current) == ("Plans", "You planned.", False)
    assert places_with(data_dir, [SECRET.encode()]) == []
    assert verify(database, Media(data_dir.media), Spool(data_dir.spool)).problems == ()


def test_who_amended_a_forgotten_insight_forgets_what_it_was_told(
    database: Database, data_dir: DataDir
) -> None:
    frame = put_secret(database, data_dir, NOON_MS + 5_000_000)  # outside the moment, found by a tool
    first = told(database, text=f"You read {SECRET}.", evidence=(cited(frame),))
    second = told(database, text="Shorter.", amends=first.id)
    third = told(database, text="Shortest.", amends=second.id)
    deletion.delete_frames(database, Media(data_dir.media), [frame.id])
    for number in (first.id, second.id, third.id):
        assert SECRET not in json.dumps(insights.messages(database, number))
    assert insights.get(database, third.id).summary == "Shortest."
    assert places_with(data_dir, [SECRET.encode()]) == []


def test_what_was_deleted_while_the_title_was_made_is_not_stored(
    database: Database, data_dir: DataDir
) -> None:
    frame = put_secret(database, data_dir)
    anchor = records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms)
    chat_id = conversations.create(database, "What?", LATER_MS, "", AnchoredChat(anchor))
    turn = conversations.add_turn(
        database, chat_id, mode="agent", model="m", question="What?", start_ms=None, end_ms=None,
        timezone="UTC", now_ms=LATER_MS,
    )  # fmt: skip
    conversations.finish_turn(database, turn.id, "You read.", {}, [cited(frame)], LATER_MS)
    deletion.delete_frames(database, Media(data_dir.media), [frame.id])
    assert insights.put(database, turn.id, anchor, SECRET, TOLD, LATER_MS) is None
    with database.read() as connection:
        assert scalar(connection, "select count(*) from insights") == 0


def test_a_moment_of_which_a_frame_went_meanwhile_keeps_no_messages(
    database: Database, data_dir: DataDir
) -> None:
    frame = put_secret(database, data_dir)
    chat_id = conversations.create(database, "What?", LATER_MS, "", AnchoredChat(MOMENT))
    turn = conversations.add_turn(
        database, chat_id, mode="agent", model="m", question="What?", start_ms=None, end_ms=None,
        timezone="UTC", now_ms=LATER_MS,
    )  # fmt: skip
    conversations.finish_turn(database, turn.id, "You read.", {}, [], LATER_MS)
    deletion.delete_frames(
        database, Media(data_dir.media), [frame.id], now_ms=LATER_MS - 1
    )  # by another clock
    number = insights.put(database, turn.id, MOMENT, f"Reading {SECRET}", TOLD, LATER_MS)
    assert number is not None and SECRET not in json.dumps(insights.messages(database, number))
    assert insights.get(database, number).title == "You read"


def test_the_frame_of_an_insight_is_kept_from_retention_until_the_insight_goes(
    database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, NOON_MS, "notes")
    insight = told(database, records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms))
    assert tags.retention_reason(database, frame.id) == RetentionReason(None, 0, 1)
    with database.read() as connection:
        assert rows(connection, tags.KEPT) == [(frame.id,)]
    insights.delete(database, insight.id)
    assert not tags.retention_reason(database, frame.id).is_kept


def test_verify_says_what_does_not_agree(database: Database, data_dir: DataDir) -> None:
    insight = told(database)
    with database.write() as connection:
        connection.execute("update turns set answer_md = 'Something else.' where n = 1")
        connection.execute("delete from memory_documents where doc_type = 'insight'")
    problems = verify(database, Media(data_dir.media), Spool(data_dir.spool)).problems
    assert "Insights that say something else than the answer they are: 1." in problems
    assert "Current insights that are not in memory: 1." in problems
    assert insight.is_current


def test_of_two_answers_of_a_chat_at_once_one_is_the_insight(database: Database) -> None:
    first = told(database)
    turn = conversations.add_turn(
        database, first.chat_id, mode="agent", model="m", question="And?", start_ms=None, end_ms=None,
        timezone="UTC", now_ms=LATER_MS,
    )  # fmt: skip
    conversations.finish_turn(database, turn.id, "Nothing else.", {}, [], LATER_MS)
    assert insights.put(database, turn.id, MOMENT, "Else", TOLD, LATER_MS) is None
    assert current_ids(database) == [first.id]
