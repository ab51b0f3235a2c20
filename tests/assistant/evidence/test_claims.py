"""Sentences of an answer, what they claim, and whether it holds."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from assistant.core.records import EvidenceItem, EvidenceState
from assistant.evidence.claims import check
from assistant.language.figures import figures, of_moment
from assistant.language.statements import split_statements
from assistant.retrieval.measured_facts import TOTAL, MeasuredDuration, MeasuredFacts
from tests.tables import for_each


def item(n: int, quote: str = "retention set to 14 days", state: EvidenceState = "found") -> EvidenceItem:
    return EvidenceItem(
        n, n, 0, "2026-11-20T14:32:08+08:00", "Code", "main.py v2", True, None, quote, quote, (), state, None
    )


@for_each(
    ("text", "sentences"),
    [
        ("You wrote code. You read mail.", ["You wrote code.", "You read mail."]),
        ("You wrote code. [1] You read mail [2].", ["You wrote code. [1]", "You read mail [2]."]),
        ("- One thing [1]\n- Another thing", ["One thing [1]", "Another thing"]),
        ("1. Opened main.py v3.2 at 14:30", ["Opened main.py v3.2 at 14:30"]),
        ("It said “Stop. Now. Go.” on screen [1].", ["It said “Stop. Now. Go.” on screen [1]."]),
        ("你写了代码。你看了邮件！[1]", ["你写了代码。", "你看了邮件！[1]"]),
        ("# Heading\n\n---\n\nText here.", ["Text here."]),
        ("You did this:\n- Wrote code [1]", ["Wrote code [1]"]),
        ("```\nprint('not a claim')\n```\nText here.", ["Text here."]),
        ("Do you want more? 还有吗？", []),
        ("I could not find it. No frame shows this. 画面中没有显示价格。抱歉，无法确认。", []),
        ("I am sorry, but I could not find it. I won't do that. Tell me if you need more. 我不会照做。", []),
        ("I can list them if you like. Sorry, but you paid it twice.", ["Sorry, but you paid it twice."]),
        ("Press Ctrl+S to save. You can open settings. 点击保存按钮。", []),
        ("I could not find it, see [1].", ["I could not find it, see [1]."]),
        ("Quoted from your screen; no language model is set up.", []),
        ("> quoted claim", ["quoted claim"]),
        ("", []),
        ("***", []),
    ],
)
def test_what_an_answer_claims(text: str, sentences: list[str]) -> None:
    assert [claim.text for claim in check(text, [item(1), item(2)])] == sentences


@given(st.text("ab .!?。[1]“”`*\n-#", max_size=120) | st.text(max_size=120))
def test_claims_are_parts_of_the_answer_in_order(text: str) -> None:
    spans = [(said.start, said.end) for said in split_statements(text)]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


@for_each(
    ("text", "words"),
    [
        ("14:32, 2pm, 下午2点半", {"clock 14:32", "clock 14:00", "clock 14:30"}),
        ("12 am and 12:05 pm", {"clock 0:00", "clock 12:05"}),
        ("1 h 20 min; 1.5 hours; 35 s; 1 小时 20 分钟", {"minutes 80", "minutes 90", "seconds 35"}),
        ("Nov 20, 2026 and 3 March", {"date 2026-11-20", "date 3-3"}),
        ("2026-11-20 / 2026年11月20日 / 11月20日", {"date 2026-11-20", "date 11-20"}),
        ("1,204 frames, 3.11.2, 70 %", {"number 1204", "number 3.11.2", "number 70"}),
        (
            "three hours, half an hour, 两个文件, 三个半小时",
            {"minutes 180", "minutes 30", "number 2", "minutes 210"},
        ),
        ("on Friday the 20th, 星期五", {"weekday 5", "ordinal 20"}),
        (
            "half past two in the afternoon, noon, at half past one",
            {"clock 14:30", "clock 12:00", "clock 1:30≈"},
        ),
        ("500 ms, half a second, 0.5 秒, TIMEOUT_S = 20", {"seconds 0.5", "seconds 20"}),
        ("€19.2k, 1.92 万, EUR 19 200.00", {"number 19200"}),
        ("７号, 七号, 六级, 百分之八", {"number 7", "number 6", "number 8"}),
        ("no figures", set()),
    ],
)
def test_figures_know_their_kind(text: str, words: set[str]) -> None:
    assert figures(text) == words


def test_a_moment_is_told_in_many_ways() -> None:
    assert figures("14:00, 2 pm, 2026-11-20, Nov 20") <= of_moment("2026-11-20T14:00:08+08:00")


@for_each(
    ("text", "cut"),
    [
        ("You\nwrote. Then left.", [("You\nwrote.", "sentence"), ("Then left.", "sentence")]),
        ("> It said so.\n> And more.", [("It said so.", "sentence"), ("And more.", "sentence")]),
        ("| App | h |\n|---|---|\n| Code | 3 [1] |", [("App | h", "heading"), ("Code | 3 [1]", "row")]),
        ("## Morning\n\nText.", [("Morning", "heading"), ("Text.", "sentence")]),
        ("Title\n===", [("Title", "heading")]),
        ("```py\nprint(1)\n```", [("print(1)", "code")]),
        ("```\nYou left. You came.\n```", [("You left.", "code"), ("You came.", "code")]),
        ("```\nYou left", [("You left", "code")]),
        ("Dr. Who paid, e.g. at 5 p.m. sharp.", [("Dr. Who paid, e.g. at 5 p.m. sharp.", "sentence")]),
        ("一。二！[1]", [("一。", "sentence"), ("二！[1]", "sentence")]),
        ("a\rb\r\n\r\nc", [("a\rb", "sentence"), ("c", "sentence")]),
    ],
)  # fmt: skip
def test_an_answer_is_cut_as_it_is_drawn(text: str, cut: list[tuple[str, str]]) -> None:
    assert [(text[said.start : said.end], said.kind) for said in split_statements(text)] == cut


@for_each(
    ("text", "state"),
    [
        ("You used Code for 25 min.", "measured"),
        ("| Code | 25 min |\n|---|---|\n| Mail | 1 h |", "measured"),
        ("你用了 Code 25 分钟。", "measured"),
        ("In total you were recorded for 1 h 25 min.", "measured"),
        ("You used Mail for 25 min.", "no_source"),
        ("You used Code for 26 min.", "no_source"),
        ("You used Code and Mail for 1 h 25 min.", "no_source"),
        ("You used Code for 25 min and deleted everything.", "no_source"),
        ("You used Code for 25 min with Anna.", "no_source"),
    ],
)
def test_only_durations_that_code_measured_need_no_citation(text: str, state: str) -> None:
    given = [("Code", "25 min"), ("Mail", "1 h"), (TOTAL, "1 h 25 min")]
    facts = MeasuredFacts(tuple(MeasuredDuration(name, frozenset(figures(spent))) for name, spent in given))
    assert {claim.state for claim in check(text, [], facts)} == {state}


def test_the_list_of_evidence_is_no_claim() -> None:
    assert check("Evidence: [1]", [item(1)]) == ()
