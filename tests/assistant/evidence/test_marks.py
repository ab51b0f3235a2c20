"""What is marked in an answer: sentences, what of them can be compared, and with what."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.evidence import marks
from assistant.evidence.particulars import Screen
from assistant.language.shown_values import Shown
from assistant.language.statements import split_statements
from assistant.language.values import values
from assistant.retrieval.measured_facts import TOTAL, MeasuredDuration, MeasuredFacts
from tests.tables import for_each

TEXT = """Invoice R-20455   Anna Weber   18,430.00 EUR
Payable by 2027-03-04, counter open until 2:30 pm
罗振邦  62%   余杭区人民法院
retention set to 14 days, the other to ninety days"""
SCREEN = Screen([TEXT], ["Code", "main.py v2"], "2027-03-01T09:15:20+01:00")


@for_each(
    ("text", "sentences"),
    [
        ("You wrote code. You read mail.", ["You wrote code.", "You read mail."]),
        ("You wrote code. [1] You read mail [2].", ["You wrote code. [1]", "You read mail [2]."]),
        ("- One thing [1]\n- Another thing", ["One thing [1]", "Another thing"]),
        ("1. Opened main.py v3.2 at 14:30", ["Opened main.py v3.2 at 14:30"]),
        ("It said “Stop. Now. Go.” on screen [1].", ["It said “Stop. Now. Go.” on screen [1]."]),
        ("Er kam z. B. am 4. März zu Dr. Weber. Dann ging er.",
         ["Er kam z. B. am 4. März zu Dr. Weber.", "Dann ging er."]),
        ("De 8 p. m. a 9 con Sr. Ruiz. [1] Luego no.", ["De 8 p. m. a 9 con Sr. Ruiz. [1]", "Luego no."]),
        ("Il dit « Pas demain. » [6] Puis rien.", ["Il dit « Pas demain. » [6]", "Puis rien."]),
        ("你写了代码。你看了邮件！[1]", ["你写了代码。", "你看了邮件！[1]"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["a | b", "1 | 2"]),
        ("", []),
        ("***", []),
    ],
)  # fmt: skip
def test_where_sentences_end(text: str, sentences: list[str]) -> None:
    assert [text[said.start : said.end] for said in split_statements(text)] == sentences


@given(st.text("ab .!?。[1]“”`*\n-#", max_size=120) | st.text(max_size=120))
def test_claims_are_parts_of_the_answer_in_order(text: str) -> None:
    claims = marks.check(text, [1], {1: SCREEN})
    assert all(0 <= claim.start < claim.end <= len(text) for claim in claims)
    assert all(a.end <= b.start for a, b in itertools.pairwise(claims))
    for claim in claims:
        assert all(claim.start <= stretch.start < stretch.end <= claim.end for stretch in claim.on_frame)


@for_each(
    ("sentence", "missing"),
    [
        ("R-20455 is over 18.430 € [1].", ()),
        ("Die Rechnung über 18 430 Euro ist bis zum 4. März fällig [1].", ()),
        ("The counter closes at 14:30 on 4 March 2027, 3月4日 or 04.03.2027 [1].", ()),
        ("罗振邦持股62%，余杭区人民法院 [1]。", ()),
        ("It says “retention set to 14 days” [1].", ()),
        ("In `main.py` at 9:15 on Monday, 1 March [1].", ()),
        ("The invoice of Weber says nothing else [1].", ()),
        ("R-20456 is over 18,340 EUR [1].", ("20456", "18,340")),
        ("It was paid on 5 March, at 3:30 pm [1].", ("5 March", "3:30 pm")),
        ("罗振邦持股26%，同事是Keller [1]。", ("26", "Keller")),
        ("It says “retention was set to 14 days” [1].", ("retention was set to 14 days",)),
        ("It says “Set to 14 days” [1].", ("Set to 14 days",)),
        ("The shares are with 罗振华, not with 罗振邦 [1].", ("罗振华",)),
        ("The invoice went to Benno Keller on Tuesday [1].", ("Benno", "Keller", "Tuesday")),
        ("It stands in other.py [1].", ("other.py",)),
        ("It moved to a quarter to twelve on 4 March [1].", ("a quarter to twelve",)),
        ("Manager Weber signed with Benno [1].", ("Benno",)),
        ("Tę umowę podpisała już Anna Weberowa, a nie Jagoda [1].", ("Jagoda",)),
        ("Tę umowę podpisała już Weberina, a nie tylko Wessel [1].", ("Wessel",)),
        ("Договор подписал Шмидт [1].", ()),
        ("发票是 Wessel 开的 [1]。", ("Wessel",)),
        ("Mrs Weber sent it to Bert as PDF on Mon, and I’ll pay [1].", ("Bert",)),
        ("The bill is from J. Keller [1].", ("Keller",)),
        ("We had both Invoices from Webers, by Counters [1].", ()),
        ("Die Rechnung kam von Keller & Söhne [1].", ("Söhne",)),
        ("Payable within ninety days, or sixty [1].", ("sixty",)),
    ],
)
def test_what_of_a_sentence_stands_on_its_frame(sentence: str, missing: tuple[str, ...]) -> None:
    (claim,) = marks.check(sentence, [1], {1: SCREEN})
    assert sorted(claim.missing) == sorted(missing)
    assert claim.state == ("not_on_frame" if missing else "cited")


def test_the_words_that_stand_on_a_frame_are_marked_where_they_are() -> None:
    answer = "Nothing else.\n\nAnna Weber owes 18.430 € [2]."
    (_, claim) = marks.check(answer, [1, 2], {1: Screen(["menu"]), 2: SCREEN})
    told = [(answer[mark.start : mark.end], mark.n) for mark in claim.on_frame]
    assert told == [("Anna", 2), ("Weber", 2), ("18.430", 2)]


@for_each(
    ("answer", "misquoted"),
    [
        ("Weber paid on Thursday, 5 March [1].", []),
        ("There Keller has 14 days and 18,430 EUR [1].", []),
        ("Weber has 14 days [1].", ["thirty days"]),
    ],
)
def test_nothing_is_marked_in_a_sentence_that_is_warned_of(answer: str, misquoted: list[str]) -> None:
    (claim,) = marks.check(answer, [1], {1: SCREEN}, misquoted={1: misquoted})
    assert (claim.state, claim.on_frame) == ("not_on_frame", ())


SAID = "Anna owes 40 EUR.\nBenno plays, because Carla is ill.\nKite\tEmma\t15\nGlider\tFelix\t25"


@for_each(
    ("sentence", "quoted", "underlined"),
    [
        ("So Anna owes 40 EUR [1].", [], ["Anna", "40"]),
        ("So Anna owes 40 EUR [1].", ["Anna owes"], ["Anna"]),
        ("So Anna owes 25 EUR [1].", ["Anna owes 40 EUR."], ["Anna"]),
        ("The kite of Emma costs 25 [1].", [], ["Emma"]),
        ("So Benno plays, as Carla is ill [1].", [], ["Benno", "Carla"]),
        ("It shows “Glider” in the row of Emmas [1].", ["Kite"], ["Glider"]),
        ("It is on the 9 shelves [1].", [], []),
    ],
)
def test_underlined_is_what_stands_in_what_a_sentence_rests_on(
    sentence: str, quoted: list[str], underlined: list[str]
) -> None:
    screen = Screen([SAID.replace("\t", "\n"), SAID], [], "2027-03-09T12:15:20+01:00")
    (claim,) = marks.check(sentence, [1], {1: screen}, quoted={1: quoted})
    assert claim.state == "cited", claim.missing
    assert [sentence[mark.start : mark.end] for mark in claim.on_frame] == underlined


def test_what_a_paragraph_goes_on_to_cite_is_not_missing_in_it() -> None:
    answer = "So Weber is the buyer. It is R-20455 [1]. Of Keller.\n\nSo Weber is the buyer."
    claims = marks.check(answer, [1], {1: SCREEN})
    assert [(claim.state, claim.missing) for claim in claims] == [
        ("no_source", ()),
        ("cited", ()),
        ("no_source", ("Keller",)),
        ("no_source", ("Weber",)),
    ]


@for_each(
    ("sentence", "states"),
    [
        ("You bought a boat.", [("no_source", ())]),
        ("You bought 3 boats from Keller.", [("no_source", ("3", "Keller"))]),
        ("## Three boats of 2027\n\nShall I look?", []),
        ("**Boats of 2027**\n\nShall I look?", []),
        ("**Three boats of 2027**", [("no_source", ("2027",))]),
        ("## Boats of 2027", [("no_source", ("2027",))]),
        ("145", [("no_source", ("145",))]),
        ("**14:30**", [("no_source", ("14:30",))]),
        ("Boats?\n- 18,430.50", [("no_source", ("18,430.50",))]),
        ("These are the 3 boats:", []),
        ("Shall I look for 3 boats?", []),
        ("Open [2026], sshd[1234] and arr[100].", [("no_source", ("2026", "1234", "100"))]),
        ("I could not confirm this on screen.", []),
    ],
)
def test_a_sentence_that_cites_nothing(sentence: str, states: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(claim.state, claim.missing) for claim in marks.check(sentence, [])] == states


def test_a_wrong_quote_is_told_of_the_sentence_it_was_given_for() -> None:
    answer = "The bill is due [1]. The retention is long [1]."
    claims = marks.check(answer, [1], {1: SCREEN}, misquoted={1: ["retention set to 30 days"]})
    assert [(claim.state, claim.missing) for claim in claims] == [
        ("cited", ()),
        ("not_on_frame", ("retention set to 30 days",)),
    ]


def test_a_time_may_be_the_moment_of_the_frame_as_people_round_it() -> None:
    for said, state in (("half past nine", "cited"), ("half past ten", "not_on_frame")):
        (claim,) = marks.check(f"It was open at {said} [1].", [1], {1: SCREEN})
        assert claim.state == state


def test_a_language_that_writes_nouns_with_capitals_has_no_names_by_capitals() -> None:
    answer = "Der Zahntechniker braucht den Abdruck der Zahnreihe [1]. Die Firma Keller bohrt [1]."
    first, second = marks.check(answer, [1], {1: SCREEN})
    assert (first.missing, second.missing) == ((), ("Keller",))


@for_each(
    ("sentence", "missing"),
    [
        ("Die Rolle wird aus Leeds verschickt [1].", ("Leeds",)),
        ("Den Verfolger bedient vertretungsweise Lennart [1].", ("Lennart",)),
        ("Die Zahlung kam von Ilaria Fontanesi, mit Dr. Berg [1].", ("Ilaria", "Fontanesi", "Berg")),
        ("Das Ersatzgerät bringt die Feuerwache auf dem Weg, wenn man ihr Bescheid gibt [1].", ()),
        ("Dafür hat das Zwigorad zwei Mängel [1].", ()),
    ],
)
def test_a_german_name_is_what_is_no_noun(sentence: str, missing: tuple[str, ...]) -> None:
    (claim,) = marks.check(sentence, [1], {1: Screen(["menu zwei"])})
    assert claim.missing == missing


@for_each(
    ("read", "said", "holds"),
    [
        ("1.250,00", "1250", True),
        ("1,250", "1.250", True),
        ("236,400.00", "23.64万", True),
        ("2,364,000", "236.4万", True),
        ("2,364,000", "二百三十六万四千", True),
        ("12,000", "1万2000", True),
        ("1万4千人", "1万6千人", False),
        ("3万8千円", "38,000", True),
        ("収入(万円) 514", "514万円", True),
        ("llego a las siete y cuarto", "19:15", True),
        ("260块", "二百六", True),
        ("206", "二百零六", True),
        ("expiry 2027-12", "令和9年12月", True),
        ("revenue 2.4M", "$2,400,000", True),
        ("08:03", "8 Uhr 03", True),
        ("21.30 h", "21:30", True),
        ("Jun 11", "6月", True),
        ("09:15", "um Viertel nach neun", True),
        ("09:15", "at a quarter past ten", False),
        ("14:00", "à quatre heures de l'après-midi", False),
        ("3:45 pm", "下午三点四十五分", True),
        ("3:45 am", "午後3時45分", False),
        ("20:25", "a las ocho y veinticinco .", True),
        ("8 pm", "um 8 Uhr morgens", False),
        ("20:15", "a las ocho y cuarto de la tarde", True),
        ("15:00-17:00", "3 pm", True),
        ("set to 14 days", "14 September", False),
        ("7:00", "19:00", True),
        ("2O27-O3-04", "2027年3月4日", True),
        ("von 13 bis 15 Uhr, 13:00", "13 h", True),
        ("00:03:27 intro", "3:27", True),
        ("13 h - 22 h", "à midi", False),
        ("12:00", "正午", True),
        ("12.000 €", "12 mille", True),
        ("午後2時半, 16:05", "14時30分", True),
        ("Flugzeit 10:26", "10 Stunden und 26 Minuten", True),
        ("Flugzeit 10:26", "10 Stunden 36 Minuten", False),
        ("1 hr 20 min", "80 minutes", True),
        ("Dauer 80 Min.", "1 Stunde 20 Minuten", True),
        ("3小时20分钟", "3:20", True),
    ],
)
def test_values_are_compared_however_they_are_written(read: str, said: str, holds: bool) -> None:
    (value,) = values(said)
    assert Shown([read]).holds(value) == holds


@for_each(
    ("said", "holds", "writes"),
    [
        ("39 mm", True, True),
        ("3.9 cm", True, True),
        ("39 cm", False, False),
        ("7.2 V", True, False),
        ("7.2", True, True),
    ],
)
def test_a_figure_is_sure_with_its_own_unit_only(said: str, holds: bool, writes: bool) -> None:
    (value,) = values(said, language="en")
    shown = Shown(["12 V, 7.2 Ah, 39 mm"])
    assert (shown.holds(value), shown.writes(value)) == (holds, writes)


def test_a_day_that_may_be_another_is_neither_warned_of_nor_underlined() -> None:
    said = values("5 April 2027, 4 May 2027")
    for read, told in (
        ("due 05/04/2027", [(True, False), (True, False)]),
        ("due 05/04/2027, seen 15/03/2027", [(True, True), (False, False)]),
    ):
        shown = Shown([read])
        assert [(shown.holds(value), shown.writes(value)) for value in said] == told


@for_each(
    ("read", "language", "said", "missing"),
    [
        ("15.000 €", "de", "fünfzehntausend Euro", []),
        ("12.500 €", "de", "fünfzehntausend Euro", ["fünfzehntausend"]),
        ("1.200 €", "es", "mil doscientos cincuenta euros", ["mil doscientos cincuenta"]),
        ("328,49 €, 20 %", "fr", "trois cent vingt-huit euros quarante-neuf, vingt pour cent", []),
        ("06.10. 9 Geräte", "de", "sechs Geräte", []),
        ("06.10. 9 Geräte", "de", "sechzehn Geräte", ["sechzehn"]),
        ("7:45 - 11am", "en", "from a quarter to eight until half past eleven", ["until half past eleven"]),
        ("15:00-16:15", "de", "von 15 Uhr bis Viertel vor fünf", ["bis Viertel vor fünf"]),
        ("07:00-11:15", "zh", "上午七点一直到十一点一刻", []),
        ("10 Oct to 2 Nov", "en", "from 10 October to 2 November", []),
    ],
)
def test_numbers_and_times_in_words_are_compared(
    read: str, language: str, said: str, missing: list[str]
) -> None:
    shown = Shown([read])
    found = values(said, language=language)
    assert [said[value.start : value.end] for value in found if not shown.holds(value)] == missing


def test_a_day_of_a_calendar_is_of_the_month_in_which_it_falls_on_its_weekday() -> None:
    shown = Shown(["Mo 19. 8:45  Di 20."], "2026-10-06T12:33:57+02:00")
    said = values("am 19. Oktober, 20.10., 19. September")
    assert [shown.holds(value) for value in said] == [True, True, False]


def test_names_are_not_looked_for_where_most_is_in_other_letters() -> None:
    (claim,) = marks.check("Olena paid 20 EUR [1].", [1], {1: Screen(["Оплата 20 € пройшла"])})
    assert claim.state == "cited"


FACTS = MeasuredFacts(
    (
        MeasuredDuration(TOTAL, 9_000_000),
        MeasuredDuration("Code", 4_800_000),
        MeasuredDuration("Mail", 300_000),
    ),
    ("2026-11-20T09:00:00+08:00",),
)


@for_each(
    ("sentence", "state"),
    [
        ("You spent 1 h 20 min in Code.", "measured"),
        ("You spent 80 min in Code from 09:00 on 20 November.", "measured"),
        ("In all it was 2 h 30 min.", "measured"),
        ("You spent 5 min in Code.", "no_source"),
        ("You spent 1 h 20 min in Code with Keller.", "no_source"),
        ("You spent time in Code.", "no_source"),
    ],
)
def test_a_sentence_that_tells_only_what_was_measured(sentence: str, state: str) -> None:
    (claim,) = marks.check(sentence, [], facts=FACTS)
    assert claim.state == state
    assert MeasuredFacts.from_json(FACTS.to_json()) == FACTS


@pytest.mark.parametrize(
    "text",
    [
        "总结一下我做了什么工作" * 1650,
        "“" * 9000,
        "a[1]" * 4500,
        "1" * 9000,
        "1 " * 9000,
        "Ab " * 6000,
        "二〇" * 9000,
    ],
)
def test_long_answers_of_any_kind_are_marked(text: str) -> None:
    """What is not linear in their length would not end."""
    marks.check(text, [1], {1: SCREEN})


@for_each(
    ("sentence", "state"),
    [
        ("A chart shows 300 boats of Keller [1].", "seen"),
        ("The chart is titled “Boats of Keller” [1].", "not_on_frame"),
        ("A chart shows 300 boats of Keller [2].", "not_on_frame"),
        ("A chart shows R-20455 [1].", "cited"),
    ],
)
def test_what_a_model_saw_in_a_picture_is_no_warning(sentence: str, state: str) -> None:
    screens = {1: SCREEN, 2: Screen(["menu"])}
    (claim,) = marks.check(sentence, [1, 2], screens, seen=[1])
    assert claim.state == state
    (claim,) = marks.check(
        sentence, [1, 2], screens, misquoted={n: ["thirty boats"] for n in screens}, seen=[1]
    )
    assert claim.state == "not_on_frame"


SIGNS = Screen(
    [
        "联系人 王建国  南京市中级人民法院\n早上司机马师傅来过，三号楼\n"
        "花田市立図書館 返却 森下様です\n報告書 報告者"
    ]
)


@for_each(
    ("sentence", "missing"),
    [
        ("联系人是王建国 [1]。", ()),
        ("联系人是王建军 [1]。", ("王建军",)),
        ("判决的是北海市中级人民法院 [1]。", ("北海市中级人民法院",)),
        ("早上来的是司机孟师傅 [1]。", ("司机孟师傅",)),
        ("这份图书目录由王建平返却 [1]。", ("王建平",)),
        ("北京市的法院已经判了 [1]。", ()),
        ("返却したのは森下さんです [1]。", ()),
        ("返却したのは杉山さんです [1]。", ("杉山",)),
        ("報告書はまだです [1]。", ()),
        ("返却したのは鍬形さんです [1]。", ("鍬形",)),
        ("返却したのはヘンリーさんです [1]。", ("ヘンリー",)),
        ("返却したのはお客さんです [1]。", ()),
        ("返却したのは花川市立図書館です [1]。", ("花川市立図書館",)),
        ("返却先は花田町の図書館です [1]。", ()),
    ],
)
def test_names_without_capitals_are_told_by_what_differs(sentence: str, missing: tuple[str, ...]) -> None:
    (claim,) = marks.check(sentence, [1], {1: SIGNS})
    assert claim.missing == missing


def test_an_altered_name_stands_where_another_cited_frame_has_it() -> None:
    (claim,) = marks.check("联系人是王建军 [1][2]。", [1, 2], {1: SIGNS, 2: Screen(["王建军 回电"])})
    assert claim.state == "cited"


@for_each(
    ("read", "sentence"),
    [
        ("Dauer 90 min", "Es dauert 90 Minuten [1]."),
        ("138-0013-8000", "电话是13800138000 [1]。"),
        ("06 12 34 56 78", "Appelez le 0612345678 [1]."),
        ("¥45,600", "金額は4万5,600円です [1]。"),
        ("合计 ¥78,000", "总共 7.8 万元 [1]。"),
        ("Tue 22/06 late shift: Sunita", "Sunita has Tuesday's late shift [1]."),
        ("定金百分之十", "定金是10% [1]。"),
        ("15 木 10:40", "7月15日木曜日の10時40分です [1]。"),
        ("Sun 9 May 2027", "It was on Sunday, 9 May [1]."),
        ("+49 7171 / 55 20 83", "The number is 07171/552083 [1]."),
        ("weight 0.845 kg, 39 mm", "Es wiegt 845 Gramm und ist 3,9 Zentimeter breit [1]."),
        ("weight 0.845 kg, 39 mm", "重845克，直径3.9厘米 [1]。"),
        ("3 Dienste", "Sie hatten alle vier Dienste [1]."),
        ("22:47 after 5:15 prn", "It is after 17:15 [1]."),
        ("CHF 3'480.–", "It costs 3,480 Swiss francs [1]."),
    ],
)
def test_what_a_screen_writes_otherwise_stands_there(read: str, sentence: str) -> None:
    (claim,) = marks.check(sentence, [1], {1: Screen([read], [], "2027-07-13T12:20:33+09:00")})
    assert claim.state == "cited", claim.missing


def test_a_weekday_with_a_date_beside_it_is_that_day_and_no_other() -> None:
    screen = Screen(["Closed Friday 23 July, back tomorrow"], [], "2027-07-13T12:20:33+09:00")
    wrong = marks.check("It is closed on Friday 16 July [1].", [1], {1: screen})
    assert wrong[0].missing == ("16 July",)


@for_each(
    ("sentence", "read", "missing"),
    [
        ("Il sopralluogo è alle nove e un quarto [1].", "sopralluogo 09:15", ()),
        ("Das hat Swantje Höfkers Einsendung gekostet [1].", "Swantje Höfker, Gebühr", ()),
        ("全长2小时37分18秒 [1]。", "时长 02:37:18", ()),
        ("全长2小时38分18秒 [1]。", "时长 02:37:18", ("38",)),
        ("売上は61,910円です [1]。", "売上 61,9lO", ()),
        ("他说“过时不候” [1]。", "过时不侯", ()),
        ("The scratch is 3 cm long, at 40 °C [1].", "scratch of 3 mm, 40 °C", ("3",)),
        ("Then for Die Möwe and for Bernd [1].", "Die Mowe, Bemd", ()),
        ("Then for Die Möwe and for Bernd [1].", "Die Mewe, Berta", ("Möwe", "Bernd")),
        ("Så för Søren Wałęsa [1].", "Soren Walesa", ()),
    ],
)
def test_what_is_said_otherwise_or_misread_stands(sentence: str, read: str, missing: tuple[str, ...]) -> None:
    (claim,) = marks.check(sentence, [1], {1: Screen([read])})
    assert claim.missing == missing


@for_each(
    ("quote", "sentence", "missing"),
    [
        ("Rent 1,187.40 EUR", "The rent is about 1,190 EUR [1].", ()),
        ("Rent 1,187.40 EUR", "The rent is about 1,200 EUR [1].", ()),
        ("Rent 1,187.40 EUR", "The rent is about 1,300 EUR [1].", ("1,300",)),
        ("Rent 1,240 EUR", "The rent is about 1,200 EUR [1].", ()),
        ("Rent 1,240 EUR", "The rent is about 1,000 EUR [1].", ("1,000",)),
        ("Rent 1,200 EUR", "The rent is 1,187 EUR [1].", ("1,187",)),
        ("Rent 1,187 EUR, heating 96 EUR", "Both are 1,283 EUR [1].", ()),
        ("Rent 1,187 EUR, heating 96 EUR", "The rent is 1,091 EUR more [1].", ()),
        ("12 nights at 85 EUR", "Les nuits font 1 020 EUR [1].", ()),
        ("Oil 40, wax 25, glue 18", "Together that is 83 [1].", ()),
        ("Oil 4, wax 2", "Together that is 6 [1].", ("6",)),
        ("Unit price 31.8 ct", "The price is 0.318 EUR [1].", ()),
        ("", "The rent is about 1,200 EUR [1].", ()),
        ("", "The rent is about 1,000 EUR [1].", ("1,000",)),
        ("closed at 21.30", "It closes on the 21st [1].", ("21",)),
        ("", "Both are 1,283 EUR [1].", ("1,283",)),
    ],
)  # fmt: skip
def test_a_figure_may_follow_from_those_quoted_for_its_sentence(
    quote: str, sentence: str, missing: tuple[str, ...]
) -> None:
    screen = Screen(["Rent 1,187 EUR\nheating 96 EUR", quote])
    (claim,) = marks.check(sentence, [1], {1: screen}, quoted={1: [quote]} if quote else {})
    assert claim.missing == missing
    assert not claim.on_frame


@for_each(
    ("read", "state"),
    [
        ("Returned by K. Tanaka", "cited"),
        ("返却しました スギヤマ", "cited"),
        ("返却しました sugiyama@example.org", "cited"),
        ("返却しました 田中", "not_on_frame"),
    ],
)
def test_family_names_are_looked_for_on_screens_in_japanese(read: str, state: str) -> None:
    (claim,) = marks.check("返却したのは杉山さんです [1]。", [1], {1: Screen([read])})
    assert claim.state == state


@for_each(
    ("read", "state"),
    [
        ("かえした Henry Swan", "cited"),
        ("かえした Robert Swan", "not_on_frame"),
        ("Returned by Robert", "cited"),
        ("かえした へんりー", "cited"),
    ],
)
def test_a_name_before_an_honorific_may_stand_in_other_letters(read: str, state: str) -> None:
    (claim,) = marks.check("返したのはヘンリーさんです [1]。", [1], {1: Screen([read])})
    assert claim.state == state


SUMS = "Bus\t18 400\nBeds\t31 500\ndue\t20. April"


@for_each(
    ("sentence", "missing"),
    [
        ("The excess is 20,000 [1].", ("20,000",)),
        ("It is due on the 20 [1].", ()),
        ("It says ”the beds were 31 500” [1].", ("the beds were 31 500",)),
    ],
)
def test_a_figure_is_no_part_of_a_date(sentence: str, missing: tuple[str, ...]) -> None:
    (claim,) = marks.check(sentence, [1], {1: Screen([SUMS.replace("\t", "\n"), SUMS])})
    assert claim.missing == missing


@for_each(
    ("sentence", "state", "missing"),
    [
        ("Meera wants two kilos [1].", "no_source", ()),
        ("The oven is 412 euros, for Meera [1].", "no_source", ("412", "Meera")),
        ("You had Firefox open at 9:15 [1].", "cited", ()),
    ],
)
def test_a_frame_without_text_is_no_source_but_for_its_title(
    sentence: str, state: str, missing: tuple[str, ...]
) -> None:
    blank = Screen(["", "", ""], ["Firefox"], "2027-03-01T09:15:20+01:00")
    (claim,) = marks.check(sentence, [1], {1: blank})
    assert (claim.state, claim.missing) == (state, missing)
