#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs ddpctl top in a terminal of 12 rows and 60 columns, and ends it by the key q.

Usage: terminal.py DDPCTL SOCKET
Exits with 1 if a screen does not fit, or if ddpctl does not end well.
"""
import fcntl
import os
import pty
import struct
import sys
import termios

ROWS, COLUMNS, SCREENS = 12, 60, 3
CLEAR = b"\x1b[H\x1b[J"


def main() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.execv(sys.argv[1], [sys.argv[1], "--socket", sys.argv[2], "-w", "0.1", "top"])
    shown = b""
    for key, words in ((b"", b"by traffic;"), (b"u", b"u: queue pairs"), (b"s", b"by messages;"), (b"u", b"u: users")):
        os.write(terminal, key)
        while words not in shown.split(CLEAR)[-1]:
            shown += os.read(terminal, 65536)
    while shown.count(CLEAR) <= SCREENS:
        shown += os.read(terminal, 65536)
    os.write(terminal, b"q")
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:  # what a terminal says when nobody has it open any more
        pass
    _, status = os.waitpid(pid, 0)
    if status:
        sys.exit(f"ddpctl top: status {os.waitstatus_to_exitcode(status)}")
    for screen in shown.split(CLEAR)[1:SCREENS + 1]:
        lines = screen.split(b"\r\n")
        if len(lines) > ROWS or max(map(len, lines)) > COLUMNS:
            sys.exit(f"ddpctl top: {len(lines)} rows, {max(map(len, lines))} columns")
        if b"queue pairs" not in screen or b"ASSOC" not in screen:
            sys.exit("ddpctl top: a screen without its tables")


main()
