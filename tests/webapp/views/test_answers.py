"""An answer is drawn with its marks, and each quote under the sentence that first cites it."""

from __future__ import annotations

import re
from dataclasses import replace

from assistant.core.records import Claim, ClaimState, Coverage, OnFrame, Scope, TurnResult
from tests.tables import for_each
from webapp.views import answers
from webapp.views.answers import Links

FRAMES = {1: "/frames/7?cite=1.1.1", 2: "/frames/8?cite=1.1.2"}
LINKS = Links(FRAMES, {1: "/chat/1#t1e1", 2: "/chat/1#t1e2"}, measured="/activity?from=0&to=1")


def turn(answer: str, *claims: Claim, question: str = "What was set?") -> TurnResult:
    return TurnResult(1, 1, "evidence", "stub", question, answer, 0, 1, "UTC", (), claims, Coverage(0, 0),
                      Scope("", 0, 1), sources=("calendar",))  # fmt: skip


def claim(answer: str, text: str, state: ClaimState = "cited", missing: tuple[str, ...] = ()) -> Claim:
    start = answer.index(text)
    cited = tuple(int(n) for n in re.findall(r"\[(\d)\]", text))
    return Claim(text, start, start + len(text), cited, state, missing)


def test_a_quote_stands_under_the_first_sentence_that_cites_it_and_nowhere_else() -> None:
    answer = "Set to 14 days [1]. Still 14 days [1], said Ana [2].\n\n- Again [2]."
    told = turn(answer, *(claim(answer, text) for text in ("Set to 14 days [1].",
                "Still 14 days [1], said Ana [2].", "Again [2].")))  # fmt: skip
    first, second, rest = answers.parts(told, LINKS, FRAMES)
    assert [part.numbers for part in (first, second, rest)] == [(1,), (2,), ()]
    assert 'href="/frames/7?cite=1.1.1"' in first.html and 'href="/chat/1#t1e1"' in second.html
    assert answers.parts(turn(answer), LINKS, FRAMES)[-1].numbers == (1, 2), "those of no sentence come last"


def test_a_list_of_quotes_of_one_frame_is_not_torn_apart() -> None:
    said = ("“Set to 14 days” [1];", "“Ana: agreed” [1];", "“From May” [2]", "“Till June” [2]")
    answer = "- Monday: {} {}\n- Tuesday: {}\n- Friday: {}".format(*said)
    told = turn(answer, *(claim(answer, text) for text in said))
    first, second, rest = answers.parts(told, LINKS, FRAMES)
    assert "agreed" in first.html and first.numbers == (1,)
    assert "From May" in second.html and "Till June" not in second.html, "another line is not waited for"
    assert "Till June" in rest.html


def test_a_quote_waits_for_the_sentence_whose_words_it_has() -> None:
    answer = "- **08:32–11:59** [1] [2]\n  - Read of it [1].\n  - “14 days” [1]"
    heading, hint, quote = (claim(answer, text) for text in ("**08:32–11:59** [1] [2]", "Read of it [1].",
                            "“14 days” [1]"))  # fmt: skip
    quote = replace(quote, on_frame=(OnFrame(quote.start + 1, quote.start + 8, 1),))
    first, *_, rest = answers.parts(turn(answer, heading, hint, quote), LINKS, FRAMES)
    assert "14 days" in first.html and (first.numbers, rest.numbers) == ((1,), (2,))


def test_words_on_a_frame_lead_to_them_and_words_on_none_are_named() -> None:
    answer = "It took 14 days and 312 EUR, not 12 [1]."
    place = answer.index("14 days")
    sentence = replace(
        claim(answer, answer, "not_on_frame", ("12",)), on_frame=(OnFrame(place, place + 7, 1),)
    )
    html = answers.whole(turn(answer, sentence), LINKS)
    assert 'class="on-frame" href="/frames/7?cite=1.1.1&amp;q=%2214+days%22"' in html
    assert 'not <span class="off-frame">12</span>' in html
    assert '<span class="state warn">not on the frame: 12</span>' in html


@for_each(
    ("state", "missing", "expected"),
    [
        ("cited", (), ""),
        ("seen", ("12",), '<span class="state warn">seen by stub in picture 1, not read there: 12</span>'),
        ("not_on_frame", (), '<span class="state warn">quote is not on the frame</span>'),
        ("no_source", ("Ana",), '<span class="state warn">no source: Ana</span>'),
        ("no_source", (), '<span class="hush">(no source)</span>'),
        ("measured", (), '<a class="state info" href="/activity?from=0&amp;to=1"'),
        ("from_source", (), '<span class="state info">from your calendar</span>'),
        ("not_from_screen", (), '<span class="state plain">not from your screen</span>'),
    ],
)
def test_what_is_said_behind_a_sentence(state: ClaimState, missing: tuple[str, ...], expected: str) -> None:
    answer = "Ana has set it."
    sentence = replace(claim(answer, answer, state, missing), seen=(1,))
    html = answers.whole(turn(answer, sentence), LINKS)
    assert expected in html and ("hush" in html or "state" in html) == bool(expected)
    assert not re.search("found|proven|true", html)


def test_tags_speak_the_language_of_the_question() -> None:
    answer = "偏差降到 32 毫秒 [1]。"
    told = turn(answer, claim(answer, answer, "not_on_frame", ("32 毫秒",)), question="降到多少？")
    assert '<span class="state warn">画面上没有：32 毫秒</span>' in answers.whole(told, LINKS)


def test_a_sentence_whose_sources_are_marked_wrong_loses_its_numbers_and_marks() -> None:
    answer = "It took 14 days [1]."
    sentence = replace(claim(answer, answer), on_frame=(OnFrame(8, 15, 1),))
    html = answers.whole(turn(answer, sentence), replace(LINKS, withdrawn=frozenset({1})))
    assert "It took 14 days." in html and "source marked wrong" in html
