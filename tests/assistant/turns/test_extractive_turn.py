"""Turns without any language model: quotes that verify, and a sentence that says so."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.core.records import TurnFilters, TurnRequest
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from store.spool.queue import PRIVATE_WINDOW
from tests.assistant.conftest import Ask
from tests.assistant.helpers import HOSTILE, NOW_MS, START_MS, Afternoon
from tests.factories import desktop_entry
from tests.stub_model import StubModel
from tests.tables import for_each


def test_without_an_endpoint_the_answer_is_quoted_and_says_so(
    ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:
    for minute in range(20):
        afternoon.show(minute / 2, f"line {minute} of it", app_name="Writer", window_name="report.odt")
    afternoon.show(11, "Inbox: lunch on Friday", app_name="Mail", window_name="Inbox")
    result = ask(model="extractive")
    assert result.answer_md.startswith("Quoted from your screen, without a language model.\n\n")
    assert "- **14:00–14:11** [1] [2]\n  - Writer “report.odt” “line" in result.answer_md
    assert "Mail “Inbox” “Inbox: lunch on Friday” [2]" in result.answer_md
    assert stub.requests == []
    assert result.claims
    assert {claim.state for claim in result.claims} == {"cited"}
    cited = [item for item in result.evidence if item.n is not None]
    assert {item.state for item in cited} == {"found"}
    assert ask(model="extractive").answer_md == result.answer_md


def test_the_extractive_answer_speaks_the_language_of_the_question(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "季度预算\n合计 1200 元", app_name="表格", window_name="预算.xlsx")
    result = ask("总结一下我今天下午做了什么", model="extractive")
    assert result.answer_md.startswith("以下内容直接引自你的屏幕，未使用语言模型。")
    assert {claim.state for claim in result.claims} == {"cited"}


def test_the_extractive_answer_finds_the_words_of_the_question(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "nothing of interest here")
    afternoon.show(2, "menu\nretention set to 14 days\nfooter")
    result = ask("What did I set retention to?", model="extractive")
    assert "- 14:02: “retention set to 14 days” [1]" in result.answer_md
    assert {claim.state for claim in result.claims} == {"cited"}


def test_the_extractive_answer_says_when_the_words_are_not_there(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "nothing of interest here")
    result = ask("Where is the giraffe?", model="extractive")
    assert "The only frame looked at does not show “giraffe”." in result.answer_md
    assert result.claims == ()
    assert "没有“足球比赛”" in ask("昨天的足球比赛结果是什么？", model="extractive").answer_md


def test_what_is_on_no_frame_is_said_once_and_nothing_stands_beside_it(
    ask: Ask, afternoon: Afternoon
) -> None:
    for minute, text in enumerate(["di\naia!\n|= oO", "di\nter\nFile Edit", "Inbox (3)"]):
        afternoon.show(minute, text)
    result = ask("Did an elephant dance on Mars?", model="extractive")
    assert result.answer_md.endswith("None of the 3 frames looked at shows “elephant, dance, mars”.")
    assert (result.warnings, result.coverage.is_found) == ((), False)


def test_words_that_stand_on_different_frames_are_not_found_together(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "the hotel has no rooms")
    afternoon.show(2, "Lisbon in spring")
    afternoon.show(3, "a flight leaves at noon")
    result = ask("Which hotel in Lisbon has a flight?", model="extractive")
    assert "shows “hotel, lisbon, flight” together, the nearest to it:" in result.answer_md


def test_what_was_shown_then_is_told_of_the_time_that_is_named_only(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "nothing of interest here")
    said = ask("Where was the giraffe this afternoon?", model="extractive", start_ms=None, end_ms=None)
    assert "show “giraffe”. What was shown then:\n\n- **14:01**" in said.answer_md
    long_ago = ask("Where was the giraffe in March 2020?", model="extractive", start_ms=None, end_ms=None)
    assert "“giraffe, march, 2020”." in long_ago.answer_md
    assert "then" not in long_ago.answer_md


@pytest.mark.parametrize("text", HOSTILE)
def test_quoted_screen_text_cannot_become_markup(text: str, ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, text)
    result = ask(model="extractive")
    unescaped = re.sub(r"\\.", "", result.answer_md)
    assert "](" not in unescaped
    assert "<" not in unescaped
    assert set(re.findall(r"\[\d+\]", unescaped)) == {"[1]"}
    assert {claim.state for claim in result.claims} == {"cited"}


REPORT = "Writer “report.odt”: 14:00–14:10 (10 min), 14:50–14:52 (2 min)."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How long was I in Writer?", f"12 min in {REPORT}"),
        ("How often did I open the report?", f"2×, 12 min in {REPORT}"),
        ("Which apps did I use?", "3 apps, 20 min: Writer 12 min, Mail 5 min, Firefox 3 min."),
        ("Compare the time in Writer with the time in Mail", "2 apps, 17 min: Writer 12 min, Mail 5 min."),
        ("Which pages did I look at in the browser?", "2 pages, 3 min: “Tides” 2 min, “Moon” 1 min."),
        ("我刚才看了哪些网页？", "2个页面，共3分钟：“Tides” 2分钟、“Moon” 1分钟。"),
        (
            "What did I do before I opened the inbox?",
            "- **14:00–14:09** [1] [2]\n  - Writer “report.odt” “a page” [1]",
        ),
        (
            "What did I do after I closed the inbox?",
            "- **14:15–14:19** [1] [2]\n  - Firefox “Tides” “high water” [3]\n"
            "  - Firefox “Moon” “high water” [4]\n  - Mail “Inbox” “a mail” [1]",
        ),
        ("When did I use Mail?", "1×, 5 min in Mail “Inbox”: 14:10–14:15 (5 min)."),
        ("When did I last look at Writer?", f"2×, 12 min in {REPORT}"),
        ("我在Mail里待了多久？", "Mail “Inbox”共5分钟：14:10–14:15（5分钟）。"),
    ],
)
def test_durations_visits_and_apps_are_measured(
    question: str, answer: str, ask: Ask, afternoon: Afternoon
) -> None:
    for minute in range(11):
        afternoon.show(minute, "a page", app_name="Writer", window_name="report.odt")
    for minute in range(10, 16):
        afternoon.show(minute, "a mail", app_name="Mail", window_name="Inbox")
    for minute in range(15, 20):
        title = "Tides" if minute < 18 else "Moon"
        afternoon.show(minute, "high water", app_name="Firefox", window_name=title)
    for minute in range(50, 53):
        afternoon.show(minute, "a page", app_name="Writer", window_name="report.odt")
    assert ask(question, model="extractive").answer_md.split("\n\n")[1:] == [answer]


PROGRAMS = {
    "xterm": "Name=XTerm\nCategories=System;TerminalEmulator;",
    "konsole": "Name=Konsole\nGenericName=Terminal\nGenericName[zh_CN]=终端\n"
    "Categories=KDE;System;TerminalEmulator;",
    "web": "Name=Surf\nGenericName=Web Browser\nGenericName[de]=Webbrowser\nGenericName[zh_CN]=网页浏览器\n"
    "Categories=Network;WebBrowser;",
    "pad": "Name=Pad\nGenericName=Text Editor\nCategories=Utility;TextEditor;",
    "brush": "Name=Brush\nGenericName=Image Editor\nCategories=Graphics;RasterGraphics;",
    "post": "Name=Post\nGenericName=Mail Client\nGenericName[zh_CN]=邮件客户端\nCategories=Network;Email;",
}


@pytest.fixture
def programs(afternoon: Afternoon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour in apps that entries are of, and in one that none is of."""
    for stem, lines in PROGRAMS.items():
        desktop_entry(tmp_path, stem, lines)
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path))
    for first, last, app, window in (
        (0, 10, "XTerm", "~/notes"),
        (40, 45, "konsole", "~"),
        (45, 50, "Surf", "Terminal for beginners"),
        (50, 53, "Pad", "letter.txt"),
        (53, 55, "Brush", "moon.png"),
        (55, 58, "Post", "Inbox"),
        (58, 61, "Firefox", "Moon"),
    ):
        for minute in range(first, last + 1):
            afternoon.show(minute, "a page", app_name=app, window_name=window)


