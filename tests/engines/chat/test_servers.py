"""Lists of models from real servers on loopback, and what is found there without being told."""

from __future__ import annotations

import socket
import threading
from urllib.parse import urlsplit

import pytest

from engines.chat.protocol import (
    ModelError,
    ModelMalformed,
    ModelNoKey,
    ModelRefused,
    ModelUnauthorized,
    ModelUnreachable,
)
from engines.chat.servers import OLLAMA_CONTEXT_TOKENS, ListedModel, find_servers, list_models
from tests.stub_model import StubModel
from tests.tables import for_each


def port_of(stub: StubModel) -> int:
    port = urlsplit(stub.base_url).port
    assert port is not None
    return port


def test_models_come_in_the_endpoints_order_with_the_window_it_tells() -> None:
    listed = (
        {"id": "b", "owned_by": "vllm", "max_model_len": 16_384},
        {"id": "a", "context_length": 8_192},
        {"id": "c", "owned_by": 7, "context_window": "big"},
        {"name": "no id"},
        "nonsense",
    )
    with StubModel(models=listed) as stub:  # type: ignore[arg-type]
        assert list_models(stub.base_url) == (
            ListedModel("b", "vllm", 16_384), ListedModel("a", "", 8_192), ListedModel("c"),
        )  # fmt: skip


def test_the_key_is_sent_and_a_wrong_or_missing_one_is_told_apart() -> None:
    with StubModel(key="sk-right") as stub:
        assert list_models(f"{stub.base_url}/", "sk-right")[0].id == "stub"
        with pytest.raises(ModelUnauthorized) as caught:
            list_models(stub.base_url, "sk-wrong")
        assert "sk-wrong" not in caught.value.detail
        with pytest.raises(ModelNoKey):
            list_models(stub.base_url)


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with StubModel() as elsewhere, Raw(_redirect(elsewhere.base_url)) as url:
        with pytest.raises(ModelRefused, match="not followed"):
            list_models(url, "sk-secret")
        assert elsewhere.listed == []


@for_each("body", [b"<html>", b"[]", b"{}", b'{"data": 1}', b"[" * 100_000])
def test_what_is_no_list_is_malformed(body: bytes) -> None:
    with Raw(_ok(body)) as url, pytest.raises(ModelMalformed):
        list_models(url)


def test_what_is_no_http_is_unreachable() -> None:
    with Raw(b"SSH-2.0-OpenSSH_9.9\r\n") as url, pytest.raises(ModelUnreachable):
        list_models(url)


@for_each("url", ["file:///etc", "ftp://127.0.0.1/v1", "http://u:p@127.0.0.1/v1", "no address"])
def test_only_the_web_is_asked(url: str) -> None:
    with pytest.raises(ModelRefused):
        list_models(url)


def test_this_machine_is_asked_without_a_detour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with StubModel() as stub:
        assert list_models(stub.base_url)


@for_each(
    ("owner", "kind", "window"),
    [
        ("library", "Ollama", OLLAMA_CONTEXT_TOKENS),
        ("vllm", "vLLM", None),
        ("llamacpp", "llama.cpp server", None),
        ("somebody", "Model server", None),
    ],
)
def test_a_server_on_this_machine_is_found_and_named_by_its_own_word(
    owner: str, kind: str, window: int | None
) -> None:
    with StubModel(models=({"id": "qwen3:8b", "owned_by": owner},), key=None) as stub:
        (found,) = find_servers([port_of(stub)])
        assert (found.kind, found.base_url) == (kind, stub.base_url)
        assert found.models == (ListedModel("qwen3:8b", owner, window),)
        assert all("authorization" not in headers for headers in stub.listed)


def test_what_is_no_model_server_is_not_offered() -> None:
    with Raw(_ok(b"<html>It works!</html>")) as url, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        other = urlsplit(url).port
        assert other is not None
        assert find_servers([other, closed.getsockname()[1]]) == []


def test_errors_of_the_list_are_of_the_one_tree() -> None:
    with Raw(b"HTTP/1.1 418 Teapot\r\ncontent-length: 0\r\n\r\n") as url, pytest.raises(ModelError):
        list_models(url)


def _ok(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


def _redirect(location: str) -> bytes:
    return b"HTTP/1.1 302 Found\r\nlocation: %s/models\r\ncontent-length: 0\r\n\r\n" % location.encode()


class Raw:
    """A socket that answers the first request with these bytes."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> str:
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(5)
            connection.recv(65_536)
            connection.sendall(self._answer)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass
