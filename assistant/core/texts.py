"""What several parts of the assistant do with text: normal form, size, language, and making it harmless."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

from babel import Locale
from babel.units import format_unit
from stopwordsiso import stopwords

from store.core import translation
from store.core.tokenizer import CJK as CJK
from store.core.tokenizer import estimate_tokens as estimate_tokens
from store.core.tokenizer import upper_tokens as upper_tokens

Language = Literal["en", "zh"]

HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_SPACE = re.compile(r"\s+")


def own_language() -> Language:
    """Which of the languages we have sentences in the person is spoken to in."""
    return "zh" if translation.language().startswith("zh") else "en"


def answer_language(text: str) -> Language:
    """In which of them a question is answered: the one it is asked in; if that is neither, or does not tell,
    the person's.
    """
    asked = asked_in(text)
    if asked == "zh":
        return "zh"
    is_english = asked == "en" and not _telling_words("en").isdisjoint(_WORD.findall(normalize(text)))
    return "en" if is_english else own_language()


@lru_cache(maxsize=8192)
def normalize(text: str) -> str:
    """NFKC, case folded, white space collapsed: how two texts are compared."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


ASKED_IN = (
    *("en", "de", "fr", "es", "pt", "it", "nl", "sv", "pl", "cs", "ro", "hu", "tr", "ru", "uk"),
    *("zh", "ja", "ko"),
)
"""Languages whose questions are understood by their form, and whose words of asking are left out."""
UNSPACED = ("zh", "ja", "ko")

