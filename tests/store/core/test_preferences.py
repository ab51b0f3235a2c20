"""Preferences: what was chosen is what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.core import preferences
from store.core.database import Database
from tests.tables import for_each

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(autouse=True)
def quick(database: Database) -> Iterator[None]:
    database.connection().execute("pragma synchronous = off").fetchall()
    yield


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.text(min_size=1), value=JSON)
def test_choice_survives(database: Database, key: str, value: Any) -> None:
    preferences.set_preference(database, key, value)
    assert preferences.get_preference(database, key, "default") == value


@for_each("value", [False, None, 0, ""])
def test_choice_of_nothing_is_a_choice(database: Database, value: Any) -> None:
    """ActivityWatch deleted a setting when False was saved."""
    preferences.set_preference(database, "key", value)
    assert preferences.get_preference(database, "key", "default") == value


def test_default_is_for_what_nobody_chose(database: Database) -> None:
    assert preferences.get_preference(database, "key", 7) == 7
    preferences.set_preference(database, "key", 8)
    preferences.delete_preference(database, "key")
    assert preferences.get_preference(database, "key", 7) == 7


def test_value_that_json_cannot_hold_is_refused(database: Database) -> None:
    with pytest.raises(TypeError):
        preferences.set_preference(database, "key", {1, 2})
    assert preferences.get_preference(database, "key") is None
