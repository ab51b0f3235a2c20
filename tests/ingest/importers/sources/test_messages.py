from __future__ import annotations

import email
import email.policy
import re
from pathlib import Path

import pytest

from ingest.importers.items import CannotImport
from ingest.importers.sources import record_streams
from ingest.importers.sources.source_file import Source
from store.sources.messages import MessageRecord
from tests.ingest.importers.sources.reading import at, options, read

SMS = """<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<?xml-stylesheet type="text/xsl" href="sms.xsl"?>
<smses count="4">
  <sms protocol="0" address="+4917012345" date="1763640000123" type="1" subject="null"
    body="Lunch? &#55357;&#56832; &amp; cake" read="1" contact_name="Anna" />
  <sms address="+4917012345" date="1763640060000" type="2" body="Yes" contact_name="(Unknown)" />
  <sms address="+4917012345" date="1763640060000" type="3" body="a draft" contact_name="Anna" />
  <mms date="1763640120000" msg_box="1" address="+491~+492" sub="null" contact_name="Club">
    <parts>
      <part seq="0" ct="image/jpeg" text="null" data="QUJD" />
      <part seq="0" ct="text/plain" text="See you all" />
    </parts>
    <addrs><addr address="+492" type="137" /><addr address="+491" type="151" /></addrs>
  </mms>
</smses>
"""


def test_a_backup_of_sms_is_read_with_its_emoji_and_its_mms(tmp_path: Path) -> None:
    records, skipped = read(tmp_path, "messages", "sms.xml", SMS)
    assert records == [
        MessageRecord("sms", 1763640000123, False, "Lunch? 😀 & cake", "+4917012345", "Anna"),
        MessageRecord("sms", 1763640060000, True, "Yes", "+4917012345"),
        MessageRecord("sms", 1763640120000, False, "See you all", "+492", "", "Club"),
    ]
    assert skipped == [("record 3", "it was neither received nor sent (a draft, or it failed)")]


def test_an_emoji_in_two_halves_survives_every_cut_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sms.xml"
    path.write_text(SMS)
    source = Source("sms.xml", 1, lambda: path.open("rb"))
    for size in range(1, 60):
        source.rewind()
        chunks = iter(lambda size=size: source.read(size), b"")  # type: ignore[misc]
        mended = b"".join(record_streams._mended(chunks))
        assert b"&#128512;" in mended and b"&#55357;" not in mended, size
    source.close()


def test_half_an_emoji_and_control_characters_become_the_mark_of_what_cannot_be_read(tmp_path: Path) -> None:
    text = '<smses><sms address="1" date="1763640000123" type="1" body="a&#55357;b&#0;c" /></smses>'
    records, _ = read(tmp_path, "messages", "sms.xml", text)
    assert records[0].body == "a\ufffdb\ufffdc"


def test_a_large_attachment_takes_no_memory_and_spoils_nothing(tmp_path: Path) -> None:
    data = "QUJD" * 8_000_000  # 32 MB in one value, twice what a record may have
    text = SMS.replace('data="QUJD"', f'data="{data}"')
    records, _ = read(tmp_path, "messages", "sms.xml", text)
    assert [each.body for each in records][-1] == "See you all"


def test_a_backup_of_calls_is_named_for_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(CannotImport, match="backup of calls"):
        read(tmp_path, "messages", "calls.xml", '<calls count="0"></calls>')


# -- Telegram -----------------------------------------------------------------------------

TELEGRAM = """{"name": "Anna", "type": "personal_chat", "id": 7, "messages": [
 {"id": 1, "type": "service", "date": "2025-11-20T13:00:00", "action": "phone_call", "text": ""},
 {"id": 2, "type": "message", "date": "2025-11-20T13:00:00", "date_unixtime": "1763640000",
  "from": "Anna", "from_id": "user7", "text": ["Look ", {"type": "link", "text": "https://a.example"}]},
 {"id": 3, "type": "message", "date": "2025-11-20T13:01:00", "from": "Me", "from_id": "user1", "text": "ok"},
 {"id": 4, "type": "message", "date": "2025-11-20T13:02:00", "from_id": "user7", "photo": "p.jpg", "text": ""}
]}"""


