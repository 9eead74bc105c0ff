#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the guest's kernel has SCTP, and two of its sockets talk.
# shellcheck source=../system/lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs python3
python3 - <<'END' || fail 'SCTP sockets'
import socket

server, client = (socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP) for _ in range(2))
server.bind(("127.0.0.1", 5000))
server.listen()
client.connect(("127.0.0.1", 5000))
peer, _ = server.accept()
client.send(b"hello")
assert peer.recv(10) == b"hello"
END
echo "Linux $(uname -r)"
