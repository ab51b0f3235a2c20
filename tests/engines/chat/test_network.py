"""Which addresses are on this machine, which may be used, and what of them may be shown."""

from __future__ import annotations

from engines.chat.network import host_of, is_local, problem_of, public_url
from tests.tables import for_each


@for_each(
    ("url", "local"),
    [
        ("http://127.0.0.1:1234/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:8080", True),
        ("https://api.example/v1", False),
        ("http://192.168.1.5/v1", False),
        ("http://localhost.example/v1", False),
        ("http://evil.localhost/v1", False),
        ("http://127.0.0.1.example/v1", False),
        ("http://0.0.0.0:8000/v1", False),
        ("nonsense", False),
    ],
)
def test_local_means_this_machine(url: str, local: bool) -> None:
    assert is_local(url) is local


@for_each(
    "url",
    ["http://127.0.0.1:11434/v1", "https://api.example/v1", "http://[::1]:8080/v1", "HTTPS://API.example"],
)
def test_an_address_of_the_web_may_be_used(url: str) -> None:
    assert problem_of(url) == ""


@for_each(
    "url",
    [
        "", "api.example", "file:///etc/passwd", "ftp://api.example", "gopher://x", "javascript:alert(1)",
        "http://", "http://[::bad/v1", "http://host:99999/v1", "http://host:0/v1", "http://a b/v1",
        "http://host/v1\n", "https://user:pw@api.example/v1", "https://api.example/v1?key=1",
        "https://api.example/v1#x",
    ],
)  # fmt: skip
def test_any_other_address_is_refused(url: str) -> None:
    assert problem_of(url)


def test_a_secret_in_an_address_is_not_shown() -> None:
    assert public_url("https://user:pw@api.example:8443/v1?k=sk-3#f") == "https://api.example:8443/v1"
    assert host_of("https://user:pw@api.example:8443/v1?k=sk-3") == "api.example:8443"
    assert host_of("http://[::1]:8080/v1") == "[::1]:8080"