SHELLS = "2 apps, 15 min: XTerm 10 min, konsole 5 min."
BROWSERS = "2 apps, 8 min: Surf 5 min, Firefox 3 min."
AT_SURF = "Surf “Terminal for beginners”"


@for_each(
    ("question", "answer"),
    [
        ("How long was I in the terminal?", SHELLS),
        ("Wie lange war ich im Terminal?", SHELLS),
        ("我在终端里待了多久？", "2个应用，共15分钟：XTerm 10分钟、konsole 5分钟。"),
        ("How often did I open the terminal?", "2×, 15 min in XTerm “~/notes”; konsole “~”: 14:00–14:10"),
        ("When did I last use the terminal?", "2×, 15 min in XTerm “~/notes”; konsole “~”: 14:00–14:10"),
        ("How long did I use the browser?", BROWSERS),
        ("Wie lange war ich im Browser?", BROWSERS),
        ("我打开过几次浏览器？", "1次，8分钟，Surf “Terminal for beginners”；Firefox “Moon”："),
        # One entry of that name says which of two programs is meant.
        ("How long was I in Surf?", f"5 min in {AT_SURF}: 14:45–14:50 (5 min)."),
        ("How long was I in the editor?", "2 apps, 5 min: Pad 3 min, Brush 2 min."),
        ("How long was I in the image editor?", "2 min in Brush “moon.png”: 14:53–14:55 (2 min)."),
        ("How long was I in the mail program?", "3 min in Post “Inbox”: 14:55–14:58 (3 min)."),
        ("邮件程序用了多久？", "Post “Inbox”共3分钟：14:55–14:58（3分钟）。"),
        # A word of a kind beside others names none.
        (
            "How long did I work on the notes of the client?",
            "10 min in XTerm “~/notes”: 14:00–14:10 (10 min).",
        ),
    ],
)
@pytest.mark.usefixtures("programs")
def test_a_kind_of_app_is_named_as_its_desktop_entry_calls_it(question: str, answer: str, ask: Ask) -> None:
    said = ask(question, model="extractive").answer_md.partition("\n\n")[2]
    assert said.startswith(answer), said


