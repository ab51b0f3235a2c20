"""`check-tools`: does a model call the right tool? Known questions, put before it as a turn would."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from webapp.cli.common import home_option, json_option, open_database, open_home, print_json

if TYPE_CHECKING:
    from bench.evals.answer_check import Share
    from bench.evals.tool_choice import Choice, Score

_MARKS = {"right": "OK", "wrong": "X", "skipped": "-", "failed": "!"}


@click.command("check-tools")
@home_option
@json_option
@click.option("--model", help="Name of a configured model (default: the default model).")
@click.option("--language", type=click.Choice(["en", "zh"]), help="Only the questions of one language.")
@click.option("--limit", type=click.IntRange(1), help="Only the first so many questions.")
def check_tools(
    home: Path | None, as_json: bool, model: str | None, language: str | None, limit: int | None
) -> int:
    """Score a model by the tools it calls, and with which arguments.

    Questions in English and Chinese are put before it as a chat with tools would. No tool is run and
    nothing of the screen is sent. Each result is printed as it comes.
    """
    from bench.evals.tool_choice import total

    choices = []
    for choice in _choices(home, model, language, limit):
        choices.append(choice)
        _print(choice, to_stderr=as_json)
        if all(each.outcome == "failed" for each in choices):
            raise click.ClickException(f"the model gave no answer: {choice.why}")
    if as_json:
        by_language = {name: [each for each in choices if each.language == name] for name in ("en", "zh")}
        print_json(
            {
                "model": model,
                "figures": _figures(total(choices)),
                "languages": {name: _figures(total(each)) for name, each in by_language.items()},
                "choices": [dataclasses.asdict(each) for each in choices],
            }
        )
    else:
        for name, share in _shares(total(choices)):
            told = "nothing to count" if share.value is None else f"{share.value:6.1%}"
            click.echo(f"{name:<11}{told}  {share.count} of {share.of}")
    return 0


def _choices(
    home: Path | None, model: str | None, language: str | None, limit: int | None
) -> Iterator[Choice]:
    """One question after the other. Raises `ClickException` for a model that cannot be asked."""
    from assistant.core.errors import TurnRefused
    from assistant.turns.admission import uses_tools
    from bench.evals.tool_choice import case_set, check

    deps = _deps(home)
    try:
        chosen = deps.models.get(model)
        endpoint = deps.models.endpoint(chosen.name)
        if not uses_tools(deps.models, chosen):
            raise click.ClickException(f"{chosen.name} cannot use tools; choose another with --model")
        tools = [
            tool
            for tool in deps.agent.registry.list()
            if tool.name != "describe_frame" or (endpoint and endpoint.supports_vision)
        ]
        cases = [case for case in case_set().cases if language in (None, case.language)]
        for case in cases[:limit]:
            yield check(deps, tools, case, chosen.name)
    except TurnRefused as error:
        raise click.ClickException(str(error)) from error


def _deps(home: Path | None) -> Any:
    """What a turn works with, every tool there is among it: none is run, so none needs to be set up."""
    from assistant.core.models import ChatModels
    from assistant.core.query_embedder import QueryEmbedder
    from assistant.read_api.calls import ReadSources
    from assistant.tools.registry import AgentDeps, registry
    from assistant.turns.plan import TurnServices
    from store.core.times import now_ms
    from store.frames.media import Media

    here = open_home(home)
    database = open_database(here.data_dir)
    settings = here.settings
    library = ReadSources(
        database, Media(here.data_dir.media), settings, QueryEmbedder(settings.embedding, database), now_ms
    )
    whole = dataclasses.replace(
        settings.tools,
        read_file_roots=("/notes",),
        web_search=True,
        web_search_url="http://127.0.0.1:8888/search",
    )
    agent = AgentDeps(library, settings.tools, registry(whole))
    return TurnServices(database, ChatModels(settings.chat, data_dir=here.data_dir), now_ms, agent=agent)


def _print(choice: Choice, to_stderr: bool) -> None:
    why = f"  ({choice.why})" if choice.why else ""
    click.echo(f"{_MARKS[choice.outcome]:<3}{choice.id}  {choice.message}{why}", err=to_stderr)


def _shares(score: Score) -> Iterator[tuple[str, Share]]:
    for each in dataclasses.fields(score):
        yield each.name, getattr(score, each.name)


def _figures(score: Score) -> dict[str, Any]:
    return {
        name: {"count": share.count, "of": share.of, "share": share.value} for name, share in _shares(score)
    }
