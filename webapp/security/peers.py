"""Which user of this machine is at the other end of a connection; the kernel of Linux tells."""

from __future__ import annotations

import ipaddress
import socket
import struct
import sys

_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST = 1
_LISTEN = 10
_HEAD = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBxxI")
_ANY_STATE = 0xFFFF_FFFF
_STATE_AT, _UID_AT = _HEAD.size + 1, _HEAD.size + 64


def user_of(connection: socket.socket | None) -> str:
    """The number of the user whose socket is connected to ours, as text.

    "" where nobody can tell: it is on another machine or in a network of its own, has gone, or this is no
    Linux.
    """
    if connection is None or sys.platform != "linux":
        return ""
    try:
        theirs, ours = connection.getpeername(), connection.getsockname()
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
            kernel.settimeout(1.0)
            kernel.send(_question(theirs, ours))
            answer = kernel.recv(4_096)
    except OSError:
        return ""
    # A listener may have the port of somebody on another machine.
    if _HEAD.unpack_from(answer)[1] != _BY_FAMILY or answer[_STATE_AT] == _LISTEN:
        return ""
    return str(struct.unpack_from("=I", answer, _UID_AT)[0])


def _question(theirs: tuple[str, int], ours: tuple[str, int]) -> bytes:
    """Whose is the socket at `theirs` that is connected to `ours`?

    `inet_diag_req_v2` of https://man7.org/linux/man-pages/man7/sock_diag.7.html; the socket is known by its
    two addresses, on any interface and with any cookie.
    """
    addresses = [ipaddress.ip_address(where[0].partition("%")[0]) for where in (theirs, ours)]
    family = socket.AF_INET if addresses[0].version == 4 else socket.AF_INET6
    asked = _ASKED.pack(family, socket.IPPROTO_TCP, _ANY_STATE)
    asked += struct.pack("!HH", theirs[1], ours[1])
    asked += b"".join(address.packed.ljust(16, b"\0") for address in addresses)
    asked += struct.pack("=III", 0, 0xFFFF_FFFF, 0xFFFF_FFFF)
    return _HEAD.pack(_HEAD.size + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked
