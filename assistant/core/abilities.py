"""Finding out what a model can do: what its server says, and small questions for the rest.

A question says nothing of anybody's screen: a tool to call, a picture with a number on it, an object of
two fields. That a model cannot do something is believed only of an endpoint that answers: one that is
down, busy or slow leaves it unknown. What was found is kept in the preferences by address and model,
so that a restart asks no model again.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import Any, Literal

from assistant.core.egress_log import SentLedger
from assistant.core.endpoints import Endpoint, opened
from assistant.formats.parsing import FORMATS, Parsed, parse, parse_message, tools_as_text
from engines.chat.client import short
from engines.chat.network import public_url
from engines.chat.protocol import (
    NOTHING_KNOWN,
    Abilities,
    Completion,
    Message,
    ModelError,
    ModelFailed,
    ModelMalformed,
    ModelNoKey,
    ModelRefused,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnreachable,
    Picture,
    object_schema,
)
from engines.chat.servers import ListedModel, list_models, told
from store.core.database import Database
from store.core.preferences import delete_preference, get_preference, set_preference
from store.core.translation import N_
from store.core.translation import gettext as _

LIST_TIMEOUT_S = 5.0

Verdict = Literal["ok", "failed", "unknown"]
StepName = Literal["address", "key", "model", "answer", "tools", "vision", "json_schema", "window"]

_ADDRESS_FAILS = (ModelUnreachable, ModelTimeout)
_KEY_FAILS = (ModelNoKey, ModelUnauthorized)
_REFUSALS = (ModelRefused, ModelFailed, ModelMalformed)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried. `detail` is a sentence for a person, of the endpoint where it failed."""

    name: StepName
    verdict: Verdict
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """The steps in order, and what was found. `error` is what kept it from answering; `models` are those
    that the endpoint lists, `model` the one that was asked.
    """

    steps: tuple[Step, ...]
    found: Abilities = NOTHING_KNOWN
    model: str = ""
    models: tuple[ListedModel, ...] = ()
    error: ModelError | None = None
    duration_ms: int | None = None

    @property
    def works(self) -> bool:
        """Whether it answered."""
        return any(step.name == "answer" and step.verdict == "ok" for step in self.steps)

    @property
    def is_complete(self) -> bool:
        """Whether it is known what the model can do; a server may never tell its window."""
        unknown = (step for step in self.steps if step.verdict == "unknown" and step.name != "window")
        return self.error is None and not any(unknown)


def remembered(database: Database, endpoint: Endpoint) -> Endpoint:
    """The endpoint with what was found out of it before."""
    kept = get_preference(database, _key(endpoint), {})
    return replace(endpoint, found=Abilities(**kept))


def remember(database: Database, endpoint: Endpoint) -> None:
    """Keep what was found out of an endpoint for later."""
    set_preference(database, _key(endpoint), asdict(endpoint.found))


def remember_first(database: Database, endpoint: Endpoint) -> None:
    """Keep which model answers at an address where none is set."""
    set_preference(database, _first_key(endpoint), endpoint.model)


def first_model(database: Database, endpoint: Endpoint) -> str:
    """The model that answered at an address where none is set; "" for none yet."""
    kept: str = get_preference(database, _first_key(endpoint), "")
    return kept


def forget(database: Database, endpoint: Endpoint) -> None:
    """Keep no more what was found out of an endpoint."""
    delete_preference(database, _key(endpoint))
    delete_preference(database, _first_key(endpoint))


def _key(endpoint: Endpoint) -> str:
    return f"abilities {public_url(endpoint.base_url)} {endpoint.model}"


def _first_key(endpoint: Endpoint) -> str:
    return f"model at {public_url(endpoint.base_url)}"


def find_out(
    endpoint: Endpoint,
    database: Database,
    clock: Callable[[], int],
    timeout_s: float,
    *,
    forget: bool = False,
) -> Report:
    """What of an endpoint works, and what its model can do. `timeout_s` bounds each answer.

    What is remembered is not asked again unless to `forget`. Without a model it goes as far as that
    goes. Raises `StoreError` when a request cannot be noted.
    """
    where = public_url(endpoint.base_url)
    try:
        models = list_models(endpoint.base_url, endpoint.api_key, timeout_s=min(LIST_TIMEOUT_S, timeout_s))
        answers = Step(
            "address",
            "ok",
            _("%(address)s answers and lists %(number)s models", address=where, number=len(models)),
        )
    except _KEY_FAILS as error:
        answers = Step("address", "ok", _("%(address)s answers", address=where))
        return Report((answers, Step("key", "failed", error.detail)), error=error)
    except _ADDRESS_FAILS as error:
        return Report((Step("address", "failed", error.detail),), error=error)
    except ModelError as error:  # not every server lists its models
        models = ()
        answers = Step(
            "address",
            "ok",
            _("%(address)s answers; it lists no models (%(error)s)", address=where, error=error.detail),
        )
    if not endpoint.model and endpoint.provider_id is None and models:
        endpoint = replace(endpoint, model=models[0].id)
    if not endpoint.model:
        return Report((answers, Step("model", "unknown", _("no model is chosen yet"))), models=models)
    endpoint = replace(endpoint, found=NOTHING_KNOWN) if forget else remembered(database, endpoint)
    asked = partial(_asked, endpoint, database, clock, timeout_s)
    report = _of_model(endpoint, models, asked, SentLedger(database, clock, endpoint, "test"))
    return replace(report, steps=(answers, *report.steps), model=endpoint.model, models=models)


