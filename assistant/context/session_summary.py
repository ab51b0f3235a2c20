"""What a chat session came to, by rules: no model is needed, and nothing is said that was not (R1.5).

A field says what the rules can know and is None otherwise. What was learned are sentences whose quotes
were found in their frames; what was asked stands there shortened, never as a transcript (R1.20).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.core.redaction import redacted
from assistant.language.statements import plain
from store.chats.conversations import DELETED_ANSWER
from store.memory.chat_summaries import SessionTurn

Fields = dict[str, str | None]

MAX_MESSAGE_CHARS = 110
"""Of one question; longer ones are cut, so that no pack repeats a message (R1.20)."""
MAX_FIELD_CHARS = 400
_MAX_SENTENCE_CHARS = 160
_MAX_SENTENCES = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence of a summary, the questions that it was taken from, and the frames that prove it."""

    text: str
    turns: tuple[int, ...] = ()
    frames: tuple[int, ...] = ()


def summary_by_rules(turns: Sequence[SessionTurn]) -> Fields:
    """The six fields of a session with at least one question."""
    found = pieces(turns)
    return {name: " ".join(each.text for each in found[name])[:MAX_FIELD_CHARS] or None for name in found}


def pieces(turns: Sequence[SessionTurn]) -> dict[str, list[Piece]]:
    """The sentences of the six fields, with where each is from."""
    done = [turn for turn in turns if _is_answered(turn)]
    open_one = turns[-1] if turns[-1].status == "failed" else None
    doubted = [turn for turn in done if "no_evidence" in _states(turn)]
    unproven = sum(_states(turn).count("no_evidence") for turn in done)
    return {
        "request": _request(turns),
        "investigated": _investigated(turns),
        "learned": _learned(done),
        "completed": [Piece(f"{len(done)} of {len(turns)} questions answered.", _numbers(done or turns))],
        "next_steps": [Piece(f"Not answered: {_asked(open_one)}", (open_one.n,))] if open_one else [],
        "notes": [Piece(f"{unproven} statement{'s' * (unproven > 1)} had no evidence.", _numbers(doubted))]
        if doubted
        else [],
    }


def one_line(text: str, most: int) -> str:
    """A text without its secrets, on one line of at most `most` characters, cut at a word."""
    line = " ".join(redacted(text).split())
    if len(line) <= most:
        return line
    head = line[: most - 1]
    at_word = head.rpartition(" ")[0]
    return (at_word if len(at_word) > most // 2 else head).rstrip(" ,;:") + "…"


def text_of(fields: Fields) -> str:
    """The fields as one text, for its vector."""
    return "\n".join(text for text in fields.values() if text)


def _request(turns: Sequence[SessionTurn]) -> list[Piece]:
    first, last = turns[0], turns[-1]
    found = [Piece(_asked(first), (first.n,))]
    if _asked(last) != _asked(first):
        found.append(Piece(f"Later: {_asked(last)}", (last.n,)))
    return found


def _investigated(turns: Sequence[SessionTurn]) -> list[Piece]:
    apps = list(dict.fromkeys(one_line(app, 40) for turn in turns for app in turn.apps))[:5]
    tools = list(dict.fromkeys(tool for turn in turns for tool in turn.tools))[:5]
    found = []
    if apps:
        found.append(Piece(f"Looked at {', '.join(apps)}.", _numbers(turn for turn in turns if turn.apps)))
    if tools:
        found.append(Piece(f"Used {', '.join(tools)}.", _numbers(turn for turn in turns if turn.tools)))
    return found


def _learned(turns: Iterable[SessionTurn]) -> list[Piece]:
    """The first sentences that are proven, the latest answer's first."""
    found: dict[str, Piece] = {}
    for turn in reversed(list(turns)):
        for claim in turn.payload.get("claims", ()):
            if claim.get("state") != "found":
                continue
            text = one_line(plain(claim["text"]), _MAX_SENTENCE_CHARS)
            found.setdefault(text, Piece(text, (turn.n,), frames_of(turn, claim)))
    return [piece for text, piece in found.items() if text][:_MAX_SENTENCES]


def frames_of(turn: SessionTurn, claim: Mapping[str, Any]) -> tuple[int, ...]:
    """The frames that a statement of an answer cites."""
    return tuple(dict.fromkeys(turn.frames[n] for n in claim.get("citations", ()) if n in turn.frames))


def _asked(turn: SessionTurn) -> str:
    return one_line(turn.question, MAX_MESSAGE_CHARS)


def _numbers(turns: Iterable[SessionTurn]) -> tuple[int, ...]:
    return tuple(turn.n for turn in turns)


def _is_answered(turn: SessionTurn) -> bool:
    return turn.status == "done" and turn.answer_md not in ("", DELETED_ANSWER)


def _states(turn: SessionTurn) -> list[str]:
    return [claim.get("state", "") for claim in turn.payload.get("claims", ())]
