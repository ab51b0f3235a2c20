"""Prompts to begin with. They say how to write and never who the model is: that is the identity's (R0.4)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Preset:
    key: str
    name: str
    text: str


PRESETS = (
    Preset(
        "plain",
        "Short and plain",
        "Say the result in the first sentence, in plain words. Then give at most three bullets with what "
        "shows it. Leave out introductions, repetitions of the question and offers to help.",
    ),
    Preset(
        "log",
        "Work log",
        "Write as a log of work, in the order of time. Begin each bullet with the local time, then the app "
        "or project, then what was done there: changed, decided, read or sent. End with what was still open.",
    ),
    Preset(
        "exact",
        "To the letter",
        "Copy names, figures, dates and error messages exactly as they stand in the source; round and "
        "translate nothing. Where sources disagree, give each and say which is later. Where none "
        "answers, say only that.",
    ),
    Preset(
        "small",
        "For small models",
        "Work in three steps, and write down only the last one. 1. Find the sources that answer the "
        "question. 2. Copy the words that prove the answer. 3. Write the answer from those words alone, in "
        "short sentences, one fact in each, with its citation behind it.",
    ),
    Preset("no_think", "Qwen3: answer without thinking aloud", "/no_think"),
)
BY_KEY = {preset.key: preset for preset in PRESETS}
