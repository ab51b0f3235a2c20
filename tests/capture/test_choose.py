"""Which way of looking a machine gets: the table is the test."""

from __future__ import annotations

import pytest

from capture.platforms import choose, open_sources, parse_source
from store.core.errors import SettingsError
from store.core.settings import CaptureSettings
from tests.capture.fakes import FakeClock
from tests.tables import for_each

ALL_TOOLS = {"grim", "spectacle", "gnome-screenshot", "swaymsg", "hyprctl"}
WAYLAND = {"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}


@for_each(
    ("platform", "environ", "tools", "expected"),
    [
        ("darwin", {}, set(), "macos"),
        ("win32", {}, set(), "windows"),
        ("linux", {"DISPLAY": ":0"}, set(), "x11"),
        ("linux", {"DISPLAY": ":0"}, ALL_TOOLS, "x11"),
        ("linux", {"DISPLAY": ":0", "XDG_SESSION_TYPE": "x11", "XDG_CURRENT_DESKTOP": "GNOME"}, set(), "x11"),
        ("linux", {}, ALL_TOOLS, "no_display"),
        ("linux", {"DISPLAY": ""}, set(), "no_display"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "sway"}, ALL_TOOLS, "grim"),
        ("linux", {**WAYLAND, "SWAYSOCK": "/run/sway"}, {"grim"}, "grim"),
        ("linux", {**WAYLAND, "HYPRLAND_INSTANCE_SIGNATURE": "x"}, {"grim"}, "grim"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "sway"}, set(), "backend_refused"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "KDE"}, {"spectacle"}, "spectacle"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "KDE"}, {"grim"}, "backend_refused"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "GNOME"}, ALL_TOOLS, "backend_refused"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "ubuntu:GNOME"}, ALL_TOOLS, "backend_refused"),
        ("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "pantheon"}, {"gnome-screenshot"}, "backend_refused"),
        ("linux", {"XDG_SESSION_TYPE": "wayland", "DISPLAY": ":0"}, set(), "backend_refused"),
        ("linux", WAYLAND, {"grim"}, "grim"),
    ],
)
def test_backend_by_environment_and_tools(
    platform: str, environ: dict[str, str], tools: set[str], expected: str
) -> None:
    choice = choose(platform, environ, tools)
    assert (choice.backend or choice.reason) == expected
    if choice.backend is None:
        assert choice.cause  # said in words, with something to do
        assert choice.action


def test_gnome_s_flash_is_named_in_the_refusal() -> None:
    choice = choose("linux", {**WAYLAND, "XDG_CURRENT_DESKTOP": "GNOME"}, ALL_TOOLS)
    assert "flashes" in choice.cause
    assert "Xorg" in choice.action


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
