"""The form of a question is told by its interrogatives, in each language alike."""

from __future__ import annotations

from assistant.core.texts import ASKED_IN, asked_in, expressions
from assistant.language.questions import (
    Form,
    asked_words,
    asks_for_latest,
    form_of,
    goes_on,
    leans,
    without_settling,
)
from tests.tables import for_each


@for_each(
    ("question", "language", "form"),
    [
        ("How long was I in Word?", "en", Form.DURATION),
        ("How long is the bridge? And when was it built?", "en", Form.DURATION),
        ("How long did I spend in each app?", "en", Form.APPS),
        ("Did all the programs close?", "en", Form.YES_NO),
        ("Which of them works when it is cold?", "en", Form.FACT),
        ("What time is the train?", "en", Form.MOMENT),
        ("Did I send it?", "en", Form.YES_NO),
        ("Give me a summary of it", "en", Form.SUMMARY),
        ("Wie oft war ich dort?", "de", Form.VISITS),
        ("Seit wann läuft das?", "de", Form.MOMENT),
        ("Hat sie das schon bezahlt?", "de", Form.YES_NO),
        ("Combien de temps ai-je passé sur le rapport ?", "fr", Form.DURATION),
        ("Quelles applications ai-je utilisées ?", "fr", Form.APPS),
        ("¿Cuánto cuesta el curso?", "es", Form.FIGURE),
        ("¿Cuándo es la cita con el médico?", "es", Form.MOMENT),
        ("我用了哪些软件？", "zh", Form.APPS),
        ("合同什么时候到期？", "zh", Form.MOMENT),
        ("钥匙给他了吗？", "zh", Form.YES_NO),
        ("Résume mercredi dernier", "fr", Form.SUMMARY),
        ("会議はいつですか？", "ja", Form.MOMENT),
        ("Quando scade il contratto?", "it", Form.MOMENT),
        ("Wanneer komt de loodgieter bij ons?", "nl", Form.MOMENT),
        ("Hur länge var jag i Word?", "sv", Form.DURATION),
        ("Ile kosztował przegląd?", "pl", Form.FIGURE),
        ("Kdo zaplatil nájem?", "cs", Form.PERSON),
        ("Când vine instalatorul?", "ro", Form.MOMENT),
        ("Hányszor nyitottam meg a levelet?", "hu", Form.VISITS),
        ("Bu toplantı ne zaman?", "tr", Form.MOMENT),
        ("회의가 언제예요?", "ko", Form.MOMENT),
        ("どのアプリを使いましたか？", "ja", Form.APPS),
        ("使ったアプリはどれ？", "ja", Form.APPS),
        ("Hoeveel kost de lamp", "nl", Form.FIGURE),
        ("Wann Generalprobe", "de", Form.MOMENT),
        ("Zusammenfassung Projekt", "de", Form.SUMMARY),
        ("was the rent paid", "en", Form.YES_NO),
    ],
)
def test_the_form_of_a_question(question: str, language: str, form: Form) -> None:
    assert asked_in(question) == language
    assert form_of(question) is form


@for_each(
    ("question", "words"),
    [
        ("what did I do?", ()),
        ("How long did I spend in each app?", ()),
        ("Wie viel Zeit habe ich pro Programm verbracht?", ()),
        ("¿Cuánto tiempo pasé en cada aplicación?", ()),
        ("我在每个软件上花了多长时间？", ()),
        ("アプリごとにどのくらい時間を過ごしましたか？", ()),
        ("Was habe ich gemacht?", ()),
        ("我都做了什么？", ()),
        ("我都忙了些什么？", ()),
        ("¿Qué hice?", ()),
        ("Quem pagou a renda?", ("pagou", "renda")),
        ("Сколько времени я провёл в браузере?", ("браузере",)),
        ("누가 계약서를 보냈어?", ("계약서를",)),
        ("사용자 이름이 무엇?", ("사용자", "이름이")),
        ("Quel est le mot de passe du wifi ?", ("passe", "wifi")),
        ("¿Cuál es el primer paso de la receta?", ("paso", "receta")),
        ("Quem pagou o gasto?", ("pagou", "gasto")),
        ("Mikor lesz a dolgozat a suliban?", ("dolgozat", "suliban")),
        ("Qu'est-ce que j'ai fait ?", ()),
        ("Wie lange habe ich am Plan gesessen?", ("plan",)),
        ("Combien de fois j'ai regardé la météo ?", ("météo",)),
        ("那是什么时候发现的？", ()),
        ("What does the watch cost?", ("watch", "cost")),
        ("What did I set the retention to?", ("set", "retention")),
        ("How much C++ and error 404?", ("c++", "error", "404")),
        ("Which problem of buoy 3 is known?", ("buoy", "3")),
        ("Wo ist das Lager jetzt?", ("lager",)),
        ("仓库现在在哪里", ("仓库",)),
        ("Wann ist die Mitgliederversammlung?", ("mitgliederversammlung",)),
        ("契約書の金額はいくらですか", ("契約", "約書", "金額")),
        ("栗を買ってきてくれた？", ("栗",)),
    ],
)
def test_the_words_of_a_question_say_what_it_is_about(question: str, words: tuple[str, ...]) -> None:
    assert asked_words(question) == words


