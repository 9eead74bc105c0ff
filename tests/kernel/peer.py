#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A peer on the kernel's SCTP that accepts every session and receives everything.

Usage: peer.py ADDRESS PORT; says "listening", then for each session that ends the bytes that came.
"""
import socket
import struct
import sys

IPPROTO_SCTP = 132
SCTP_INITMSG, SCTP_ADAPTATION_LAYER, SCTP_SNDINFO = 2, 7, 2
UNORDERED = 1
PPID_CONTROL = 17
STREAMS = 256
INITIATE, ACCEPT = 1, 2


def listener(address, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SCTP)
    s.setsockopt(IPPROTO_SCTP, SCTP_INITMSG, struct.pack("=4H", STREAMS, STREAMS, 0, 0))
    s.setsockopt(IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, struct.pack("=I", 1))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    s.bind((address, port))
    s.listen()
    return s


def accept_session(peer):
    """The first message is the Initiate, on stream 0: DDP-SSN 0, function 1, private data."""
    data = peer.recv(1 << 16)
    ssn, function = struct.unpack(">2H", data[:4])
    assert (ssn, function) == (0, INITIATE), data
    info = struct.pack("=2HIIi", 0, UNORDERED, socket.htonl(PPID_CONTROL), 0, 0)
    peer.sendmsg([struct.pack(">2H", 0, ACCEPT)], [(IPPROTO_SCTP, SCTP_SNDINFO, info)])


def main():
    s = listener(sys.argv[1], int(sys.argv[2]))
    print("listening", flush=True)
    while True:
        peer, _ = s.accept()
        total = 0
        try:
            accept_session(peer)
            while data := peer.recv(1 << 16):
                total += len(data)
        except ConnectionError:
            pass
        print("received", total, flush=True)


main()