def test_imported_pictures_are_moments_each_and_tell_no_time(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "plan the harbour visit", app_name="Writer", window_name="plan.odt")
    for minute in (5, 6):
        afternoon.show(
            minute, f"crane {minute} stands still", app_name=None, window_name=None, source="import"
        )
    summary = ask(model="extractive")
    assert (
        "- **14:05** [2]\n  - Imported picture “crane 5 stands still” [2]\n- **14:06** [3]"
        in summary.answer_md
    )
    assert summary.coverage.imported == 2
    untimed = ask("Which apps did I use?", model="extractive", start_ms=START_MS + 4 * 60_000)
    assert "Imported pictures: 2. Each shows a moment and counts no time." in untimed.answer_md


def test_what_is_measured_is_narrowed_by_every_filter(ask: Ask, afternoon: Afternoon) -> None:
    for minute in range(11):
        afternoon.show(minute, "a page", app_name="Writer" if minute < 6 else "Mail", window_name="Plan")
    for filters, total in (
        (TurnFilters(app_name="mail"), "4 min in Mail"),
        (TurnFilters(window_name="plan"), "9 min in Writer"),
    ):
        said = ask("How long did I work?", model="extractive", filters=filters).answer_md
        assert said.split("\n\n")[1].startswith(total)
    elsewhere = TurnFilters(host="another")
    said = ask("How long did I work?", model="extractive", filters=elsewhere).answer_md
    assert said.startswith("No captures") and "Mail" not in said and "Writer" not in said