def test_a_chat_of_telegram_knows_who_is_who(tmp_path: Path) -> None:
    records, skipped = read(tmp_path, "messages", "result.json", TELEGRAM)
    assert records == [
        MessageRecord(
            "telegram", 1763640000000, False, "Look https://a.example", "user7", "Anna", external_id="7/2"
        ),
        MessageRecord("telegram", at("2025-11-20T13:01:00"), True, "ok", "user7", "Anna", external_id="7/3"),
    ]
    assert [where for where, _ in skipped] == ["record 1", "record 4"]


def test_an_export_of_all_chats_says_whose_it_is_and_keeps_groups_apart(tmp_path: Path) -> None:
    group = TELEGRAM.replace("personal_chat", "private_group").replace('"name": "Anna"', '"name": "Club"')
    text = f'{{"personal_information": {{"user_id": 1}}, "chats": {{"list": [{TELEGRAM}, {group}]}}}}'
    records, _ = read(tmp_path, "messages", "result.json", text)
    assert [(each.conversation, each.address, each.is_outgoing) for each in records] == [
        ("", "user7", False), ("", "user7", True), ("Club", "user7", False), ("Club", "", True),
    ]  # fmt: skip


def test_a_group_alone_asks_who_one_is(tmp_path: Path) -> None:
    text = TELEGRAM.replace("personal_chat", "private_group")
    with pytest.raises(CannotImport, match="--me"):
        read(tmp_path, "messages", "result.json", text)
    records, _ = read(tmp_path, "messages", "result.json", text, options(me="me"))
    assert [each.is_outgoing for each in records] == [False, True]


# -- WhatsApp -----------------------------------------------------------------------------

ANDROID = """20/11/2025, 13:00 - Messages and calls are end-to-end encrypted.
20/11/2025, 13:01 - Anna: Lunch: at one?
20/11/2025, 13:01 - Anna: ok?
20/11/2025, 13:01 - Anna: ok?
20/11/2025, 13:02 - Ben: Yes
in two lines
"""
IOS = """[20.11.25, 13:01:05] Anna: Lunch?
\u200e[20.11.25, 13:02:00] Ben: \u200eimage omitted
"""
US = """11/20/25, 1:01\u202fPM - Anna: Lunch?
11/20/25, 12:05\u202fAM - Ben: early
"""


def test_an_android_chat_of_two_tells_who_is_who_by_its_name(tmp_path: Path) -> None:
    records, skipped = read(tmp_path, "messages", "WhatsApp Chat with Anna.txt", ANDROID)
    minute = at("2025-11-20T13:01:00")
    assert records == [
        MessageRecord("whatsapp", minute, False, "Lunch: at one?", name="Anna"),
        MessageRecord("whatsapp", minute, False, "ok?", name="Anna"),
        MessageRecord("whatsapp", minute, False, "ok?", name="Anna", occurrence=1),
        MessageRecord("whatsapp", minute + 60_000, True, "Yes\nin two lines", name="Anna"),
    ]
    assert skipped == [("line 1", "it is a notice, not a message")]


def test_ios_and_american_times_are_read(tmp_path: Path) -> None:
    records, _ = read(tmp_path, "messages", "_chat.txt", IOS, options(me="ben"))
    assert [(each.sent_ms, each.is_outgoing, each.body) for each in records] == [
        (at("2025-11-20T13:01:05"), False, "Lunch?"), (at("2025-11-20T13:02:00"), True, "image omitted"),
    ]  # fmt: skip
    records, _ = read(tmp_path, "messages", "_chat.txt", US, options(me="ben"))
    assert [each.sent_ms for each in records] == [at("2025-11-20T13:01:00"), at("2025-11-20T00:05:00")]


def test_the_order_of_messages_settles_day_and_month(tmp_path: Path) -> None:
    text = "03/04/25, 10:00 - Anna: a\n04/04/25, 10:00 - Anna: b\n02/05/25, 10:00 - Anna: c\n"
    records, _ = read(tmp_path, "messages", "WhatsApp Chat with Anna.txt", text)
    assert [each.sent_ms for each in records] == [
        at(f"2025-{day}T10:00:00") for day in ("04-03", "04-04", "05-02")
    ]


