"""Which way of looking a machine gets: the table is the test."""

from __future__ import annotations

import pytest

from capture.core.errors import SourceFailed
from capture.platforms import choose, open_sources, parse_source
from store.core.errors import SettingsError
from store.core.settings import CaptureSettings
from tests.capture.fakes import FakeClock
from tests.tables import for_each

WAYLAND = {"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}


@for_each(
    ("platform", "environ", "has_grim", "expected"),
    [
        ("darwin", {}, False, "macos"),
        ("win32", {}, False, "windows"),
        ("linux", {"DISPLAY": ":0"}, False, "x11"),
        ("linux", {"DISPLAY": ":0"}, True, "x11"),
        ("linux", {"DISPLAY": ":0", "XDG_SESSION_TYPE": "x11", "XDG_CURRENT_DESKTOP": "GNOME"}, False, "x11"),
        ("linux", {}, True, "no_display"),
        ("linux", {"DISPLAY": ""}, False, "no_display"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "sway"}, True, "grim"),
        ("linux", {**WAYLAND, "SWAYSOCK": "/run/sway"}, True, "grim"),
        ("linux", {**WAYLAND, "HYPRLAND_INSTANCE_SIGNATURE": "x"}, True, "grim"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "sway"}, False, "backend_refused"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "KDE"}, True, "backend_refused"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "GNOME"}, True, "backend_refused"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "ubuntu:GNOME"}, True, "backend_refused"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "pantheon"}, False, "backend_refused"),
        ("linux", {"XDG_SESSION_TYPE": "wayland", "DISPLAY": ":0"}, False, "backend_refused"),
        ("linux", WAYLAND, True, "grim"),
    ],
)
def test_backend_by_environment(
    platform: str, environ: dict[str, str], has_grim: bool, expected: str
) -> None:
    if expected not in ("no_display", "backend_refused"):
        assert choose(platform, environ, has_grim=has_grim) == expected
        return
    with pytest.raises(SourceFailed) as caught:
        choose(platform, environ, has_grim=has_grim)
    assert caught.value.reason == expected
    assert caught.value.cause  # said in words, with something to do
    assert caught.value.action


def test_gnome_s_flash_is_named_in_the_refusal() -> None:
    with pytest.raises(SourceFailed, match=r"flashes.*Xorg"):
        choose("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "GNOME"}, has_grim=True)


@for_each("source", ["", "screen:1", "folder", "folder:", "video:", "audio:x", "Screen"])
def test_an_unknown_source_is_refused_with_the_known_ones(source: str) -> None:
    with pytest.raises(SettingsError, match="screen, folder:DIR or video:FILE"):
        parse_source(source)


@for_each(
    ("source", "expected"),
    [
        ("screen", ("screen", "")),
        ("folder:/a/b", ("folder", "/a/b")),
        ("video:C:/v.mp4", ("video", "C:/v.mp4")),
    ],
)
def test_sources_are_read(source: str, expected: tuple[str, str]) -> None:
    assert parse_source(source) == expected


def test_no_display_is_an_error_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(Exception, match="neither DISPLAY nor WAYLAND_DISPLAY") as caught:
        open_sources(CaptureSettings(), FakeClock(), {})
    assert caught.value.reason == "no_display"  # type: ignore[attr-defined]
