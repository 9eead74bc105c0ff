#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Round trips of 64 bytes by UDP or TCP, one every 20 ms.

echo.py udp|tcp ADDRESS serve             until SIGTERM
echo.py udp|tcp ADDRESS SECONDS FROM [ALGORITHM]  prints: mean and 99th percentile in ms, number, lost ones
"""
import socket
import sys
import time

PORT, SIZE, EVERY = 5099, 64, 0.02


def serve_udp(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, PORT))
    print("ready", flush=True)
    while True:
        data, peer = s.recvfrom(2048)
        s.sendto(data, peer)


def serve_tcp(address):
    s = socket.create_server((address, PORT))
    print("ready", flush=True)
    while True:
        peer, _ = s.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := peer.recv(2048):
            peer.sendall(data)


def connect(kind, address, source, algorithm):
    if kind == "udp":
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if algorithm:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    s.bind((source, 0))
    s.connect((address, PORT))
    s.settimeout(1)
    return s


def round_trip(s, number):
    """Seconds, or None if the answer did not arrive."""
    began = time.monotonic()
    s.send(number.to_bytes(8, "big") + bytes(SIZE - 8))
    try:
        while int.from_bytes(s.recv(SIZE)[:8], "big") != number:
            pass
    except socket.timeout:
        return None
    return time.monotonic() - began


def main():
    kind, address, what = sys.argv[1:4]
    if what == "serve":
        (serve_udp if kind == "udp" else serve_tcp)(address)
    s = connect(kind, address, sys.argv[4], (sys.argv[5:] or [None])[0])
    end = time.monotonic() + float(what)
    times, number = [], 0
    while time.monotonic() < end:
        number += 1
        times.append(round_trip(s, number))
        time.sleep(EVERY)
    ms = sorted(1000 * t for t in times if t is not None)
    print(f"{sum(ms) / len(ms):.1f} {ms[len(ms) * 99 // 100]:.1f} {number} {number - len(ms)}")


main()