def test_no_time_is_told_by_a_window_that_whoever_asks_may_not_know_of(
    deps: TurnServices, afternoon: Afternoon
) -> None:
    for minute in range(6):
        afternoon.show(minute, "a page", app_name="Writer" if minute < 3 else "Mail", window_name="Plan")
    request = TurnRequest("What did I do before I opened Mail?", "Asia/Shanghai", NOW_MS, model="extractive")
    assert answer(deps, request).end_ms == START_MS + 180_000
    kept_back = replace(deps, permits=lambda shown: shown.app_name != "Mail")
    assert answer(kept_back, request).end_ms == NOW_MS


def test_what_stands_in_another_window_is_quoted_as_of_that_one(ask: Ask, afternoon: Afternoon) -> None:
    text = "marmalade for aunt Hilda\nthe ferry captain reports nine centimetres at the northern pier"
    for minute in range(3):
        afternoon.show(
            minute, text, app_name="Mousepad", window_name="shopping", focused=True,
            visible=(("Zathura", "tides.pdf", None),), places=((0, 0, 0, 900, 18), (1, 0, 18, 900, 500)),
        )  # fmt: skip
    result = ask("What does the ferry captain report?", model="extractive")
    cited = [item for item in result.evidence if item.n is not None]
    assert {(item.app_name, item.window_name, item.focused) for item in cited} == {
        ("Zathura", "tides.pdf", False)
    }
    own = ask("What is for aunt Hilda?", model="extractive").evidence
    assert {(item.app_name, item.focused) for item in own if item.n is not None} == {("Mousepad", True)}
    summary = ask("What did I do this afternoon?", model="extractive").answer_md
    assert "Mousepad “shopping” “marmalade for aunt Hilda”" in summary
    assert "ferry" not in summary


def test_over_several_days_every_clock_time_has_its_day(ask: Ask, afternoon: Afternoon) -> None:
    days = 24 * 60
    for at in (1, -3 * days, -365 * days):
        afternoon.show(at, f"door code {7781 + at}")
    long_ago = {"model": "extractive", "start_ms": START_MS - 400 * 86_400_000}
    english = "Friday 20 Nov 14:01: ", "Tuesday 17 Nov 14:00: ", "20 Nov 2025 14:00: "
    chinese = "11月20日 14:01：", "11月17日 14:00："
    for question, moments in (("What is the door code?", english), ("门 door code 是多少？", chinese)):
        result = ask(question, **long_ago)
        assert all(f"- {moment}“door code" in result.answer_md for moment in moments)
        assert [claim for claim in result.claims if claim.state != "cited"] == []


def test_a_summary_quotes_what_stood_in_a_window_and_not_its_menu(ask: Ask, afternoon: Afternoon) -> None:
    menu = "File Edit View Insert Format Tools Table Window Help"
    for minute, line in enumerate(["a short note", "the contract ends in May", "the boiler is mended"]):
        afternoon.show(minute, f"{menu} 14:0{minute}\n{line}", app_name="Writer", window_name=f"{minute}.odt")
    answer_md = ask(model="extractive").answer_md
    assert menu not in answer_md
    assert "Writer “1.odt” “the contract ends in May”" in answer_md


