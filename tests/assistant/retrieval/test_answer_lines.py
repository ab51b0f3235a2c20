"""Lines that answer a question: rare words, what stands around them, what is told once, what is nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

from assistant.core.query_embedder import QueryEmbedder
from assistant.core.texts import normalize
from assistant.language.questions import Form, asked_words, form_of
from assistant.retrieval import usage
from assistant.retrieval.answer_lines import Answers, Question, answering, fits, named, same_in_meaning, terms
from assistant.retrieval.retrieval import Entry
from store.frames.activity_intervals import Segment
from store.ocr import readings
from store.search.sample import SampledFrame
from tests.factories import text_draft
from tests.tables import for_each


def screen(name: str, title: str, text: str, captured_ms: int = 0) -> Entry:
    return Entry(name, SampledFrame(0, captured_ms, None, title, None, None, "", 1, text), "")


def answers(question: str, *screens: Entry, nearness: dict[str, float] | None = None) -> Answers:
    form, words = form_of(question), asked_words(question)
    return answering(Question(question, form, words, nearness or {}), list(screens))


def best(question: str, *lines: str, title: str = "main.py") -> list[str]:
    found = answers(question, screen("e1", title, "\n".join(lines)))
    return [line.text for moment in found.moments for line in moment]


@for_each(
    ("form", "better", "worse"),
    [
        (Form.DURATION, "done in 6.04 s", "done at once"),
        (Form.MOMENT, "by Thursday", "by 400 people"),
        (Form.MOMENT, "at 17:00", "at the office"),
        (Form.FIGURE, "采样一百二十次", "采样很多次"),
        (Form.PERSON, "the keys are with Ada Moreno", "the keys are in the drawer"),
        (Form.PERSON, "王宁：钥匙在我这里", "钥匙在抽屉里"),
        (Form.PERSON, "karin: die Schlüssel habe ich", "Betreff: die Schlüssel sind da"),
        (Form.PERSON, "Gus: I have the keys", "Next meeting: bring the keys"),
    ],
)
def test_a_line_with_the_kind_of_thing_asked_for_fits(form: Form, better: str, worse: str) -> None:
    assert fits(form, better, "")
    assert not fits(form, worse, "")


def test_a_figure_of_the_question_answers_nothing() -> None:
    assert not fits(Form.FIGURE, "all about room 7", "How many chairs are in room 7?")


def test_a_figure_may_be_spelled() -> None:
    for line in ("Nineteen of the panes are cracked", "Der Ofen kühlt vierzehn Stunden ab"):
        assert fits(Form.FIGURE, line, "How many?") and fits(Form.DURATION, line, "How many?")
    assert fits(Form.FIGURE, "quedan diez plazas", "¿Cuántas plazas quedan en la cabaña?")
    assert not fits(Form.FIGURE, "there are nineteen panes", "What are the nineteen panes?")
    asked = "How many panes are cracked?"
    shown = "of the panes nineteen are cracked"
    assert best(asked, "3 new messages", shown, "Room 212, 05:15")[0] == shown


def test_a_line_of_another_pane_is_told_only_where_it_has_a_word_of_the_question() -> None:
    panes = (
        "Drafts            The ferry for the panes leaves at nine\n"
        "Junk 31           and nineteen panes are cracked\n"
        "Old panes 4\n"
        "Bin 7             Ask Mrs Tull"
    )
    text, layout = readings.encode(text_draft(panes))
    entry = screen("e1", "Mail", text)
    entry = replace(entry, frame=replace(entry.frame, layout=layout))
    asked = "How many panes of the chapel are cracked?"
    read, unread = (answers(asked, each).moments[0] for each in (entry, screen("e1", "Mail", text)))
    beside = {"Ask Mrs Tull", "Old panes 4", "Junk 31"}
    assert beside < {line.text for line in read}
    assert {line.text for line in unread} - {line.text for line in read} == {"Bin 7"}


def test_the_menus_of_a_window_are_no_answer() -> None:
    for menus in ("File Edit View Budget", "首页 课程 预算 登录"):
        lines = best("What is the budget 预算?", menus, "the budget 预算 is 400", title="Sheet")
        assert lines == ["the budget 预算 is 400"]
    assert "Anna Berta Carla" in best("Who has the boat?", *(5 * ["the boat"]), "Anna Berta Carla", "boat")


def test_a_clock_on_all_windows_and_a_bar_on_those_of_an_app_are_no_answer() -> None:
    def window(app: str, title: str, *lines: str) -> Entry:
        entry = screen(title, title, "\n".join(lines))
        return replace(entry, frame=replace(entry.frame, app_name=app))

    bar = "share the budget, saved"
    notes = [window("Notes", f"Note {n}", f"12:0{n}", f"a plan of step {n}", bar) for n in range(3)]
    others = [window(app, f"in {app}", "12:07", f"what {app} has") for app in ("Mail", "Chat", "Maps")]
    sheet = window("Sheet", "budget.ods", "12:08", "the budget is 400")
    found = answers("What is the budget?", *notes, *others, sheet)
    assert [line.text for moment in found.moments for line in moment] == ["the budget is 400"]


def test_a_line_without_a_word_or_a_figure_is_not_told() -> None:
    assert best("What did Ada ask?", "Ada: can we move the survey?", "(0", "at 9:30") == [
        "Ada: can we move the survey?",
        "at 9:30",
    ]


def test_the_clock_of_the_desktop_is_no_answer_whatever_signs_are_beside_it() -> None:
    at_ms = round(datetime(2027, 3, 12, 10, 34, tzinfo=UTC).timestamp() * 1000)
    shown = screen("e1", "Mail", "ven. 12 mars 11:34 EN = (@)\nLe comité est le 8 avril à 10 h", at_ms)
    found = answers("C'est quand, le comité ?", shown)
    assert [line.text for line in found.moments[0]] == ["Le comité est le 8 avril à 10 h"]


def test_letters_that_stand_for_words_mean_nothing_else() -> None:
    class Knows:
        def same_in_meaning(self, words: Sequence[str], terms: Sequence[str]) -> dict[str, dict[str, float]]:
            return {word: dict.fromkeys(terms, 1.0) for word in words}

    found = same_in_meaning(cast(QueryEmbedder, Knows()), "Is the MOT due?", ["mot", "due"], ["les mots"])
    assert found.keys() == {"due"}


def test_a_rare_word_counts_more_than_one_on_every_line() -> None:
    lines = best("Which receiver of the boat is spare?", "the boat here", "a boat there", "spare: LT-0093")
    assert lines[0] == "spare: LT-0093"


def test_what_stands_beside_the_words_comes_before_what_stands_far_from_them() -> None:
    lines = best(
        "What is the serial of the printer?",
        "printer serial",
        "QX-11",
        *(2 * letter for letter in "abcdefgh"),
        "QX-12",
    )
    assert "QX-11" in lines
    assert "QX-12" not in lines


@for_each(
    ("word", "line"),
    [
        ("invoice", "two invoices"),
        ("rechnung", "die Gasrechnung"),
        ("überwiesen", "ich überweise es"),
        ("预算", "年度预算表"),
        ("wlan-passwort", "Passwort WLAN"),
    ],
)
def test_forms_and_parts_of_words_are_named(word: str, line: str) -> None:
    assert named([word], line)


@for_each(("word", "line"), [("read", "threads"), ("car", "cardigan"), ("off", "offset"), ("7c", "17c")])
def test_chance_likenesses_are_not(word: str, line: str) -> None:
    assert not named([word], line)


def test_a_fact_is_told_once_and_its_last_state_first() -> None:
    found = answers(
        "What does the ticket cost?",
        screen("e1", "Shop", "Ticket price: 89 EUR", 1000),
        screen("e2", "Shop", "Ticket price: 69 EUR", 2000),
        screen("e3", "Shop", "Ticket price: 69 EUR", 3000),
    )
    texts = [line.text for moment in found.moments for line in moment]
    assert texts == ["Ticket price: 69 EUR", "Ticket price: 89 EUR"]


def test_a_task_that_was_done_later_is_told_as_done() -> None:
    found = answers(
        "Have I ordered the caps?",
        screen("e1", "Tasks", "[ ] order caps", 1000),
        screen("e2", "Tasks", "[x] order caps", 2000),
    )
    assert [line.text for moment in found.moments for line in moment] == ["[x] order caps"]


def test_what_was_shown_later_comes_first_where_it_is_about_all_that_the_best_line_is_about() -> None:
    first = screen("e1", "Chat", "The visit of the auditors is on 4 May", 1000)
    moved = screen("e2", "Chat", "The visit of our auditors: now 9 May", 2000)
    other = screen("e3", "Chat", "The visit of the plumber is on 7 May", 3000)
    found = answers("When is the visit of the auditors?", first, moved, other)
    assert [moment[0].entry.id for moment in found.moments][:2] == ["e2", "e1"]


def test_a_run_of_frames_that_look_alike_is_one_moment() -> None:
    text = "Visitor parking: deck 4\nThe code of visitors is 7781"
    screens = [screen(f"e{n}", "Site", text, n) for n in range(9)]
    found = answers("What is the code for visitor parking?", *screens)
    assert [len(moment) for moment in found.moments] == [2]


def test_words_that_are_on_no_frame_are_named_and_most_of_them_missing_is_nothing_found() -> None:
    shown = screen("e1", "Garden", "Compost: 4 bags\nPrice of compost: 12 EUR")
    missing = answers("How much was the compost mower?", shown)
    assert missing.missing == ("mower",)
    assert not missing.is_found
    assert missing.moments
    assert answers("How much was the compost?", shown).is_found


def test_meaning_finds_a_line_that_has_none_of_the_words() -> None:
    shown = screen("e1", "Notes", "dinner with Bo\nbooked two seats on the night train")
    near = {"booked two seats on the night train": 0.8}
    found = answers("When did I reserve the sleeper?", shown, nearness=near)
    assert found.moments[0][0].text == "booked two seats on the night train"


def test_a_word_in_another_language_stands_for_the_one_that_was_asked_for() -> None:
    screens = [
        screen("e1", "Bank", "Rechnung der Pumpe\n486,20 EUR"),
        screen("e2", "Mail", "lunch at noon\nsee you there"),
    ]
    words = ("invoice", "pump")
    plain = answering(Question("How much was the invoice?", Form.FIGURE, words, {}), screens)
    asked = Question("How much was the invoice?", Form.FIGURE, words, {}, {"invoice": {"rechnung": 0.7}})
    found = answering(asked, screens)
    assert (plain.is_found, plain.missing) == (False, ("invoice",))
    assert (found.is_found, found.missing) == (True, ())
    assert found.moments[0][0].entry.id == "e1"


def test_a_line_near_in_meaning_is_told_though_it_has_no_word_and_the_words_are_named_as_missing() -> None:
    line = "booked two seats on the night train"
    asked = Question("When did I reserve the sleeper?", Form.MOMENT, ("reserve", "sleeper"), {line: 0.8})
    found = answering(asked, [screen("e1", "Notes", line)])
    assert (found.moments[0][0].text, found.missing) == (line, ("reserve", "sleeper"))
    assert not found.is_found
    assert not found.has_words


def test_a_line_with_most_words_and_near_in_meaning_is_the_answer_though_a_word_is_nowhere() -> None:
    line, other = "order paint for Okafor: Stone Mist, the stairs", "ask Gus about clamps"
    near = {normalize(line): 0.6}
    for asked, is_sure in (("What colour of paint for Okafor's stairs?", True), ("What colour?", False)):
        found = answers(asked, screen("e1", "Notes", f"{other}\n{line}"), nearness=near)
        assert (found.missing, found.moments[0][0].text, found.is_sure) == (("colour",), line, is_sure)
    far = answers("What colour of paint for Okafor's stairs?", screen("e1", "Notes", line))
    assert far.is_found and not far.is_sure


def test_terms_are_words_of_the_nearest_lines_and_pairs_of_chinese_signs() -> None:
    lines = ["Plan", "a far line", "it is nearest of 12", "番茄苗 12"]
    assert terms(lines, {"it is nearest of 12": 0.9}) == ["nearest", "far", "line", "plan", "番茄", "茄苗"]


def test_a_window_is_not_meant_by_the_name_of_another_app() -> None:
    activity = [Segment(0, 60_000, "Chrome", "Review", None, 1, 2, 2)]
    assert usage.meant(activity, ["video"], {"video": {"chrome": 0.64}})
    assert not usage.meant(activity, ["firefox"], {"firefox": {"chrome": 0.56}})


def test_what_a_frame_has_of_the_window_and_not_in_it_is_no_answer() -> None:
    shown = screen(
        "e1",
        "Harbour office",
        "harbour.example/office\n< > https://harbour.example/office/\nQuay 4, second floor",
    )
    address = replace(shown, frame=replace(shown.frame, browser_url="https://harbour.example/office/"))
    lines = [
        line.text for moment in answers("Where is the harbour office?", address).moments for line in moment
    ]
    assert lines == ["Quay 4, second floor"]


def test_a_line_that_answers_by_itself_is_told_alone() -> None:
    lines = "Customer: the opera", "The dragon head is due on 12 December", "Price agreed: 2,450 EUR"
    assert best("When is the dragon head due?", *lines) == [lines[1]]
    assert lines[2] in best("What about the dragon head?", *lines)


def test_what_there_was_of_a_matter_is_told_in_order_of_time_with_what_has_a_part_of_it() -> None:
    screens = (
        screen("e1", "Mail", "the harbour crane is broken\ncall the smith", 1),
        screen("e2", "News", "rain in the hills", 2),
        screen("e3", "Chat", "Ada: the crane gets a new cable on Monday", 3),
    )
    moments = answers("What happened with the harbour crane?", *screens).moments
    assert [moment[0].entry.id for moment in moments] == ["e1", "e3"]


def test_of_the_lines_of_a_frame_those_are_told_that_bear_on_the_question() -> None:
    lines = ["The crane is broken.", *(f"row {n} of a list" for n in range(9)), "We need it for the barge."]
    near = {"we need it for the barge.": 0.5}
    shown = screen("e1", "Crane", "\n".join(lines))
    told = [line.text for line in answers("Why is the crane needed?", shown, nearness=near).moments[0]]
    assert "We need it for the barge." in told


def test_the_title_of_the_window_is_told_by_the_source_alone() -> None:
    lines = "Boat - Mail", "from Ada", "to Ben", "on Monday", "Price agreed: 40 EUR"
    told = best("Which price was agreed for the sail?", *lines, title="Boat - Mail")
    assert told[0] == "Price agreed: 40 EUR"
    assert lines[0] not in told


def test_a_heading_says_not_what_a_sentence_with_its_words_says() -> None:
    screens = (
        screen("e1", "Mail", "The harbour budget has no room for a second crane", 1),
        screen("e2", "Writer", "Harbour budget", 2),
    )
    moments = answers("Has the harbour budget room?", *screens).moments
    assert moments[0][0].text == "The harbour budget has no room for a second crane"