def _of_model(
    endpoint: Endpoint,
    models: Sequence[ListedModel],
    asked: Callable[[_Probe], _Result],
    ledger: SentLedger,
) -> Report:
    owner = models[0].owned_by if models else ""
    listed = next((each for each in models if each.id == endpoint.model), ListedModel(endpoint.model, owner))
    said = told(endpoint.base_url, listed, endpoint.api_key, on_send=ledger)
    ledger.finish("answered" if said.supports_vision is not None else "model_refused")
    known = endpoint.chosen.over(said).over(endpoint.found)
    unknown = [probe for probe in _PROBES if getattr(known, probe.field) is None]
    if not unknown and endpoint.found != NOTHING_KNOWN:
        found = said.over(endpoint.found)
        return Report(tuple(_ability_steps(endpoint.chosen, said, found, {})), found)
    # The last is always asked: whoever answers that is there, and what it refuses beside it cannot be done.
    results = _all_of(dict.fromkeys([*unknown, _PROBES[-1]]), asked)
    answer = results[_PROBES[-1]]
    found = said.over(_shown(results)).over(endpoint.found)
    steps = list(_answer_steps(endpoint, models, answer))
    if answer.error is None:
        steps += _ability_steps(endpoint.chosen, said, found, results)
    return Report(tuple(steps), found, error=answer.error, duration_ms=answer.duration_ms)


# -- asking the model -------------------------------------------------------------------------

_Ask = Callable[..., Completion]
"""``(*messages, tools=…, schema=…)``: one request, noted before it leaves. Raises `ModelError`."""


@dataclass(frozen=True, slots=True)
class _Probe:
    """One small question for one ability, and its two answers in words."""

    name: StepName
    ask: Callable[[_Ask], tuple[Abilities, str]]
    can: str
    cannot: str

    @property
    def field(self) -> str:
        return f"supports_{self.name}"

    @property
    def refused(self) -> Abilities:
        """What is shown by a refusal."""
        return Abilities(**{self.field: False})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Result:
    """What one small question came to."""

    found: Abilities = NOTHING_KNOWN
    text: str = ""
    error: ModelError | None = None
    duration_ms: int | None = None


def _all_of(probes: Collection[_Probe], asked: Callable[[_Probe], _Result]) -> dict[_Probe, _Result]:
    """All at once, so that it takes no longer than the slowest."""
    with ThreadPoolExecutor(len(probes), "abilities") as pool:
        under_way = {probe: pool.submit(copy_context().run, asked, probe) for probe in probes}
        return {probe: each.result() for probe, each in under_way.items()}


def _asked(
    endpoint: Endpoint, database: Database, clock: Callable[[], int], timeout_s: float, probe: _Probe
) -> _Result:
    model, started_s = opened(endpoint, waits_s=()), time.monotonic()
    ledger = SentLedger(database, clock, endpoint, "test")

    def ask(*messages: Message, **options: Any) -> Completion:
        return ledger.complete(model, messages, timeout_s=timeout_s, **options)[0]

    try:
        found, text = probe.ask(ask)
    except ModelError as error:
        return _Result(error=error)
    finally:
        database.close_thread()
    if probe is _PROBES[-1] and model.format_level:  # answered, but not held to the schema
        found = probe.refused
    return _Result(found, text, duration_ms=round((time.monotonic() - started_s) * 1000))


def _shown(results: Mapping[_Probe, _Result]) -> Abilities:
    """What the answers show. A refusal shows something where the endpoint answers at all."""
    shown, answers = NOTHING_KNOWN, results[_PROBES[-1]].error is None
    for probe, result in results.items():
        if answers and isinstance(result.error, _REFUSALS):
            shown = probe.refused.over(shown)
        shown = result.found.over(shown)
    return shown


_TOOL = {
    "name": "note_word",
    "description": "Notes a word.",
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
}
_KNOWN_TOOLS: Mapping[str, Mapping[str, Any]] = {"note_word": _TOOL["parameters"]}  # type: ignore[dict-item]
CALL_IT = "Note the word blue: call the tool note_word."


