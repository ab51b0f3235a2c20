"""What a chat session came to, by rules: no model is needed, and nothing is said that was not.

=============  ==========================================================================
request        what was asked
learned        what was found: statements that hold on to a source, with their quotes
completed      what the person told and decided: their sentences that are no questions
next_steps     what stayed open: questions without an answer, and what was asked back last
investigated   apps that were looked at
notes          what was answered without a source
=============  ==========================================================================

Each line of a field is one sentence. A field has the lines that say most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from zoneinfo import ZoneInfo

import apsw

from assistant.context.relevance import Said, is_told_of, salient, says_enough, sentences_of, terms, weight
from assistant.core.egress_log import ask_once
from assistant.core.errors import UnknownModel
from assistant.core.models import ChatModels
from assistant.core.records import SOURCED, claim_state
from assistant.core.strings import PROMPTS, local_time, own_sentences
from assistant.core.texts import neutralized, redacted
from assistant.evidence.citations import without_numbers
from assistant.evidence.particulars import Screen
from assistant.language.questions import is_asked
from assistant.language.statements import plain, split_statements
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import Message, ModelMalformed, object_in, object_schema
from store.chats.conversations import DELETED_ANSWER
from store.core.database import Database
from store.core.translation import N_
from store.memory import chat_sessions
from store.memory.chat_digests import Line
from store.memory.chat_summaries import UNSOURCED, ChatSummary, SessionTurn
from store.memory.observations import MODEL_SAYS

Fields = dict[str, str | None]

MAX_MESSAGE_CHARS = 110
"""Of one question; longer ones are cut, so that no pack repeats a message."""
MAX_SENTENCE_CHARS = 240
"""Of one sentence, the person's own included: what was settled stands in their words."""
MAX_FIELD_CHARS = 1_200
_MAX_LINES = 12
_OF_ANSWER = 3
"""Sentences of one answer."""
_UNSOURCED = ("no_source", "not_from_screen")


def summary_by_rules(turns: Sequence[SessionTurn]) -> Fields:
    """The six fields of a session with at least one question."""
    done = [turn for turn in turns if turn.status == "done" and turn.answer_md not in ("", DELETED_ANSWER)]
    apps = dict.fromkeys(one_line(app, 40) for turn in turns for app in turn.apps)
    unsourced = [text for turn in done for text in _answered(turn, turns, _UNSOURCED)]
    said = {
        "request": [text for turn in turns for text in _asked(turn, turn is turns[0])],
        "investigated": [N_(f"Looked at {', '.join([*apps][:5])}.")] if apps else [],
        "learned": [text for turn in done for text in _answered(turn, turns, SOURCED)],
        "completed": [text for turn in turns for text in _told(turn)],
        "next_steps": [*_unanswered(turns), *(_asked_back(done[-1]) if done else ())],
        "notes": [UNSOURCED, *unsourced] if unsourced else [],
    }
    return {name: _joined(found) or None for name, found in said.items()}


def made_again(turns: Sequence[SessionTurn], known: ChatSummary | None) -> Fields:
    """The same, with what a model said where nothing was asked since; a deletion would have taken it."""
    fields = summary_by_rules(turns)
    is_same = known and not known.is_edited and known.ended_ms == turns[-1].created_ms
    said = (known.notes or "").split("\n") if known and is_same else []
    return with_model(fields, [line for line in said if line.startswith(MODEL_SAYS)])


def with_model(fields: Fields, said: Iterable[str]) -> Fields:
    """The fields with what a model says below the notes of the rules, unless these say it."""
    by_rules = "\n".join(filter(None, fields.values()))
    new = (line for line in said if line.removeprefix(MODEL_SAYS) not in by_rules)
    return {**fields, "notes": "\n".join(filter(None, (fields["notes"], *new))) or None}


def _joined(found: Iterable[str]) -> str:
    """The sentences that say most as the lines of one text, each once."""
    lines = salient(list(dict.fromkeys(found)), _MAX_LINES)
    while sum(map(len, lines)) + len(lines) - 1 > MAX_FIELD_CHARS:
        lines = salient(lines, len(lines) - 1)
    return "\n".join(lines)


def _asked(turn: SessionTurn, is_first: bool) -> list[str]:
    """What a turn asked; what a chat begins with, whether it is a question or not; or the insight it told."""
    if turn.insight:
        return [one_line(turn.insight, MAX_MESSAGE_CHARS)]
    asked = [text for text in _sentences(turn.question) if is_asked(text)]
    if is_first and not any(map(says_enough, asked)):
        asked = [turn.question]
    return [one_line(text, MAX_MESSAGE_CHARS) for text in asked]


