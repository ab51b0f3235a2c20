"""Planted answers: what a model might say about the sample week, each sentence with its verdict.

``english.txt``, ``chinese.txt`` and ``more.txt`` were written by hand against the story, and the
checker was made better by them; ``held_out.txt`` was written after that and changed nothing.
``fresh.txt`` and ``sealed.txt`` were written together on the frames as they are really read; the
checker was made better by the first, and the second changed nothing. ``paraphrased.txt``,
``kept_back.txt`` and ``sealed2.txt`` were written together, too, in much freer words: the checker was
made better by the first only. ``model_dev.txt`` and ``model_sealed.txt`` are answers as a language model
gives them under the product's prompt, written by people who did not know the checker, over the text as it
was read; before anything was changed 92.1 % of what is unsupported in (the first 200 of) the one and 92.6 %
in the other were flagged, and 14.7 % and 12.7 % of what is supported. The checker was made better by the
first; how many of the second were flagged was looked at meanwhile. ``model_more.txt`` was written after that:
at first sight 94.4 % and 2.9 %; two rules were mended by it. ``model_unseen.txt`` came last and nobody read
it: 96.2 % and 3.4 % at first sight, 96.2 % and 2.9 % with those two rules.
`variants` adds what can be made of a right answer without understanding it: its citation taken
away, invented, moved to another frame, or the whole sentence set beside another answer's true quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Literal

Verdict = Literal["ok", "bad", "none"]
Language = Literal["en", "zh"]

SETS = (
    "english", "chinese", "more", "held_out", "fresh", "sealed", "paraphrased", "kept_back", "sealed2",
    "model_dev", "model_more", "model_sealed", "model_unseen",
)  # fmt: skip
GROUPS = {
    "one kind of mistake each": SETS[:4],
    "about frames as they are read": SETS[4:6],
    "in freer words": SETS[6:9],
    "as a model answers": SETS[9:],
}
UNTOUCHED = ("kept_back", "model_sealed", "model_unseen", "sealed", "sealed2")
"""Nothing was made better by these: their misses are counted by kind and never printed."""

_MARK = re.compile(r"\[\[([a-z_]+)\]\]")
_HAN = re.compile("[\u4e00-\u9fff]")
_DIGIT = re.compile(r"\d(?=\D*$)")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an answer: supported (`ok`), unsupported (`bad`), or claiming nothing (`none`)."""

    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that a model gives for a frame of a scene; `stands` when the screen showed them."""

    scene: str
    words: str
    stands: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """`kind` says what it tries; `dropped` how many ids it cites that name nothing retrieved."""

    kind: str
    language: Language
    parts: tuple[Part, ...]
    quotes: tuple[Quote, ...]
    dropped: int = 0
    is_variant: bool = False

    @property
    def scenes(self) -> tuple[str, ...]:
        """The scenes it speaks of, by citation or quote."""
        named = [name for part in self.parts for name in _MARK.findall(part.text)]
        return tuple(dict.fromkeys([*named, *(quote.scene for quote in self.quotes)]))

    @property
    def text(self) -> str:
        """The Markdown that the model writes, with scenes in place of ids."""
        glue = "" if self.language == "zh" else " "
        pieces = [part.text for part in self.parts]
        is_block = any("\n" in piece or piece.startswith(("- ", "| ")) for piece in pieces)
        return ("\n" if is_block else glue).join(pieces)


def answers(name: str, values: Mapping[str, str]) -> list[Answer]:
    """The answers of a file, with the figures of a week (and wrong ones, ``x_name``) put in."""
    wrong = {f"x_{key}": _wrong(value) for key, value in values.items()}
    text = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8")
    blocks = re.split(r"\n\s*\n", text)
    told = {**values, **wrong}
    found: list[Answer] = []
    for block in blocks:
        if re.search("^answer ", block, re.MULTILINE):
            found.append(_answer(block, told))
        elif re.search("^each ", block, re.MULTILINE):
            whole = _answer(block, told)
            found += (replace(whole, language=_language([part]), parts=(part,)) for part in whole.parts)
    return found


def variants(written: Sequence[Answer]) -> Iterator[Answer]:
    """Wrong answers made of the right ones that consist of one sentence and one true quote."""
    right = [
        a
        for a in written
        if a.kind.startswith("right") and len(a.parts) == len(a.quotes) == len(a.scenes) == 1
    ]
    for at, answer in enumerate(right):
        other = right[(at + 7) % len(right)]
        (part,), (quote,) = answer.parts, answer.quotes
        mark, invented = f"[[{quote.scene}]]", f"[[e{91 + at % 9}]]"
        bare = re.sub(r"\s*\[\[[a-z_]+\]\]", "", part.text)
        yield _variant(answer, "uncited", bare, () if at % 2 else (quote,))
        yield replace(_variant(answer, "invented", part.text.replace(mark, invented), ()), dropped=1)
        if other.quotes[0].scene != quote.scene:
            moved = part.text.replace(mark, f"[[{other.quotes[0].scene}]]")
            yield _variant(answer, "moved", moved, (Quote(other.quotes[0].scene, quote.words, False),))
            yield _variant(answer, "beside", moved, other.quotes)


def _variant(answer: Answer, kind: str, text: str, quotes: tuple[Quote, ...]) -> Answer:
    return Answer(f"made {kind}", answer.language, (Part("bad", text),), quotes, is_variant=True)


def _answer(block: str, values: Mapping[str, str]) -> Answer:
    kind, parts, quotes, dropped = "", [], [], 0
    for line in block.splitlines():
        word, _, rest = line.partition(" ")
        said = Template(rest).safe_substitute(values).replace("\\n", "\n")
        if word in ("answer", "each"):
            kind = rest
        elif word in ("quote", "false"):
            scene, _, words = said.partition(" | ")
            quotes.append(Quote(scene, words, word == "quote"))
        elif word == "dropped":
            dropped = int(rest)
        elif word in ("ok", "bad", "none"):
            verdict: Verdict = "ok" if word == "ok" else "bad" if word == "bad" else "none"
            parts.append(Part(verdict, said))
        elif word and not word.startswith("#"):
            raise ValueError(f"not a line of a planted answer: {line!r}")
    return Answer(kind, _language(parts), tuple(parts), tuple(quotes), dropped)


def _language(parts: Iterable[Part]) -> Language:
    return "zh" if any(_HAN.search(part.text) for part in parts) else "en"


def _wrong(value: str) -> str:
    """The same figure with its last digit changed."""
    return _DIGIT.sub(lambda digit: str((int(digit[0]) + 3) % 10), value, count=1)


def names(found: Iterable[Answer]) -> set[str]:
    """Every scene that some answers speak of."""
    return {scene for answer in found for scene in answer.scenes}
