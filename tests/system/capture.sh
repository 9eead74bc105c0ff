#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: what two daemons send each other is what RFC 5043 says, in the eyes of a dissector that is not
# ours: adaptation indication 1 in INIT and INIT ACK, only unordered, unfragmented DATA with payload
# protocol 16 or 17, nothing malformed, right checksums: for ddping, and for every operation that there is, whose
# messages capture.py judges one by one.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
[ "$(id -u)" -eq 0 ] || skip 'needs root, to capture on loopback'
needs ddpsctpd ddpctl ddping tshark python3
[ -x "$bin/tests/system/whole" ] || skip 'needs tests/system/whole, which is not built'

a=$(address 0) b=$(address 1) a2=$(address 2) b2=$(address 3)
# A batch of UDP_SEGMENT is one giant datagram in a capture on loopback, which no dissector can read.
plain='user:
  gso: off'

# begin NAME: starts the daemons and the capture; its file is the variable capture. dumpcap writes the head of the
# file when it listens.
begin() {
	daemon a "$a, $a2" "$plain"
	daemon b "$b, $b2" "$plain"
	capture=$tmp/$1.pcapng
	background tshark tshark -Q -n -B 32 -i lo -w "$capture" -f "udp port 9899 and (host $a or host $a2) and (host $b or host $b2)" -a duration:120
	eventually 30 tshark_runs
	[ -s "$capture" ] || skip "cannot capture: $(tail -n 1 "$tmp/tshark.log")"
}
tshark_runs() { [ -s "$capture" ] || gone "$(pid_of tshark)"; }

# finish: stops the daemons, and the capture when it has seen the end of the association.
finish() {
	stop a || fail "daemon a: exit status $?"
	stop b || fail "daemon b: exit status $?"
	eventually 10 closed || fail 'the capture does not show the end of the association'
	stop tshark INT
}
closed() { dissect 'sctp.chunk_type == 14' frame.number | grep -q .; }

read_capture() {
	tshark -Q -n -r "$capture" -X "lua_script:$top_srcdir/tests/system/ddp_sctp.lua" \
		--disable-heuristic rpcrdma_iwarp -o sctp.reassembly:FALSE \
		-o 'sctp.checksum:CRC 32c' -d udp.port==9899,sctp "$@" 2>>"$tmp/dissect.log"
}

