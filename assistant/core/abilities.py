"""Finding out what a model can do: what its server says, and small questions for the rest.

A question says nothing of anybody's screen: a tool to call, a picture with a number on it, an object of
two fields. They are asked one after the other, for many a server answers one at a time; whether it follows a
schema only by a test, for the first answer shows that as well. That a model cannot do something is believed
only of an endpoint that answers: one that is down, busy or slow leaves it unknown, and is asked nothing more.
What was found is kept in the preferences by address and model, so that a restart asks no model again.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

from assistant.core.egress_log import SentLedger
from assistant.core.endpoints import Endpoint, opened
from assistant.formats.parsing import FORMATS, Parsed, parse_any, parse_message, tools_as_text
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
from engines.chat.servers import ListedModel, abilities_of, list_models
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

    @property
    def works(self) -> bool:
        """Whether it answered."""
        return any(step.name == "answer" and step.verdict == "ok" for step in self.steps)

    @property
    def is_complete(self) -> bool:
        """Whether it is known what the model can do; its first answer shows whether it follows a schema."""
        can = {step.name: step.verdict != "unknown" for step in self.steps}
        return self.error is None and can.get("tools", False) and can.get("vision", False)


def remembered(database: Database, endpoint: Endpoint) -> tuple[Abilities, str]:
    """What was found out of an endpoint before, and the model: where none is set, the one that answered."""
    kept = dict(get_preference(database, _key(endpoint), {}))
    model: str = kept.pop("model", endpoint.model)
    return Abilities(**kept), model


def remember(database: Database, endpoint: Endpoint, known: Endpoint) -> None:
    """Keep for later what is `known` of an endpoint as it is set."""
    set_preference(database, _key(endpoint), asdict(known.found) | {"model": known.model})


def forget(database: Database, endpoint: Endpoint) -> None:
    """Keep no more what was found out of an endpoint."""
    delete_preference(database, _key(endpoint))


def _key(endpoint: Endpoint) -> str:
    return f"abilities {public_url(endpoint.base_url)} {endpoint.model}"


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
    where, models = public_url(endpoint.base_url), tuple[ListedModel, ...]()
    try:
        models = list_models(endpoint.base_url, endpoint.api_key, timeout_s=min(LIST_TIMEOUT_S, timeout_s))
        words = _("%(address)s answers; models in its list: %(number)s", address=where, number=len(models))
    except _KEY_FAILS as error:
        answers = Step("address", "ok", _("%(address)s answers", address=where))
        return Report((answers, Step("key", "failed", error.detail)), error=error)
    except _ADDRESS_FAILS as error:
        return Report((Step("address", "failed", error.detail),), error=error)
    except ModelError as error:  # not every server lists its models
        words = _("%(address)s answers; it lists no models (%(error)s)", address=where, error=error.detail)
    answers = Step("address", "ok", words)
    first = models[0].id if models and endpoint.provider_id is None else ""
    model = endpoint.model or first
    if not model:
        return Report((answers, Step("model", "unknown", _("no model is chosen yet"))), models=models)
    found, of_model = remembered(database, endpoint)
    is_known = not forget and of_model == model
    endpoint = replace(endpoint, model=model, found=found if is_known else NOTHING_KNOWN)
    asked = partial(_asked, endpoint, database, clock, timeout_s)
    ledger = SentLedger(database, clock, endpoint, "test")
    report = _of_model(endpoint, models, asked, ledger, is_test=forget)
    return replace(report, steps=(answers, *report.steps), model=model, models=models)


def _of_model(
    endpoint: Endpoint,
    models: Sequence[ListedModel],
    asked: Callable[[_Probe], _Result],
    ledger: SentLedger,
    *,
    is_test: bool,
) -> Report:
    owner = models[0].owned_by if models else ""
    listed = next((each for each in models if each.id == endpoint.model), ListedModel(endpoint.model, owner))
    said = abilities_of(endpoint.base_url, listed, endpoint.api_key, on_send=ledger)
    ledger.finish("answered" if said.supports_vision is not None else "model_refused")
    known = endpoint.chosen.over(said).over(endpoint.found)
    unknown = [probe for probe in _PROBES[:-1] if getattr(known, probe.field) is None]
    if not unknown and endpoint.found != NOTHING_KNOWN:
        found = said.over(endpoint.found)
        return Report(tuple(_ability_steps(endpoint.chosen, said, found, {})), found)
    results, has_answered, shown = dict[_Probe, _Result](), False, NOTHING_KNOWN
    for probe in (*unknown, _SCHEMA_PROBE):
        # Whoever answers one is there, and what it refuses of the others cannot be done.
        if probe is _SCHEMA_PROBE and has_answered and not is_test:
            break
        results[probe] = result = asked(probe)
        has_answered |= result.error is None
        if result.error and not isinstance(result.error, _REFUSALS):
            break
    answer = [each for each in results.values() if each.error is None or not has_answered][-1]
    for probe, result in results.items():
        if has_answered and isinstance(result.error, _REFUSALS):
            shown = probe.refused.over(shown)
        shown = result.found.over(shown)
    found = said.over(shown).over(endpoint.found)
    steps = list(_answer_steps(endpoint, models, answer))
    if has_answered:
        steps += _ability_steps(endpoint.chosen, said, found, results)
    return Report(tuple(steps), found, error=answer.error)


# -- asking the model -------------------------------------------------------------------------

_Ask = Callable[..., Completion]
"""``(*messages, tools=…, schema=…)``: one request, noted before it leaves. Raises `ModelError`."""


@dataclass(frozen=True, slots=True)
class _Probe:
    """One small question for one ability, and its two answers in words."""

    name: StepName
    ask: Callable[[_Ask], Abilities]
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


def _asked(
    endpoint: Endpoint, database: Database, clock: Callable[[], int], timeout_s: float, probe: _Probe
) -> _Result:
    model, started_s, said = opened(endpoint, waits_s=()), time.monotonic(), ""
    ledger = SentLedger(database, clock, endpoint, "test")

    def ask(*messages: Message, **options: Any) -> Completion:
        nonlocal said
        completion, _ = ledger.complete(model, messages, timeout_s=timeout_s, **options)
        said = completion.text
        return completion

    try:
        found = probe.ask(ask)
    except ModelError as error:
        return _Result(error=error)
    if probe is _SCHEMA_PROBE and model.format_level:  # answered, but not held to the schema
        found = probe.refused
    return _Result(found, said, duration_ms=round((time.monotonic() - started_s) * 1000))


_TOOL = {
    "name": "note_word",
    "description": "Notes a word.",
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
}
_KNOWN_TOOLS: Mapping[str, Mapping[str, Any]] = {"note_word": _TOOL["parameters"]}  # type: ignore[dict-item]
CALL_IT = "Note the word blue: call the tool note_word."


def _calls_tools(ask: _Ask) -> Abilities:
    """A call that has to come back: as the endpoint's own, else as text in any format that is known."""
    asked = Message("user", CALL_IT)
    with suppress(*_REFUSALS):
        answer = ask(asked, tools=[_TOOL])
        if _is_called(parse_message({"tool_calls": answer.tool_calls}, _KNOWN_TOOLS)):
            return Abilities(supports_tools=True, tool_format="")
    answer = ask(Message("system", tools_as_text([_TOOL], FORMATS[0])), asked)
    parsed = parse_any(answer.text, FORMATS[0], _KNOWN_TOOLS)
    calls = _is_called(parsed)
    return Abilities(supports_tools=calls, tool_format=parsed.form if calls else None)


