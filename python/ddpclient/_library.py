# SPDX-License-Identifier: BSD-2-Clause
"""The calls of <ddp/ddp_easy.h>. tests/system/python_layout.c compares them with the header."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_ssize_t, c_uint, c_uint16, c_uint32, c_uint64, c_void_p

REMOTE_WRITE = 2
REMOTE_READ = 4
LISTEN_ENCRYPTED = 1


class EasyAttr(ctypes.Structure):
    """struct ddp_easy_attr"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("socket", c_char_p),
        ("message_bytes", c_uint32),
        ("messages", c_uint32),
        ("listen_flags", c_uint),
    ]


# name: result, arguments. A struct ddp_easy and memory are addresses.
CALLS = {
    "ddp_easy_open": (c_int, [POINTER(EasyAttr), POINTER(c_void_p)]),
    "ddp_easy_close": (c_int, [c_void_p, c_int]),
    "ddp_easy_error": (c_char_p, [c_void_p]),
    "ddp_easy_alloc": (c_int, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "ddp_easy_register": (c_int, [c_void_p, c_void_p, c_size_t, c_int]),
    "ddp_easy_free": (c_int, [c_void_p, c_void_p]),
    "ddp_easy_offer": (c_int, [c_void_p, c_void_p, c_size_t, c_uint]),
    "ddp_easy_offered": (c_int, [c_void_p, POINTER(c_uint64), POINTER(c_uint)]),
    "ddp_easy_connect": (c_int, [c_void_p, c_char_p, c_uint16, c_int]),
    "ddp_easy_listen": (c_int, [c_void_p, c_char_p, c_uint16]),
    "ddp_easy_accept": (c_int, [c_void_p, POINTER(c_void_p), c_int]),
    "ddp_easy_send": (c_int, [c_void_p, c_void_p, c_size_t, c_int]),
    "ddp_easy_recv": (c_ssize_t, [c_void_p, c_void_p, c_size_t, c_int]),
    "ddp_easy_write": (c_int, [c_void_p, c_uint64, c_void_p, c_size_t, c_int]),
    "ddp_easy_read": (c_int, [c_void_p, c_uint64, c_void_p, c_size_t, c_int]),
    "ddp_easy_wait": (c_int, [c_void_p, c_int]),
    "ddp_easy_fd": (c_int, [c_void_p]),
    "ddp_easy_arm": (c_int, [c_void_p, POINTER(c_uint64)]),
}


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(os.environ.get("DDP_CLIENT_LIBRARY", "libddpclient.so.1"))
    for name, (result, arguments) in CALLS.items():
        call = getattr(library, name)
        call.restype = result
        call.argtypes = arguments
    return library


lib = _load()
