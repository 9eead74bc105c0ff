#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Secrets in the memory of a process, which a core dump shows or leaves out: dtls-memory.sh.

dtls_dump.py PID NAME=HEX... prints a line "NAME dumped N hidden M" for each: how many copies there are in mappings that are
part of core dumps, and in those with MADV_DONTDUMP. A word NAME:keys=LOG,OUTPUT is the key log and the output of `openssl
s_client -msg`: the master secret and the keys of both directions of its connection, for AES-128-GCM with SHA-256.
"""
import base64
import hashlib
import hmac
import re
import sys


def mappings(pid):
    """Ranges that can be read, and whether dumps leave them out. A core dump is of memory that has been written."""
    found = []
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as f:
        for line in f:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ", line)
            if head:
                found.append([int(head[1], 16), int(head[2], 16), head[3], 0, False, line.rstrip()])
            elif line.startswith("Rss:"):
                found[-1][3] = int(line.split()[1])
            elif line.startswith("VmFlags:"):
                found[-1][4] = "dd" in line.split()
    return [m for m in found if m[2].startswith("r") and m[3] and not m[5].endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]"))]


def base64_parts(raw):
    """What a file in PEM has of it on one line, where it begins at each of the three bytes that four characters stand for."""
    texts = [base64.b64encode(raw[skip:])[: len(raw[skip:]) // 3 * 4] for skip in range(3)]
    return [text[at : at + 16] for text in texts for at in (0, len(text) - 16)]


def find(pid, secrets):
    counts = {name: [0, 0] for name in secrets}
    with open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for start, end, _, _, hidden, _ in mappings(pid):
            mem.seek(start)
            content = mem.read(end - start)
            for name, forms in secrets.items():
                counts[name][hidden] += sum(content.count(form) for form in forms)
    return counts


def expand(secret, seed, size):
    """P_SHA256 of RFC 5246 5."""
    out, a = b"", seed
    while len(out) < size:
        a = hmac.digest(secret, a, hashlib.sha256)
        out += hmac.digest(secret, a + seed, hashlib.sha256)
    return out[:size]


def server_random(output):
    """Of the message ServerHello: it is behind a header of 12 bytes and a version of two."""
    with open(output, encoding="ascii", errors="replace") as f:
        text = f.read()
    received = re.findall(r"^<<< [^\n]*\n((?: +(?:[0-9a-f]{2} ?)+\n)+)", text, re.MULTILINE)
    hellos = [m for m in map(bytes.fromhex, received) if m[0] == 2 and len(m) > 46]
    return hellos[0][14:46]


def keys(name, log, output):
    with open(log, encoding="ascii") as f:
        client, master = [line.split()[1:] for line in f if line.startswith("CLIENT_RANDOM")][-1]
    master = bytes.fromhex(master)
    block = expand(master, b"key expansion" + server_random(output) + bytes.fromhex(client), 32)
    return {f"{name}-master": [master], f"{name}-client": [block[:16]], f"{name}-server": [block[16:]]}


def main():
    secrets = {}
    for word in sys.argv[2:]:
        name, value = word.split("=", 1)
        if name.endswith(":keys"):
            secrets.update(keys(name[:-5], *value.split(",")))
        else:
            raw = bytes.fromhex(value)
            # A number is in memory with its lowest byte first; text of a file as it is.
            secrets[name] = [raw, raw[::-1], value.encode(), *base64_parts(raw)]
    for name, (dumped, hidden) in find(int(sys.argv[1]), secrets).items():
        print(name, "dumped", dumped, "hidden", hidden)


main()
