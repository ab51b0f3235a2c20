"""What was looked at and what could not be: four different words for four different things."""

from __future__ import annotations

import uuid
from zoneinfo import ZoneInfo

import pytest

from assistant.core.records import Coverage, Scope
from assistant.core.texts import Language
from assistant.retrieval import coverage
from assistant.turns.plan import TurnServices
from assistant.turns.stored_turns import stored_turn
from store.core.database import Database
from store.deletion import deletion
from store.embeddings import vectors
from store.frames import media
from store.spool.queue import DecisionRun, LookReport
from store.timeline import ledger
from tests.assistant.conftest import Ask
from tests.assistant.helpers import HOUR_MS, START_MS, Afternoon, reply
from tests.stub_model import StubModel

SHANGHAI = ZoneInfo("Asia/Shanghai")
MINUTE_MS = 60_000


def looked(database: Database, *runs: tuple[str, str, int, int]) -> None:
    """Looks all afternoon, with these runs: (decision, reason, from minute, to minute)."""
    made = tuple(
        DecisionRun("", decision, reason, START_MS + start * MINUTE_MS, START_MS + end * MINUTE_MS, 10)  # type: ignore[arg-type]
        for decision, reason, start, end in runs
    )
    end_ms = START_MS + 3 * HOUR_MS
    with database.write() as connection:
        for at in range(START_MS, end_ms, 600_000):
            inside = tuple(run for run in made if at <= run.start_ms < at + 600_000)
            ledger.add_report(connection, LookReport(str(uuid.uuid4()), at, at + 600_000, 20, inside))


RUNS = (
    ("paused", "by the person", 20, 40),
    ("paused", "locked", 50, 60),
    ("excluded", "rule", 70, 81),
    ("failed", "no_display", 90, 92),
)


def told(result: Coverage, language: Language) -> dict[str, str]:
    return {each.kind: each.text for each in coverage.statements(result, SHANGHAI, language)}


@pytest.fixture
def afternoon_with_gaps(database: Database, deps: TurnServices, afternoon: Afternoon) -> Afternoon:
    looked(database, *RUNS)
    for minute in (5, 10, 100, 110):
        afternoon.show(minute, f"page {minute}")
    afternoon.show(120, "a secret")
    afternoon.show(130, None)
    shelf = media.Media(database.data_dir.media)
    deletion.delete_range(database, shelf, START_MS + 119 * MINUTE_MS, START_MS + 124 * MINUTE_MS)
    return afternoon


def test_time_without_input_was_recorded_and_is_told_in_its_own_words(
    ask: Ask, afternoon: Afternoon, database: Database, stub: StubModel
) -> None:
    """Neither locked nor not recorded."""
    looked(database, ("deduped", "idle", 20, 40))
    afternoon.show(10, "page 10")
    stub.reply(reply("Pages [[e1]].", ("e1", "page 10")))
    result = ask("What did I read?")
    english, chinese = told(result.coverage, "en"), told(result.coverage, "zh")
    assert english["idle"] == "No keyboard or mouse input, counted in no duration: 20 min (14:20–14:40)."
    assert chinese["idle"] == "没有键盘或鼠标操作，不计入时长：20分钟（14:20–14:40）。"
    assert "not_recorded" not in english
    assert "(no keyboard or mouse input)" in stub.prompt()
    assert "not recorded:" not in stub.prompt()


def test_every_cause_is_told_in_its_own_words(
    ask: Ask, afternoon_with_gaps: Afternoon, stub: StubModel, deps: TurnServices
) -> None:
    stub.reply(reply("It is on none of them."))
    result = ask("Where is the zeppelin?")
    english, chinese = told(result.coverage, "en"), told(result.coverage, "zh")
    assert english == {
        "looked": "Looked at all 5 frames.",
        "not_found": "Not found: no frame that has been read shows “zeppelin” in this time.",
        "not_recorded": "Not recorded: 20 min, recording was paused (14:20–14:40); "
        "10 min, the screen was locked (14:50–15:00); 2 min, recording failed (no_display) (15:30–15:32).",
        "excluded": "Excluded by a privacy rule: 11 min (15:10–15:21).",
        "deleted": "Deleted: 5 min (15:59–16:04).",
        "not_ready": "Not read yet: one frame, which no word can find.",
    }
    assert set(chinese) == set(english)
    for kind, word in {
        "not_found": "没有找到", "not_recorded": "没有录制", "excluded": "排除", "deleted": "已删除",
    }.items():  # fmt: skip
        assert word in chinese[kind]
        assert not any(word in text for other, text in chinese.items() if other != kind)
    assert coverage.causes(result.coverage.gaps) == {
        "paused": 20 * MINUTE_MS,
        "excluded": 11 * MINUTE_MS,
        "locked": 10 * MINUTE_MS,
        "deleted": 5 * MINUTE_MS,
        "failed": 2 * MINUTE_MS,
    }
    assert (result.coverage.unread, result.coverage.frames_in_range) == (1, 5)
    assert result.coverage.queries[0].text == "zeppelin"
    assert "Not found" in result.warnings[0]
    assert stored_turn(deps.database, result.chat_id, result.turn_id) == result


