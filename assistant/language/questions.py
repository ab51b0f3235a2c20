"""The form of a question: what kind of answer it asks for.

A form is told by the interrogatives of a language, a small closed class of its grammar, and by the few words
for what is counted here at all: time, times, days and apps (``questions.toml``). What a question is about
plays no part in it. A question without an interrogative asks for yes or no, in each of these languages; in
any other nobody knows what it asks for, and the lines that have its words are shown.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache

from assistant.core.texts import ASKED_IN, UNSPACED, asked_in, expressions, normalize, question_words
from assistant.language.small_words import is_small, languages_of
from assistant.language.time_tables import HAN, LATIN, han, latin


class Form(Enum):
    """What a question asks for."""

    SUMMARY = "summary"
    DURATION = "duration"
    VISITS = "visits"
    APPS = "which_app"
    MOMENT = "moment"
    FIGURE = "figure"
    PERSON = "person"
    FACT = "fact"
    YES_NO = "yes_no"


MAX_LEANING = 3  # a question with more words of its own says what it is about
TELLING = 2  # small words that tell a language
_IN_EACH = (Form.DURATION, Form.VISITS)


def whole_words(language: str, words: str) -> re.Pattern[str]:
    """An expression of ``questions.toml``, of whole words in languages with spaces."""
    # Braces of expressions stand in it, too.
    own = expressions()[language]
    words = words.replace("{apps}", f"{own['apps']}|{own['pages']}")
    return re.compile(words if language in UNSPACED else rf"(?<!\w)(?:{words})(?!\w)")


@cache
def _pattern(language: str, name: str) -> re.Pattern[str]:
    """What is written under a name for a language."""
    return whole_words(language, expressions()[language][name])


def _said(name: str, message: str) -> re.Match[str] | None:
    """What a question says of what is written under a name for its language."""
    return _pattern(asked_in(message), name).search(normalize(message))


@cache
def _patterns(language: str) -> dict[Form, re.Pattern[str]]:
    """The interrogatives of a language; "how long" stands before "how"."""
    return {form: _pattern(language, form.value) for form in Form if form is not Form.YES_NO}


_WITH_SUBJECTS = ("en", "de", "fr", "nl", "sv", "ru", "uk")


def drops_subject(message: str) -> bool:
    """Whether a question is in a language in which it needs no pronoun for what the one before is about."""
    return asked_in(message) not in _WITH_SUBJECTS


def asks_for_latest(message: str) -> bool:
    """Whether a question asks how something is now, how it was in the end, or when it was last."""
    is_now = _now(asked_in(message)).search(normalize(message))
    return bool(is_now or _said("latest", message))


_ABOUT_ANYTHING = (Form.FACT, Form.DURATION, Form.VISITS, Form.APPS, Form.YES_NO)


def goes_on(message: str, language: str) -> bool:
    """Whether a question leaves to the one before it what it is about: "and when?", not "what did I do"."""
    form = form_of(message, language)
    if asked_words(message, language) or form is Form.SUMMARY:
        return False
    return form not in _ABOUT_ANYTHING or not _pattern(language, "pro_verbs").search(normalize(message))


def leans(message: str, language: str) -> bool:
    """Whether a question with words of its own is about the same as the one before it: it begins as one that
    goes on ("and where"), or has a pronoun for what it is about.
    """
    text = normalize(message)
    if form_of(message, language) is Form.SUMMARY or len(asked_words(message, language)) > MAX_LEANING:
        return False
    pronoun = _pattern(language, "pronouns").search(text)
    return pronoun is not None or _pattern(language, "goes_on").match(text) is not None


def without_going_on(message: str, language: str) -> str:
    """A question without the word that it goes on with: "how long" of "and how long"."""
    return _pattern(language, "goes_on").sub(" ", normalize(message).strip(), count=1)


def form_of(message: str, language: str = "") -> Form:
    """The form that a question begins with, in the language that it is most likely asked in."""
    text, language = normalize(message), language or asked_in(message)
    patterns = _patterns(language)
    if patterns[Form.SUMMARY].search(text):
        return Form.SUMMARY
    matches = ((match.start(), form) for form, words in patterns.items() if (match := words.search(text)))
    # Of "how long" and "how", which begin at one place, the first is the form.
    form = min(matches, key=lambda at: at[0], default=(0, Form.FACT if _other(message) else Form.YES_NO))[1]
    # How long or how often "in each app" is told by which apps, with the time in each.
    is_each = form in _IN_EACH and _pattern(language, "each_app").search(text)
    return Form.APPS if is_each else form


def asks_for_pages(message: str) -> bool:
    """Whether the apps that a question asks for are sites or their pages."""
    named = _said(Form.APPS.value, message)
    return named is not None and _pattern(asked_in(message), "pages").search(named[0]) is not None


def asks_of_use(message: str) -> bool:
    """Whether a question is about what was done or used, not only about what was shown."""
    return _said("pro_verbs", message) is not None


def done_beside(message: str, language: str) -> tuple[tuple[str, ...], bool] | None:
    """(words, whether before or after what they name) of "what did I do before I opened the mail"."""
    text = normalize(message)
    for name in ("before", "after"):
        for marker in _pattern(language, name).finditer(text):
            parts = text[: marker.start()], text[marker.end() :]
            # Of Chinese and others what was opened stands first.
            for asked, named in (parts, parts[::-1]):
                does_ask = form_of(asked, language) in (Form.FACT, Form.SUMMARY)
                does_ask = does_ask and not asked_words(asked, language)
                if does_ask and (words := asked_words(named, language)):
                    return words, name == "before"
    return None


def asks_for_absence(message: str) -> bool:
    """Whether a question is about being away from the screen, and about nothing else."""
    language, text = asked_in(message), normalize(message)
    rest = _pattern(language, "away").sub(" ", text)
    return rest != text and not asked_words(rest, language)


def without_settling(message: str) -> str:
    """A question without words of agreeing and deciding; as it is where it asks for nothing else."""
    rest = normalize(message)
    for language in dict.fromkeys([asked_in(message), *languages_of(message)]):  # nobody knows which
        if language in ASKED_IN:
            rest = _pattern(language, "settled").sub(" ", rest)
    return rest if asked_words(rest) and rest != normalize(message) else message


def sources_named(message: str) -> tuple[str, ...]:
    """The imported sources that a question names, by their names or by what is done there."""
    names = {"messages": ("messages", "writes"), "calendar": ("calendar",)}
    return tuple(kind for kind, words in names.items() if any(_said(each, message) for each in words))


def words_beside_sources(message: str) -> tuple[str, ...]:
    """What a question is about, without the names of sources: of a source each row is one."""
    language, text = asked_in(message), normalize(message)
    for name in ("messages", "writes", "calendar"):
        text = _pattern(language, name).sub(" ", text)
    return asked_words(text, language)


_ASKS = ("?", "？", "؟", "՞", "\u037e")
_ENDS = (".", "!", "。", "！", "…", "।")


def is_asked(sentence: str) -> bool:
    """Whether a sentence is a question: by its sign, or where it ends without any, by its first word."""
    text = sentence.rstrip(" \"'“”’»)」』*_")
    if text.endswith((*_ASKS, *_ENDS)):
        return text.endswith(_ASKS)
    patterns, form = _patterns(asked_in(text)), normalize(text)
    return any(words.match(form) for kind, words in patterns.items() if kind is not Form.SUMMARY)


@cache
def _now(language: str) -> re.Pattern[str]:
    """The words for the present: what is asked of now is answered by what was shown last."""
    is_latin, is_han = language in LATIN, language in HAN
    table = latin(language) if is_latin else han(is_japanese=language == "ja") if is_han else {}
    now = "|".join(re.escape(word) for word, entry in table.items() if entry[0] == "!")
    return whole_words(language, now or "(?!)")


def asked_words(message: str, language: str = "", *, of_app: bool = False) -> tuple[str, ...]:
    """What a question is about, in normal form: none of "what did I do", `of_app` "mail" of "mail app"."""
    text, language = normalize(message), language or asked_in(message)
    if of_app or form_of(message, language) is Form.APPS:
        text = _pattern(language, "apps" if of_app else "each_app").sub(" ", text)
    # Of Chinese verbs the word of asking behind them tells that they stand for any.
    of_asking = (_pattern(language, name) for name in ("tell", "pro_verbs", "latest"))
    for pattern in (*of_asking, _now(language), *_patterns(language).values()):
        text = pattern.sub(" ", text)
    words, other = question_words(text, language), _other(message)
    return tuple(word for word in words if not other or not is_small(word, other)) or words


def _other(message: str) -> str:
    """The language of a question that is in none of those whose questions are understood by their form, ""
    where not at least `TELLING` small words of that language alone tell it.
    """
    languages = languages_of(message)
    words = set(re.findall(r"[^\W\d_]+", message))
    is_told = len(languages) == 1 and sum(is_small(word, languages[0]) for word in words) >= TELLING
    return languages[0] if is_told and languages[0] not in ASKED_IN else ""
