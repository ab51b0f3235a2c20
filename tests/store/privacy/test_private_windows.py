"""Which windows of which browsers are private, as titles, command lines and toolbars tell."""

from __future__ import annotations

from store.privacy.defaults import is_started_private, private_toolbar_words
from tests.tables import for_each


@for_each(
    ("app", "title", "command", "expected"),
    [
        ("Chromium", "News - Chromium", "chromium --no-sandbox --incognito", True),
        ("Google-chrome", "News", "chrome -incognito https://example.org", True),
        ("chrome.exe", "News", "chrome.exe /incognito", True),
        ("Brave-browser", "News - Brave", "brave --incognito=1", True),
        ("Opera", "News - Opera", "opera --private", True),
        ("Chromium", "News - Chromium", "chromium --private", False),  # a switch of another family
        ("Chromium", "News - Chromium", "chromium https://example.org/--incognito", False),
        ("Chromium", "News - Chromium", "chromium -- --incognito", False),  # an address
        ("Chromium", "News - Chromium", "--incognito", False),  # the program's own name
        ("Chromium", "News - Chromium", "", False),
        ("Microsoft-edge", "News - Microsoft Edge", "msedge --inprivate", True),
        ("firefox", "News — Mozilla Firefox", "firefox -private", True),
        ("firefox", "News — Mozilla Firefox", "firefox --private-window https://example.org", False),
        ("firefox", None, "firefox --private-window https://example.org", True),
        ("Code", "main.py", "code --incognito", False),
    ],
)
def test_a_command_line_that_opens_private_windows_only(
    app: str, title: str | None, command: str, expected: bool
) -> None:
    assert is_started_private(app, title, command.split()) is expected


def test_browsers_that_draw_their_private_windows_a_chip() -> None:
    assert "Incognito" in private_toolbar_words("chromium-browser") and "无痕模式" in private_toolbar_words(
        "Google Chrome"
    )
    assert "Private" in private_toolbar_words("Brave-browser")
    assert "Private" not in private_toolbar_words("Chromium")  # nor is a profile of that name
    assert not any("Guest" in private_toolbar_words(app) for app in ("Chromium", "Brave", "Microsoft Edge"))
    assert (
        private_toolbar_words("firefox") == private_toolbar_words("Code") == private_toolbar_words(None) == ()
    )
