"""Messages of SMS Backup & Restore for Android: ``<smses>`` of ``<sms …/>`` and ``<mms>``.

The fields are described at https://www.synctech.com.au/sms-backup-restore/fields-in-xml-backup-files/.
Times are epoch milliseconds. Pictures and sounds of an MMS are left out, its texts are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.record_streams import Start, xml_elements
from ingest.importers.sources.source_file import Options, Source
from ingest.importers.sources.telling import made
from ingest.importers.sources.values import BadRecord, name_of, parse_number, past_ms, text_of
from store.sources.messages import MessageRecord

_RECEIVED, _SENT = "1", "2"
_FROM = "137"  # PduHeaders.FROM of Android
_OWN = "insert-address-token"
_NOTHING = {"", "null", "(Unknown)"}


def read_sms_backup(source: Source, options: Options) -> Iterator[MessageRecord | Skipped]:
    """Records are counted over ``sms`` and ``mms`` together, from 1."""
    count = 0
    mms: dict[str, str] | None = None
    texts: list[str] = []
    senders: list[str] = []
    is_first = True
    for each in xml_elements(source):
        if is_first:
            _check_root(each.name)
            is_first = False
        if isinstance(each, Start):
            if each.name == "sms":
                count += 1
                yield made(f"record {count}", _sms, each.values, options)
            elif each.name == "mms":
                count += 1
                mms, texts, senders = each.values, [], []
            elif each.name == "part" and each.values.get("ct", "").startswith("text/plain"):
                texts.append(each.values.get("text", ""))
            elif each.name == "addr" and each.values.get("type") == _FROM:
                senders.append(each.values.get("address", ""))
        elif each.name == "mms" and mms is not None:
            yield made(f"record {count}", _mms, mms, texts, senders, options)
            mms = None


def _check_root(name: str) -> None:
    if name == "calls":
        raise CannotImport("this is a backup of calls; import the one of messages")
    if name != "smses":
        raise CannotImport(f"this is no SMS Backup & Restore file: it begins with <{name[:40]}>, not <smses>")


def _sms(values: dict[str, str], options: Options) -> MessageRecord:
    return MessageRecord(
        service="sms",
        sent_ms=past_ms(parse_number(values.get("date"), "its date"), options),
        is_outgoing=_is_outgoing(values.get("type")),
        body=_said([values.get("body", "")]),
        address=name_of(values.get("address")),
        name=_known(values.get("contact_name")),
        subject=_known(values.get("subject")),
    )


def _mms(values: dict[str, str], texts: list[str], senders: list[str], options: Options) -> MessageRecord:
    is_outgoing = _is_outgoing(values.get("msg_box"))
    others = [each for each in values.get("address", "").split("~") if each]
    is_group = len(others) > 1
    sender = next((each for each in senders if each not in (_OWN, "")), "")
    address = others[0] if others else sender
    if is_group:
        address = "" if is_outgoing else sender
    known = _known(values.get("contact_name"))
    return MessageRecord(
        service="sms",
        sent_ms=past_ms(parse_number(values.get("date"), "its date"), options),
        is_outgoing=is_outgoing,
        body=_said(texts),
        address=name_of(address),
        name="" if is_group else known,
        conversation=(known or name_of(", ".join(others))) if is_group else "",
        subject=_known(values.get("sub")),
    )


def _is_outgoing(box: str | None) -> bool:
    if box not in (_RECEIVED, _SENT):
        raise BadRecord("it was neither received nor sent (a draft, or it failed)")
    return box == _SENT


def _said(texts: list[str]) -> str:
    body = "\n".join(text for text in texts if text and text != "null")
    if not body.strip():
        raise BadRecord("it has no text (a picture or a sound)")
    return text_of(body)


def _known(name: str | None) -> str:
    return "" if name in _NOTHING else name_of(name)
