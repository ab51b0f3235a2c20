"""Statements for which nothing of the screen was looked at: a sum, how to do something, what a file says.

"I could not confirm this on screen" is right before what an answer tells of a person's screen and past
without a proof. Before "17 % of 2,340 is 397.8" it is not: nobody looked, and nobody had to. Such a
statement gets a state of its own, `not_from_screen`, which is no proof and says no more than that. It
takes all of this:

- no tool of the turn has shown anything of the screen or the past,
- the statement cites nothing, and does not tell of the person, of what happened to them or of a screen,
- in a chat that has answers already, which may have been about the screen, it says something in
  particular, and all of that stands in the question or in what tools returned in this turn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from assistant.core.records import Claim
from assistant.evidence import elsewhere
from assistant.evidence.assertions import tells_what_happened
from assistant.language import specifics
from assistant.language.figures import figures
from assistant.language.statements import plain

TOOLS = frozenset(
    {
        "calculator",
        "get_current_time",
        "get_current_datetime",
        "read_file",
        "list_directory",
        "web_search",
        "read_attachment",
    }
)
"""Tools whose results hold nothing that was recorded. Any other is taken to show it."""

_SCREEN = re.compile(
    r"\b(?:screens?|screenshots?|frames?|captures?|recordings?|recorded|on\s+display)\b|屏幕|画面|截图|记录",
    re.IGNORECASE,
)
_MODAL = (
    r"(?:['’](?:ll|d))?\s+(?:can|could|may|might|should|need|want|have\s+to|get|will|would|must"
    r"|do(?:n['’]t)?)\b"
)
_PERSON = re.compile(
    rf"\A\W*your?\b(?!{_MODAL})|\byou(?:['’](?:re|ve)|\s+(?:are|were|have|had)\b(?!\s+to\b))"
    r"|\b(?:this\s+person|the\s+user)\b|[你您](?!可以|可|能|需|应|要|想|会|的话)|我们",
    re.IGNORECASE,
)


@dataclass(slots=True)
class OffScreen:
    """What a turn had besides the screen. `known` is the question and every such result."""

    has_history: bool
    known: list[str] = field(default_factory=list)
    has_looked: bool = False
    """Whether a tool showed something that was recorded."""
    quotable: list[str] = field(default_factory=list)
    """Items of other sources, whose words may be quoted (`assistant.evidence.elsewhere`)."""

    def take(self, tool: str, output: str, sources: Set[str] = frozenset()) -> None:
        """Note what a tool has returned, and of which sources."""
        if sources & elsewhere.QUOTABLE:
            self.quotable += elsewhere.items(output)
        if tool in TOOLS:
            self.known.append(output)
        else:
            self.has_looked = True

    def judged(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """The claims, with those that are not of the screen said to be so."""
        claims = [
            replace(claim, state="from_source") if elsewhere.quotes_one(claim, self.quotable) else claim
            for claim in claims
        ]
        if self.has_looked:
            return tuple(claims)
        return tuple(
            replace(claim, state="not_from_screen") if self._is_elsewhere(claim) else claim
            for claim in claims
        )

    def _is_elsewhere(self, claim: Claim) -> bool:
        if claim.state != "no_evidence" or claim.citations:
            return False
        said = plain(claim.text)
        if tells_what_happened(said) or _PERSON.search(said) or _SCREEN.search(said):
            return False
        return not self.has_history or self._is_known(said)

    def _is_known(self, said: str) -> bool:
        """Whether a statement says something in particular, all of which this turn was given."""
        known = "\n".join(self.known)
        told, names = figures(said), list(specifics.names(said))
        if not told and not names:
            return False
        return told <= figures(known) and all(specifics.stands_in(name, known) for name in names)