def test_what_leaves_the_dates_or_the_owner_open_is_refused_and_not_guessed(tmp_path: Path) -> None:
    text = "03/04/25, 10:00 - Anna: a\n03/04/25, 10:01 - Ben: b\n"
    with pytest.raises(CannotImport, match="--dates"):
        read(tmp_path, "messages", "c.txt", text, options(me="ben"))
    records, _ = read(tmp_path, "messages", "c.txt", text, options(me="ben", dates="mdy"))
    assert records[0].sent_ms == at("2025-03-04T10:00:00")
    with pytest.raises(CannotImport, match="--me: Anna, Ben"):
        read(tmp_path, "messages", "c.txt", ANDROID)


# -- iMessage -----------------------------------------------------------------------------

IMESSAGE = """May 17, 2022  5:29:42 PM (Read by you after 1 hour, 49 seconds)
Anna Berg
Words

and a last line
Tapbacks:
Loved by Me

May 17, 2022 12:30:00 AM
Me
Night
    May 17, 2022  5:40:00 PM
    Anna Berg
    a reply, shown a second time

May 17, 2022  5:40:00 PM
Anna Berg
a reply, shown a second time
This message responded to an earlier message.

May 18, 2022  5:29:42 PM You named the conversation Club
"""


def test_an_imessage_export_is_read_without_what_it_shows_twice(tmp_path: Path) -> None:
    records, skipped = read(tmp_path, "messages", "+4917012345.txt", IMESSAGE)
    who = {"address": "+4917012345"}
    assert records == [
        MessageRecord(
            "imessage", at("2022-05-17T17:29:42"), False, "Words\n\nand a last line", name="Anna Berg", **who
        ),
        MessageRecord("imessage", at("2022-05-17T00:30:00"), True, "Night", **who),
        MessageRecord(
            "imessage",
            at("2022-05-17T17:40:00"),
            False,
            "a reply, shown a second time",
            name="Anna Berg",
            **who,
        ),
    ]
    assert skipped == [("line 21", "it is a notice, not a message")]


def test_a_group_of_imessage_is_called_by_its_file(tmp_path: Path) -> None:
    records, _ = read(tmp_path, "messages", "Anna Berg, Ben.txt", IMESSAGE)
    assert [(each.conversation, each.address) for each in records] == [
        ("Anna Berg, Ben", "Anna Berg"), ("Anna Berg, Ben", ""), ("Anna Berg, Ben", "Anna Berg"),
    ]  # fmt: skip


# -- e-mail -------------------------------------------------------------------------------

MBOX = """From anna@example.net Thu Nov 20 13:00:00 2025
From: =?utf-8?q?Anna_Bj=C3=B6rk?= <anna@example.net>
To: Me <me@example.org>
Subject: =?utf-8?b?R3LDvMOfZQ==?=
Date: Thu, 20 Nov 2025 13:00:00 +0100
Message-ID: <1@example.net>
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

Sch=C3=B6n
>From here
 on

From me@example.org Thu Nov 20 13:05:00 2025
From: me@example.org
To: "Berg, Anna" <anna@example.net>, Ben <ben@example.net>
Subject: Re
Date: Thu, 20 Nov 2025 13:05:00 +0100
Message-ID: <2@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: text/html; charset=utf-8

<html><head><style>p {}</style></head><body><p>Fine &amp; good</p><p>bye</p></body></html>
--x
Content-Type: application/pdf
Content-Disposition: attachment; filename="a.pdf"
Content-Transfer-Encoding: base64

QUJD
--x--

From nobody Thu Nov 20 13:06:00 2025
From: anna@example.net
Date: soon
Subject: dated by its envelope

words

From nobody
Subject: no date

words
"""


def test_mail_keeps_its_words_and_leaves_its_attachments(tmp_path: Path) -> None:
    records, skipped = read(tmp_path, "messages", "mail.mbox", MBOX, options(me="me@example.org"))
    assert records == [
        MessageRecord(
            "email", at("2025-11-20T13:00:00"), False, "Schön\nFrom here\n on", "anna@example.net",
            "Anna Björk", subject="Grüße", external_id="<1@example.net>",
        ),
        MessageRecord(
            "email", at("2025-11-20T13:05:00"), True, "Fine & good\n\nbye", "anna@example.net", "Berg, Anna",
            subject="Re", external_id="<2@example.org>",
        ),
        MessageRecord(
            "email", at("2025-11-20T14:06:00"), False, "words", "anna@example.net",
            subject="dated by its envelope",
        ),
    ]  # fmt: skip
    assert skipped == [("record 4", "it has no date that can be read")]


