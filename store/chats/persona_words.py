"""What a persona says, as a person writes it, and what the built-in ones say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from store.core.errors import StoreError

MAX_NAME_CHARS = 60
MAX_DESCRIPTION_CHARS = 200
MAX_PROMPT_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class PersonaText:
    """What a person writes of a persona: all of it, and nothing else."""

    name: str
    system_prompt: str
    description: str = ""


BUILT_IN = MappingProxyType(
    {
        "assistant": PersonaText(
            "Assistant",
            "Voice: plain and matter-of-fact, in the second person, without praise and without filler.\n"
            "Shape: the answer to the question first, in one or two sentences; then, only where there is "
            "more to tell, bullets in the order of time, one thing each.\n"
            "Length: under 120 words for a question, under 250 for a summary of a day or more.",
            "Answers first, details after. Short.",
        ),
        "journal": PersonaText(
            "Journal",
            "Voice: the first person, as the one whose day it was; warm and unhurried, never sentimental, "
            "and honest about what went wrong.\n"
            "Shape: flowing paragraphs that follow the day, without headings, bullets or advice.\n"
            "Length: two to four paragraphs of three to six sentences each.",
            "The day as you would write it down yourself.",
        ),
    }
)
"""The personas that are always there, by the key that marks them (R0.41, R0.42)."""


class PersonaInvalid(StoreError, ValueError):
    """What was written cannot be kept; `errors` is (field, message) by field."""

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{name} {message}" for name, message in errors))
        self.errors = tuple(errors)


def tidied(words: PersonaText) -> PersonaText:
    """Name and description on one line each, the prompt without blank ends."""
    return PersonaText(
        " ".join(words.name.split()),
        words.system_prompt.replace("\r\n", "\n").strip(),
        " ".join(words.description.split()),
    )


def flaws(words: PersonaText) -> Iterator[tuple[str, str]]:
    """(field, message) for whatever cannot be kept."""
    limits = (
        ("name", words.name, MAX_NAME_CHARS),
        ("system_prompt", words.system_prompt, MAX_PROMPT_CHARS),
        ("description", words.description, MAX_DESCRIPTION_CHARS),
    )
    for field, text, most in limits:
        if not text and field != "description":
            yield field, "is missing"
        if len(text) > most:
            yield field, f"may have {most:,} characters"
        if any(ord(letter) < 32 and letter not in "\n\t" for letter in text):
            yield field, "has a character that no text has"
