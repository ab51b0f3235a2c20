from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingest.reading import urls
from tests.tables import for_each


@for_each(
    ("text", "expected"),
    [
        ("see https://example.com/a/b?c=d#e.", ["https://example.com/a/b?c=d"]),
        ("HTTPS://Example.COM", ["https://example.com/"]),
        ("http://example.com:80/ and http://example.com/", ["http://example.com/"]),
        ("https://example.com:8443/x", ["https://example.com:8443/x"]),
        ("www.example.org/path,", ["https://www.example.org/path"]),
        ("(https://en.wikipedia.org/wiki/Bee_(insect))", ["https://en.wikipedia.org/wiki/Bee_(insect)"]),
        ("请看https://example.cn/文档。谢谢", ["https://example.cn/"]),
        ("打开 https://example.cn/a，然后", ["https://example.cn/a"]),
        ("http://127.0.0.1:8420/timeline", ["http://127.0.0.1:8420/timeline"]),
        ("http://localhost:3000", ["http://localhost:3000/"]),
        ("https://user:secret@example.com/", ["https://example.com/"]),
        ("two https://a.com/1 https://b.com/2", ["https://a.com/1", "https://b.com/2"]),
        ("https://example.com/very/long/pa…", []),
        ("https://example.com/very/long/pa...", []),
        ("https://exa mple", []),
        ("https://", []),
        ("http://nodots/path", []),
        ("https://999.1.1.1/", []),
        ("https://example.com:99999/", []),
        ("https://[::broken", []),
        ("not a link: example.com", []),
        ("mail me@www.example.com", []),
    ],
)
def test_addresses_in_text(text: str, expected: list[str]) -> None:
    assert urls.urls_in_text([text]) == expected


@given(st.text())
def test_any_text_is_survived_and_what_is_found_is_already_normal(text: str) -> None:
    for url in urls.urls_in_text([text, f"https://example.com/{text}"]):
        assert urls.normalise(url) == url


def test_a_page_full_of_links_keeps_a_bounded_number() -> None:
    assert len(urls.urls_in_text(f"https://example.com/{n}" for n in range(1000))) == urls.MAX_URLS