def _calls_tools(ask: _Ask) -> tuple[Abilities, str]:
    """A call that has to come back: as the endpoint's own, else as text in any format that is known."""
    asked = Message("user", CALL_IT)
    with suppress(*_REFUSALS):
        answer = ask(asked, tools=[_TOOL])
        if _is_called(parse_message({"tool_calls": answer.tool_calls}, _KNOWN_TOOLS)):
            return Abilities(supports_tools=True, tool_format=""), ""
    answer = ask(Message("system", tools_as_text([_TOOL], FORMATS[0])), asked)
    forms = (form for form in FORMATS if _is_called(parse(answer.text, form, _KNOWN_TOOLS)))
    form = next(forms, None)
    return Abilities(supports_tools=form is not None, tool_format=form), answer.text


def _is_called(parsed: Parsed) -> bool:
    return any("blue" in str(call.arguments.get("word", "")).casefold() for call in parsed.calls)


NUMBER = "58"
LOOK = "Which number does the picture show? Answer with the number alone."


def _sees(ask: _Ask) -> tuple[Abilities, str]:
    """A number that only the picture tells."""
    answer = ask(Message("user", LOOK, pictures=(_picture(),)))
    return Abilities(supports_vision=NUMBER in answer.text), answer.text


@cache
def _picture() -> Picture:
    """The number, large, black on white."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("L", (224, 224), 255)
    ImageDraw.Draw(image).text((112, 112), NUMBER, 0, ImageFont.load_default(140), anchor="mm")
    content = io.BytesIO()
    image.convert("RGB").save(content, "PNG", optimize=True)
    return Picture(content.getvalue(), "image/png")


_SCHEMA = object_schema(word={"type": "string"}, number={"type": "integer"})
FILL_IN = 'Answer with a JSON object and nothing else: {"word": "blue", "number": 7}'


def _follows_schema(ask: _Ask) -> tuple[Abilities, str]:
    """An object of two fields; the plain answer of an endpoint that takes no schema is one, too."""
    answer = ask(Message("user", FILL_IN), schema=_SCHEMA)
    return Abilities(supports_json_schema=_fits(answer.text)), answer.text


def _fits(text: str) -> bool:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    kinds = {name: type(value) for name, value in document.items()} if isinstance(document, dict) else {}
    return kinds == {"word": str, "number": int}


_PROBES = (
    _Probe("tools", _calls_tools, N_("it calls tools"), N_("it calls no tools")),
    _Probe("vision", _sees, N_("it sees pictures"), N_("it sees no pictures")),
    _Probe(
        "json_schema",
        _follows_schema,
        N_("its answer follows a schema"),
        N_("it follows no schema; answers are checked all the same"),
    ),
)


# -- telling a person -------------------------------------------------------------------------


def _answer_steps(endpoint: Endpoint, models: Sequence[ListedModel], answer: _Result) -> Iterator[Step]:
    """Whether the key, the model and the answer were what was wanted."""
    error = answer.error
    if isinstance(error, _KEY_FAILS):
        yield Step("key", "failed", error.detail)
        return
    yield Step("key", "ok", _("accepted") if endpoint.api_key else _("none is set, none was asked for"))
    if error is None:
        took_s, said = (answer.duration_ms or 0) / 1000, short(answer.text)[:80]
        yield Step("model", "ok", _("%(model)s is there", model=endpoint.model))
        words = _("answered in %(seconds)s s: %(answer)s", seconds=f"{took_s:.1f}", answer=said)
        yield Step("answer", "ok", words)
    elif models and all(listed.id != endpoint.model for listed in models):
        words = _("%(model)s is not in its list (%(error)s)", model=endpoint.model, error=error.detail)
        yield Step("model", "failed", words)
    else:
        yield Step("answer", "failed", error.detail)


def _ability_steps(
    chosen: Abilities, said: Abilities, found: Abilities, results: Mapping[_Probe, _Result]
) -> Iterator[Step]:
    """Each ability with how it is known."""
    known = chosen.over(found)

    def how(words: str, field: str, error: ModelError | None = None) -> str:
        if getattr(chosen, field) is not None:
            return _("%(ability)s, as you set it", ability=words)
        if getattr(said, field) is not None:
            return _("%(ability)s (reported by the server)", ability=words)
        return f"{words} ({error.detail})" if error else words

    for probe in _PROBES:
        can, error = getattr(known, probe.field), results.get(probe, _Result()).error
        if can is None:
            yield Step(probe.name, "unknown", error.detail if error else _("unknown"))
            continue
        words = _(probe.can if can else probe.cannot)
        if can and probe.name == "tools" and known.tool_format:
            words = _("it writes its calls as text (%(format)s)", format=known.tool_format)
        yield Step(probe.name, "ok" if can else "failed", how(words, probe.field, error))
    if known.context_tokens:
        tokens = _("%(number)s tokens", number=f"{known.context_tokens:,}")
        yield Step("window", "ok", how(tokens, "context_tokens"))
    else:
        yield Step("window", "unknown", _("not reported by the server"))
