"""Rules and decisions about windows."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.paths import DataDir
from store.core.settings import PrivacySettings
from store.privacy import rules
from store.privacy.defaults import PASSWORD_MANAGERS, private_state
from store.privacy.rules import (
    OwnChoices,
    Rule,
    RuleInvalid,
    RuleSet,
    WindowFacts,
    as_document,
    load_rules,
    own_choices,
    save_choices,
    validate,
)
from tests.factories import save_rules
from tests.tables import for_each

PLAIN = WindowFacts("XTerm", "shell")


def decide(window: WindowFacts, *rules: Rule, defaults: bool = False) -> tuple[str, str]:
    decision = RuleSet(rules, defaults).decide(window)
    return decision.action, decision.reason


@for_each(
    ("pattern", "match", "name", "fits"),
    [
        ("KeePassXC", "auto", "KeePassXC", True),
        ("keepassxc", "auto", "KeePassXC", True),
        ("KeePassXC", "auto", "KeePassXC.exe", True),
        ("1Password", "auto", "1Password.app", True),
        ("Proton Pass", "auto", "proton-pass", True),
        ("KeePassXC", "auto", "org.keepassxc.KeePassXC", True),
        ("KeePass", "auto", "KeePassXC", False),
        ("bit", "auto", "Rabbit", False),
        ("bit", "contains", "Rabbit", False),
        ("bit", "contains", "My bit editor", True),
        ("bit", "exact", "bit editor", False),
        ("^kee", "regex", "KeePassXC", True),
        ("^notes{e}", "regex", "Notepad", False),
        (r"^\N{EM DASH}{2}x", "regex", "——X", True),
        ("^(a|a)*$", "regex", f"{'a' * 300} b", True),  # undecided for hours: left out
        ("Code", "auto", None, False),
    ],
)
def test_an_app_is_compared_by_its_whole_name(pattern: str, match: str, name: str | None, fits: bool) -> None:
    """`bit` does not match `Rabbit`."""
    [rule] = validate([{"app": pattern, "match": match}])
    assert rule.fits(WindowFacts(name, "title")) is fits


@for_each(
    ("pattern", "match", "title", "fits"),
    [
        ("bank", "auto", "My Bank - Firefox", True),
        ("bank", "auto", "Riverbanks", False),
        ("online banking", "contains", "Online Banking | Home", True),
        ("C++", "auto", "Learn C++ today", True),
        ("银行", "auto", "招商银行 - Chromium", True),
        ("bank", "exact", "Bank", True),
        ("bank", "exact", "My bank", False),
        (r"secret-\d+", "regex", "the SECRET-12 file", True),
        ("bank", "auto", None, False),
        ("bank", "auto", "", False),
    ],
)
def test_a_title_is_compared_by_whole_words(pattern: str, match: str, title: str | None, fits: bool) -> None:
    [rule] = validate([{"title": pattern, "match": match}])
    assert rule.fits(WindowFacts("Firefox", title)) is fits


@for_each(
    ("pattern", "match", "url", "fits"),
    [
        ("chase.com", "auto", "https://chase.com/login", True),
        ("chase.com", "auto", "https://www.chase.com", True),
        ("chase.com", "auto", "https://WWW.Chase.COM.:443/a?b#c", True),
        ("https://chase.com/", "auto", "https://chase.com/login", True),
        ("*.chase.com", "auto", "https://my.chase.com", True),
        ("chase.com", "auto", "https://purchase.com/", False),
        ("chase.com", "contains", "https://purchase.com/", False),
        ("chase.com", "auto", "https://evil.com/?u=chase.com", False),
        ("chase.com", "auto", "https://chase.com@evil.com/", False),
        ("chase.com", "auto", "https://chase.com.evil.com/", False),
        ("example.com/me", "auto", "https://example.com/me/inbox", True),
        ("example.com/me", "auto", "https://example.com/menu", False),
        ("example.com/me", "auto", "https://example.com/%6De", True),
        ("example.com/me", "exact", "https://example.com/me/inbox", False),
        ("bücher.example", "auto", "https://xn--bcher-kva.example/", True),
        ("secret", "regex", "https://a.example/secret/1", True),
        ("chase.com", "auto", "about:blank", False),
    ],
)
def test_a_site_is_compared_by_host_and_path(pattern: str, match: str, url: str, fits: bool) -> None:
    """`chase.com` does not match `purchase.com`."""
    [rule] = validate([{"url": pattern, "match": match}])
    assert rule.fits(WindowFacts("Chromium", "t", url)) is fits


def test_a_regular_expression_is_given_up_for_its_own_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """While other threads use up the limit it goes on; what does not fit anyway need not be told in time."""
    rule, window = Rule(title="^(a|a)*$", match="regex"), WindowFacts("App", f"{'a' * 14} b", "a.example")
    endless = replace(window, window_name=f"{'a' * 300} b")
    assert (rule.known_fit(endless), replace(rule, url="^b").known_fit(endless)) == (None, False)
    monkeypatch.setattr(rules, "_SEARCH_S", 1e-6)
    assert rule.known_fit(window) is None
    monkeypatch.setattr(rules, "thread_time", lambda: 0.0)
    assert rule.known_fit(window) is False


def test_all_parts_of_a_rule_must_fit() -> None:
    rule = Rule(app="Chromium", title="inbox")
    assert rule.fits(WindowFacts("Chromium", "Inbox (3)"))
    assert not rule.fits(WindowFacts("Chromium", "News"))
    assert not rule.fits(WindowFacts("Thunderbird", "Inbox (3)"))


@for_each("name", PASSWORD_MANAGERS)
def test_password_managers_are_left_out_from_the_start(name: str) -> None:
    """They need not have been seen before."""
    assert decide(WindowFacts(name, "Vault"), defaults=True) == ("drop", "rule:app")
    assert decide(WindowFacts(name, "Vault"), defaults=False) == ("keep", "")


PRIVATE_TABLE = [
    ("Firefox", "News — Mozilla Firefox", None, "not_private"),
    ("Firefox", "Mozilla Firefox", None, "unknown"),  # a private window, too, in its first moments
    ("firefox-esr", "News — Mozilla Firefox Private Browsing", None, "private"),
    ("Firefox", "Mozilla Firefox Private Browsing", None, "private"),
    ("firefox", "新闻 — Mozilla Firefox 隐私浏览", None, "private"),
    ("Firefox", "Privates Surfen – Mozilla Firefox Privater Modus", None, "private"),
    ("Firefox", "How private browsing works — Mozilla Firefox", None, "not_private"),
    ("Firefox", None, None, "unknown"),
    ("msedge", "Start - [InPrivate] - Microsoft Edge", None, "private"),
    ("Microsoft Edge", "News - Personal - Microsoft​ Edge", None, "not_private"),
    ("Google Chrome", "New Incognito Tab - Google Chrome", None, "private"),
    ("Google Chrome", "News - Google Chrome", None, "unknown"),  # it does not say (SP #6198)
    ("Google Chrome", "News - Google Chrome", True, "private"),
    ("Google Chrome", "News - Google Chrome", False, "not_private"),
    ("Chromium", "News - Chromium (Incognito)", None, "private"),
    ("Brave Browser", "New Private Tab - Brave", None, "private"),
    ("Safari", "Private Browsing — Start Page", None, "private"),
    ("Tor Browser", "anything", None, "private"),
    ("XTerm", "Private Browsing", None, "not_a_browser"),
    (None, "Private Browsing", None, "not_a_browser"),
]


@for_each(("app", "title", "incognito", "expected"), PRIVATE_TABLE)
def test_private_windows_by_browser_and_title(
    app: str | None, title: str | None, incognito: bool | None, expected: str
) -> None:
    """The table is the test."""
    assert private_state(app, title, incognito) == expected


def test_a_window_that_is_described_by_its_address_is_an_ordinary_one() -> None:
    """The extension tells addresses, of ordinary windows only: its toolbar is no question then."""
    rules = RuleSet(rules=(Rule(url="bank.example"),))
    chromium = partial(WindowFacts.described, "Chromium", "To do")
    assert rules.decide_on_screen(chromium("https://a.example/todo.html", None)).action == "keep"
    assert rules.decide_on_screen(chromium("https://bank.example/todo.html", None)).reason == "rule:url"
    assert rules.decide_on_screen(chromium("https://a.example/", True)).reason == "private_window"
    assert rules.decide_on_screen(chromium(None, None)).reason == "unknown_address"


def test_a_private_window_is_dropped_and_the_extension_counts_first() -> None:
    assert decide(WindowFacts("Firefox", "x — Mozilla Firefox Private Browsing"), defaults=True) == (
        "drop",
        "private_window",
    )
    spoken_for = WindowFacts("Firefox", "x — Mozilla Firefox Private Browsing", incognito=False)
    assert decide(spoken_for, defaults=True) == ("keep", "")


@for_each(
    ("window", "rules", "defaults", "expected"),
    [
        (WindowFacts(None), (), True, ("mask", "unknown_window")),
        (WindowFacts(""), (), True, ("mask", "unknown_window")),
        (WindowFacts(None), (Rule(app="a"),), False, ("mask", "unknown_window")),
        (WindowFacts(None), (), False, ("keep", "")),
        (WindowFacts("Google Chrome", None), (), True, ("mask", "unknown_window")),  # a pop-up, SP #2167
        (WindowFacts("Chromium", "News"), (Rule(url="chase.com"),), False, ("mask", "unknown_address")),
        (WindowFacts("XTerm", "shell"), (Rule(url="chase.com"),), False, ("keep", "")),
        (WindowFacts("Chromium", "News", "https://a.example"), (Rule(url="b.example"),), False, ("keep", "")),
        (WindowFacts("Chromium", "News"), (Rule(url="b.example", app="Edge"),), False, ("keep", "")),
        (WindowFacts("Signal", "Chats", wants_no_capture=True), (), True, ("mask", "asked_not_to")),
        (PLAIN, (), True, ("keep", "")),
    ],
)
def test_what_is_not_known_is_left_out_while_a_rule_exists(
    window: WindowFacts, rules: tuple[Rule, ...], defaults: bool, expected: tuple[str, str]
) -> None:
    assert decide(window, *rules, defaults=defaults) == expected


def test_the_strictest_rule_wins() -> None:
    """Exclusion always wins."""
    masked, dropped = Rule(app="XTerm", action="mask"), Rule(title="shell")
    assert decide(PLAIN, masked, dropped) == ("drop", "rule:title")
    assert decide(PLAIN, dropped, masked) == ("drop", "rule:title")
    assert decide(PLAIN, masked) == ("mask", "rule:app")


def test_reasons_and_documents_name_the_kind_of_rule_only() -> None:
    """The ledger never learns what was left out."""
    decision = RuleSet((Rule(title="diary", url="a.example"),)).decide(
        WindowFacts("Chromium", "My diary", "https://a.example/1")
    )
    assert decision.reason == "rule:url"
    assert "diary" in decision.detail  # for the person who asks, not for the ledger


@for_each(
    ("document", "field"),
    [
        ({}, "rule"),
        ({"app": ""}, "rule"),
        ({"app": "  "}, "app"),
        ({"app": 3}, "app"),
        ({"name": "x", "app": "y"}, "name"),
        ({"app": "x", "action": "blur"}, "action"),
        ({"app": "x", "match": "glob"}, "match"),
        ({"title": "(", "match": "regex"}, "title"),
        ({"title": "x" * 501}, "title"),
        ({"url": "http://"}, "url"),
        ({"app": "--"}, "app"),
        ("KeePassXC", "rule"),
    ],
)
def test_a_rule_that_could_not_work_is_refused(document: object, field: str) -> None:
    """Nothing is accepted and never applied."""
    with pytest.raises(RuleInvalid) as caught:
        validate([{"app": "fine"}, document])  # type: ignore[list-item]
    assert [(index, name) for index, name, _ in caught.value.errors] == [(1, field)]


def test_saved_rules_are_loaded_beside_the_settings_ones(data_dir: DataDir) -> None:
    save_rules(data_dir, 2 * [Rule(app="Diary", action="mask")], defaults=False)
    rules = load_rules(data_dir, PrivacySettings(exclude=({"title": "salary"},)))
    assert rules == RuleSet((Rule(title="salary"), Rule(app="Diary", action="mask")), defaults=False)
    assert own_choices(data_dir) == OwnChoices((Rule(app="Diary", action="mask"),), False)
    assert data_dir.privacy_rules.stat().st_mode & 0o077 == 0 or os.name == "nt"


def test_a_choice_in_the_app_counts_more_than_the_settings(data_dir: DataDir) -> None:
    settings = PrivacySettings(mask_maybe_private=False)
    assert not load_rules(data_dir, settings).mask_maybe_private
    save_choices(data_dir, OwnChoices(mask_maybe_private=True))
    assert load_rules(data_dir, settings) == RuleSet()


@for_each(
    ("window", "rules", "expected"),
    [
        (WindowFacts("Chromium", "News"), RuleSet(), ("mask", "may_be_private")),
        (WindowFacts("Chromium", "News"), RuleSet(mask_maybe_private=False), ("mask", "may_be_private")),
        (WindowFacts("Chromium", "News", incognito=False), RuleSet(), ("keep", "")),
        (WindowFacts("Safari", "News"), RuleSet(), ("mask", "may_be_private")),
        (WindowFacts("Safari", "News"), RuleSet(mask_maybe_private=False), ("keep", "")),
        (WindowFacts("Chromium", "News", witnessed=True), RuleSet(), ("mask", "may_be_private")),
        (WindowFacts("Chromium", "News", incognito=False, witnessed=True), RuleSet(), ("keep", "")),
        (WindowFacts("Chromium", None, incognito=False, witnessed=True), RuleSet(), ("keep", "")),
        (WindowFacts("Chromium", None, witnessed=True), RuleSet(), ("mask", "unknown_window")),
        (WindowFacts("Chromium", "News", witnessed=True), RuleSet(defaults=False), ("keep", "")),
        (WindowFacts("Firefox", "News — Mozilla Firefox"), RuleSet(), ("keep", "")),
        (WindowFacts("XTerm", "shell"), RuleSet(), ("keep", "")),
    ],
)
def test_a_browser_window_on_the_screen_may_be_private(
    window: WindowFacts, rules: RuleSet, expected: tuple[str, str]
) -> None:
    """What was recorded is not doubted again."""
    decision = rules.decide_on_screen(window)
    assert (decision.action, decision.reason) == expected
    if expected[1] == "may_be_private":
        assert rules.decide(window).action == "keep"


def test_without_a_file_the_defaults_hold(data_dir: DataDir) -> None:
    assert load_rules(data_dir, PrivacySettings()) == RuleSet()


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b'{"rules": 3}',
        b'{"rules": [], "defaults": "no"}',
        b'{"rule": []}',
        b'{"mask_maybe_private": 1}',
        b'{"rules": [{}]}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_rules_that_cannot_be_read_leave_out_everything(data_dir: DataDir, content: bytes) -> None:
    data_dir.privacy_rules.write_bytes(content)
    rules = load_rules(data_dir, PrivacySettings(defaults=False))
    assert rules.decide(PLAIN).action == "drop"
    assert rules.decide(PLAIN).reason == "rules_unreadable"


def test_a_wrong_rule_in_the_settings_leaves_out_everything(data_dir: DataDir) -> None:
    rules = load_rules(data_dir, PrivacySettings(exclude=({"apps": "KeePassXC"},)))
    assert rules.decide(PLAIN).reason == "rules_unreadable"
    assert "apps" in rules.unreadable


texts = st.text(min_size=1, max_size=20).filter(lambda text: text.strip())


@given(app=texts, title=texts, action=st.sampled_from(["drop", "mask"]))
def test_a_rule_survives_its_document(app: str, title: str, action: str) -> None:
    document = {"app": app, "title": title, "match": "exact", "action": action}
    try:
        rules = validate([document])
    except RuleInvalid:
        return  # an app of separators only
    assert validate([json.loads(json.dumps(as_document(rule))) for rule in rules]) == rules


@given(title=st.text(), pattern=texts)
def test_deciding_never_raises(title: str, pattern: str) -> None:
    RuleSet((Rule(app=pattern), Rule(title=pattern), Rule(url=pattern))).decide(
        WindowFacts(title, title, title)
    )
