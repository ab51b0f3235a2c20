"""What a process was started with, and when: asked of the system, without another program.

A process that may not be asked, or is gone, tells nothing; that is no failure, because this only
ever adds a reason to leave a window out.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import struct
import sys
from pathlib import Path
from typing import Any

_LONGEST = 1 << 20


def command_line(pid: int) -> tuple[str, ...]:
    """The program and its arguments; empty when nobody tells."""
    try:
        if sys.platform == "darwin":
            return mac_arguments(_mac_process(pid))
        if sys.platform == "win32":
            return _windows_arguments(pid)
        return linux_arguments((Path("/proc") / str(pid) / "cmdline").read_bytes()[:_LONGEST])
    except (OSError, AttributeError, ValueError, struct.error):
        return ()


def started(pid: int) -> str:
    """When a process was started, as the system counts, so that a number used again is told apart.

    "" where nobody tells. On Linux field 22 of /proc/PID/stat, in clock ticks since boot:
    https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    """
    try:
        status = (Path("/proc") / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        return status.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def linux_arguments(content: bytes) -> tuple[str, ...]:
    """/proc/PID/cmdline: arguments that each end with a NUL."""
    if not content:
        return ()  # a process of the kernel, or one that has just ended
    return tuple(part.decode("utf-8", "replace") for part in content.removesuffix(b"\0").split(b"\0"))


def mac_arguments(content: bytes) -> tuple[str, ...]:
    """KERN_PROCARGS2: the number of arguments (int), the program's path, NULs, then the arguments.

    Source: sysctl_procargsx in https://github.com/apple-oss-distributions/xnu, bsd/kern/kern_sysctl.c
    """
    (count,) = struct.unpack_from("=i", content)
    arguments = content[content.index(b"\0", 4) :].lstrip(b"\0").split(b"\0")[: max(0, count)]
    return tuple(argument.decode("utf-8", "replace") for argument in arguments)


def _mac_process(pid: int) -> bytes:
    kern, procargs2 = 1, 49
    library: Any = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
    name = (ctypes.c_int * 3)(kern, procargs2, pid)
    size = ctypes.c_size_t(_LONGEST)
    content = ctypes.create_string_buffer(_LONGEST)
    if library.sysctl(name, 3, content, ctypes.byref(size), None, 0) != 0:
        raise OSError(ctypes.get_errno(), "sysctl")
    return content.raw[: size.value]


def _windows_arguments(pid: int) -> tuple[str, ...]:
    """ProcessCommandLineInformation, from Windows 8.1 on, split as programs split it themselves.

    https://learn.microsoft.com/windows/win32/api/winternl/nf-winternl-ntqueryinformationprocess
    """
    query_limited_information, command_line_information = 0x1000, 60
    api: Any = getattr(ctypes, "windll")  # noqa: B009 - exists on Windows only
    api.kernel32.OpenProcess.restype = ctypes.c_void_p
    process = ctypes.c_void_p(api.kernel32.OpenProcess(query_limited_information, False, pid))
    if not process:
        return ()
    try:
        content = ctypes.create_string_buffer(_LONGEST)
        needed = ctypes.c_ulong()
        if api.ntdll.NtQueryInformationProcess(
            process, command_line_information, content, len(content), ctypes.byref(needed)
        ):
            return ()
        # A UNICODE_STRING: length in bytes, room, and a pointer to the text behind it.
        (length,) = struct.unpack_from("=H", content)
        if not length:
            return ()
        where = ctypes.c_void_p.from_buffer(content, ctypes.sizeof(ctypes.c_void_p))
        text = ctypes.wstring_at(where.value or 0, length // 2)
        count = ctypes.c_int()
        split = api.shell32.CommandLineToArgvW
        split.restype = ctypes.POINTER(ctypes.c_wchar_p)
        parts = split(ctypes.c_wchar_p(text), ctypes.byref(count))
        try:
            return tuple(parts[index] for index in range(count.value))
        finally:
            api.kernel32.LocalFree(parts)
    finally:
        api.kernel32.CloseHandle(process)
