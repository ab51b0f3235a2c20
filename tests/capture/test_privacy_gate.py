"""What privacy leaves of a picture: masks, drops, names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from capture import privacy
from capture.core.geometry import Rect
from capture.privacy import MASK_COLOUR, Rules, judge, mask
from capture.screens.protocol import Monitor
from capture.windows.protocol import Identity, WindowInfo
from store.core.paths import DataDir
from store.core.settings import PrivacySettings
from store.privacy.rules import Rule, RuleSet
from store.spool.queue import HIDDEN_WINDOW, PRIVATE_WINDOW, UNNAMED
from tests.capture.fakes import MONITOR, SECOND, all_text, screen, window
from tests.factories import save_rules
from tests.meanwhile import meanwhile
from tests.tables import for_each

MASKED = RuleSet((Rule(app="Vault", action="mask"),))
DROPPED = RuleSet((Rule(app="Vault", action="drop"),))
EDITOR = window("Code", "main.py", rect=Rect(0, 0, 160, 192))
VAULT = window("Vault", "passwords", rect=Rect(100, 50, 100, 100), focused=False)
BOTH = (MONITOR, SECOND)


def verdict(rules: RuleSet, *windows: WindowInfo, monitor: Monitor = MONITOR) -> tuple[str, tuple[Rect, ...]]:
    found = judge(rules, monitor, BOTH, windows, windows)
    return found.reason, found.masks


def test_every_visible_window_counts_not_only_the_focused_one() -> None:
    """The peers tested the focused window and stored the whole monitor."""
    assert verdict(DROPPED, EDITOR, VAULT)[0] == "rule:app"
    assert verdict(DROPPED, EDITOR, VAULT, monitor=SECOND)[0] == ""


def test_a_half_covered_window_is_masked_where_it_shows() -> None:
    reason, masks = verdict(MASKED, EDITOR, VAULT)
    assert reason == ""
    assert masks == (Rect(160, 50, 40, 100),)
    pixels = screen()
    before = pixels.copy()
    mask(pixels, MONITOR, masks)
    assert (pixels[50:150, 160:200, :3] == MASK_COLOUR).all()
    pixels[50:150, 160:200] = before[50:150, 160:200]
    assert np.array_equal(pixels, before)  # nothing else was touched


def test_a_window_hidden_by_an_opaque_one_is_no_concern() -> None:
    over = window("Code", rect=MONITOR.area)
    assert verdict(DROPPED, over, VAULT) == ("", ())


def test_what_windows_took_along_from_a_masked_one_is_masked_where_they_went() -> None:
    """A window that has not painted yet shows what was there before, and moves with it."""
    masked = VAULT.rect.common(Rect(160, 50, 40, 100))
    near, far, beside = Rect(190, 60, 20, 20), Rect(10, 10, 20, 20), Rect(25, 20, 9, 9)
    moved = [
        replace(window("Notes"), opaque=False, rect=a.enclosing(b), places=(a, b))
        for a, b in ((beside, Rect(70, 170, 9, 9)), (far, near), (Rect(0, 90, 9, 9), Rect(90, 90, 9, 9)))
    ]
    _, masks = verdict(MASKED, *moved, EDITOR, VAULT)
    assert masks == (masked, far, near, beside, Rect(70, 170, 9, 9))  # what lies between was never theirs
    assert verdict(MASKED, *moved, EDITOR) == ("", ())


def test_a_window_that_only_vanished_took_nothing_along_from_a_masked_one() -> None:
    places = Rect(0, 60, 120, 20), Rect(190, 60, 120, 20)
    gone = [replace(window("Notes"), rect=place, places=(place,), opaque=False) for place in places]
    assert verdict(MASKED, *gone, EDITOR, VAULT) == verdict(MASKED, EDITOR, VAULT)


def test_what_shines_through_is_a_concern() -> None:
    glass = window("Code", rect=MONITOR.area, opaque=False)
    assert verdict(DROPPED, glass, VAULT)[0] == "rule:app"


def test_a_monitor_that_is_masked_all_over_is_not_kept() -> None:
    assert verdict(MASKED, window("Vault", rect=MONITOR.area))[0] == "rule:app"


@for_each(
    ("rules", "expected"),
    [
        (RuleSet(), "unknown_window"),
        (RuleSet(defaults=False), ""),
        (DROPPED, "unknown_window"),
        (RuleSet(unreadable="x"), "rules_unreadable"),
    ],
)
def test_windows_that_cannot_be_read_fail_closed_while_a_rule_exists(rules: RuleSet, expected: str) -> None:
    assert judge(rules, MONITOR, BOTH, None, (EDITOR,)).reason == expected
    assert judge(rules, MONITOR, BOTH, (EDITOR,), None).reason == expected


def test_a_bare_desktop_is_known_to_show_nothing() -> None:
    assert judge(RuleSet(), MONITOR, BOTH, (), ()).reason == ""


def test_a_window_that_was_there_before_or_after_the_grab_counts() -> None:
    assert judge(DROPPED, MONITOR, BOTH, (EDITOR, VAULT), (EDITOR,)).reason == "rule:app"
    assert judge(DROPPED, MONITOR, BOTH, (EDITOR,), (EDITOR, VAULT)).reason == "rule:app"
    found = judge(MASKED, MONITOR, BOTH, (VAULT,), ())
    assert found.masks == (VAULT.rect,)


def test_a_window_nobody_knows_is_masked_and_one_that_asks_too() -> None:
    nameless = window(None, None, rect=Rect(10, 10, 50, 50))
    shy = window("Signal", "Chats", rect=Rect(100, 10, 50, 50), wants_no_capture=True)
    assert verdict(RuleSet(), nameless, shy) == ("", (nameless.rect, shy.rect))


def test_masks_follow_the_monitor_s_place_and_scale() -> None:
    monitor = Monitor("DP-2", Rect(100, 50, 160, 96), scale=2.0)
    pixels = screen()
    mask(pixels, monitor, [Rect(90, 40, 20, 20)])
    assert (pixels[:20, :20, :3] == MASK_COLOUR).all()
    assert not (pixels[:22, :22, :3] == MASK_COLOUR).all()


SHELL_THERE = window("XTerm", "shell", rect=SECOND.area, focused=False)


@for_each(
    ("windows", "monitor", "expected"),
    [
        ((EDITOR, SHELL_THERE), MONITOR, Identity("Code", "main.py", None, True, 1)),
        ((EDITOR, SHELL_THERE), SECOND, Identity("XTerm", "shell", None, False, 1)),
        ((EDITOR,), SECOND, Identity()),
        ((window("Menu", None, kind="popup", focused=False, rect=Rect(9, 9, 40, 90)), EDITOR), MONITOR,
         Identity("Code", "main.py", None, True, 1)),
        ((window("Panel", None, kind="dock", focused=False), SHELL_THERE), MONITOR, Identity()),
        # A focused window across both monitors has its home where most of it is.
        ((window("Wide", "w", rect=Rect(200, 0, 440, 192)),), SECOND, Identity("Wide", "w", None, True, 1)),
        ((window("Wide", "w", rect=Rect(200, 0, 440, 192)),), MONITOR, Identity("Wide", "w", None, False, 1)),
        ((), MONITOR, Identity()),
    ],
)  # fmt: skip
def test_each_monitor_has_its_own_truth(
    windows: tuple[WindowInfo, ...], monitor: Monitor, expected: Identity
) -> None:
    """The focused window's name is never written onto another monitor's picture."""
    assert judge(RuleSet(), monitor, BOTH, windows, windows).identity == expected


def test_where_each_window_is_is_told_with_the_picture() -> None:
    menu = window("Code", None, rect=Rect(30, 30, 40, 90), kind="popup", focused=False)
    shell = window("XTerm", "shell", rect=Rect(-20, 0, 120, 100), pid=2, focused=False)
    vault = window("Vault", "passwords", rect=Rect(200, 0, 20, 20), pid=3, focused=False)
    front = window("Code", "main.py", rect=Rect(20, 20, 100, 120), opaque=True)
    covered = window("Mail", "Inbox", rect=Rect(40, 40, 10, 10), pid=4, focused=False)
    windows = (menu, front, shell, covered, vault)
    found = judge(MASKED, MONITOR, BOTH, windows, windows)
    assert found.visible is not None and found.places is not None
    number = 1 + found.visible.index(("XTerm", "shell", None))
    assert found.places[:3] == ((0, 30, 30, 40, 90), (0, 20, 20, 100, 120), (number, 0, 0, 100, 100))
    assert found.places[3:] == ((UNNAMED, 200, 0, 20, 20),)  # painted over, and without a name


@for_each(
    ("app", "rules", "told", "expected"),
    [
        ("Vault", MASKED, {}, HIDDEN_WINDOW),
        (
            "Chromium",
            RuleSet(),
            {"opaque": True},
            PRIVATE_WINDOW,
        ),  # its ordinary windows have their toolbar
        (
            "Chromium",
            RuleSet(),
            {"opaque": False},
            HIDDEN_WINDOW,
        ),  # it has just come: there is no toolbar yet
        ("Brave", RuleSet(), {"witnessed": True}, PRIVATE_WINDOW),  # by the extension
        ("Brave", RuleSet(), {}, HIDDEN_WINDOW),  # by nothing: it may be any
        ("Chromium", RuleSet((Rule(url="bank.example"),)), {}, HIDDEN_WINDOW),
    ],
)
def test_a_masked_window_gives_the_frame_no_name_of_its_own(
    app: str, rules: RuleSet, told: dict[str, bool], expected: str
) -> None:
    focused = window(app, "passwords", rect=Rect(0, 0, 50, 50), **told)
    found = judge(rules, MONITOR, BOTH, (focused,), (focused,))
    assert found.identity == Identity(expected, focused=True)
    assert found.visible == ()


def test_rules_are_read_again_when_their_file_changes(data_dir: DataDir) -> None:
    rules = Rules(data_dir, PrivacySettings())
    assert rules.current() == RuleSet()
    save_rules(data_dir, [Rule(app="Vault")])
    assert rules.current() == RuleSet((Rule(app="Vault"),))
    assert rules.current() is rules.current()
    data_dir.privacy_rules.write_bytes(b"{")
    assert rules.current().unreadable
    data_dir.privacy_rules.unlink()
    assert rules.current() == RuleSet()
    assert "Vault" not in all_text(data_dir.spool)


def test_no_thread_is_given_rules_of_before_while_another_reads_them(
    data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = Rules(data_dir, PrivacySettings())
    rules.current()
    save_rules(data_dir, [Rule(app="Vault")])

    def other() -> None:
        assert rules.current() == RuleSet((Rule(app="Vault"),))
        save_rules(data_dir, [Rule(app="Diary")])
        assert rules.current() == RuleSet((Rule(app="Diary"),))

    meanwhile(monkeypatch, privacy, "load_rules", other)
    rules.current()
    assert rules.current() == RuleSet((Rule(app="Diary"),))
