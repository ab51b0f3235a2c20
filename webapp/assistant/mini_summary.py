"""What a chat session came to, by rules: no model is needed, and nothing is said that was not (R1.5).

A field says what the rules can know and is None otherwise. What was learned are sentences whose quotes
were found in their frames; what was asked stands there shortened, never as a transcript (R1.20).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from store.chat_summaries import AskedTurn
from store.conversations import DELETED_ANSWER
from webapp.assistant.claims import plain
from webapp.assistant.redaction import redacted

Fields = dict[str, str | None]

MAX_MESSAGE_CHARS = 110
"""Of one question; longer ones are cut, so that no pack repeats a message (R1.20)."""
MAX_FIELD_CHARS = 400
_MAX_SENTENCE_CHARS = 160
_MAX_SENTENCES = 3


def summarised(turns: Sequence[AskedTurn]) -> Fields:
    """The six fields of a session with at least one question."""
    done = [turn for turn in turns if _is_answered(turn)]
    is_open = turns[-1].status == "failed"
    unproven = sum(_states(turn).count("no_evidence") for turn in done)
    return {
        "request": _request(turns),
        "investigated": _investigated(turns),
        "learned": _learned(done),
        "completed": f"{len(done)} of {len(turns)} questions answered." if turns else None,
        "next_steps": f"Not answered: {one_line(turns[-1].question, MAX_MESSAGE_CHARS)}" if is_open else None,
        "notes": f"{unproven} statement{'s' * (unproven > 1)} had no evidence." if unproven else None,
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


def _request(turns: Sequence[AskedTurn]) -> str:
    asked = [one_line(turn.question, MAX_MESSAGE_CHARS) for turn in turns]
    first, last = asked[0], asked[-1]
    if len(asked) == 1 or first == last:
        return first
    return f"{first} Later: {last}"


def _investigated(turns: Iterable[AskedTurn]) -> str | None:
    apps = list(dict.fromkeys(one_line(app, 40) for turn in turns for app in turn.apps))[:5]
    tools = list(dict.fromkeys(tool for turn in turns for tool in turn.tools))[:5]
    parts = []
    if apps:
        parts.append(f"Looked at {', '.join(apps)}.")
    if tools:
        parts.append(f"Used {', '.join(tools)}.")
    return " ".join(parts) or None


def _learned(turns: Iterable[AskedTurn]) -> str | None:
    """The first sentences that are proven, the latest answer's first."""
    proven = [
        one_line(plain(claim["text"]), _MAX_SENTENCE_CHARS)
        for turn in reversed(list(turns))
        for claim in turn.payload.get("claims", ())
        if claim.get("state") == "found"
    ]
    return " ".join(list(dict.fromkeys(proven))[:_MAX_SENTENCES])[:MAX_FIELD_CHARS] or None


def _is_answered(turn: AskedTurn) -> bool:
    return turn.status == "done" and turn.answer_md not in ("", DELETED_ANSWER)


def _states(turn: AskedTurn) -> list[str]:
    return [claim.get("state", "") for claim in turn.payload.get("claims", ())]