def test_a_summary_without_a_time_is_of_the_matter_that_it_names(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(
        5,
        "File Edit\nBoiler\nThe pump leaks since Monday\nUp to 100 litres",
        app_name="Notes",
        window_name="House",
    )
    afternoon.show(9, "Inbox\nCinema tickets for two", app_name="Mail", window_name="Inbox")
    afternoon.show(30, "Re: the boiler\nWe come on Friday at nine", app_name="Mail", window_name="Offer")
    said = ask("Please summarise the boiler for me", model="extractive", start_ms=None, end_ms=None).answer_md
    assert (
        "The pump leaks since Monday" in said and "We come on Friday at nine" in said and "Cinema" not in said
    )
    said = ask("Summarise the ferry", model="extractive", start_ms=None, end_ms=None).answer_md
    assert "None of the 3 frames looked at shows “ferry”" in said and "Friday" not in said


def test_a_summary_quotes_neither_the_tabs_of_a_browser_nor_a_title(ask: Ask, afternoon: Afternoon) -> None:
    pages = {
        "Tide tables": "low water at six",
        "Library": "bring the atlas back",
        "Rye bread": "salt goes in last",
    }
    opened = ""
    for minute, (page, line) in enumerate(pages.items()):
        opened += f" x | @ {page}{minute}"
        window = {"app_name": "Chromium", "window_name": page}
        afternoon.show(minute, f"v{opened} x +\n{page}\n{line}", **window)
    answer_md = ask(model="extractive").answer_md
    assert all(f"Chromium “{page}” “{line}”" in answer_md for page, line in pages.items())


def test_a_window_that_was_not_recorded_is_named_and_never_quoted(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "a line of the window behind", app_name=PRIVATE_WINDOW, window_name=None)
    result = ask(model="extractive")
    assert "  - Private window (not recorded) [1]" in result.answer_md
    assert [item.quote for item in result.evidence if item.quote] == []


def test_a_time_when_nothing_was_recorded_is_looked_for_on_the_screens(
    ask: Ask, afternoon: Afternoon
) -> None:
    afternoon.show(1, "Dentist: 3 January 2027\nRoom 4")
    result = ask("What about the dentist on 3 January?", model="extractive", start_ms=None, end_ms=None)
    assert result.scope.is_everything
    assert "what it says of “3 January”" in result.scope.text
    assert "“Dentist: 3 January 2027”" in result.answer_md


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Who is coming tomorrow?", "Sat 21 Nov, Ines: piano"),
        ("Was steht am 3. Januar an?", "3.1. Zahnarzt"),
        ("下周三有什么安排？", "11月25日 牙医"),
        ("What is due on Thursday the 17th?", "rent, 17 December"),
        ("Que se passe-t-il dans dix jours ?", "lundi 30 novembre, relève"),
    ],
)
def test_of_a_time_to_come_what_the_screens_say_is_told(
    ask: Ask, afternoon: Afternoon, question: str, line: str
) -> None:
    """However they write its day; not what they say of others."""
    lines = [
        "Sat 14 Nov  Ana, cello",
        "3.11. Frisör",
        "11月18日 开会",
        "rent, 17 October",
        "vendredi 20 : fini",
        line,
    ]
    for at, each in enumerate(lines):
        afternoon.show(at + 1, each, window_name=f"Notes {at}")
    result = ask(question, model="extractive", start_ms=None, end_ms=None)
    assert result.scope.is_everything
    assert result.scope.ahead
    assert line in result.answer_md
    assert not [each for each in lines[:-1] if each in result.answer_md]


def test_a_follow_up_is_about_what_the_question_before_it_was_about(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "a note on the lamps")
    first = ask("What did I read today from 14:00 to 17:00?", model="extractive", start_ms=None, end_ms=None)
    follow_up = {"model": "extractive", "start_ms": None, "end_ms": None, "chat_id": first.chat_id}
    again = ask("Who wrote about the lamps?", **follow_up)
    assert (again.start_ms, again.end_ms) == (first.start_ms, first.end_ms)
    assert len(again.scope.also) == 1  # everything
    named = ask("And when was that?", **follow_up)
    assert named.scope.text == f"{again.scope.text}, on from “Who wrote about the lamps?”"
    assert "a note on the lamps" in named.answer_md
    assert ask("And yesterday?", **follow_up).end_ms <= first.start_ms
    assert ask("Who wrote about the lamps?", **{**follow_up, "start_ms": 0}).scope.is_everything
    assert ask("And who else?", **follow_up).scope.is_everything