NESTED = """From x Thu Nov 20 13:00:00 2025
Message-ID: <n@example.net>
From: anna@example.net
To: me@example.org
Subject: a long
 subject
Date: Thu, 20 Nov 2025 13:00:00 +0000
Content-Type: multipart/mixed;
 boundary="outer"

Not for people.
--outer
Content-Type: multipart/alternative; boundary="outer-in"

--outer-in
Content-Type: text/html

<p>markup</p>
--outer-in
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: base64

R3LDvMOfZQo=
--outer-in--
--outer
Content-Type: text/plain; name="notes.txt"
Content-Disposition: attachment; filename="notes.txt"

an attachment
"""


def test_parts_in_parts_are_found_also_without_the_last_boundary(tmp_path: Path) -> None:
    for text in (NESTED, NESTED + "--outer--\n", NESTED.replace("\n", "\r\n")):
        [found], skipped = read(tmp_path, "messages", "m.mbox", text, options(me="me@example.org"))
        assert isinstance(found, MessageRecord)
        assert (found.subject, found.body, skipped) == ("a long subject", "Grüße", [])
        # What the library finds, which looks at every line.
        whole = email.message_from_string(NESTED.partition("\n")[2], policy=email.policy.default)
        body = whole.get_body(("plain",))
        assert body is not None and body.get_content().strip() == found.body


def test_parts_nested_without_end_end(tmp_path: Path) -> None:
    head = NESTED.partition("Content-Type")[0]
    deep = "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(2_000))
    records, skipped = read(tmp_path, "messages", "m.mbox", f"{head}{deep}", options(me="me@example.org"))
    assert [each.body for each in records if isinstance(each, MessageRecord)] == [""] and skipped == []


def test_gmail_says_by_its_labels_what_was_sent(tmp_path: Path) -> None:
    text = MBOX.replace("Subject: Re\n", "Subject: Re\nX-Gmail-Labels: Sent,Opened\n")
    text = text.replace("Subject: =", "X-Gmail-Labels: Inbox\nSubject: =")
    records, _ = read(
        tmp_path,
        "messages",
        "mail.mbox",
        re.sub("Subject: (no|dated)", r"X-Gmail-Labels: a\nSubject: \1", text),
    )
    assert [each.is_outgoing for each in records] == [False, True, False]
    with pytest.raises(CannotImport, match="--me"):
        read(tmp_path, "messages", "mail.mbox", MBOX)


# -- CSV ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'time,direction,address,name,text\n2025-11-20T13:00:00,received,+491,Anna,"Lunch, at\none?"\n',
        '\ufeffDate;Type;Number;Contact;Message\n1763640000;Incoming;+491;Anna;"Lunch, at\none?"\n',
        'timestamp\tis_from_me\tphone\tname\tbody\n1763640000000\t0\t+491\tAnna\t"Lunch, at\none?"\n',
    ],
)
def test_a_table_of_messages_is_read_by_the_names_of_its_columns(tmp_path: Path, text: str) -> None:
    records, _ = read(tmp_path, "messages", "m.csv", text)
    assert records == [MessageRecord("csv", 1763640000000, False, "Lunch, at\none?", "+491", "Anna")]


def test_rows_of_a_table_that_cannot_be_taken_are_told_by_line(tmp_path: Path) -> None:
    rows = ["2025-11-20,sent,a", "soon,sent,b", "2025-11-20,,c", "2099-01-01,sent,d", "1763640000,sent"]
    text = "\n".join(["time,direction,text", *rows])
    records, skipped = read(tmp_path, "messages", "m.csv", text)
    assert [each.body for each in records] == ["a"]
    assert [where for where, _ in skipped] == ["line 3", "line 4", "line 5", "line 6"]
    assert [reason.split(" (")[0].split(";")[0] for _, reason in skipped] == [
        "its time cannot be read", "it does not say whether it was sent or received",
        "its time lies in the future", "it has no text",
    ]  # fmt: skip


def test_a_table_without_the_columns_says_which(tmp_path: Path) -> None:
    with pytest.raises(CannotImport, match="none of these formats"):
        read(tmp_path, "messages", "m.csv", "a,b\n1,2\n")
