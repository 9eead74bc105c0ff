#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Captures the UDP packets that leave through a device, and prints the length of the longest.

A batch of UDP_SEGMENT is one long packet there: only the device can segment it. Usage: longest.py DEVICE; says
"watching", and at the end (SIGTERM) the number of packets, and the bytes of the longest with its IP header.
"""
import signal
import socket
import struct
import sys

ETH_P_ALL, ETH_P_IP, SOL_PACKET, PACKET_STATISTICS = 3, 0x800, 263, 6
SO_RCVBUFFORCE = 33
IP_UDP, OUTGOING = 17, 4

s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
s.bind((sys.argv[1], ETH_P_ALL))
s.settimeout(0.2)
ending = []
signal.signal(signal.SIGTERM, lambda *_: ending.append(True))
print("watching", flush=True)
packets = longest = 0
while True:
    try:
        head, _, _, origin = s.recvmsg(20)
    except TimeoutError:
        if ending:
            break
        continue
    if origin[1] == ETH_P_IP and origin[2] == OUTGOING and len(head) >= 20 and head[9] == IP_UDP:
        packets += 1
        longest = max(longest, struct.unpack(">H", head[2:4])[0])
missed = struct.unpack("=2I", s.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
if missed:
    sys.exit(f"{missed} packets were not seen")
print(packets, longest)