def test_a_follow_up_asks_the_same_of_the_day_before_and_again(ask: Ask, afternoon: Afternoon) -> None:
    asking = {"model": "extractive", "start_ms": None, "end_ms": None}
    first = ask("How long was I in the notes today?", **asking)
    before = ask("And the day before?", **asking, chat_id=first.chat_id)
    day_ms = 86_400_000
    assert before.start_ms == first.start_ms - day_ms
    assert before.scope is not None and first.question in before.scope.text
    again = ask("And the day before that?", **asking, chat_id=first.chat_id)
    assert (again.start_ms, again.end_ms) == (before.start_ms - day_ms, before.start_ms)


def test_a_time_beside_that_has_not_begun_is_not_answered_by_another(ask: Ask, afternoon: Afternoon) -> None:
    asking = {"model": "extractive", "start_ms": None, "end_ms": None}
    first = ask("How long was I in the notes today?", **asking)
    after = ask("And the day after?", **asking, chat_id=first.chat_id)
    assert after.scope is not None and "day after" in after.scope.text
    assert after.start_ms == after.end_ms == NOW_MS


def test_words_of_the_question_before_are_kept_by_one_that_goes_on(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "Mast: Kiefer, 12 m, im Schuppen von Ada", window_name="Chat")
    afternoon.show(2, "Ada hat Urlaub\nSchuppen und Steg neu gestrichen", window_name="Notes")
    asking = {"model": "extractive", "start_ms": None, "end_ms": None}
    first = ask("Wie lang ist der Mast?", **asking)
    then = ask("Und in welchem Schuppen liegt er?", **asking, chat_id=first.chat_id)
    assert "- 14:01: “Mast: Kiefer, 12 m, im Schuppen von Ada” [1]" in then.answer_md
    assert then.scope is not None
    assert "Wie lang ist der Mast?" in then.scope.text


def test_what_a_misspelt_word_is_nearest_to_is_shown_with_that_it_stands_nowhere(
    ask: Ask, afternoon: Afternoon
) -> None:
    afternoon.show(1, "the ferry will arrive at pier 4")
    said = ask("Where will the ferry arivve?", model="extractive", start_ms=None, end_ms=None)
    assert "show “arivve”, the nearest to it:" in said.answer_md
    assert "“the ferry will arrive at pier 4” [1]" in said.answer_md


