"""Time phrases against the shared vectors, which bind browser and server alike."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from assistant.language.time_phrases import MOMENT_MARGIN_MS, Calendar, Found, Refusal, in_field, in_message
from bench.times import judge, read
from store.core import times
from tests.factories import CASES
from tests.tables import for_each

PLAIN, COMPOSED = (
    json.loads((CASES / f"time_phrases{name}.json").read_text(encoding="utf-8")) for name in ("", "_composed")
)
SHANGHAI = Calendar(1_795_168_980_000, ZoneInfo("Asia/Shanghai"))
"""Friday 20 November 2026, 18:03."""


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def repeated() -> list[dict[str, Any]]:
    """The basic group, with the same clocks on the wall in other zones."""
    rule = PLAIN["repeat_in_zones"]
    basic = [case for case in PLAIN["cases"] if case["group"] == rule["group"]]
    return [_moved(case, zone) for zone in rule["zones"] for case in basic]


def _moved(case: dict[str, Any], zone: str) -> dict[str, Any]:
    def there(value: Any) -> Any:
        if isinstance(value, list):
            return [there(each) for each in value]
        if isinstance(value, dict):
            return {key: there(each) for key, each in value.items()}
        if isinstance(value, str) and value[:4].isdigit():
            naive = datetime.fromisoformat(value).replace(tzinfo=None)
            return naive.replace(tzinfo=ZoneInfo(zone)).isoformat()
        return value

    return {**case, "now": there(case["now"]), "tz": zone, "expect": there(case["expect"])}


def outcome(found: Found | Refusal | None) -> dict[str, Any]:
    if found is None:
        return {"error": "unrecognised"}
    if isinstance(found, Refusal):
        return {"error": found.problem}
    told: dict[str, Any] = (
        {"start": found.start_ms, "end": found.end_ms} if found.at_ms is None else {"at": found.at_ms}
    )
    if found.is_clamped:
        told["clamped"] = True
    if found.also:
        told["also"] = [outcome(each) for each in found.also]
    if found.adjusted:
        told["adjusted"] = dict(found.adjusted)
    return told


def in_ms(expect: dict[str, Any]) -> dict[str, Any]:
    told = dict(expect)
    for key in ("start", "end", "at"):
        if key in told:
            told[key] = ms(told[key])
    if "also" in told:
        told["also"] = [in_ms(each) for each in told["also"]]
    return told


@for_each(
    "case", [*PLAIN["cases"], *repeated()], ids=lambda case: f"{case['phrase']}-{case['tz']}-{case['now']}"
)
def test_a_phrase_means_what_the_vector_says(case: dict[str, Any]) -> None:
    assert outcome(read(case)) == in_ms(case["expect"])


@for_each("case", COMPOSED["cases"], ids=lambda case: f"{case['phrase']}-{case['now']}")
def test_a_composed_phrase_means_what_the_vector_says_or_is_declined_where_it_may_be(
    case: dict[str, Any],
) -> None:
    assert judge(case) in ("right", "declined")


LOCAL_DAYS = json.loads((CASES / "local_days.json").read_text(encoding="utf-8"))


def is_typed(case: dict[str, Any]) -> bool:
    """Whether both ends are clock times of one night: the others are weeks."""
    start, end = (datetime.fromisoformat(case[end]) for end in ("start_wall", "end_wall"))
    return (end.date() - start.date()).days <= 1 and end - start < timedelta(days=1)


TYPED = [case for case in LOCAL_DAYS["ranges"] if is_typed(case)]


@for_each("case", TYPED, ids=lambda case: f"{case['tz']}-{case['start_wall']}")
def test_a_typed_clock_range_takes_the_walls_as_the_vector_says(case: dict[str, Any]) -> None:
    date, start = case["start_wall"].split("T")
    later = Calendar(ms("2030-01-01T00:00:00+00:00"), ZoneInfo(case["tz"]))
    found = in_field(f"{date} {start[:5]}-{case['end_wall'].split('T')[1][:5]}", later)
    if "error" in case["expect"]:
        assert outcome(found)["error"] == case["expect"]["error"]
    else:
        assert isinstance(found, Found)
        assert (found.start_ms, found.end_ms) == (case["expect"]["start_ms"], case["expect"]["end_ms"])


@for_each(
    ("message", "phrase"),
    [
        ("总结一下我今天 14:00-17:00 做了什么", "今天 14:00-17:00"),
        ("what did I do today 14:00–17:00?", "today 14:00–17:00"),
        ("What did I read from 2pm to 5pm yesterday about SQLite?", "from 2pm to 5pm yesterday"),
        ("Which files did I edit in the last 2 hours?", "last 2 hours"),
        ("show me what I planned yesterday for tomorrow", "yesterday"),
        ("过去两小时我看了哪些网页", "过去两小时"),
        ("上周五下午三点到五点我在写什么", "上周五下午三点到五点"),
        ("what was open at 14:30?", "14:30"),
        ("since 3pm, what changed?", "since 3pm"),
        ("which report was open in Q3?", "Q3"),
        ("hier à midi moins le quart", "hier à midi moins le quart"),
        ("le dernier quart d'heure", "dernier quart d'heure"),
        ("¿en lo que va de mes?", "lo que va de mes"),
    ],
)
def test_a_message_shows_the_phrase_it_was_read_by(message: str, phrase: str) -> None:
    found = in_message(message, SHANGHAI)
    assert isinstance(found, Found)
    assert found.phrase == phrase


@for_each(
    "message",
    [
        "where did the sun icon come from",
        "I sat next to the window, which window?",
        "good morning, what is this",
        "早上好，你是谁",
        "这里有一点问题",
        "these 3 may fail",
        "the ratio is 16:9 and version 3.11.2",
        "",
    ],
)
def test_what_is_no_time_is_not_guessed(message: str) -> None:
    assert in_message(message, SHANGHAI) is None


def test_a_moment_in_a_message_is_widened_by_five_minutes_on_each_side() -> None:
    found = in_message("what was open at 14:30 yesterday", SHANGHAI)
    assert isinstance(found, Found)
    moment = ms("2026-11-19T14:30:00+08:00")
    assert (found.start_ms, found.end_ms) == (moment - MOMENT_MARGIN_MS, moment + MOMENT_MARGIN_MS)


def test_a_field_names_what_it_did_not_understand() -> None:
    assert in_field("yesterday with friends", SHANGHAI) == Refusal("with friends", "unrecognised")


def test_a_number_beyond_all_numbers_is_named_and_not_read() -> None:
    found = in_message(f"the last {'9' * 400} hours", SHANGHAI)
    assert isinstance(found, Refusal)
    assert found.problem == "unread"


def test_what_may_still_go_on_is_so_far() -> None:
    readings = {
        text: in_field(text, SHANGHAI) for text in ("today", "since 3pm", "yesterday", "last 2 hours")
    }
    told = {text: isinstance(found, Found) and found.is_so_far for text, found in readings.items()}
    assert told == {"today": True, "since 3pm": True, "yesterday": False, "last 2 hours": False}


_COMPOSED = {
    "what did I open {}": (
        ["yesterday", "on Tuesday", "on 2 October", "three days ago", "on the 9th"],
        ["", "at 3pm", "between 10:00 and 12:30", "after 9am", "from 2 to 4", "around noon"],
        ["in the afternoon", "on Friday", "at sunset", "two hours ago", "every morning", "before breakfast"],
    ),
    "which page did I read {}": (
        ["on Sunday", "this Monday", "yesterday"],
        ["", "between eight and eleven", "until noon"],
        ["at 11:15", "since Monday", "last year", "on Sundays", "in the third week", "during the weekend"],
    ),
    "was habe ich {} gelesen": (
        ["gestern", "am Dienstag", "letzten Montag", "am 2. Oktober", "vor drei Tagen"],
        ["", "um 15 Uhr", "zwischen 10:00 und 12:30", "nach 9 Uhr", "von 14 bis 16 Uhr"],
        [
            "abends",
            "am Freitag",
            "im Sommer",
            "am Wochenende",
            "jeden Morgen",
            "sonntags",
            "vor dem Frühstück",
        ],
    ),
    "qu'est-ce que j'ai lu {}": (
        ["hier", "mardi", "lundi dernier", "le 2 octobre", "il y a trois jours"],
        ["", "à 15h", "entre 10:00 et 12:30", "après 9h", "de 14h à 16h"],
        ["le soir", "vendredi", "au crépuscule", "chaque matin", "depuis lundi", "en été", "à minuit"],
    ),
    "我{}看了什么": (
        ["昨天", "周二", "10月2号", "三天前", "上周一"],
        ["", "下午三点", "10:00到12:30", "早上九点以后"],
        ["晚上", "周五", "日落", "两小时前", "周末", "每天早上", "去年", "国庆", "饭后"],
    ),
    "{}何を読みましたか": (
        ["昨日", "火曜日", "10月2日", "三日前"],
        ["", "午後3時", "9時以降"],
        ["金曜日", "日没", "2時間前", "週末", "毎朝", "昨年", "夏休み", "正月"],
    ),
}


@given(st.sampled_from(sorted(_COMPOSED)), st.data())
def test_a_word_of_time_is_read_or_named(sentence: str, data: st.DataObject) -> None:
    days, clocks, words = _COMPOSED[sentence]
    space = " " if " " in sentence else ""
    word = data.draw(st.sampled_from(words))
    said = [data.draw(st.sampled_from(days)), data.draw(st.sampled_from(clocks))]
    alone = in_message(sentence.format(space.join(filter(None, said))), SHANGHAI)
    assert isinstance(alone, Found), said
    said.insert(data.draw(st.integers(0, 2)), word)
    found = in_message(sentence.format(space.join(filter(None, said))), SHANGHAI)
    assert found
    if isinstance(found, Found):
        assert word.split()[-1] in found.phrase
    elif found.problem == "unread":
        assert any(word.split()[-1] in each.phrase for each in (found, *found.also))


_PIECES = st.sampled_from(
    ["today", "yesterday", "last", "past", "this", "next", "friday", "week", "2", "half", "hours", "days",
     "14:00", "3pm", "12am", "-", "to", "since", "from", "2026-11-01", "Nov 3", "30 Feb", "下午", "晚上",
     "2点半", "今天", "上周", "五", "到", "的", "x", " ", "tonight", "月", "9999-12-31", "0001-01-01", "\0",
     "Q3", "in"]
)  # fmt: skip


@given(
    st.lists(_PIECES, max_size=7).map(" ".join) | st.text(max_size=40),
    st.sampled_from(
        ["Asia/Shanghai", "America/New_York", "Pacific/Apia", "Antarctica/Troll", "Africa/Cairo"]
    ),
    st.integers(86_400_000 * 400, 4_000_000_000_000),
    st.integers(0, 360),
    st.integers(0, 6),
)
def test_any_text_gives_a_range_up_to_now_or_a_refusal(
    text: str, zone: str, now_ms: int, day_start_min: int, week_start: int
) -> None:
    calendar = Calendar(now_ms, ZoneInfo(zone), day_start_min, week_start)
    for found in (in_field(text, calendar), in_message(text, calendar)):
        if isinstance(found, Found):
            assert found.start_ms <= found.end_ms <= now_ms
            assert (found.start_ms == found.end_ms) == (found.at_ms is not None)


@given(st.integers(0, 3_000), st.integers(0, 1439), st.integers(0, 360))
def test_every_moment_lies_in_today(day: int, minute: int, day_start_min: int) -> None:
    now_ms = ms("2025-01-01T00:00:00+00:00") + day * 86_400_000 + minute * 60_000 + 1
    calendar = Calendar(now_ms, ZoneInfo("America/New_York"), day_start_min)
    today = in_field("today", calendar)
    assert isinstance(today, Found)
    assert (today.start_ms, today.end_ms) == (
        times.day_of(now_ms, calendar.zone, day_start_min).start_ms,
        now_ms,
    )


@for_each(
    ("question", "first", "last"),
    [
        ("Cosa ho letto ieri?", 19, 19),
        ("Che cosa ha scritto Anna martedì scorso?", 17, 17),
        ("Co robiłem 12 listopada?", 12, 12),
        ("Что я делал в среду?", 18, 18),
        ("Mitä tein viime viikolla?", 9, 15),
        ("Wat heb ik 3 dagen geleden gedaan?", 17, 17),
        ("Wat heb ik twee dagen geleden gedaan?", 18, 18),
        ("Vad läste jag för tre dagar sedan?", 17, 17),
        ("Что я читал 3 дня назад?", 17, 17),
        ("Что я читал неделю назад?", 9, 15),
        ("Mitä luin viikko sitten?", 9, 15),
        ("Cosa ho scritto dall'altro ieri?", 18, 20),
        ("Cosa ho letto nell'ultima settimana?", 9, 15),
        ("Què vaig llegir l'últim dilluns?", 16, 16),
        ("O que fiz na semana passada?", 9, 15),
        ("어제 무엇을 읽었나요?", 19, 19),
        ("11월 13일에 뭐라고 했어?", 13, 13),
        ("지난주에 뭐 했어?", 9, 15),
        ("3일 전에 뭐 했어?", 17, 17),
        ("월요일부터 수요일까지 뭐 했어?", 16, 18),
        ("어제 오후 3시 30분에 뭐 했어?", 19, 19),
    ],
)
def test_days_are_told_in_the_words_that_cldr_has_for_other_languages(
    question: str, first: int, last: int
) -> None:
    found = in_message(question, SHANGHAI)
    assert isinstance(found, Found)
    ends = (datetime.fromtimestamp(each / 1000, SHANGHAI.zone) for each in (found.start_ms, found.end_ms - 1))
    assert [end.day for end in ends] == [first, last]


@for_each(
    ("question", "start", "end"),
    [
        ("Wat heb ik gisteren tussen 9 en 11 gelezen?", "19T09:00", "19T11:00"),
        ("Co jsem četl včera od 9 do 11?", "19T09:00", "19T11:00"),
        ("O que li ontem das 9 às 11 horas?", "19T09:00", "19T11:00"),
        ("Què vaig llegir ahir entre les 3 i les cinc?", "19T15:00", "19T17:00"),
        ("Hva leste jeg i går mellom ni og elleve?", "19T09:00", "19T11:00"),
        ("O que li ontem à tarde?", "19T12:00", "19T18:00"),
        ("Co jsem četl včera odpoledne?", "19T12:00", "19T18:00"),
        ("Wat las ik een uur geleden?", "20T16:58", "20T17:08"),
        ("O que li há uma hora?", "20T16:58", "20T17:08"),
        ("Chi è venuto ieri alle sei e mezza del mattino?", "19T06:25", "19T06:35"),
        ("Chi è venuto ieri alle nove meno un quarto?", "19T08:40", "19T08:50"),
        ("Chi è venuto ieri a mezzogiorno?", "19T11:00", "19T13:00"),
        ("Kto dzwonił wczoraj o wpół do dziesiątej?", "19T09:25", "19T09:35"),
        ("Co jsem četl včera po 9?", "19T09:00", "20T00:00"),
        ("Vem skrev i går före 9?", "19T00:00", "19T09:00"),
        ("Что я читал с понедельника до среды?", "16T00:00", "19T00:00"),
        ("Что я делал во вторник днём?", "17T12:00", "17T18:00"),
        ("Co czytałem wczoraj między drugą a czwartą?", "19T14:00", "19T16:00"),
        ("Co robiłem w ostatnich dwóch godzinach?", "20T16:03", "20T18:03"),
        ("Vad läste jag i går morse?", "19T06:00", "19T12:00"),
        ("Wat las ik gisterochtend?", "19T06:00", "19T12:00"),
        ("Wat las ik gisteren kwart over negen?", "19T09:10", "19T09:20"),
        ("Cosa ho letto ieri a mezzanotte?", "18T23:55", "19T00:05"),
        ("Kto dzwonil wczoraj o wpol do dziesiatej?", "19T09:25", "19T09:35"),
        ("What did I edit yesterday between half one and ten to three?", "19T13:30", "19T14:50"),
        ("Qu'ai-je lu hier de cinq heures moins le quart à six heures et demie ?", "19T16:45", "19T18:30"),
        ("昨日の十時十分に何を読んだ？", "19T10:05", "19T10:15"),
        ("Chi ha scritto ieri all'una?", "19T12:55", "19T13:05"),
        ("Cosa ho letto ieri nel tardo pomeriggio?", "19T15:00", "19T18:00"),
        ("Cosa ho letto martedì dalle 14 in poi?", "17T14:00", "18T00:00"),
        ("O que li na terça de manhã?", "17T06:00", "17T12:00"),
        ("O que li ontem por volta das dez?", "19T09:30", "19T10:30"),
        ("Wat las ik maandagavond na achten?", "16T20:00", "17T00:00"),
        ("Vad läste jag i går halv fyra?", "19T15:25", "19T15:35"),
        ("Что я читал вчера в половине четвёртого?", "19T15:25", "19T15:35"),
        ("Kto dzwonił wczoraj za kwadrans piąta?", "19T16:40", "19T16:50"),
        ("Co czytałem w poniedziałek od rana do trzeciej?", "16T06:00", "16T15:00"),
        ("어제 오후 세 시 반에 뭐 했어?", "19T15:25", "19T15:35"),
        ("Cosa ho letto ieri dalle 9 e mezza alle 11 e un quarto?", "19T09:30", "19T11:15"),
        ("Vem ringde i torsdags kväll?", "19T18:00", "20T00:00"),
        ("Salı sabahı ne okudum?", "17T06:00", "17T12:00"),
        ("Dün 9 ile 11 arasında ne okudum?", "19T09:00", "19T11:00"),
        ("Dün 14:00'ten sonra ne okudum?", "19T14:00", "20T00:00"),
        ("Salı günü 14.00 ile 15.30 arasında ne okudum?", "17T14:00", "17T15:30"),
        ("Что я читал вчера без двадцати пять?", "19T16:35", "19T16:45"),
        ("İki saat önce ne okudum?", "20T15:58", "20T16:08"),
        ("Cosa ho letto martedì mattina presto?", "17T06:00", "17T09:00"),
        ("Cosa ho letto dall'8 al 12 novembre?", "08T00:00", "13T00:00"),
        ("Kto dzwonił wczoraj za pięć ósma?", "19T07:50", "19T08:00"),
        ("Vad läste jag igår tjugo i fyra?", "19T15:35", "19T15:45"),
        ("Сколько стоил ремонт 12.11?", "12T00:00", "13T00:00"),
        ("Что я читал с понедельника по среду?", "16T00:00", "19T00:00"),
        ("O que li no dia 3/11?", "03T00:00", "04T00:00"),
        ("어제 오후 3시 이후에 뭐 읽었지", "19T15:00", "20T00:00"),
        ("Was habe ich in KW 46 gelesen?", "09T00:00", "16T00:00"),
        ("Did I see the week 3 report on Tuesday?", "17T00:00", "18T00:00"),
        ("令和8年11月3日に何を読んだ？", "03T00:00", "04T00:00"),
    ],
)
def test_times_of_day_are_told_as_people_say_them(question: str, start: str, end: str) -> None:
    found = in_message(question, SHANGHAI)
    assert isinstance(found, Found)
    assert [ms(f"2026-11-{each}+08:00") for each in (start, end)] == [found.start_ms, found.end_ms]


@for_each(
    "text", ["last quarter", "letztes Quartal", "le trimestre dernier", "el trimestre pasado", "上个季度"]
)
def test_a_quarter_is_one_of_the_calendar(text: str) -> None:
    found = in_field(text, SHANGHAI)
    assert isinstance(found, Found)
    assert (found.start_ms, found.end_ms) == (ms("2026-07-01T00:00+08:00"), ms("2026-10-01T00:00+08:00"))


def test_the_ending_of_a_number_is_no_word_of_another_language() -> None:
    found = in_field("le 1er mai", SHANGHAI)
    assert isinstance(found, Found) and found.start_ms == ms("2026-05-01T00:00+08:00")


@for_each(
    "question",
    ["Mitä luin eilen 9 ja 11 välillä?", "Mit olvastam tegnap 9 és 11 között?"],
)
def test_a_number_that_may_be_a_clock_time_is_named_where_no_words_for_times_of_day_are_known(
    question: str,
) -> None:
    found = in_message(question, SHANGHAI)
    assert isinstance(found, Refusal)
    assert (found.problem, found.phrase[:1]) == ("unread", "9")


@for_each(
    ("question", "unread"),
    [
        ("Cosa ho letto martedì tra pranzo e cena?", "tra pranzo e cena"),
        ("Co jsem četl včera před obědem?", "před obědem"),
        ("Что я читал вчера до обеда?", "до обеда"),
        ("Cosa ho letto lunedì all'alba?", "alba"),
        ("Cosa ho letto nella prima settimana di febbraio?", "prima settimana di febbraio"),
        ("Wat las ik gisteren na het eten?", "na het eten"),
        ("Что я читал вчера на рассвете?", "рассвете"),
        ("Что я читал вчера четверть четвёртого?", "четверть четвёртого"),
        ("Dün saat iki buçukta ne yaptım?", "buçukta"),
        ("Dün öğlene kadar ne yaptım?", "öğlene kadar"),
        ("Cosa ho letto ieri nel primo pomeriggio?", "primo pomeriggio"),
        ("Что я делал вчера в час дня?", "час дня"),
    ],
)
def test_what_lies_between_or_before_something_unknown_is_named(question: str, unread: str) -> None:
    found = in_message(question, SHANGHAI)
    assert isinstance(found, Refusal)
    assert (found.problem, found.phrase) == ("unread", unread)


@for_each(
    "question",
    [
        "À quelle heure vient Léa mardi prochain ?",
        "Qu'ai-je la semaine prochaine ?",
        "¿Qué tengo el lunes próximo?",
        "¿Qué hay el mes que viene?",
        "Was passiert nächsten Mai?",
        "les trois prochains jours",
    ],
)
def test_a_time_that_is_next_lies_ahead_wherever_the_word_stands(question: str) -> None:
    found = in_message(question, SHANGHAI)
    assert isinstance(found, Refusal)
    assert found.problem == "future"


@for_each(
    "question",
    [
        "Anna phone number",
        "Leo invoice",
        "Jana Novak",
        "Annaの請求書",
        "Anna 说了什么？",
        "correo de Ana",
        "Domenica Rossi",
    ],
)
def test_a_name_that_is_a_day_in_some_language_is_none(question: str) -> None:
    assert in_message(question, SHANGHAI) is None


@for_each(
    ("question", "day"),
    [
        ("Message de Ben hier", 19),
        ("昨天Anna说了什么？", 19),
        ("What did Leo say yesterday?", 19),
        ("heute Leo", 20),
    ],
)
def test_a_name_takes_no_time_away(question: str, day: int) -> None:
    found = in_message(question, SHANGHAI)
    assert isinstance(found, Found)
    assert datetime.fromtimestamp(found.start_ms / 1000, SHANGHAI.zone).day == day


def test_a_time_to_come_is_the_next_that_its_words_name() -> None:
    """Asked on a Friday, 20 November."""
    to_come = replace(SHANGHAI, is_to_come=True)
    for said, day in {
        "Who is coming on Monday?": "2026-11-23",
        "When do I fly on the 12th?": "2026-12-12",
        "Thursday the 17th, who plays?": "2026-12-17",
        "What happens in three days?": "2026-11-23",
        "the fair on 4 May": "2027-05-04",
    }.items():
        found = in_message(said, to_come)
        assert isinstance(found, Found), said
        assert times.to_local(found.start_ms, SHANGHAI.zone).date().isoformat() == day, said


@for_each(
    ("phrase", "start", "end"),
    [
        ("What did I read in early October?", "10-01", "10-11"),
        ("What did I read at the end of October?", "10-21", "11-01"),
        ("Was habe ich Mitte Oktober gelesen?", "10-11", "10-21"),
        ("Was habe ich Ende letzten Monats gelesen?", "10-21", "11-01"),
        ("Qu'ai-je lu fin octobre ?", "10-21", "11-01"),
        ("¿Qué leí a mediados de octubre?", "10-11", "10-21"),
        ("10月上旬我看了什么？", "10-01", "10-11"),
        ("10月の下旬に何を読んだ？", "10-21", "11-01"),
        ("When did October end for me?", "10-01", "11-01"),
    ],
)
def test_a_month_has_an_early_a_mid_and_a_late_part(phrase: str, start: str, end: str) -> None:
    found = in_message(phrase, SHANGHAI)
    assert isinstance(found, Found)
    assert [ms(f"2026-{each}T00:00+08:00") for each in (start, end)] == [found.start_ms, found.end_ms]


@for_each(
    "phrase", ["at the beginning of last week", "at the end of the 5th", "Anfang der Woche", "end of the day"]
)
def test_parts_of_what_has_none_are_said_to_be_unread(phrase: str) -> None:
    found = in_message(f"what did I do {phrase}", SHANGHAI)
    assert isinstance(found, Refusal)
    assert found.problem == "unread"


@for_each(
    ("phrase", "day"),
    [("8 ноября", 8), ("15 de novembro", 15), ("5 novembre", 5), ("12. marraskuuta", 12)],
)
def test_a_date_is_known_by_its_month_alone(phrase: str, day: int) -> None:
    found = in_field(phrase, SHANGHAI)
    assert isinstance(found, Found)
    assert found.start_ms == ms(f"2026-11-{day:02}T00:00:00+08:00")


@for_each(
    ("question", "unread"),
    [
        ("What did I read on Tuesdday?", "Tuesdday"),
        ("What did I read yesterday around quaarter past three?", "quaarter"),
        ("What did I edit on saturdday, um, you know, between 1 and 2:15?", "saturdday"),
        ("Was habe ich am Diennstag gelesen?", "Diennstag"),
        ("Où ai-je garé la voiture hier sooir ?", "sooir"),
        ("Pazartesiden beri ne okudum?", "Pazartesiden"),
    ],
)
def test_a_mistyped_or_unknown_form_of_a_word_of_time_is_named(question: str, unread: str) -> None:
    found = in_message(question, SHANGHAI)
    assert isinstance(found, Refusal)
    assert found.problem == "unread"
    assert unread in found.phrase


def test_a_plain_word_beside_a_time_is_no_word_of_time() -> None:
    for question in (
        "What did the match yesterday cost?",
        "¿Qué dijo Julia ayer?",
        "Wat heb ik gisteren gelezen?",
    ):
        assert isinstance(in_message(question, SHANGHAI), Found), question