def test_an_empty_range_names_what_was_excluded_and_deleted(ask: Ask, database: Database) -> None:
    looked(database, ("excluded", "rule", 0, 30), ("paused", "asleep", 60, 80))
    english = ask("What did I do?", end_ms=START_MS + 2 * HOUR_MS).answer_md
    assert "No captures: Friday 20 Nov, 14:00–16:00." in english
    assert "Excluded by a privacy rule: 30 min (14:00–14:30)." in english
    assert "Not recorded: 20 min, the computer was asleep (15:00–15:20)." in english
    chinese = ask("我做了什么", end_ms=START_MS + 2 * HOUR_MS).answer_md
    assert "被隐私规则排除：30分钟（14:00–14:30）。" in chinese
    assert "没有录制：20分钟，电脑处于睡眠状态（15:00–15:20）。" in chinese


def test_frames_without_vectors_are_counted(
    ask: Ask, afternoon: Afternoon, database: Database, stub: StubModel
) -> None:
    afternoon.show(5, "one")
    stub.reply(reply("One [[e1]].", ("e1", "one")))
    assert ask().coverage.unembedded == 0  # no model was ever used: nobody expects any
    vectors.activate_model(database, "test", 2)
    stub.reply(reply("One [[e1]].", ("e1", "one")))
    result = ask()
    assert result.coverage.unembedded == 1
    assert told(result.coverage, "en")["not_ready"] == "Not found by meaning yet: one frame."
    stub.reply(reply("One [[e1]].", ("e1", "one")))
    korean = coverage.statements(ask("단팥빵은 얼마예요?").coverage, SHANGHAI, "en")
    assert "Korean was not read: see Settings, Recording." in [each.text for each in korean]


def test_the_range_that_words_named_is_kept_with_its_other_reading(
    ask: Ask, afternoon: Afternoon, deps: TurnServices
) -> None:
    result = ask("What did I do last wednesday?", start_ms=None, end_ms=None)
    day_ms = 86_400_000
    wednesday = START_MS - 14 * HOUR_MS - 2 * day_ms
    assert (result.start_ms, result.end_ms) == (wednesday, wednesday + day_ms)
    assert result.scope == Scope(
        "Wednesday 18 Nov",
        wednesday,
        wednesday + day_ms,
        also=((wednesday - 7 * day_ms, wednesday - 6 * day_ms),),
        phrase="last wednesday",
    )
    # Chosen by its other meaning, as a browser sends it: the first is then the other one.
    chosen = ask(
        "What did I do last wednesday?", start_ms=wednesday - 7 * day_ms, end_ms=wednesday - 6 * day_ms
    )
    assert chosen.scope.also == ((wednesday, wednesday + day_ms),)
    assert chosen.coverage.queries[0].text == ""
    today = ask("What did I do @today?", start_ms=None, end_ms=None)
    assert (today.scope.phrase.strip("@"), today.scope.is_so_far) == ("today", True)
    usual = ask("What do I usually do on Tuesdays?", start_ms=None, end_ms=None)
    assert (usual.scope.is_everything, usual.scope.unread) == (True, "Tuesdays")


def test_a_mentioned_app_filters_and_a_selection_needs_a_range(
    ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:
    from assistant.core.errors import TimeRangeRequired

    afternoon.show(1, "in code")
    afternoon.show(2, "in mail", app_name="Mail")
    stub.reply(reply("Mail [[e1]].", ("e1", "in mail")))
    result = ask("What was in @mail?")
    assert result.coverage.queries[-1].filters.app_name == "Mail"
    assert [item.app_name for item in result.evidence] == ["Mail"]
    assert ask("Summarise @selection").coverage.frames_in_range == 2
    with pytest.raises(TimeRangeRequired) as refused:
        ask("Summarise @selection of today", start_ms=None, end_ms=None)
    assert refused.value.problem == "no_selection"


@pytest.mark.parametrize(
    ("question", "minutes", "answer"),
    [
        (
            "How long was I away?",
            240,
            "10 min away: 14:50–15:00 (the screen was locked).\n\n"
            "For 1 h nothing was recorded: whether you were away then is not known.",
        ),
        ("我离开了多久？", 180, "离开共10分钟：14:50–15:00（屏幕已锁定）。"),
        ("When was I away?", 30, "Nothing recorded tells that you were away."),
    ],
)
def test_time_away_is_what_was_locked_asleep_or_idle(
    question: str, minutes: int, answer: str, ask: Ask, afternoon_with_gaps: Afternoon
) -> None:
    end_ms = START_MS + minutes * MINUTE_MS
    said = ask(question, model="extractive", start_ms=START_MS, end_ms=end_ms).answer_md
    assert said.split("\n\n", 1)[1] == answer
