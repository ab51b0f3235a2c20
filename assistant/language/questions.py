"""The form of a question: what kind of answer it asks for.

A form is told by the interrogatives of a language, a small closed class of its grammar, and by the few words
for what is counted here at all: time, times, days and apps. What a question is about plays no part in it.
A question without an interrogative asks for yes or no, in each of these languages; in any other nobody knows
what it asks for, and the lines that have its words are shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from types import MappingProxyType

from assistant.core.texts import ASKED_IN, asked_in, normalize, question_words
from assistant.language.small_words import is_small, languages_of
from assistant.language.time_tables import LATIN, han, latin


class Form(Enum):
    """What a question asks for."""

    SUMMARY = "summary"
    DURATION = "duration"
    VISITS = "visits"
    APPS = "apps"
    MOMENT = "moment"
    FIGURE = "figure"
    PERSON = "person"
    FACT = "fact"
    YES_NO = "yes_no"


TELLING = 2
"""Small words that tell a language."""
_IN_EACH = (Form.DURATION, Form.VISITS)

_AUXILIARIES = (
    "am|is|are|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might|must|to|come"
)
_APPS: Mapping[str, str] = MappingProxyType(
    {
        "en": "apps?|applications?|program(?:me)?s?|windows?|(?:web ?)?sites?",
        "de": "apps?|programm(?:en?)?|anwendung(?:en)?|fenster|(?:web ?)?seiten?|websites?",
        "fr": "applications?|applis?|programmes?|logiciels?|fenêtres?|sites?",
        "es": "aplicaci[oó]n|aplicaciones|apps?|programas?|ventanas?|sitios?|p[aá]ginas?",
        "zh": "软件|应用|程序|网站|窗口|app",
        "ja": "アプリ|ソフト|プログラム|ウィンドウ|サイト",
    }
)
_EACH_APP: Mapping[str, str] = MappingProxyType(
    {
        "en": rf"(?:each|every|per|all(?: my| the)?) (?:{_APPS['en']})",
        "de": rf"(?:jede[mnrs]?|pro|je|allen?) (?:{_APPS['de']})",
        "fr": rf"(?:chaque|par|tou(?:te)?s (?:mes|les)) (?:{_APPS['fr']})",
        "es": rf"(?:cada|por|tod[ao]s (?:mi|l[ao])s) (?:{_APPS['es']})",
        "zh": f"(?:每[个款]?|各个?|所有)(?:{_APPS['zh']})",
        "ja": f"(?:各|全ての|すべての|それぞれの)(?:{_APPS['ja']})|(?:{_APPS['ja']})(?:ごと|別)",
    }
)
# Those of several words stand before those that they begin with.
_INTERROGATIVES: Mapping[str, Mapping[Form, str]] = MappingProxyType(
    {
        "en": {
            Form.SUMMARY: r"summari[sz]e|summary|recap|overview",
            Form.DURATION: r"how long|how much time|how many (?:minutes|hours)",
            Form.VISITS: r"how often|how many (?:times|days)",
            Form.APPS: rf"(?:which|what) (?:{_APPS['en']})",
            Form.MOMENT: r"when|(?:what|which) (?:time|day|date|weekday|month|year)",
            Form.FIGURE: rf"how (?!(?:{_AUXILIARIES})\b)\w+",
            Form.PERSON: r"who|whom|whose|who's",
            Form.FACT: r"what|which|where|why|how|what's|where's",
        },
        "de": {
            Form.SUMMARY: r"zusammenfass\w*|fass\w*|überblick|übersicht",
            Form.DURATION: r"wie ?lange?|wie ?viel zeit|wie ?viele (?:minuten|stunden)",
            Form.VISITS: r"wie ?oft|wie ?häufig|(?:an )?wie ?vielen? (?:male?|tagen?)",
            Form.APPS: rf"welchen? (?:{_APPS['de']})",
            Form.MOMENT: r"wann|um wie ?viel uhr|welche[mnrs]? (?:tag|datum|uhrzeit|wochentag|monat|jahr)",
            Form.FIGURE: r"wie ?viele?[mnr]?",
            Form.PERSON: r"wer|wen|wem|wessen",
            Form.FACT: r"was|welche[mnrs]?|wo|woher|wohin|womit|wofür|wozu|worüber|woran"
            r"|warum|weshalb|wieso|wie",
        },
        "fr": {
            Form.SUMMARY: r"résum\w*|récapitul\w*|aperçu",
            Form.DURATION: r"combien de temps|combien (?:de |d')(?:minutes|heures)",
            Form.VISITS: r"combien de (?:fois|jours)|à quelle fréquence",
            Form.APPS: rf"quel(?:le)?s? (?:{_APPS['fr']})",
            Form.MOMENT: r"quand|(?:à )?quel(?:le)?s? (?:heure|jour|date|mois|année)",
            Form.FIGURE: r"combien",
            Form.PERSON: "qui",
            Form.FACT: r"que|qu'|quoi|quel(?:le)?s?|lequel|laquelle|où|pourquoi|comment",
        },
        "es": {
            Form.SUMMARY: r"resum\w*|recapitul\w*",
            Form.DURATION: r"cu[aá]nto tiempo|cu[aá]nt[oa]s (?:minutos|horas)",
            Form.VISITS: r"cu[aá]nt[oa]s (?:veces|d[ií]as)|con qu[eé] frecuencia",
            Form.APPS: rf"(?:qu[eé]|cu[aá]les) (?:{_APPS['es']})",
            Form.MOMENT: r"cu[aá]ndo|(?:a )?qu[eé] (?:hora|d[ií]a|fecha|mes|año)",
            Form.FIGURE: r"cu[aá]nt[oa]s?",
            Form.PERSON: r"qui[eé]n(?:es)?",
            Form.FACT: r"qué|cu[aá]l(?:es)?|d[oó]nde|ad[oó]nde|c[oó]mo|por qu[eé]|^¿?que",
        },
        "zh": {
            Form.SUMMARY: "总结|概括|小结|回顾|概述|概况",
            Form.DURATION: "多久|多长时间|多少时间|多少?个?(?:分钟|小时)|几个?(?:分钟|小时)",
            Form.VISITS: "几次|多少次|几天|多少天|几回",
            Form.APPS: f"(?:哪些|什么|哪个|哪几个)(?:{_APPS['zh']})"
            f"|(?:{_APPS['zh']})(?:都?[有是])?(?:哪些|什么|哪个|哪几个)",
            Form.MOMENT: "什么时候|什么时间|何时|几点|几号|几月|哪一?天|星期几|周几|哪一?年|哪个?月",
            Form.FIGURE: "多少|几",
            Form.PERSON: "谁",
            Form.FACT: "什么|啥|哪|怎么|怎样|为什么|为何|如何|何",
        },
        "ja": {
            Form.SUMMARY: "まとめ|要約|概要",
            Form.DURATION: "(?:どの|どれ)(?:くらい|ぐらい)の?(?:時間|間)?|何(?:時間|分)",
            Form.VISITS: "何(?:回|度|日)",
            Form.APPS: f"(?:どの|どんな|何の)(?:{_APPS['ja']})|(?:{_APPS['ja']})[はを]?(?:どれ|どの|何|なに)",
            Form.MOMENT: "いつ|何(?:時|日|月|年|曜日)",
            Form.FIGURE: "いくつ|いくら|何(?:人|個|本|件|枚|円|名|台|冊|匹)",
            Form.PERSON: "誰|だれ",
            Form.FACT: "何|なに|どこ|どれ|どの|どちら|どう|どんな|なぜ|なん",
        },
    }
)


# The verbs that stand for any other, as pronouns do for nouns, and those of all that is recorded here, work
# use and time: "what did I do", "how long did I spend" name nothing. With the French particle of asking.
_PRO_VERBS: Mapping[str, str] = MappingProxyType(
    {
        "en": "do|does|did|done|doing|us(?:e|ed|es|ing)|work(?:ed|s|ing)?|spen[dt]",
        "de": "mach(?:e|st|t|en|te|ten)|gemacht|tun|tat|getan"
        "|(?:ge)?(?:be)?(?:nutz|verwend|arbeit)(?:e|et|t|te|ete|en)|verbr(?:inge|acht|achte)",
        "fr": "est-ce|faire|fai(?:s|t|sais|sait)|fis|fit|(?:utilis|travaill|pass)(?:e|é|er|ais|ait|ai)",
        "es": "hac(?:er|es?|emos|en|ía)|hic(?:e|iste|imos|ieron)|hizo|hecho|haciendo|hago"
        "|(?:us|utilic|utiliz|trabaj|pas)(?:o|a|e|é|ó|as|aste|ar|ado|ando|aba|amos)",
        "zh": "[做干忙弄花](?=[了过着些完什啥])|使用|花费",
        "ja": "やった|した|使った|過ごした|費やした",
    }
)


# The adverbs that ask for the latest of several times: "when did I last", not "when was the last backup".
_LAST: Mapping[str, str] = MappingProxyType(
    {
        "en": r"the last time|(?<!the )(?<!my )(?<!our )(?<!your )last",
        "de": "zuletzt|(?:das |zum )?letzten? mal",
        "fr": "derni[eè]re fois",
        "es": "[uú]ltima vez",
        "zh": "(?:最后|最近|上)一?次",
        "ja": "最後に|最後の",
    }
)


def _pattern(language: str, words: str) -> re.Pattern[str]:
    is_spaced = language not in ("zh", "ja")
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)" if is_spaced else words)


_PATTERNS = {
    language: {form: _pattern(language, words) for form, words in forms.items()}
    for language, forms in _INTERROGATIVES.items()
}


def asks_for_last(message: str) -> bool:
    """Whether a question asks when something was the last time."""
    language = asked_in(message)
    is_last = _pattern(language, _LAST[language]).search(normalize(message))
    return is_last is not None and form_of(message, language) is Form.MOMENT


_ABOUT_ANYTHING = (Form.FACT, Form.DURATION, Form.VISITS, Form.APPS, Form.YES_NO)


def goes_on(message: str, language: str) -> bool:
    """Whether a question leaves to the one before it what it is about: "and when?", not "what did I do"."""
    form = form_of(message, language)
    if asked_words(message, language) or form is Form.SUMMARY:
        return False
    pro_verb = _pattern(language, _PRO_VERBS[language])
    return form not in _ABOUT_ANYTHING or not pro_verb.search(normalize(message))


def form_of(message: str, language: str = "") -> Form:
    """The form that a question begins with, in the language that it is most likely asked in."""
    text, language = normalize(message), language or asked_in(message)
    patterns = _PATTERNS[language]
    if patterns[Form.SUMMARY].search(text):
        return Form.SUMMARY
    matches = ((match.start(), form) for form, words in patterns.items() if (match := words.search(text)))
    # Of "how long" and "how", which begin at one place, the first is the form.
    form = min(matches, key=lambda at: at[0], default=(0, Form.FACT if _other(message) else Form.YES_NO))[1]
    # How long or how often "in each app" is told by which apps, with the time in each.
    is_each = form in _IN_EACH and _pattern(language, _EACH_APP[language]).search(text)
    return Form.APPS if is_each else form


_ASKS = ("?", "？", "؟", "՞", "\u037e")
_ENDS = (".", "!", "。", "！", "…", "।")


def is_asked(sentence: str) -> bool:
    """Whether a sentence is a question: by its sign, or where it ends without any, by its first word."""
    text = sentence.rstrip(" \"'“”’»)」』*_")
    if text.endswith((*_ASKS, *_ENDS)):
        return text.endswith(_ASKS)
    patterns, form = _PATTERNS[asked_in(text)], normalize(text)
    return any(words.match(form) for kind, words in patterns.items() if kind is not Form.SUMMARY)


@cache
def _now(language: str) -> re.Pattern[str]:
    """The words for the present: what is asked of now is answered by what was shown last."""
    table = latin(language) if language in LATIN else han(is_japanese=language == "ja")
    return _pattern(language, "|".join(re.escape(word) for word, entry in table.items() if entry[0] == "!"))


def asked_words(message: str, language: str = "") -> tuple[str, ...]:
    """What a question is about, in normal form; none for "what did I do"."""
    text = normalize(message)
    language = language or asked_in(message)
    # Of Chinese verbs the word of asking behind them tells that they stand for any.
    if asks_for_last(message):
        text = _pattern(language, _LAST[language]).sub(" ", text)
    if form_of(message, language) is Form.APPS:
        text = _pattern(language, _EACH_APP[language]).sub(" ", text)
    for pattern in (_pattern(language, _PRO_VERBS[language]), _now(language), *_PATTERNS[language].values()):
        text = pattern.sub(" ", text)
    words, other = question_words(text), _other(message)
    return tuple(word for word in words if not other or not is_small(word, other)) or words


def _other(message: str) -> str:
    """The language of a question that is in none of those whose questions are understood by their form, ""
    where not at least `TELLING` small words of that language alone tell it.
    """
    languages = languages_of(message)
    words = set(re.findall(r"[^\W\d_]+", message))
    is_told = len(languages) == 1 and sum(is_small(word, languages[0]) for word in words) >= TELLING
    return languages[0] if is_told and languages[0] not in ASKED_IN else ""
