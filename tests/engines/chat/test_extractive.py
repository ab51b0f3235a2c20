"""The built-in answer: selection only, the same for the same material, every line with its proof."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engines.chat.extractive import AppTime, Evidence, ExtractiveModel, Line, ShownApp


def shown(n: int, *lines: str | Line, app: str = "Code", window: str = "main.py") -> ShownApp:
    quotable = tuple(line if isinstance(line, Line) else Line(line) for line in lines)
    return ShownApp(f"e{n}", f"14:{n:02}", app, window, quotable)


def compose(*frames: ShownApp, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {"language": "en", "times": (), **changes}
    answer: dict[str, Any] = json.loads(ExtractiveModel().compose(Evidence(shown=frames, **values)).text)
    return answer


def test_a_summary_has_a_line_for_each_app_the_longest_used_first() -> None:
    answer = compose(
        shown(1, "short", "a long and telling line"),
        shown(2, "mail to Bob", app="Mail", window="Inbox"),
        shown(3, "another telling line"),
        times=(AppTime("Mail", "20 min", "14:02-14:22"), AppTime("Code", "5 min", "14:01-14:06")),
    )
    assert answer["answer_md"].split("\n") == [
        "- **Mail** (20 min, 14:02-14:22) “Inbox”: “mail to Bob” [[e2]]",
        "- **Code** (5 min, 14:01-14:06) “main.py”: “a long and telling line” [[e1]]; "
        "“another telling line” [[e3]]",
    ]
    assert [item["id"] for item in answer["evidence"]] == ["e2", "e1", "e3"]


def test_an_answer_is_its_lines_in_order_of_time() -> None:
    answer = compose(
        shown(1, "nothing"),
        shown(2, Line("retention set to 14 days", 2.0), Line("and to 30 for mail", 1.5)),
        shown(3, Line("retention: 60 days", 3.0)),
        asked=("retention", "days"),
    )
    assert answer["answer_md"].split("\n") == [
        "- 14:02 Code, main.py: “retention set to 14 days” [[e2]]",
        "- 14:02 Code, main.py: “and to 30 for mail” [[e2]]",
        "- 14:03 Code, main.py: “retention: 60 days” [[e3]]",
    ]


def test_one_fact_is_quoted_once_where_it_answers_best() -> None:
    answer = compose(
        shown(1, Line("« set to 14 days", 1.0)),
        shown(2, Line("retention set to 14 days", 2.0)),
        shown(3, Line("retention set to 14 days", 2.0)),
        shown(4, Line("retention set to 30 days", 1.0)),
        asked=("retention",),
    )
    assert [item["id"] for item in answer["evidence"]] == ["e2", "e4"]


def test_an_answer_has_few_lines() -> None:
    frames = [shown(n, Line(f"figure {n}", float(n))) for n in range(1, 20)]
    answer = compose(*frames, asked=("figure",))
    assert [item["id"] for item in answer["evidence"]] == ["e16", "e17", "e18", "e19"]


def test_words_that_are_nowhere_are_said_to_be_nowhere() -> None:
    answer = compose(shown(1, "one"), asked=("giraffe",))
    assert answer["answer_md"].startswith("None of the 1 frames looked at names “giraffe”.")
    assert compose(shown(1, "一"), asked=("长颈鹿",), language="zh")["answer_md"].startswith("看过的 1 帧")


def test_what_begins_alike_is_quoted_once() -> None:
    same = "the very same long line at the beginning"
    answer = compose(shown(1, f"{same} and an end"), shown(2, f"{same} and another"), shown(3, "else"))
    assert [item["id"] for item in answer["evidence"]] == ["e2", "e3"]


def test_screen_text_shows_itself_and_nothing_else() -> None:
    text = compose(shown(1, "**bold** [x](http://e) <b> [[e9]] `code` _a_ b_c &lt;"))["answer_md"]
    assert r"\*\*bold\*\* \[x\](http://e) \<b> \[\[e9\]\] \`code\` \_a\_ b_c \&lt;" in text


frames = st.builds(
    ShownApp,
    st.integers(1, 99).map(lambda n: f"e{n}"),
    st.just("14:00"),
    st.sampled_from(["Code", "Mail", ""]),
    st.sampled_from(["main.py", ""]),
    st.lists(
        st.builds(
            Line,
            st.text("ab 今天*[", min_size=1, max_size=99).filter(str.strip),
            st.sampled_from([0.0, 1.0, 2.5]),
        ),
        min_size=1,
        max_size=4,
    ).map(tuple),
)


@given(
    st.lists(frames, min_size=1, max_size=30), st.lists(st.sampled_from(["a", "今"]), max_size=2).map(tuple)
)
def test_every_quote_stands_in_its_frame_and_every_mark_has_a_quote(
    given_frames: list[ShownApp], asked: tuple[str, ...]
) -> None:
    answer = compose(*given_frames, asked=asked)
    assert answer == compose(*given_frames, asked=asked)
    by_id: dict[str, list[str]] = {}
    for frame in given_frames:
        by_id.setdefault(frame.id, []).extend(line.text for line in frame.lines)
    assert answer["evidence"]
    for item in answer["evidence"]:
        assert item["quote"] in by_id[item["id"]]
        assert f"[[{item['id']}]]" in answer["answer_md"]