_WORD = re.compile(r"[^\W_][\w.+#-]*")
_TERM = re.compile("[^\\W_\u3400-\u9fff]+")
_KANA = re.compile("[\u3041-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
# Particles, pronouns and coverbs of Chinese, closed classes of its grammar.
_PARTICLES = re.compile("[的了吗呢吧啊嘛是我你您他她它们这那在给跟把被]")
# One sign before a particle of case; before other endings it is a verb.
_JAPANESE_NOUN = re.compile(rf"(?<!{HAN.pattern}){HAN.pattern}(?=[をはがのにでともへ])")
_INVERTED = re.compile(r"-(?:t-)?(?:je|tu|ils?|elles?|on|nous|vous|ce|moi|toi|lui|leur|les?|la|y|en)(?!\w)")
"""French pronouns behind the verb of a question."""
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_CLOCK = re.compile(r"\d{1,2}(?:(?:[-.]\d{1,2})+|am|pm)")


_UNITS_OF_TIME = ("second", "minute", "hour", "day", "week", "month", "year")


@cache
def _stop_words(language: str) -> frozenset[str]:
    """The small words of a language, its units of time, the parts of its day, and its "per"."""
    units = (
        format_unit(count, f"duration-{unit}", locale=language) for unit in _UNITS_OF_TIME for count in (1, 2)
    )
    parts = Locale(language).day_periods["format"]["wide"].values()
    patterns = Locale(language)._data["compound_unit_patterns"]["per"]
    per = patterns.get("long", {}).get("compound", "").format("", "")
    times = (word for name in (*units, *parts, per) for word in name.split() if not word.isdigit())
    small = {normalize(word) for word in (*stopwords(language), *times) if any(map(str.isalpha, word))}
    if language == "en":  # the list has "happens" and not "happened"
        stems = {word[:-1] for word in small if word.endswith("s") and len(word) > 5}
        small |= {stem + ending for stem in stems for ending in ("", "ed", "ing")}
    small -= not_small(language)
    return frozenset(small)


@cache
def not_small(language: str) -> frozenset[str]:
    """Words that say what a question is about, though the list of small words of its language has them."""
    return frozenset(expressions().get(language, {}).get("not_small", "").split("|"))


@cache
def _stop_signs() -> re.Pattern[str]:
    """Chinese words of asking and of grammar, the longest first; single signs are parts of other words."""
    longest_first = sorted(filter(HAN.search, _stop_words("zh") | _stop_words("ja")), key=len, reverse=True)
    return re.compile("|".join(re.escape(word) for word in longest_first if len(word) > 1))


@cache
def expressions() -> dict[str, dict[str, str]]:
    """By language, one of `ASKED_IN`, the expressions by which it asks (``questions.toml``)."""
    return tomllib.loads(Path(__file__).with_name("questions.toml").read_text("utf-8"))


@cache
def _opening(language: str) -> re.Pattern[str]:
    """An interrogative at the beginning of a question."""
    forms = ("summary", "duration", "visits", "moment", "figure", "person", "fact")
    return re.compile(rf"\W*(?:{'|'.join(expressions()[language][form] for form in forms)})(?!\w)")


@lru_cache(maxsize=8192)
def asked_in(message: str) -> str:
    """The language of `ASKED_IN` that a question is most likely in, by its scripts, its small words and the
    interrogative that it begins with.
    """
    if _KANA.search(message):
        return "ja"
    text = normalize(message)
    words = set(_WORD.findall(HAN.sub(" ", text)))
    if len(HAN.findall(message)) > len(words):
        return "zh"
    if 2 * sum(_HANGUL.match(word) is not None for word in words) > len(words):
        return "ko"
    shares, counts = Counter[str](), Counter[str]()
    opened = tuple(each for each in ASKED_IN[: -len(UNSPACED)] if _opening(each).match(text))
    opened = opened if len(opened) == 1 else ()  # "Kim email", as Poles and Turks ask who
    told = [_telling()[word] for word in words & _telling().keys()]
    if opened and not any(word in _telling() for word in _WORD.findall(text)[:1]):
        told.append(opened)
    for languages in told:
        counts.update(languages)
        # A word that tells of few languages tells more.
        shares.update(dict.fromkeys(languages, len(languages) ** -0.5))

    def share(language: str) -> float:
        # One word of "Kim email" is a small word somewhere; of a question it is likely one.
        least = 1 if "?" in message or language in opened else 2
        return shares[language] if counts[language] >= least else 0.0

    return max(ASKED_IN, key=share)


@cache
def _telling() -> dict[str, tuple[str, ...]]:
    """The languages of which a word tells: it is a small word of theirs, or a name of a month or weekday.

    CLDR's data of a language takes a megabyte: names count of those whose times are read with it anyway.
    """
    found: dict[str, tuple[str, ...]] = {}
    for language in ASKED_IN[: -len(UNSPACED)]:
        is_named = language in ("en", "de", "fr", "es")
        for word in _telling_words(language) if is_named else set(map(normalize, stopwords(language))):
            found[word] = (*found.get(word, ()), language)
    return found


@cache
def _telling_words(language: str) -> frozenset[str]:
    locale = Locale(language)
    names = (locale.months["format"]["wide"], locale.days["format"]["wide"])
    return _stop_words(language) | {normalize(name) for of_kind in names for name in of_kind.values()}


@lru_cache(maxsize=1024)
def question_words(message: str, language: str = "") -> tuple[str, ...]:
    """The words of a question that say what it is about, in normal form; none for "what did I do".

    Chinese is cut into pairs of signs, since it has no spaces to cut at; in Japanese the signs of grammar
    part the words.
    """
    language = language or asked_in(message)
    form = _INVERTED.sub(" ", normalize(message)) if language == "fr" else normalize(message)
    plain = _PARTICLES.sub(" ", _stop_signs().sub(" ", _HIRAGANA.sub(" ", form)))
    pairs = (run[i : i + 2] for run in HAN_RUN.findall(plain) for i in range(len(run) - 1))
    words = (word.rstrip(".-") for word in _WORD.findall(HAN_RUN.sub(" ", plain)))
    kept = [
        w
        for w in words
        if (len(w) > 1 or w.isdigit()) and w not in _stop_words(language) and not _CLOCK.fullmatch(w)
    ]
    if language == "ja":
        kept += [sign for sign in _JAPANESE_NOUN.findall(message) if sign not in _stop_words("ja")]
    signs = _stop_words("zh")
    telling = (pair for pair in pairs if not signs.issuperset(pair))
    return tuple(dict.fromkeys([*kept, *telling]))


MIN_TERM_CHARS = 3


def terms_of(line: str) -> list[str]:
    """Words of a line that a word of a question may be said by, in normal form; Chinese in pairs of signs."""
    form = normalize(line)
    pairs = (run[at : at + 2] for run in HAN_RUN.findall(form) for at in range(len(run) - 1))
    # A sign of Korean is a syllable: "엄마" is as long as "mama".
    words = (
        word
        for word in _TERM.findall(form)
        if word.isalpha() and len(word) + (_HANGUL.match(word) is not None) >= MIN_TERM_CHARS
    )
    return [*words, *pairs]


def matches(words: Iterable[str], text: str) -> int:
    """How many of the words a text names; Latin words from their beginning on, not inside others."""
    form = normalize(text)
    return sum(position(word, form) >= 0 for word in words)


def position(word: str, form: str) -> int:
    """Where a text in normal form first names a word, or -1: "read" is not in "thread"."""
    at = form.find(word)
    while at > 0 and word[0].isascii() and form[at - 1].isascii() and form[at - 1].isalnum():
        at = form.find(word, at + 1)
    return at


# -- secrets taken out ------------------------------------------------------------------------
#
# What looks like a secret becomes ``[redacted]``: keys by their prefixes, PEM private keys, JSON web tokens,
# values that stand behind a word like ``password``, credentials in addresses, and card numbers whose check
# digit is right. In doubt it goes: a summary can do without a word, and nobody misses it there.

REDACTED = "[redacted]"

# Prefixes are those that the makers document, so that leaked keys can be found.
_PREFIXED = re.compile(
    r"""
    (?<![A-Za-z0-9])(?:
        (?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{8,}     # OpenAI, Anthropic, Stripe
      | gh[pousr]_[A-Za-z0-9]{8,} | github_pat_[A-Za-z0-9_]{8,}
      | glpat-[A-Za-z0-9_-]{8,}
      | (?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{8,}
      | AIza[A-Za-z0-9_-]{16,} | ya29\.[A-Za-z0-9_-]{8,}
      | xox[abeprs]-[A-Za-z0-9-]{8,} | xapp-[A-Za-z0-9-]{8,}
      | hf_[A-Za-z0-9]{8,} | npm_[A-Za-z0-9]{8,} | pypi-[A-Za-z0-9_-]{8,} | dop_v1_[a-f0-9]{8,}
      | SG\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
      | whsec_[A-Za-z0-9]{8,} | shp(?:at|ss|ca|pa)_[a-fA-F0-9]{8,}
      | AGE-SECRET-KEY-1[A-Z0-9]{8,}
    )
    """,
    re.VERBOSE,
)
# A key that is cut off, as by a screen's edge, has no end line.
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [^-]*-----|\Z)", re.DOTALL)
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?")
_BEARER = re.compile(r"(?i)\b(?P<kept>(?:bearer|basic)\s+)(?P<value>[A-Za-z0-9+/=._~-]{12,})")
_IN_ADDRESS = re.compile(r"(?P<kept>\b[a-z][a-z0-9+.-]*://)(?P<value>[^\s/@:]*:[^\s/@]+)(?=@)", re.IGNORECASE)
_REDACTION_WORD = (
    r"(?:pass(?:word|wd|phrase|code)|passwd|pwd|secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key"
    r"|client[ _-]?secret|credentials?|密码|口令|令牌|密钥|密鑰|密碼)"
)
_QUOTED_OR_WORD = r"(?:\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`|[^\s,;&]+)"
_NAMED = re.compile(
    rf"(?P<kept>[A-Za-z0-9_.-]*{_REDACTION_WORD}[A-Za-z0-9_-]*[\"'`]?\s*(?:=>?|:=|[:：＝])\s*)(?P<value>{_QUOTED_OR_WORD})",
    re.IGNORECASE,
)
# "the password is hunter2": only what no prose would say there.
_SAID = re.compile(
    rf"(?P<kept>{_REDACTION_WORD}\s+(?:is|was)\s+|(?:密码|口令|密碼)\s*是\s*)"
    r"(?P<value>(?=[^\s,;]*[0-9])[^\s,;]{4,}|\"[^\"\n]+\"|'[^'\n]+')",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(?<![\d.])\d(?:[ -]?\d){11,18}(?![\d.]?\d)")


def redacted(text: str) -> str:
    """The text with `REDACTED` in the place of each secret; a second time it changes nothing."""
    text = _PEM.sub(REDACTED, text)
    text = _JWT.sub(REDACTED, text)
    for pattern in (_IN_ADDRESS, _NAMED, _SAID, _BEARER):
        text = pattern.sub(lambda match: match["kept"] + REDACTED, text)
    text = _PREFIXED.sub(REDACTED, text)
    return _DIGITS.sub(_card, text)


def _card(match: re.Match[str]) -> str:
    digits = [int(character) for character in match[0] if character.isdigit()]
    return REDACTED if is_luhn(digits) else match[0]


def is_luhn(digits: list[int]) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    doubled = (digit if at % 2 == 0 else sum(divmod(digit * 2, 10)) for at, digit in enumerate(digits[::-1]))
    return sum(doubled) % 10 == 0


# -- what a model thinks aloud ----------------------------------------------------------------

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT = re.compile(r"\A(?!\s*(?:```\w*\s*)?\{).*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
"""What ends a thought that nothing began: many a template opens it in the prompt, out of sight."""


def without_thinking(text: str) -> str:
    """What a model said, without what it thought aloud."""
    return _THOUGHT.sub("", _THINKING.sub("", text)).strip()


def ends_thought(text: str) -> bool:
    """Whether what was said so far turns out a thought that was begun out of sight."""
    return bool(_THOUGHT.match(text))


# -- text from outside, made harmless ---------------------------------------------------------
#
# What stands on a screen, in a message, in a file or on a web page may look like the markup of a call,
# or like the tokens by which a model's template tells who speaks. A server that writes the prompt into
# one text may read them as such. Only the copy in a prompt is changed; what is stored and quoted stays
# as it is.

_TOKEN = re.compile(r"<[|｜][\w .:/▁-]{1,64}[|｜]>")
"""``<|im_start|>``, and DeepSeek's with wide bars."""

_TAG = re.compile(
    r"<(?=/?function_calls?\b|/?function=|/function>|/?invoke\b"
    r"|/?parameter\b|/?tools?\b|/?tool_(?:calls?|results?|response|outputs?)\b"  # XML of several models
    r"|/?(?:start|end)_of_turn>|/?s>|</?SYS>|/?think(?:ing)?>)",  # turns of Gemma and Llama 2, thoughts
    re.IGNORECASE,
)
_BRACKET = re.compile(
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\])"
)
"""Mistral's and Llama 2's."""

_ACTION = re.compile(r"Action:(?=\s*```)")
"""Command-R's fence is a call behind this word only."""


def neutralized(text: str) -> str:
    """`text` without control tokens, and with other markup broken: ``&lt;``, ``[ INST]``, ``Action```.

    Taking a token out can bring another together, so it is repeated until nothing changes.
    """
    while (without := _TOKEN.sub("", text)) != text:
        text = without
    return _ACTION.sub("Action", _BRACKET.sub("[ ", _TAG.sub("&lt;", text)))
