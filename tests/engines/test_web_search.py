"""Searching the web against a real server: what leaves, what comes back, and every way to fail."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.chat.protocol import OutgoingRequest
from engines.web_search import MAX_BYTES, SearchFailed, WebHit, WebSearch, problem_of_endpoint
from tests.stub_search import Answer, StubSearch, dripping, raw, whole
from tests.tables import for_each

HIT = {"title": "Retention", "url": "https://example.org/a", "content": "Ninety days."}


@pytest.fixture
def stub() -> Iterator[StubSearch]:
    with StubSearch() as running:
        yield running


def found(stub: StubSearch, query: str = "retention policy", limit: int = 5) -> list[WebHit]:
    return WebSearch(stub.url).search(query, limit, timeout_s=60)


def test_only_the_words_leave_and_are_announced(stub: StubSearch) -> None:
    stub.finds(HIT)
    told: list[OutgoingRequest] = []
    hits = WebSearch(stub.url).search(" C++ & naïve\n时间 ", 5, timeout_s=60, on_send=told.append)
    assert hits == [WebHit("Retention", "https://example.org/a", "Ninety days.")]
    assert stub.requests == [
        b"GET /search?q=C%2B%2B+%26+na%C3%AFve+%E6%97%B6%E9%97%B4&format=json HTTP/1.1\r\n"
        b"Host: " + stub.host.encode() + b"\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n"
        b"User-Agent: Recollect\r\nConnection: close\r\n\r\n"
    ]
    assert [(each.url, each.body, each.is_local) for each in told] == [(stub.url, stub.requests[0], True)]


def test_what_cannot_be_announced_does_not_leave(stub: StubSearch) -> None:
    def refuse(sending: OutgoingRequest) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk"):
        WebSearch(stub.url).search("x", 5, timeout_s=60, on_send=refuse)
    assert stub.requests == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("", b"GET /?q=a+b&format=json HTTP/1.1"),
        ("/search?language=de", b"GET /search?language=de&q=a+b&format=json HTTP/1.1"),
        ("/find/{query}.json", b"GET /find/a+b.json HTTP/1.1"),
        ("/find?text={query}&n=5", b"GET /find?text=a+b&n=5 HTTP/1.1"),
    ],
)
def test_an_endpoint_may_have_a_place_for_the_query(stub: StubSearch, path: str, line: bytes) -> None:
    stub.finds(HIT)
    assert WebSearch(f"http://{stub.host}{path}").search("a b", 5, timeout_s=60)
    assert stub.requests[0].split(b"\r\n")[0] == line


@for_each(
    "url",
    [
        "", "searx.example/search", "ftp://searx.example/", "file:///etc/passwd", "http://", "http:///search",
        "http://user:pass@searx.example/", "http://searx.example/#{query}", "http://{query}.example/",
        "http://searx.example:{query}/", "http://searx.example:0/", "http://searx.example:x/",
        "http://bücher.example/", "http://searx.example/a b", "http://searx.example/?q={query} x",
        "http://searx.example/\r\nHost: evil", "http://searx.example/?q=\r\nX: y", "http://searx.example/{q}",
        "javascript:alert(1)", "http://searx.example/?a={query}{",
    ],
)  # fmt: skip
def test_other_addresses_are_refused(url: str) -> None:
    assert problem_of_endpoint(url)
    with pytest.raises(ValueError, match="the address"):
        WebSearch(url)


@given(st.text(max_size=300))
def test_no_query_leaves_its_place(query: str) -> None:
    """Whatever the words are, they stay one parameter of one request line."""
    request = WebSearch("http://searx.example/search").request(query)
    lines = request.split(b"\r\n")
    assert len(lines) == 8 and lines[1] == b"Host: searx.example"
    assert lines[0].startswith(b"GET /search?q=") and lines[0].endswith(b"&format=json HTTP/1.1")
    asked = lines[0].removeprefix(b"GET /search?q=").removesuffix(b"&format=json HTTP/1.1")
    assert not set(asked) & set(b" &=#?/\r\n\0")


def test_a_lone_surrogate_is_sent_as_a_mark() -> None:
    assert b"?q=%3F&" in WebSearch("http://searx.example/").request("\ud800")


def test_results_are_plain_cut_and_each_once(stub: StubSearch) -> None:
    stub.finds(
        {"title": "a\n\x07b\u202e" + "x" * 500, "url": "https://one.example/", "content": "y" * 5_000},
        {"title": "again", "url": "https://one.example/"},
        {"title": "no address"},
        {"title": "script", "url": "javascript:alert(1)"},
        {"title": "blank", "url": "https://two.example/ x"},
        {"title": "long", "url": "https://two.example/" + "x" * 500},
        {"title": 5, "url": "https://three.example/", "content": ["x"]},
        {"title": "four", "url": "https://four.example/"},
    )
    hits = found(stub, limit=2)
    assert [hit.url for hit in hits] == ["https://one.example/", "https://three.example/"]
    assert hits[0].title.startswith("a b xx") and len(hits[0].title) == 200 and len(hits[0].text) == 400
    assert (hits[1].title, hits[1].text) == ("", "")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (whole(b"<html>no</html>"), "malformed"),
        (whole(b"[1]"), "malformed"),
        (whole(b'{"results": {}}'), "malformed"),
        (whole(b"[" * 100_000), "malformed"),
        (whole(b"\xff\xfe\0"), "malformed"),
        (whole(b"", "302 Found", ["Location: http://169.254.169.254/latest"]), "redirected"),
        (whole(b"", "301 Moved", ["Location: /search2"]), "redirected"),
        (whole(b"slow down", "429 Too Many", ["Retry-After: 30"]), "rate_limited"),
        (whole(b"", "429 Too Many", ["Retry-After: soon"]), "rate_limited"),
        (whole(b"no json", "403 Forbidden"), "refused"),
        (whole(b"", "500 Oops"), "refused"),
        (whole(b"", "204 No Content"), "refused"),
        (whole(b" " * (MAX_BYTES + 1)), "too_large"),
        (raw(b""), "unreachable"),
        (raw(b"SSH-2.0-OpenSSH\r\n"), "unreachable"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"), "unreachable"),
        (raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n{}"), "unreachable"),
    ],
)
def test_what_goes_wrong_is_told(stub: StubSearch, answer: Answer, code: str) -> None:
    stub.answer = answer
    with pytest.raises(SearchFailed) as caught:
        found(stub)
    assert caught.value.code == code
    assert str(caught.value).endswith((".", "?")) and "169.254" not in str(caught.value)
    assert len(stub.requests) == 1, "a failure is not asked again, and nobody else is asked"


def test_a_refusal_of_json_names_the_setting(stub: StubSearch) -> None:
    stub.answer = whole(b"", "403 Forbidden")
    with pytest.raises(SearchFailed, match=r"search\.formats"):
        found(stub)


@pytest.mark.parametrize(
    "content", [b"", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 90_000, b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 90_000]
)
def test_who_never_ends_is_left_in_time(stub: StubSearch, content: bytes) -> None:
    """Who says nothing, and who always says a little more, in a header or after it."""
    stub.answer = dripping(content, 0.02, stub.is_over)
    with pytest.raises(SearchFailed) as caught:
        WebSearch(stub.url).search("x", 5, timeout_s=0.3)
    assert caught.value.code == "timeout"


def test_a_closed_port_is_told() -> None:
    with StubSearch() as stub:
        url = stub.url
    with pytest.raises(SearchFailed) as caught:
        WebSearch(url).search("x", 5, timeout_s=60)
    assert caught.value.code == "unreachable"


def test_no_proxy_gets_to_know(stub: StubSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    with StubSearch() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://{proxy.host}")
        stub.finds(HIT)
        assert found(stub)
        assert proxy.requests == []


def test_tls_is_wanted_where_the_address_says_so(stub: StubSearch) -> None:
    """Nothing readable is sent to who cannot prove its name."""
    stub.answer = raw(b"HTTP/1.1 200 OK\r\n\r\n{}")
    with pytest.raises(SearchFailed) as caught:
        WebSearch(stub.url.replace("http:", "https:")).search("secretword", 5, timeout_s=1)
    assert caught.value.code in ("unreachable", "timeout")
    assert all(b"secretword" not in request for request in stub.requests)


def test_json_with_more_around_it_is_read(stub: StubSearch) -> None:
    body = json.dumps({"results": [HIT], "answers": [], "unresponsive_engines": [["a", "b"]]}).encode()
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    stub.answer = raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked)
    assert [hit.title for hit in found(stub)] == ["Retention"]