@for_each(
    ("question", "words"),
    [
        ("Kim email", ("kim", "email")),
        ("Docker pod logs", ("docker", "pod", "logs")),
        ("Min Jung email", ("min", "jung", "email")),
        ("Kiedy jest wizyta u dentysty?", ("wizyta", "dentysty")),
    ],
)
def test_words_are_small_only_where_the_language_is_told(question: str, words: tuple[str, ...]) -> None:
    assert asked_words(question) == words


def test_every_language_that_is_told_apart_has_its_forms() -> None:
    assert set(expressions()) == set(ASKED_IN)


@for_each(
    ("question", "does_lean"),
    [
        ("and where did I moor it?", True),
        ("Und wer hat den Schlüssel?", True),
        ("how long will she stay?", True),
        ("Where did I moor the boat?", False),
        ("Is there mould in cabin 3?", False),
        ("And which of the three pumps in cabin 3 did the harbour master order?", False),
        ("Pourquoi Marc ne peut-il pas venir ?", False),
        ("那怎么付钱？", True),
        ("그럼 짐은 몇 개야?", True),
    ],
)
def test_a_question_that_begins_so_or_has_a_pronoun_leans_on_the_one_before(
    question: str, does_lean: bool
) -> None:
    assert leans(question, asked_in(question)) is does_lean


@for_each(
    ("question", "is_latest"),
    [
        ("What does the mast cost now?", True),
        ("Worauf haben wir uns am Ende geeinigt?", True),
        ("船最后多少钱？", True),
        ("What does the mast cost?", False),
        ("船多少钱？", False),
    ],
)
def test_how_things_are_now_or_were_in_the_end_is_asked(question: str, is_latest: bool) -> None:
    assert asks_for_latest(question) is is_latest


@for_each(
    ("question", "about"),
    [
        ("What had we settled about the bees?", "what had we about the bees?"),
        ("Where did we end up with the stall?", "where did we with the stall?"),
        ("Was hatten wir zum Hochzeitsessen beschlossen?", "was hatten wir zum hochzeitsessen ?"),
        ("O que decidimos a respeito do site da padaria?", "o que a respeito do site da padaria?"),
        ("Что мы решили насчёт забора?", "что мы насчёт забора?"),
        ("关于阳台的植物，我们之前定了什么？", "关于阳台的植物,我们之前 什么?"),
    ],
)
def test_what_was_settled_is_asked_of_something(question: str, about: str) -> None:
    assert " ".join(without_settling(question).split()) == about


@for_each("question", ["What did we decide?", "Where are the bees?", "Wo sind die Bienen?", ""])
def test_a_question_for_nothing_else_keeps_its_words(question: str) -> None:
    assert without_settling(question) == question


@for_each(
    ("question", "words"),
    [
        ("What did I do for the harbour crane?", ("harbour", "crane")),
        ("bring me up to date on the crane", ("crane",)),
        ("Was habe ich gestern für den Kran erledigt?", ("gestern", "kran")),
        ("¿Qué pasó con la grúa?", ("grúa",)),
    ],
)
def test_what_was_done_or_happened_is_asked_of_a_matter(question: str, words: tuple[str, ...]) -> None:
    assert form_of(question) is Form.SUMMARY
    assert asked_words(question) == words


def test_what_happened_then_goes_on() -> None:
    assert goes_on("what happened then?", "en")
