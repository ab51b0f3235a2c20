"""Settings that are chosen on their pages: how the screen is recorded, and what models are sent."""

from __future__ import annotations

import re
from collections.abc import Callable

from flask import Flask

from store.core.paths import DataDir
from store.core.settings import load
from store.spool.process_state import CaptureState
from tests.factories import NOON_MS
from tests.tables import for_each
from tests.webapp.conftest import Actor, browser_of, csrf_of, page, words
from webapp.core.services import Services

ADDRESS = "/settings/recording"
MONITORS = ("DP-1", "HDMI-2")
FORM = {"offered": list(MONITORS), "interval_s": "1", "idle_after_s": "3", "min_free_gb": "1"}


def connected(data_dir: DataDir) -> None:
    CaptureState(1, NOON_MS, NOON_MS, state="recording", monitors=MONITORS, connected=MONITORS).write(
        data_dir.spool
    )


def ticked(html: str) -> list[str]:
    return re.findall(r'name="monitor" value="([^"]+)" checked', html)


def test_monitors_and_pace_are_chosen_on_the_page(app: Flask, browser: Actor, own: Services) -> None:
    assert "Known once recording runs" in page(browser, ADDRESS)
    connected(own.data_dir)
    assert ticked(page(browser, ADDRESS)) == list(MONITORS)
    form = {"csrf_token": csrf_of(app, browser), **FORM, "interval_s": "2,5", "monitor": "HDMI-2"}
    assert browser.post(ADDRESS, data=form).status_code == 303
    assert (own.capture.monitors, own.capture.interval_s, own.capture.idle_after_s) == (
        ("HDMI-2",),
        2.5,
        180.0,
    )
    html = page(browser, ADDRESS)
    assert ticked(html) == ["HDMI-2"] and 'required value="2.5"' in html
    assert browser.post(ADDRESS, data={**form, "monitor": list(MONITORS)}).status_code == 303
    assert own.capture.monitors == ()  # also those that are connected later


@for_each(
    ("change", "said", "filled"),
    [
        ({"interval_s": "0.01"}, "a number from 0.1 to 3600. 0.1 is filled in", "0.1"),
        ({"interval_s": "1e9"}, "3600 is filled in", "3600"),
        ({"idle_after_s": "soon"}, "“soon” cannot be: a number from 0.5 to 1440. 3 is filled in", "3"),
        ({"min_free_gb": "nan"}, "“nan” cannot be", "1"),
        ({"monitor": ["HDMI2"]}, "There is no monitor HDMI2; did you mean HDMI-2?", "1"),
        ({"monitor": []}, "Choose one at least", "1"),
    ],
)
def test_what_cannot_be_is_refused_with_the_nearest_that_can(
    app: Flask, browser: Actor, own: Services, change: dict[str, str], said: str, filled: str
) -> None:
    connected(own.data_dir)
    form = {"csrf_token": csrf_of(app, browser), **FORM, "monitor": list(MONITORS), **change}
    answer = browser.post(ADDRESS, data=form)
    assert answer.status_code == 422 and said in words(answer.text)
    assert f'required value="{filled}"' in answer.text
    assert not own.data_dir.recording.exists()


def test_what_a_file_sets_is_told_and_cannot_be_chosen(
    make_app: Callable[..., Flask], data_dir: DataDir
) -> None:
    data_dir.config.write_text(
        "[capture]\ninterval_s = 4\n[ocr]\nlanguages = ['eng']\n[chat]\nsend_pictures = 'never'\n"
    )
    app = make_app(load(data_dir, {}))
    browser = browser_of(app)
    own: Services = app.extensions["recollect"]
    connected(data_dir)
    html = page(browser, ADDRESS)
    assert words(html).count("Set by config.toml . Remove it there") == 2
    assert 'required value="4" disabled' in html and 'name="language" value="eng" checked disabled' in html
    token = csrf_of(app, browser)
    form = {"csrf_token": token, **FORM, "interval_s": "9", "monitor": list(MONITORS)}
    assert browser.post(ADDRESS, data=form).status_code == 303
    assert own.capture.interval_s == 4
    html = page(browser, "/settings/models")
    assert 'name="send_pictures" disabled' in html and 'name="second_reading" disabled' not in html
    sent = {"csrf_token": token, "send_pictures": "ask", "second_reading": "always"}
    assert browser.post("/settings/models/sent", data=sent).status_code == 303
    assert (own.chat_models.send_pictures, own.chat_models.second_reading) == ("never", "always")


def test_what_cannot_be_read_is_told_and_made_anew(app: Flask, browser: Actor, own: Services) -> None:
    connected(own.data_dir)
    own.data_dir.recording.write_text("{")
    assert "Nothing is recorded: recording.json cannot be read" in words(page(browser, ADDRESS))
    form = {"csrf_token": csrf_of(app, browser), **FORM, "monitor": list(MONITORS)}
    assert browser.post(ADDRESS, data=form).status_code == 303
    assert "Nothing is recorded" not in page(browser, ADDRESS)


def test_what_models_are_sent_is_chosen_on_the_page(app: Flask, browser: Actor, own: Services) -> None:
    form = {"csrf_token": csrf_of(app, browser), "send_pictures": "ask"}
    assert browser.post("/settings/models/sent", data=form).status_code == 303
    assert own.chat_models.send_pictures == "ask"
    assert '<option value="ask" selected>' in page(browser, "/settings/models")
    answer = browser.post("/settings/models/sent", data={**form, "send_pictures": "everywhere"})
    assert answer.status_code == 422 and "there are: To models on this computer" in words(answer.text)
    assert own.chat_models.send_pictures == "ask"
