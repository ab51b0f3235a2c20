"""Which windows of which browsers are private, as titles and command lines tell."""

from __future__ import annotations

from store.privacy.defaults import started_private
from tests.tables import for_each


@for_each(
    ("app", "title", "command", "expected"),
    [
        ("Chromium", "News - Chromium", "chromium --no-sandbox --incognito", True),
        ("Google-chrome", "News", "chrome -incognito https://example.org", True),
        ("chrome.exe", "News", "chrome.exe /incognito", True),
        ("Brave-browser", "News - Brave", "brave --incognito=1", True),
        ("Opera", "News - Opera", "opera --private", True),
        ("Chromium", "News - Chromium", "chromium --private", None),  # a switch of another family
        ("Chromium", "News - Chromium", "chromium https://example.org/--incognito", None),
        ("Chromium", "News - Chromium", "chromium -- --incognito", None),  # an address
        ("Chromium", "News - Chromium", "--incognito", None),  # the program's own name
        ("Chromium", "News - Chromium", "", None),
        ("Microsoft-edge", "News - Microsoft Edge", "msedge --inprivate", True),
        ("firefox", "News — Mozilla Firefox", "firefox -private", True),
        ("firefox", "News — Mozilla Firefox", "firefox --private-window https://example.org", None),
        ("firefox", None, "firefox --private-window https://example.org", True),
        ("Code", "main.py", "code --incognito", None),
        ("org.gnome.Epiphany", "News", "epiphany --incognito-mode", True),
        ("org.gnome.Epiphany", "News", "epiphany", False),  # private windows have a process of their own
        ("org.gnome.Epiphany", "News", "", None),
    ],
)
def test_what_a_command_line_tells(app: str, title: str | None, command: str, expected: bool | None) -> None:
    assert started_private(app, title, command.split()) is expected