def _told(turn: SessionTurn) -> Iterator[str]:
    """What the person said that is no question and more than a word of thanks."""
    for text in () if turn.insight else _sentences(turn.question):
        if not is_asked(text) and says_enough(text):
            yield one_line(text, MAX_SENTENCE_CHARS)


def _unanswered(turns: Sequence[SessionTurn]) -> list[str]:
    return [
        f"Not answered: {one_line(turn.question, MAX_MESSAGE_CHARS)}"
        for at, turn in enumerate(turns)
        if turn.status == "failed" and turn.question not in (later.question for later in turns[at + 1 :])
    ]


def _asked_back(turn: SessionTurn) -> list[str]:
    """The question that the last answer ended with: nobody answered it."""
    last = list(_sentences(plain(turn.answer_md)))[-1:]
    return [one_line(text, MAX_SENTENCE_CHARS) for text in last if is_asked(text)]


def _sentences(text: str) -> list[str]:
    """The sentences of a text without its secrets, which may be longer than a sentence."""
    text = redacted(text)
    return [text[each.start : each.end] for each in split_statements(text)]


@lru_cache(maxsize=1_024)
def one_line(text: str, most: int) -> str:
    """A text without its secrets, on one line of at most `most` characters, cut at a word."""
    line = " ".join(redacted(text).split())
    if len(line) <= most:
        return line
    head = line[: most - 1]
    at_word = head.rpartition(" ")[0]
    return (at_word if len(at_word) > most // 2 else head).rstrip(" ,;:") + "…"


def _answered(turn: SessionTurn, turns: Sequence[SessionTurn], states: Sequence[str]) -> list[str]:
    """The sentences of an answer that say most, with the quote that stood beside each."""
    found: dict[str, None] = {}
    for claim in turn.payload.get("claims", ()):
        whole = _without_messages(plain(claim["text"]), turns)
        text = one_line(whole, MAX_SENTENCE_CHARS)
        if claim_state(claim) in states and weight(text)[1] and text not in own_sentences():
            quotes = [turn.quotes[n] for n in claim.get("citations", ()) if n in turn.quotes]
            # What a quote leaves out between two parts of it stands as a gap in it.
            new = (each for each in quotes if any(part.strip() not in whole for part in each.split("…")))
            quote = next(new, "")
            found[text + (f" “{one_line(quote, MAX_MESSAGE_CHARS)}”" if quote else "")] = None
    return salient(list(found), _OF_ANSWER)


def _without_messages(text: str, turns: Iterable[SessionTurn]) -> str:
    """The text with no question of more than 120 characters in it, whoever wrote it."""
    for turn in turns:
        question = " ".join(turn.question.split())
        if len(question) > 120:
            text = text.replace(question, one_line(question, MAX_MESSAGE_CHARS))
    return text


# -- in a model's words, where one may be asked -----------------------------------------------
#
# Only the model that answered the session is asked: it was told all of this before. What it says is
# data: cut to size, without secrets, and kept only while the answers are as they were
# (`store.memory.chat_summaries`). A sentence that the chat does not bear out goes; the others stand below
# what the rules say, each marked as a model's.

_MAX_TURN_CHARS = 1_200
_MAX_TOLD_CHARS = 12_000
_TASK: str = PROMPTS["summary"]
_SCHEMA = object_schema(sentences={"type": "array", "items": {"type": "string"}})
_MOST_BY_MODEL = 6


def summary_by_model(
    database: Database,
    models: ChatModels,
    turns: Sequence[SessionTurn],
    choice: str,
    timeout_s: float,
    clock: Callable[[], int],
    is_current: Callable[[apsw.Connection], bool],
) -> Fields | None:
    """The six fields of the rules, and what the model says in `notes`; None where no model may be asked.

    Raises `ModelError` when it gave none, and `StoreError` when what would be sent cannot be noted.
    """
    last = turns[-1]
    try:
        model = models.get(last.model)
    except UnknownModel:  # it was removed since
        return None
    endpoint = models.endpoint(last.model)
    if isinstance(model, ExtractiveModel) or choice == "off":
        return None

    def is_allowed() -> bool:
        return endpoint.is_local or endpoint.host in chat_sessions.summary_hosts(database)

    if not is_allowed():
        return None
    messages = [Message("system", _TASK), Message("user", _chat_text(turns))]
    said = ask_once(
        (database, clock, endpoint),
        model,
        messages,
        lambda answer: _checked(answer, turns),
        "refine",
        timeout_s=timeout_s,
        schema=_SCHEMA,
        turn_id=last.turn_id,
        is_current=lambda connection: is_current(connection) and is_allowed(),
    )
    return with_model(summary_by_rules(turns), said)


def _chat_text(turns: Sequence[SessionTurn]) -> str:
    """The session without its secrets, the latest questions where it is long."""
    parts: list[str] = []
    room = _MAX_TOLD_CHARS
    for turn in reversed(turns):
        answer = "" if turn.answer_md == DELETED_ANSWER else without_numbers(turn.answer_md)
        part = f"Person: {_cut(turn.question)}\nAssistant: {_cut(neutralized(answer)) or '(no answer)'}"
        room -= len(part)
        if room < 0 and parts:
            break
        parts.append(part)
    return "<chat>\n" + "\n\n".join(reversed(parts)).replace("</chat>", "</ chat>") + "\n</chat>"


def _cut(text: str) -> str:
    return redacted(text)[:_MAX_TURN_CHARS]


def _checked(answer: str, turns: Sequence[SessionTurn]) -> list[str]:
    """The sentences of an answer that the chat bears out, marked: each shares its words with a question and
    its answer, and its figures, dates, names and quotations stand in the chat.

    Raises `ModelMalformed` where that leaves none.
    """
    listed = object_in(answer).get("sentences")
    given = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    lines = [_without_messages(" ".join(neutralized(redacted(each)).split()), turns) for each in given]
    texts = [text for turn in turns for text in (turn.question, turn.answer_md, *turn.quotes.values())]
    chat = Screen(["\n".join(texts)], [app for turn in turns for app in turn.apps])
    words = [terms(f"{turn.question}\n{turn.answer_md}") for turn in turns]
    said = [text for line in lines for text in sentences_of(line)]
    told = (text for text in said if any(is_told_of(text, of_turn) for of_turn in words))
    borne_out = [text for text in told if chat.bears_out(text)]
    if not borne_out:
        raise ModelMalformed("the chat does not bear the summary out")
    return [f"{MODEL_SAYS}{one_line(text, MAX_SENTENCE_CHARS)}" for text in borne_out[:_MOST_BY_MODEL]]


# -- as lines ---------------------------------------------------------------------------------

MAX_LINE_CHARS = 260
_TELLING = ("completed", "learned", "next_steps", "notes")
"""Fields whose sentences are told, in this order."""


def day_of(summary: ChatSummary) -> str:
    """The day that a chat ended on, where the person was."""
    return local_time(summary.ended_ms, ZoneInfo(summary.timezone))[:10]


def sentences(summary: ChatSummary) -> list[Said]:
    """What a chat came to, sentence by sentence; who wrote a summary anew may have told it all."""
    found: dict[str, Said] = {}
    for name in _TELLING:
        is_unsourced = False
        for text in sentences_of(getattr(summary, name) or ""):
            if text == UNSOURCED:  # those below it
                is_unsourced = True
                continue
            said = Said(summary.session_id, len(found), text, name == "completed", is_unsourced)
            found.setdefault(text, said)
    return list(found.values())


def as_line(said: Iterable[Said], joint: str = " ") -> str:
    """Sentences in their order, those without a source behind words that say so."""
    listed = sorted(said, key=lambda each: each.place)
    first = next((each for each in listed if each.is_unsourced), None)
    return joint.join(f"{UNSOURCED} {each.text}" if each is first else each.text for each in listed)


def line_of(summary: ChatSummary) -> Line:
    """One chat as a bullet: its day, what was wanted, and what came of it."""
    text = f"{day_of(summary)}: {under_subject(summary, as_line(sentences(summary)))}"
    return Line(one_line(text, MAX_LINE_CHARS), (summary.session_id,), summary.ended_ms)


def under_subject(summary: ChatSummary, said: str, most: int = MAX_MESSAGE_CHARS) -> str:
    """What is said of a chat behind what it began with, unless that says it, too."""
    subject = one_line((summary.request or "").partition("\n")[0], most)
    return said if said.startswith(subject.rstrip("…")) else " — ".join(filter(None, (subject, said)))
