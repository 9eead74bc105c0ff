#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Ranks exchange messages of many sizes, each byte of which depends on who sent it, and compare them."""

# Usage: mpi_ranks.py [LARGEST]: bytes of the largest block

import sys

from mpi4py import MPI

LARGEST = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 20
SIZES = [size for size in (1, 8, 1000, 4096, 65536, 1 << 20) if size <= LARGEST]
WORLD = MPI.COMM_WORLD
ME, ALL = WORLD.Get_rank(), WORLD.Get_size()


def pattern(rank, size):
    return bytes((rank * 31 + i * 7) & 255 for i in range(min(size, 4096))) * max(1, size // 4096)


def ring(size):
    got = bytearray(len(pattern(0, size)))
    WORLD.Sendrecv(pattern(ME, size), (ME + 1) % ALL, 1, got, (ME - 1) % ALL, 1)
    return bytes(got) == pattern((ME - 1) % ALL, size)


def alltoall(size):
    block = len(pattern(0, size))
    got = bytearray(block * ALL)
    WORLD.Alltoall(b"".join(pattern(ME + to, size) for to in range(ALL)), [got, block, MPI.BYTE])
    return bytes(got) == b"".join(pattern(who + ME, size) for who in range(ALL))


def to_itself(size):
    got = bytearray(len(pattern(0, size)))
    MPI.Request.Waitall([WORLD.Irecv(got, ME), WORLD.Issend(pattern(ME, size), ME)])
    return bytes(got) == pattern(ME, size)


right = all(ring(size) and alltoall(size) and to_itself(size) for size in SIZES for _ in range(3))
right = right and WORLD.allreduce(ME + 1) == ALL * (ALL + 1) // 2
if WORLD.allreduce(int(right)) != ALL:
    sys.exit("data is wrong")
if ME == 0:
    print("all data is right")