# dissect FILTER FIELD...: a line per packet.
dissect() {
	local filter=$1 fields=() f
	shift
	for f in "$@"; do fields+=(-e "$f"); done
	read_capture -Y "$filter" -T fields -E occurrence=a "${fields[@]}"
}
# What holds whatever is sent.
fields() { dissect ddp_sctp "$1" | tr ',' '\n' | grep -c .; }
judge() {
	local got type headers messages bad good
	packets=$(dissect 'sctp' frame.number | wc -l)

	# The set-up, and who speaks to whom.
	got=$(dissect sctp ip.src ip.dst | sort -u | wc -l)
	[ "$got" -eq 2 ] || fail "$got pairs of source and destination"
	row 5043-7.2-04: one source and one destination each way, although both daemons have two addresses
	for type in 1 2; do
		got=$(dissect "sctp.chunk_type == $type" sctp.adaptation_layer_indication | sort -u)
		[ "$got" = 0x00000001 ] || fail "adaptation indication '$got' in chunks of type $type"
	done
	row 5043-5.1-01 5043-11.1-01: the indication is 1 in INIT and in INIT ACK
	got=$(dissect 'sctp.adaptation_layer_indication && !(sctp.chunk_type == 1 || sctp.chunk_type == 2)' frame.number)
	[ -z "$got" ] || fail "an adaptation indication elsewhere, in packets $got"
	row 5061-4.2.6-01: the indication is in no other chunk

	# DATA: one line per chunk, from the columns of packets with several.
	dissect 'sctp.chunk_type == 0' sctp.data_payload_proto_id sctp.data_u_bit sctp.data_b_bit sctp.data_e_bit |
		python3 -c '
import sys
kinds = {}
for line in sys.stdin:
    columns = [c.split(",") for c in line.rstrip("\n").split("\t")]
    for chunk in zip(*columns, strict=True):
        kinds[chunk] = kinds.get(chunk, 0) + 1
print(kinds)
assert {k[0] for k in kinds} == {"16", "17"}, "other payload protocols"
assert all(k[1:] in (("1", "1", "1"), ("True", "True", "True")) for k in kinds), "ordered or fragmented"
' || fail 'DATA chunks'
	row 5043-5.1-02 5043-5.2-01: payload protocols 16 and 17 and no other
	row 5043-8-03 5043-9-04 5043-10-01: all DATA unordered and in one piece

	# One DDP header in each message of payload protocol 16: as many control fields as DDP-SSNs.
	headers=$(fields iwarp_ddp.dv) messages=$(fields ddp_sctp.ssn)
	[ "$headers" -eq "$messages" ] || fail "$headers DDP headers in $messages messages"
	row 5043-4-01: one DDP header in each message, one message for each segment

	bad=$(dissect '_ws.malformed || _ws.expert.severity >= 8388608 || sctp.checksum.status == 0' frame.number _ws.expert.message)
	[ -z "$bad" ] || fail "malformed: $bad"

	good=$(dissect 'sctp.checksum.status == 1' frame.number | wc -l)
	[ "$good" -eq "$packets" ] || fail "$good of $packets checksums are right"
	row 5041-3-07: every packet has the right CRC32c
}

begin ping
server pong b "$ddping" -s --socket "$(socket_of b)"
"$ddping" --socket "$(socket_of a)" -c 10 -i 0 -q -S 64 "$b" >"$tmp/ping.log" 2>&1 || fail ddping
"$ddping" --socket "$(socket_of a)" -c 3 -i 0 -q -S 200000 "$b" >>"$tmp/ping.log" 2>&1 || fail 'ddping of 200000 bytes'
stop pong
finish
judge
[ "$packets" -ge 60 ] || fail "only $packets packets"

# Session control, and each kind of message that a round is made of.
got=$(dissect ddp_session ddp_session.function | tr ',' '\n' | sort -u | tr '\n' ' ')
[ "$got" = '1 2 4 ' ] || fail "session control functions $got"
row 5043-5.2.3-05: no Terminate with private data
row 6581-10-03: no enhanced message where nobody asked for one
got=$(dissect ddp_session ddp_session.function ddp_session.ssn | head -n 2 | tr '\t\n' '  ')
[ "$got" = '1 0 2 0 ' ] || fail "the first control messages and their DDP-SSNs are $got"
row 5043-6.2-01: an Initiate, answered by an Accept
got=$(dissect iwarp_ddp_rdmap iwarp_rdma.opcode | tr ',' '\n' | sort -u | tr '\n' ' ')
for opcode in 0x00 0x01 0x02 0x03; do
	case $got in *$opcode*) ;; *) fail "opcodes $got: no $opcode" ;; esac
done

echo "$packets packets of ddping, no malformed one; opcodes $got"

# Every operation. Wireshark has no fields for Immediate Data, and takes messages of raw queue pairs for RDMAP's:
# capture.py judges the octets of those itself.
begin whole
"$bin/tests/system/whole" "$(socket_of a)" "$(socket_of b)" "$b" >"$tmp/whole.out" || fail "$(grep -v ^ok "$tmp/whole.out")"
finish
judge
read_capture -Y 'ddp_sctp || ddp_session' -T pdml -J 'ip sctp ddp_sctp ddp_session iwarp_ddp_rdmap' >"$tmp/whole.pdml"
python3 "$top_srcdir/tests/system/capture.py" <"$tmp/whole.pdml" || fail 'what whole sends'
echo "$packets packets of every operation, no malformed one"
