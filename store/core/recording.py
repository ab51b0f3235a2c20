"""What a person chose in the app of how the screen is recorded: ``recording.json`` in the home folder.

Capture never opens the database, so this travels as the privacy rules do. What is given in ``config.toml``,
in the environment or as an argument cannot be chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from store.core.errors import SettingsError
from store.core.paths import DataDir, replace_file
from store.core.settings import CaptureSettings, with_choices

CHOOSABLE = ("monitors", "interval_s", "idle_after_s", "min_free_gb")


def chosen(data_dir: DataDir, settings: CaptureSettings) -> CaptureSettings:
    """The settings with what was chosen. Raises `SettingsError` when the file cannot be used: a monitor that
    was not to be looked at must not be because of that.
    """
    name = data_dir.recording.name
    try:
        values = json.loads(data_dir.recording.read_bytes())
    except FileNotFoundError:
        return settings
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{name} cannot be read: {error}") from error
    if not isinstance(values, dict) or set(values) - set(CHOOSABLE):
        raise SettingsError(f"{name} must hold {', '.join(CHOOSABLE)} and nothing else")
    return with_choices(settings, values, name)


def choose(data_dir: DataDir, values: Mapping[str, Any], settings: CaptureSettings) -> None:
    """Keep these choices in place of those before; capture takes them at its next look. What the settings say
    by themselves needs no keeping. Raises `SettingsError` for what cannot be, and keeps nothing then.
    """
    with_choices(settings, values, origin="the app")
    kept = {name: value for name, value in values.items() if value != getattr(settings, name)}
    replace_file(data_dir.recording, json.dumps(kept, ensure_ascii=False, indent=1).encode() + b"\n")
