# SPDX-License-Identifier: BSD-2-Clause
"""Prints the names of all values, of the libraries that the loader finds."""

import ctypes

CALLS = {
    "libibverbs.so.1": ("ibv_node_type_str", "ibv_port_state_str", "ibv_event_type_str", "ibv_wc_status_str"),
    "librdmacm.so.1": ("rdma_event_str",),
}

for library, calls in CALLS.items():
    for call in calls:
        # ddpverbs replaces the symbols of the process, and not those of a handle.
        function = getattr(ctypes.CDLL(None), call, None) or getattr(ctypes.CDLL(library), call)
        function.restype = ctypes.c_char_p
        for value in range(-1, 30):
            print(call, value, function(value).decode())
