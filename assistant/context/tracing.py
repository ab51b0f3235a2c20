"""Which questions of its chat each sentence of a summary is from, and which frames prove it.

What rules wrote is known when it is written. A model's sentence, and a person's, is found again by its words:
it is of the question with whose words and answer it shares most, if these are half of its own and two
at least. What that cannot say is not traced, and is said to be so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assistant.context import session_summary
from assistant.core.texts import normalize, question_words
from assistant.language.statements import split_statements
from store.memory.chat_summaries import BY_RULES, ChatSummary, SessionTurn, Trace, Traces

SHARED = 0.5
"""The part of a sentence's words that a question and its answer have to have."""
MIN_SHARED_WORDS = 2
_FIGURE = re.compile(r"\d[\d.,:/-]*\d|\d")


def traced(fields: Mapping[str, str | None], turns: Sequence[SessionTurn], made_by: str) -> Traces:
    """The traces of a summary that is made of these questions now."""
    known = session_summary.pieces(turns) if made_by == BY_RULES and turns else {}
    words = [(turn, _words(f"{turn.question}\n{turn.answer_md}")) for turn in turns]
    return {
        name: tuple(_of_pieces(text, known[name]) if name in known else _by_words(text, words))
        for name, text in fields.items()
        if text
    }


def of_summary(summary: ChatSummary, turns: Sequence[SessionTurn]) -> Traces:
    """What was kept, or found now for a summary that is older than traces or a person's."""
    if summary.traces is not None:
        return summary.traces
    # Its answers may be checked otherwise by now, so what rules would write now is no proof of what they did.
    return traced(summary.fields, turns, "")


def within(text: str, summary: ChatSummary, traces: Traces) -> tuple[Trace, ...]:
    """The traces of a digest's line, which is made of a summary's sentences, the last perhaps cut."""
    found, at = [], 0
    for name, said in summary.fields.items():
        for each in traces.get(name, ()) if said else ():
            sentence = (said or "")[each.start : each.end]
            start = text.find(sentence, at)
            if start < 0 and text.endswith("…"):
                start = _cut(text, sentence, at)
            if start >= 0:
                at = min(start + len(sentence), len(text))
                found.append(Trace(start, at, each.turns, each.frames))
    return tuple(found)


def _cut(text: str, sentence: str, at: int) -> int:
    """Where the beginning of a sentence ends a text that was cut; -1 where it does not."""
    body = text[:-1]
    for start in range(at, len(body)):
        if sentence.startswith(body[start:]) and len(body) - start >= 12:
            return start
    return -1


def _of_pieces(text: str, pieces: Sequence[session_summary.Piece]) -> list[Trace]:
    """Each piece where it stands in the text; one that was changed since is left out."""
    found, at = [], 0
    for piece in pieces:
        start = text.find(piece.text, at)
        if start < 0 and text[at:].strip():  # the last one, cut
            start = at + len(text[at:]) - len(text[at:].lstrip())
            if not piece.text.startswith(text[start:]):
                continue
        if start < 0:
            continue
        at = min(start + len(piece.text), len(text))
        found.append(Trace(start, at, piece.turns, piece.frames))
    return found


def _by_words(text: str, turns: Sequence[tuple[SessionTurn, frozenset[str]]]) -> list[Trace]:
    spans = [(each.start, each.end) for each in split_statements(text)] or [(0, len(text))]
    return [_found(text, start, end, turns) for start, end in spans]


def _found(text: str, start: int, end: int, turns: Sequence[tuple[SessionTurn, frozenset[str]]]) -> Trace:
    words = _words(text[start:end])
    shared = [len(words & said) for _, said in turns]
    best = max(shared, default=0)
    if best < MIN_SHARED_WORDS or best < SHARED * len(words):
        return Trace(start, end)
    turn = turns[shared.index(best)][0]
    return Trace(start, end, (turn.n,), _frames(words, turn))


def _frames(words: frozenset[str], turn: SessionTurn) -> tuple[int, ...]:
    """The frames of the proven statements that say most of the same."""
    found: list[int] = []
    for claim in turn.payload.get("claims", ()):
        said = _words(claim.get("text", ""))
        shared = len(words & said)
        if claim.get("state") == "found" and shared >= max(MIN_SHARED_WORDS, SHARED * len(words)):
            found += session_summary.frames_of(turn, claim)
    return tuple(dict.fromkeys(found))


def _words(text: str) -> frozenset[str]:
    """Words that say something, and figures."""
    return frozenset(question_words(text)) | frozenset(_FIGURE.findall(normalize(text)))
