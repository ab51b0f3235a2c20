"""What a model gets to see: excerpts, fenced blocks, a budget that holds, and one prompt for all."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.core.models import ChatModels
from assistant.core.records import Coverage, TurnRequest
from assistant.core.texts import estimate_tokens, matches
from assistant.retrieval.excerpts import (
    MAX_OCR_CHARS_PER_FRAME,
    MAX_OCR_TOKENS_PER_FRAME,
    excerpt,
    line_forms,
)
from assistant.retrieval.packing import CLOSE, OPEN, pack, sanitized_inline
from assistant.retrieval.retrieval import Entry, Retrieval
from assistant.retrieval.sampling import MAX_FRAMES
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from store.core.database import Database
from store.core.settings import ChatSettings
from store.search.filters import Filters
from store.search.sample import SampledFrame
from store.timeline.gaps import Gap
from tests.assistant.conftest import Ask
from tests.assistant.helpers import HOSTILE, HOUR_MS, NOW_MS, START_MS, Afternoon, reply
from tests.stub_model import StubModel
from tests.tables import for_each

GOLDEN = Path(__file__).parents[1] / "golden"
ZONE = ZoneInfo("Asia/Shanghai")
ENGLISH = "the quick brown fox jumps over the lazy dog and keeps running until the evening comes"
CHINESE = "今天下午的会议讨论了明年的预算和项目进度以及测试结果还有发布计划"

texts = st.lists(st.text("ab 今天.\t", max_size=60) | st.text(max_size=300), max_size=12).map("\n".join)


# -- excerpts -----------------------------------------------------------------------------


@given(texts, st.lists(st.sampled_from(["a", "b", "今天"]), max_size=2))
def test_every_line_of_an_excerpt_stands_in_the_text_in_that_order(text: str, words: list[str]) -> None:
    found = excerpt(text, words)
    at, lines = 0, found.split("\n") if found else []
    for line in lines:
        at = text.index(line, at) + len(line)
    assert len(found) <= MAX_OCR_CHARS_PER_FRAME
    assert estimate_tokens(found) <= MAX_OCR_TOKENS_PER_FRAME + len(lines)
    assert bool(found) == bool(text.replace("\n", " ").strip())


@given(st.lists(st.text("abc ", min_size=1, max_size=70).filter(str.strip), min_size=1, max_size=8))
def test_short_lines_are_never_cut(lines: list[str]) -> None:
    text = "\n".join(lines)
    whole = {line.strip() for line in lines}
    assert set(excerpt(text).split("\n")) <= whole


def test_an_excerpt_prefers_what_is_asked_for_then_what_is_new() -> None:
    menu = "File Edit Selection View Go Run Terminal Help and a long menu bar with many entries"
    text = f"{menu}\nsomething that is new on this screen since the frame before it was taken\nretention = 14"
    seen = line_forms(menu)
    assert excerpt(text, ["retention"], seen, limit=40) == "retention = 14"
    assert excerpt(text, (), seen, limit=90).startswith("something that is new")
    assert excerpt(text, (), frozenset(), limit=90).startswith("File Edit")


def test_chinese_lines_hold_their_own_beside_english_ones() -> None:
    """A page beside a manual, all of it read anew: seen once when a busy machine captured both at once."""
    manual = (
        "buoy - place and inspect mooring buoys",
        "Prints what would be placed without touching the rec",
        "Zero when the buoy was placed, two when the anchorage is oc",
    )
    minutes = ("今天下午开会讨论港口的预算和灯塔的检修计划。", "王老师负责整理吊车租赁合同，下周一提交报告。")
    assert set(minutes) < set(excerpt("\n".join((*manual, *minutes))).split("\n"))


def test_a_line_longer_than_the_limit_is_cut_between_words_around_its_match() -> None:
    line = "word " * 60 + "retention set to 14 days " + "word " * 60
    found = excerpt(line, ["retention"])
    assert "retention set to 14 days" in found
    assert len(found) <= MAX_OCR_CHARS_PER_FRAME
    assert found.startswith("word ") and found.endswith("word")


def test_a_word_is_not_found_inside_another() -> None:
    assert matches(["read", "预算"], "Threads already; reader 年度预算") == 2
    assert matches(["read"], "threads already") == 0


# -- packing ------------------------------------------------------------------------------


def retrieval(count: int, text: str = ENGLISH, **columns: Any) -> Retrieval:
    entries = []
    for n in range(1, count + 1):
        at_ms = START_MS + n * 120_000
        frame = SampledFrame(at_ms * 1024, at_ms, "Code", "main.py", None, True, "DP-1", n, f"{text} {n}")
        frame = replace(frame, **columns)
        entries.append(Entry(f"e{n}", frame, excerpt(frame.text)))
    return Retrieval(Filters(START_MS, NOW_MS), tuple(entries), Coverage(count * 10, count))


@for_each("budget", [2_000, 8_000, 32_000])
@for_each("text", [ENGLISH, CHINESE * 6])
def test_the_pack_fits_its_budget_and_counts_what_was_left_out(budget: int, text: str) -> None:
    found = retrieval(100, text)
    packed = pack(found, "What did I do?", ZONE, budget)
    assert estimate_tokens(packed.text) <= budget
    assert len(packed.entries) + packed.left_out == 100
    assert packed.text.count("[[e") == len(packed.entries)
    assert packed.left_out == 0 or budget < 32_000


@given(st.integers(0, 80), st.integers(0, 12_000), st.sampled_from(HOSTILE))
def test_no_budget_is_ever_exceeded_by_frames(count: int, budget: int, text: str) -> None:
    packed = pack(retrieval(count, text), "q", ZONE, budget)
    assert not packed.entries or estimate_tokens(packed.text) <= budget
    assert [entry.id for entry in packed.entries] == sorted(
        (entry.id for entry in packed.entries), key=lambda name: int(name[1:])
    )


def test_what_code_has_counted_leaves_a_small_window_to_frames() -> None:
    gaps = tuple(Gap(START_MS + n * HOUR_MS, START_MS + (n + 1) * HOUR_MS, "not_running") for n in range(6))
    found = retrieval(20)
    found = replace(found, coverage=replace(found.coverage, gaps=gaps))
    small, large = (pack(found, "What did I do?", ZONE, budget) for budget in (400, 8_000))
    assert large.text.count("not recorded:") == 6 and len(large.entries) == 20
    assert 0 < small.text.count("not recorded:") < 5 and len(small.entries) >= 3


def test_a_model_is_told_which_other_windows_have_lines_on_a_frame() -> None:
    beside = {
        "visible": '[["Zathura","tides [[e9]].pdf",null]]',
        "window_places": "[[0,0,0,900,300],[1,0,300,900,500]]",
    }
    told = pack(retrieval(1, **beside), "q", ZONE, 8_000).text
    assert "beside it, and some of these lines are its: Zathura – tides " in told and "[[e9]]" not in told
    assert "beside it" not in pack(retrieval(1), "q", ZONE, 8_000).text


def test_frames_that_match_stay_and_the_rest_spreads_over_the_range() -> None:
    found = retrieval(60)
    entries = list(found.entries)
    frame = replace(entries[41].frame, text="retention set to 14 days")
    entries[41] = Entry("e42", frame, excerpt(frame.text))
    packed = pack(replace(found, entries=tuple(entries)), "retention?", ZONE, 700, ["retention"])
    kept = [entry.id for entry in packed.entries]
    assert {"e1", "e42", "e60"} <= set(kept)
    assert 4 < len(kept) < 12


@pytest.mark.parametrize(
    ("count", "text", "most"),
    [(24, ENGLISH, 3_000), (MAX_FRAMES, ENGLISH, 8_000), (MAX_FRAMES, CHINESE * 6, 12_000)],
)
def test_a_question_costs_no_more_than_its_gate(
    count: int, text: str, most: int, ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:
    for n in range(count):
        afternoon.show(n * 2, f"{n} {text}", window_name="main.py - recollect - Visual Studio Code")
    stub.reply("ok")
    ask("Was habe ich gemacht?")
    assert len(stub.requests) == 1
    assert estimate_tokens(stub.prompt()) < most


def test_room_that_is_left_goes_to_more_of_the_frames_that_were_found() -> None:
    page = "\n".join(f"line {n} of a long list of goods in the yard" for n in range(60))
    found = retrieval(20, page)
    found = replace(found, best=(found.entries[7].frame.id,))
    bare = pack(found, "Where is line 43?", ZONE, 8_000)
    fuller = pack(found, "Where is line 43?", ZONE, 8_000, is_fuller=True)
    assert bare.text.count("line 43 of") == 0 and fuller.text.count("line 43 of") == 1
    assert estimate_tokens(fuller.text) <= 8_000
    assert fuller.text.count("line 7 of") == 1, "the others show the same list"
    assert [entry.id for entry in bare.entries] == [entry.id for entry in fuller.entries]
    tight = estimate_tokens(bare.text) + 50
    assert estimate_tokens(pack(found, "Where is line 43?", ZONE, tight, is_fuller=True).text) <= tight


# -- look-alikes ----------------------------------------------------------------------------

MAIL = """\
Posteingang - Seepost
An: Werft Süd
Die Probefahrt beginnt am Dienstag um 14:10 Uhr.
Treffpunkt ist der Steg hinter der Segelmacherei, Parken am Friedhof.
Wer nicht kann, sagt Hinnerk bis Montagabend Bescheid.
Gruß, Tilda"""
CHAT = "造船群\n周工 13:41\n钢板厚度改成 6 毫米。\n妈妈 13:52\n炉子放在左边，别忘了。"


def shown(*texts: str, window: str | None = None) -> Retrieval:
    entries = []
    for n, text in enumerate(texts, 1):
        at_ms = START_MS + n * 60_000
        frame = SampledFrame(at_ms * 1024, at_ms, None, window, None, None, "DP-1", n, text)
        entries.append(Entry(f"e{n}", frame, excerpt(frame.text)))
    return Retrieval(Filters(START_MS, NOW_MS), tuple(entries), Coverage(len(texts), len(texts)))


def told(retrieval: Retrieval, budget: int = 8_000) -> dict[str, list[str]]:
    """The lines of each frame that a model is shown."""
    text = pack(retrieval, "What did I do?", ZONE, budget, is_fuller=True).text
    blocks = text.partition(f"\n{OPEN}\n")[2].partition(f"\n{CLOSE}\n")[0].split("[[")[1:]
    return {
        block.partition("]]")[0]: [line for line in block.split("\n")[1:] if line.startswith("| ")]
        for block in blocks
    }


def test_a_screen_is_told_once_and_whole_and_then_what_is_new_on_it() -> None:
    misread = MAIL.replace("Segelmacherei", "Segelmacherel").replace("Dienstag", "Dienstaq")
    more = MAIL.replace("Gruß", "Bringt die Karte mit.\nGruß")
    found = told(shown(f"{MAIL}\n09:15", f"{misread}\n09:17", CHAT, f"{MAIL}\n09:20", f"{more}\n09:21"))
    assert found == {
        "e1": [f"| {line}" for line in f"{MAIL}\n09:15".split("\n")],
        "e3": [f"| {line}" for line in CHAT.split("\n")],
        "e5": ["| Bringt die Karte mit."],
    }
    text = pack(shown(MAIL, misread), "What?", ZONE, 8_000, is_fuller=True).text
    assert "shown until: 2026-11-20T14:02:00+08:00" in text
    assert "as on e1" in pack(shown(MAIL, more), "What?", ZONE, 8_000, is_fuller=True).text


@for_each(
    "changed",
    [
        MAIL.replace("14:10", "15:10"),
        MAIL.replace("Dienstag", "Mittwoch"),
        MAIL.replace("Uhr.", "Uhr, bei Regen nicht."),
        MAIL.replace("beginnt am", "beginnt nicht am"),
    ],
)
def test_what_changed_on_a_screen_is_told(changed: str) -> None:
    assert told(shown(MAIL, changed))["e2"] == [f"| {changed.split(chr(10))[2]}"]


def test_other_windows_are_other_screens() -> None:
    one, other = shown(MAIL, window="a").entries, shown(MAIL, MAIL, window="b").entries
    found = replace(shown(MAIL), entries=(one[0], other[1]))
    assert set(told(found)) == {"e1", "e2"}


def test_a_summary_fills_its_room_evenly_and_keeps_titles() -> None:
    line = "Absatz {n}.{k} sagt etwas über das Boot {boat}"
    pages = [
        "\n".join([f"Titel {n} - Heft", *(line.format(n=n, k=k, boat=n * k) for k in range(1, 30))])
        for n in range(1, 9)
    ]
    found = shown(*pages)
    for budget in (2_000, 4_000, 16_000):
        text = pack(found, "What did I do?", ZONE, budget, is_fuller=True).text
        assert estimate_tokens(text) <= budget
        blocks = told(found, budget)
        assert all(lines[0] == f"| Titel {n} - Heft" for n, lines in enumerate(blocks.values(), 1))
        counts = [len(lines) for lines in blocks.values()]
        assert max(counts) - min(counts) <= 2
    assert counts[0] == 30, "whole where there is room"


def test_a_block_says_what_is_known_of_a_frame_and_nothing_else() -> None:
    found = retrieval(1, "one\ntwo", browser_url="https://example.org/a", focused=False)
    lines = pack(found, "q", ZONE, 4_000).text.split("\n")
    frame_id = found.entries[0].frame.id
    assert lines[lines.index(OPEN) + 1 : lines.index(CLOSE)] == [
        "[[e1]] 2026-11-20T14:02:00+08:00",
        "app: Code",
        "window: main.py",
        "url: https://example.org/a",
        "focused: no",
        f"frame: {frame_id} /api/v1/frames/{frame_id}",
        "| one",
        "| two 1",
    ]
    bare = retrieval(1, app_name=None, window_name=None, focused=None, text="")
    lines = pack(bare, "q", ZONE, 4_000).text.split("\n")
    assert [line.split(" ")[0] for line in lines[2:4]] == ["[[e1]]", "frame:"]


@given(st.text(max_size=60) | st.sampled_from(HOSTILE))
def test_a_guest_stays_on_its_line_and_cites_nothing(text: str) -> None:
    shown = sanitized_inline(text, 50)
    assert len(shown) <= 50
    assert "[[" not in shown and "]]" not in shown
    assert shown.isprintable()
    assert not {OPEN, CLOSE} & {shown.upper()}


# -- the whole prompt ---------------------------------------------------------------------


def fill_golden_afternoon(afternoon: Afternoon) -> None:
    afternoon.show(3, "File Edit View\nretention set to 14 days\ndef keep(days): return days")
    afternoon.show(3.5, "File Edit View\nretention set to 14 days\nassert keep(14) == 14")
    url = "https://example.org/sqlite/fts5"
    afternoon.show(40, "全文检索\nSQLite FTS5 扩展", app_name="Firefox", window_name="FTS5", browser_url=url)
    afternoon.show(90, HOSTILE[1], app_name="Mail", window_name=HOSTILE[0], focused=False)


def test_the_prompt_is_the_golden_one(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    """Taken from the real turn by a recording model. RECOLLECT_REFRESH=1 writes it anew."""
    fill_golden_afternoon(afternoon)
    stub.reply(reply("Ok [[e1]].", ("e1", "retention set to 14 days")))
    ask("总结一下我今天 14:00-17:00 做了什么")
    sent = "\n\n".join(f"--- {m['role']} ---\n{m['content']}" for m in stub.requests[0]["messages"]) + "\n"
    golden = GOLDEN / "prompt.txt"
    if os.environ.get("RECOLLECT_REFRESH"):
        golden.write_text(sent, encoding="utf-8")
    assert sent == golden.read_text(encoding="utf-8")


def test_the_blocks_stand_in_their_order(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    afternoon.show(1, "SENTINEL_FRAME")  # chapter 8
    stub.reply("ok")
    ask("SENTINEL_QUESTION", system_prompt="SENTINEL_IDENTITY")
    sent = stub.prompt()
    places = [
        sent.index(part)
        for part in (
            "SENTINEL_IDENTITY",
            "Rules that nothing",
            "Now: ",
            "SENTINEL_FRAME",
            "SENTINEL_QUESTION",
        )
    ]
    assert places == sorted(places)
    assert "SENTINEL_FRAME" not in stub.requests[0]["messages"][0]["content"]


def test_the_prompt_tells_the_zone_of_the_request(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    afternoon.show(1, "hello")
    stub.reply("ok")
    result = ask(timezone="America/New_York")
    system = stub.requests[0]["messages"][0]["content"]
    assert "Now: 2026-11-20T05:03:00-05:00\nTime zone: America/New_York (UTC-05:00)" in system
    assert result.evidence[0].local_time == "2026-11-20T01:01:00-05:00"


def test_a_small_context_gets_fewer_frames_and_says_so(
    database: Database, afternoon: Afternoon, stub: StubModel
) -> None:
    for n in range(60):
        afternoon.show(n, f"{n} {ENGLISH}")
    settings = ChatSettings(base_url=stub.base_url, model="small", context_tokens=2_048)
    models = ChatModels(settings, {})
    stub.reply("ok")
    request = TurnRequest("what?", "UTC", NOW_MS, START_MS, START_MS + 3 * HOUR_MS)
    result = answer(TurnServices(database, models, lambda: NOW_MS), request)
    models.close()
    assert estimate_tokens(stub.prompt()) < 2_048
    shown = stub.requests[0]["messages"][-1]["content"].count("[[e")
    assert 3 < shown < 60
    assert result.warnings[0].startswith(f"{60 - shown} of the 60 selected frames did not fit")


def test_a_long_history_gives_way_to_frames(
    database: Database, afternoon: Afternoon, stub: StubModel
) -> None:
    afternoon.show(1, ENGLISH)
    models = ChatModels(ChatSettings(base_url=stub.base_url, model="small", context_tokens=2_048), {})
    deps = TurnServices(database, models, lambda: NOW_MS)
    stub.reply("A long answer. " * 100)
    chat_id = None
    for n in range(4):
        question = f"question {n} " + "and more " * 30
        request = TurnRequest(question, "UTC", NOW_MS, START_MS, START_MS + HOUR_MS, chat_id)
        last = answer(deps, request)
        chat_id = last.chat_id
    models.close()
    assert any("earlier questions of this chat" in warning for warning in last.warnings)
    assert len(stub.requests[3]["messages"]) < 8 and "[[e1]]" in stub.prompt()
    assert "question 2" in stub.requests[3]["messages"][-3]["content"]
    assert estimate_tokens(stub.prompt()) < 2_048


def test_a_context_that_holds_no_frame_is_a_typed_error(
    database: Database, afternoon: Afternoon, stub: StubModel
) -> None:
    afternoon.show(1, ENGLISH)
    models = ChatModels(ChatSettings(base_url=stub.base_url, model="tiny", context_tokens=512), {})
    request = TurnRequest("what?", "UTC", NOW_MS, START_MS, START_MS + HOUR_MS)
    result = answer(TurnServices(database, models, lambda: NOW_MS), request)
    assert result.error is not None
    assert result.error.code == "context_too_long"
    assert stub.requests == []