def test_a_day_that_a_question_is_about_is_no_time_to_look_at(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(-2 * 24 * 60, "Ada: I cannot come on Friday, the mast is broken", window_name="Chat")
    afternoon.show(-60, "nothing of interest here")
    day = datetime.fromtimestamp(START_MS / 1000, UTC).strftime("%A")
    said = ask(f"Why can't Ada come on {day}?", model="extractive", start_ms=None, end_ms=None)
    assert f"show “ada” (“{day}”). At other times:" in said.answer_md
    assert "Ada: I cannot come on Friday, the mast is broken” [1]" in said.answer_md
    assert said.scope is not None
    assert said.scope.is_everything
    assert len(said.scope.also) == 1


def test_the_week_begins_where_the_locale_has_it_begin(ask: Ask, afternoon: Afternoon) -> None:
    """The afternoon is that of a Friday."""
    afternoon.show(1, "door code 7781")
    question = {"model": "extractive", "start_ms": None, "end_ms": None}
    monday = ask("What is the door code this week?", **question)
    sunday = ask("What is the door code this week?", **question, week_start=6)
    assert monday.start_ms - sunday.start_ms == 24 * 60 * 60_000


def test_two_days_are_asked_about_without_what_lies_between(ask: Ask, afternoon: Afternoon) -> None:
    """The afternoon is that of a Friday."""
    day = 24 * 60
    for days, line in ((0, "the boiler is mended"), (-1, "a quiet day"), (-2, "the contract ends in May")):
        for minute in range(3):
            afternoon.show(days * day + minute, line, app_name=f"App {-days}")
    question = {"model": "extractive", "start_ms": None, "end_ms": None}
    both = ask("What did I do on Wednesday and today?", **question)
    assert "contract" in both.answer_md and "boiler" in both.answer_md and "quiet" not in both.answer_md
    assert both.scope.text == "Wednesday 18 Nov, Friday 20 Nov, 00:00–18:03"
    again = ask("Which apps did I use then?", **{**question, "chat_id": both.chat_id})
    assert again.scope.left_out == both.scope.left_out
    assert again.answer_md.endswith("2 apps, 4 min: App 2 2 min, App 0 2 min.")


def test_a_list_is_told_with_its_check_boxes_as_it_was_shown_last(ask: Ask, afternoon: Afternoon) -> None:
    items = "Boat shed\n☐ Sand the rudder\n☑ Order new rope\n☐ Paint the hull\n☑ Pay the mooring"
    afternoon.show(1, items.replace("☑", "☐"))
    afternoon.show(5, items)
    afternoon.show(9, "the bakery is still open, the shop is done for today")
    result = ask("what's still open for the boat shed?", model="extractive")
    first, *_ = (line for line in result.answer_md.split("\n") if line.startswith("- "))
    assert first.startswith("- 14:05: “Boat shed”")
    assert all(item in first for item in ("☐ Sand the rudder", "☑ Order new rope", "☐ Paint the hull"))


def test_a_word_that_is_on_no_frame_is_said_before_what_bears_on_the_others(
    ask: Ask, afternoon: Afternoon
) -> None:
    afternoon.show(1, "MOT of the delivery van: the 18th at 9:00")
    told = ask("How much did the delivery van lease cost?", model="extractive").answer_md
    assert "show “lease, cost”, the nearest to it:" in told
    assert "“MOT of the delivery van: the 18th at 9:00”" in told
    assert "None of" not in ask("When is the MOT of the van?", model="extractive").answer_md


def test_how_long_is_asked_of_the_window_that_shows_it_where_no_title_names_it(
    ask: Ask, afternoon: Afternoon
) -> None:
    for minute in range(5):
        afternoon.show(minute, "Market stall\t134\t982.40", app_name="Calc", window_name="sales_2027.ods")
    told = ask("How long was I on the market stall?", model="extractive").answer_md
    assert "Calc “sales_2027.ods”" in told.split("\n\n")[1]
    afternoon.show(9, "The guarantee of the stall is 24 months", app_name="Mail", window_name="Inbox")
    assert "“The guarantee of the stall is 24 months”" in told_first(
        ask, "How long is the stall's guarantee?"
    )


def told_first(ask: Ask, question: str) -> str:
    return ask(question, model="extractive").answer_md.split("\n\n")[1]


def test_a_message_whose_beginning_is_listed_is_quoted_from_where_it_is_open(
    ask: Ask, afternoon: Afternoon
) -> None:
    opened = "I asked the ferry company about the piano, and they take it on Sunday."
    afternoon.show(1, f"Marit Eide\nMoving the piano\nI asked the ferry company…\nInbox\nReply\n{opened}")
    result = ask("What about moving the piano?", model="extractive")
    assert f"“{opened}”" in result.answer_md and "company…”" not in result.answer_md


ROTA = """File Edit View Help
The shop of Meera
Rota of the week
          Friday    Saturday   Sunday
Counter   Piotr     Joao       Meera
Oven      Aylin     Aylin      Joao
Tables    Meera     Piotr      Aylin"""


def test_a_question_that_names_a_row_and_no_column_is_answered_by_lines(
    ask: Ask, afternoon: Afternoon
) -> None:
    afternoon.show(1, ROTA, window_name="Rota")
    said = ask("Who has the oven?", model="extractive", start_ms=None, end_ms=None)
    assert "“Oven Aylin Aylin Joao” [1]" in said.answer_md
    assert "“Aylin”" not in said.answer_md


def test_a_verb_of_asking_is_no_word_that_is_missing(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "Bakery\nMeera: the flour comes on Friday\nPiotr: thanks", window_name="Chat")
    for message in ("What did Meera write?", "Was hat Meera geschrieben?", "Qu'est-ce que Meera a écrit ?"):
        said = ask(message, model="extractive", start_ms=None, end_ms=None)
        assert said.answer_md.split("\n\n")[1].startswith("- 14:01: “Meera: the flour comes"), message
