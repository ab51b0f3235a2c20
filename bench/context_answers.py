"""The sample week's questions with and without background, asked of a model that believes its background.

The model is made up and as gullible as can be: of everything in its prompt it believes the line that shares
most words with the question, and says in words of its own what it names: from the screen with its citation,
from the background without one. So what background can spoil, it spoils here; `python -m bench.evals
check-context` asks a real model the same way.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assistant.context.session_closing import ContextServices
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.core.texts import matches, question_words
from assistant.evidence.particulars import particulars
from assistant.language.small_words import language_of
from assistant.turns.plan import TurnServices
from bench import sample_truth
from bench.answers import LAST_DAY
from bench.evals.answer_check import of_sample
from bench.evals.context_check import compare, table
from bench.evals.other_questions import SEED, ZONE
from bench.report import Report
from store.core.database import open_database
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings, ContextSettings, EmbeddingSettings
from store.core.times import now_ms
from tests.stub_model import StubModel

ON_REQUEST = True
"""Left out when all measurements run."""

_FRAME = re.compile(r"^\[\[(e\d+)\]\]")


def main(report: Report) -> None:
    """Print both ways side by side."""
    with tempfile.TemporaryDirectory() as folder:
        home = DataDir(Path(folder) / "home")
        command = [sys.executable, "-m", "ingest", "--home", str(home.home), "demo", "--seed", str(SEED)]
        subprocess.run([*command, "--tz", ZONE.key, "--until", LAST_DAY], check=True, capture_output=True)
        week = sample_truth.read(home)
        if week is None:
            raise SystemExit("the sample week was not made")
        database = open_database(home)
        with StubModel() as stub:
            stub.reply(gullible)
            entry = ChatModelSettings("gullible", stub.base_url, "gullible", context_tokens=32_768)
            models = ChatModels(ChatSettings(models=(entry,)), {}, waits_s=())
            embedder = QueryEmbedder(EmbeddingSettings(), database)
            context = ContextServices(database, ContextSettings(), models, embedder.asked, now_ms)
            deps = TurnServices(database, models, now_ms)
            found = compare(deps, context, list(of_sample(week)), "gullible")
            for line in table(found.without, found.told):
                report.line(f"  {line}")
            embedder.close()
            models.close()
        database.close_thread()


def _named(line: str) -> str:
    """What a line names, not as it says it; its longest words where it names nothing."""
    named = [each.text for each in particulars(line, language_of(line))]
    longest = sorted(set(re.findall(r"\w+", line)), key=len, reverse=True)[:3]
    return " and ".join(dict.fromkeys(named or longest))


def gullible(request: Mapping[str, Any]) -> dict[str, Any]:
    """What the line that shares most words with the question names, wherever it stands."""
    told = request["messages"][-1]["content"]
    question = told.rsplit("Question: ", 1)[-1]
    words = question_words(question)
    background = [
        line.removeprefix("- ")
        for each in request["messages"]
        if each["role"] == "system"
        for line in each["content"].split("\n")
        if line.startswith("- 20")
    ]
    number, best, best_line, best_id = 0, 0, "", ""
    frame_id = ""
    for line in told.split("\n"):
        if match := _FRAME.match(line):
            frame_id = match[1]
        elif line.startswith("| ") and (number := matches(words, line)) > best:
            best, best_line, best_id = number, line.removeprefix("| "), frame_id
    said = max(background, key=lambda line: matches(words, line), default="")
    parts = (
        [f"As far as I can see, it is {_named(best_line)} [[{best_id}]]."]
        if best_line
        else ["I do not know."]
    )
    if said and matches(words, said) > best:
        parts.append(f"I take it from before that it was {_named(said)}.")
    evidence = [{"id": best_id, "quote": best_line}] if best_line else []
    return {"answer_md": "\n\n".join(parts), "evidence": evidence}
