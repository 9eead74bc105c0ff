#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the guest's kernel has SCTP, and its links work as the later tests assume: a link that is down carries
# nothing while the other works; SCTP's checksum detects packets that a link corrupts.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
needs python3
hosts 2

# Listens at all addresses, and prints the number of received bytes and their digest.
background listener ip netns exec b python3 -u -c '
import hashlib, socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
s.bind(("0.0.0.0", 5000))
s.listen()
print("listening")
while True:
    peer, _ = s.accept()
    digest = hashlib.sha256()
    while data := peer.recv(1 << 16):
        digest.update(data)
    print(digest.hexdigest())'
listens() { grep -q listening "$tmp/listener.log"; }
eventually 20 listens || fail 'nothing listens'

# send LINK BYTES [SECONDS]: from host a; the digest goes to the variable sent. SECONDS: how long to connect [60]: the
# first packet may be lost after a link comes up, and the initial RTO of Linux is 3 s.
send() {
	sent=$(at a timeout 300 python3 -c '
import hashlib, random, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
s.settimeout(int(sys.argv[3]))
try:
    s.connect((sys.argv[1], 5000))
except OSError as e:
    sys.exit(f"not connected: {e}")
s.settimeout(120)
data = random.Random(1).randbytes(int(sys.argv[2]))
for i in range(0, len(data), 8000):
    s.send(data[i:i + 8000])
s.shutdown(socket.SHUT_WR)
print(hashlib.sha256(data).hexdigest())' "$(addr b "$1")" "$2" "${3:-60}" 2>>"$tmp/send.log")
}
arrived() { grep -q "$sent" "$tmp/listener.log"; }

send 1 1000 && eventually 10 arrived || fail 'link 1'
link 1 down
send 1 1001 3 && fail 'a link that is down'
send 2 1002 && eventually 10 arrived || fail 'link 2'
link 1 up
send 1 1003 && eventually 10 arrived || fail 'link 1 again'

disturb 1 corrupt 3%
# A corrupted packet of the handshake costs 3 s, the initial RTO of Linux.
send 1 1000000 && eventually 20 arrived || fail 'a link that corrupts packets'
spoiled=$(($(counter a sctp/snmp SctpChecksumErrors) + $(counter b sctp/snmp SctpChecksumErrors)))
[ $spoiled -gt 0 ] || fail 'no packet had a wrong checksum'
[ "$(counter b sctp/snmp SctpInSCTPPacks)" -gt $((10 * spoiled)) ] || fail "too many wrong checksums: $spoiled"
disturb 1 loss 100%
send 1 1004 3 && fail 'a link that loses everything'
[ "$(lost 1)" -gt 0 ] || fail 'nothing was lost'
disturb 1
send 1 1005 && eventually 10 arrived || fail 'a link that is undisturbed again'
echo "Linux $(uname -r), $spoiled packets with wrong checksums"
