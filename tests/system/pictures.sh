#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: scripts/draw-session draws a session from its packets, as ddpctl captured them: set-up, session control, the Writes with
# their segments, the end, in order. DDP_PICTURES=FOLDER keeps the pictures there: those of docs/tutorial are made by this.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl tshark python3
[ "${DDP_TRANSPORT:-user}" = user ] || skip 'needs transport user'
export HOME=$tmp/home # without the configuration of the user

# capture NAME MTU SERVER CLIENT: the packets of an example between two daemons.
capture() {
	local name=$1 b
	b=$(address 1)
	daemon a "$(address 0)" "user: {gso: off, mtu: $2}"
	daemon b "$b" "user: {gso: off, mtu: $2}"
	background capture "$ddpctl" --socket "$(socket_of a)" capture "$tmp/$name.pcapng"
	eventually 10 test -s "$tmp/$name.pcapng" || fail 'nothing is captured'
	# shellcheck disable=SC2086
	DDP_SOCKET=$(socket_of b) server serves b "$bin/examples/"${3/ADDRESS/$b}
	# shellcheck disable=SC2086
	DDP_SOCKET=$(socket_of a) timeout 120 "$bin/examples/"$4 "$b" >"$tmp/client.log" 2>&1 || fail "$4"
	eventually 10 gone "$(pid_of serves)" || fail "$3 stays"
	stop a
	stop b
	eventually 10 gone "$(pid_of capture)" || fail 'ddpctl capture stays'
}
# draw NAME OPTION...
draw() {
	local name=$1
	shift
	python3 "$top_srcdir/scripts/draw-session" "$@" "$tmp/$name.pcapng" >"$tmp/$name.svg" 2>"$tmp/draw.log" || fail "draw-session of $name"
	[ -z "${DDP_PICTURES-}" ] || cp "$tmp/$name.svg" "$DDP_PICTURES/" || fail "$DDP_PICTURES"
}
# in_order NAME WORDS...: the picture is an SVG with these words in this order.
in_order() {
	python3 - "$tmp/$1.svg" "${@:2}" <<'PYTHON' || fail "the picture $1"
import sys, xml.etree.ElementTree as ET

text = "\n".join("".join(e.itertext()) for e in ET.parse(sys.argv[1]).getroot().iter("{http://www.w3.org/2000/svg}text"))
at = 0
for words in sys.argv[2:]:
    found = text.find(words, at)
    assert found >= 0, (words, text)
    at = found + len(words)
PYTHON
}

capture session 0 'hello_server ADDRESS' hello_client
draw session -t 'A session: hello_client and hello_server'
in_order session INIT 'adaptation 1' 'INIT ACK' 'COOKIE ECHO' 'COOKIE ACK' 'Session Initiate' 'Session Accept' Send 'RDMA Write' \
	'Read Request' 'Read Response' Send 'Session Terminate' 'Session Terminate' SHUTDOWN

# A struct of 8040 bytes does not fit into a packet of 1500.
capture write 1500 'own_memory -s' own_memory
draw write -d -t 'One Write of 8040 bytes, and the Send after it, with packets of 1500 bytes'
in_order write 'RDMA Write' 'RDMA Write' 'RDMA Write' 'RDMA Write' 'RDMA Write' ', last' 'Send: 0 bytes'
python3 - "$tmp/write.svg" <<'PYTHON' || fail 'the segments'
import re, sys

text = open(sys.argv[1]).read()
segments = {(int(n), int(at, 16)) for n, at in re.findall(r"RDMA Write: (\d+) bytes to STag 0x[0-9a-f]+, offset 0x([0-9a-f]+)", text)}  # a segment may be sent again
first = min(at for _, at in segments)
assert sum(n for n, _ in segments) == 8040 and sorted(at - first for _, at in segments)[-1] < 8040, segments
assert "INIT" not in text and "Session" not in text, "data alone"
PYTHON
printf 'no capture' >"$tmp/bad.pcapng"
python3 "$top_srcdir/scripts/draw-session" "$tmp/bad.pcapng" >"$tmp/bad.svg" 2>"$tmp/bad.words" && fail 'a file that is no capture'
[ ! -s "$tmp/bad.svg" ] || fail 'a picture of no capture'
exit 0