def _is_called(parsed: Parsed) -> bool:
    return any("blue" in str(call.arguments.get("word", "")).casefold() for call in parsed.calls)


NUMBER = "58"
LOOK = "Which number does the picture show? Answer with the number alone."


def _sees(ask: _Ask) -> Abilities:
    """A number that only the picture tells, large, black on white."""
    from PIL import Image, ImageDraw, ImageFont

    image, content = Image.new("L", (224, 224), 255), io.BytesIO()
    ImageDraw.Draw(image).text((112, 112), NUMBER, 0, ImageFont.load_default(140), anchor="mm")
    image.convert("RGB").save(content, "PNG", optimize=True)
    answer = ask(Message("user", LOOK, pictures=(Picture(content.getvalue(), "image/png"),)))
    return Abilities(supports_vision=NUMBER in answer.text)


_SCHEMA = object_schema(word={"type": "string"}, number={"type": "integer"})
FILL_IN = 'Answer with a JSON object and nothing else: {"word": "blue", "number": 7}'


def _follows_schema(ask: _Ask) -> Abilities:
    """An object of two fields; the plain answer of an endpoint that takes no schema is one, too."""
    try:
        document = json.loads(ask(Message("user", FILL_IN), schema=_SCHEMA).text)
    except (ValueError, RecursionError):
        return Abilities(supports_json_schema=False)
    kinds = {name: type(value) for name, value in document.items()} if isinstance(document, dict) else {}
    return Abilities(supports_json_schema=kinds == {"word": str, "number": int})


_SCHEMA_PROBE = _Probe(
    "json_schema",
    _follows_schema,
    N_("its answer follows a schema"),
    N_("it follows no schema; answers are checked all the same"),
)
_PROBES = (
    _Probe("tools", _calls_tools, N_("it calls tools"), N_("it calls no tools")),
    _Probe("vision", _sees, N_("it sees pictures"), N_("it sees no pictures")),
    _SCHEMA_PROBE,
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
