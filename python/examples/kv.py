#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A key-value store whose clients read by RDMA Read: the server's program makes no call for it.

    kv.py serve [--port PORT]
    kv.py get HOST KEY
    kv.py put HOST KEY VALUE

The server offers a table of slots of 128 bytes: CRC32, length of key, length of value, key, value.
A client reads the slot of a key and checks it: while the server changes a slot, a Read may get a
mixture, and the CRC is wrong; then the client reads again. Only the server changes the table; clients
send it the pairs to store.
"""

import argparse
import asyncio
import struct
import sys
import zlib

import ddpclient
from ddpclient import aio

SLOTS, SLOT, PORT = 1024, 128, 5045
HEAD = struct.Struct("!IBB")


def slot_of(key: bytes) -> int:
    return zlib.crc32(key) % SLOTS * SLOT


def pack(key: bytes, value: bytes) -> bytes:
    body = bytes([len(key), len(value)]) + key + value
    if len(key) + len(value) > SLOT - HEAD.size:
        raise ValueError(f"key and value have {len(key) + len(value)} bytes; at most {SLOT - HEAD.size}")
    return struct.pack("!I", zlib.crc32(body)) + body


def unpack(slot: bytes):
    """Key and value; None if the slot is empty. ValueError: a mixture."""
    crc, key, value = HEAD.unpack_from(slot)
    if crc == key == value == 0:
        return None
    end = HEAD.size + key + value
    if end > SLOT or zlib.crc32(slot[4:end]) != crc:
        raise ValueError
    return slot[HEAD.size:HEAD.size + key], slot[HEAD.size + key:end]


async def serve_one(connection, table):
    async with connection:
        async for message in connection:
            found = None
            try:
                found = unpack(message.ljust(SLOT, b"\0"))
            except (ValueError, struct.error):
                pass
            if not found:
                return  # not one of our clients
            at = slot_of(found[0])
            table[at:at + len(message)] = message
            await connection.send(b"stored")


async def serve(args):
    async with aio.Listener(args.port) as listener:
        table = listener.alloc(SLOTS * SLOT)
        listener.offer(table, read=True)
        print(f"port {listener.port}", flush=True)
        tasks = set()
        while True:
            task = asyncio.create_task(serve_one(await listener.accept(), table))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


def get(args):
    key = args.key.encode()
    with ddpclient.connect(args.host, args.port) as connection:
        slot = connection.alloc(SLOT)
        while True:
            connection.read_into(slot_of(key), slot, timeout=30)
            try:
                found = unpack(slot[:])
                break
            except ValueError:
                pass  # the server was changing it
    if not found or found[0] != key:
        sys.exit(f"{args.key}: no value")
    print(found[1].decode())


def put(args):
    with ddpclient.connect(args.host, args.port) as connection:
        connection.send(pack(args.key.encode(), args.value.encode()), timeout=30)
        connection.recv(timeout=30)


def main():
    parser = argparse.ArgumentParser(description="a key-value store that is read by RDMA Read")
    parser.add_argument("--port", type=int, default=PORT)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("serve").set_defaults(run=lambda args: asyncio.run(serve(args)))
    for name, call, words in ("get", get, ["host", "key"]), ("put", put, ["host", "key", "value"]):
        command = commands.add_parser(name)
        for word in words:
            command.add_argument(word)
        command.set_defaults(run=call)
    args = parser.parse_args()
    try:
        args.run(args)
    except (ddpclient.Error, ValueError) as error:
        sys.exit(f"kv.py: {error}")


if __name__ == "__main__":
    main()
