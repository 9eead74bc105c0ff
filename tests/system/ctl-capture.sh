#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpctl capture writes a file that tshark reads without complaint, checksums included: packets of both
# directions, over IPv4 and IPv6, with the DDP payload protocols; filters and snap do what the manual says; a full disk, a
# program without rights, a second capture, a killed ddpctl and a killed daemon cost nobody else anything; an
# association within a daemon is refused in words. With another transport it says what to use instead.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping
daemon a "$(address 0)"
if [ "$DDP_TRANSPORT" != user ]; then
	! "$ddpctl" --socket "$(socket_of a)" capture "$tmp/none.pcapng" >"$tmp/refused.out" 2>&1 || fail 'not refused'
	grep -q "the transport $DDP_TRANSPORT sees no packets" "$tmp/refused.out" || fail "$(cat "$tmp/refused.out")"
	[ ! -e "$tmp/none.pcapng" ] || fail 'a file is left'
	stop a || fail "daemon a: exit status $?"
	echo "refused: $(cat "$tmp/refused.out")"
	exit 0
fi
needs tshark capinfos
export HOME=$tmp/home # no settings of the user

b=$(address 1)
daemon b "$b"
server pong b "$ddping" -s --socket "$(socket_of b)"

# begin NAME ARGUMENT...: captures to NAME.pcapng until finish NAME [STATUS], in the shell's background.
begin() {
	local name=$1
	shift
	background "$name" "$ddpctl" --socket "$(socket_of a)" capture "$tmp/$name.pcapng" "$@"
	eventually 10 captures "$name" || fail "$name: does not begin"
}
captures() { grep -q '^capturing' "$tmp/$1.log"; }
finish() {
	local status=0
	stop "$1" "${3:-INT}" || status=$?
	[ $status -eq "${2:-0}" ] || fail "$1: exit status $status"
	grep -q '^[0-9]* packets, 0 left out' "$tmp/$1.log" || fail "$1: no last line"
}
# dissect NAME [OPTION...]: NAME.txt gets a line for each packet, as tshark understands it; the checksums are verified.
columns=(frame.packet_flags_direction ip.src frame.len frame.cap_len sctp.chunk_type sctp.data_sid sctp.data_payload_proto_id
	udp.checksum.status ip.checksum.status sctp.checksum.status _ws.malformed)
dissect() {
	local name=$1
	shift
	tshark -Q -n -o udp.check_checksum:TRUE -o ip.check_checksum:TRUE -o "sctp.checksum:CRC 32c" "$@" -r "$tmp/$name.pcapng" \
		-T fields -E separator='|' "${columns[@]/#/-e}" >"$tmp/$name.txt" 2>"$tmp/tshark.log" || fail "tshark: $name"
}
# shown NAME CONDITION: how many packets are so, in awk's words.
shown() {
	awk -F'|' '{ dir = $1; from = $2; len = $3; kept = $4; chunks = "," $5 ","; sids = "," $6 ","; ppids = $7; udp = $8; ip = $9
		crc = $10; malformed = $11 } '"$2"' { n++ } END { print n + 0 }' "$tmp/$1.txt"
}
# clean NAME [OPTION...]: every packet is SCTP, and nothing is malformed or has a wrong checksum.
clean() {
	dissect "$@"
	[ "$(shown "$1" 'chunks == ",,"')" = 0 ] || fail "$1: packets that are not SCTP"
	[ "$(shown "$1" 'malformed != "" || udp != 1 || crc != 1 || (ip != "" && ip != 1)')" = 0 ] ||
		fail "$1: malformed packets or wrong checksums"
}
# The file grows while the capture goes on.
grows() { [ "$(stat -c %s "$tmp/$1.pcapng")" -gt 4000 ]; }
ping() { "$ddping" --socket "$(socket_of a)" -i 0 -q "$@" >"$tmp/ping.log" 2>&1 || fail "ddping $*"; }
value() { ctl a -o "$1" | sed -n "s/.* $2 \([0-9]*\).*/\1/p" | head -n 1; }
# refuses STATUS WORDS ARGUMENT...
refuses() {
	local status=$1 words=$2 got=0
	shift 2
	ctl a capture "$@" >"$tmp/refused.log" 2>&1 || got=$?
	[ $got -eq "$status" ] && grep -q -- "$words" "$tmp/refused.log" || fail "capture $*: not status $status and: $words: got $got"
}

# Everything from the first packet on, also of a batch, and no packet more or less than the daemon counts.
begin all
ping -c 50 -S 20000 "$b"
packets() { ctl a -o status | sed "s/.* $1 \([0-9]*\) .*/\1/"; }
refuses 1 'captures already' "$tmp/second.pcapng"
[ ! -e "$tmp/second.pcapng" ] || fail 'a refused capture made a file'
ctl a assoc abort "$(value assoc id)" || fail 'assoc abort'
eventually 5 none_of a assoc || fail 'the association is there'
tx=$(packets tx_packets) rx=$(packets rx_packets)
finish all
clean all
in=$(shown all 'dir == 1 || dir == "0x00000001"') out=$(shown all 'dir == 2 || dir == "0x00000002"')
[ "$in" = "$rx" ] && [ "$out" = "$tx" ] || fail "$in packets in, $out out; the daemon counts $rx and $tx"
[ "$(shown all "from == \"$b\"")" = "$rx" ] || fail 'wrong addresses'
[ "$(shown all 'ppids ~ /16/')" -gt 0 ] && [ "$(shown all 'ppids ~ /17/')" -gt 0 ] || fail 'no DDP'
[ "$(shown all 'ppids !~ /^((16|17)(,16|,17)*)?$/')" = 0 ] || fail 'other payload protocols'
[ "$(shown all 'chunks ~ /,1,/')" -gt 0 ] && [ "$(shown all 'chunks ~ /,6,/')" -gt 0 ] || fail 'not from INIT to ABORT'
capinfos "$tmp/all.pcapng" | grep -q 'nanoseconds' || fail 'not nanoseconds'
[ "$(stat -c %a "$tmp/all.pcapng")" = 600 ] || fail 'others may read the file'

# Filters: an association, one of two queue pairs, and cut packets.
background two "$ddping" --socket "$(socket_of a)" -i 0.02 -c 100000 "$b"
eventually 10 grep -q 'bytes from' "$tmp/two.log" || fail 'no session'
qp=$(value qp qp_num) stream=$(value session stream) assoc=$(value assoc id)
begin qp qp "$qp"
ping -c 20 "$b"
eventually 10 grows qp || fail 'nothing of the queue pair'
finish qp 0 TERM
clean qp
[ "$(shown qp "sids !~ /,(0x0*)?$stream,/")" = 0 ] || fail 'packets without data of the queue pair'
begin assoc assoc "$assoc" snap 40
eventually 10 grows assoc || fail 'nothing of the association'
finish assoc
dissect assoc
[ "$(shown assoc 'kept > 68')" = 0 ] && [ "$(shown assoc 'kept == 68 && len > 68')" -gt 0 ] || fail 'snap 40'
[ "$(shown assoc 'malformed != ""')" = 0 ] || fail 'cut packets are malformed'
refuses 5 "no association 99; there are $assoc\$" "$tmp/x" assoc 99
refuses 5 "no queue pair 99999; there are $qp\$" "$tmp/x" qp 99999
refuses 2 'did you mean assoc' "$tmp/x" asoc 1
refuses 2 'has no value' "$tmp/x" assoc
refuses 2 'snap 3 is not between 12 and 65536 bytes' "$tmp/x" snap 3
refuses 2 'usage: ddpctl capture FILE'
refuses 1 'No such file or directory' "$tmp/no/x"

# A pipe; a number of packets; a full disk; the daemon goes on.
ctl a -c 5 capture - 2>"$tmp/pipe.log" >"$tmp/pipe.pcapng" || fail 'capture -'
clean pipe
[ "$(shown pipe 1)" = 5 ] && grep -q '^5 packets' "$tmp/pipe.log" || fail 'not 5 packets in the pipe'
refuses 1 '/dev/full: No space left on device' /dev/full

# Killed, it leaves the next one alone.
begin killed
kill -KILL "$(pid_of killed)"
begin_again() { ctl a -c 1 capture "$tmp/again.pcapng" 2>"$tmp/again.log"; }
eventually 5 begin_again || fail 'no capture after a killed one'
stop two INT
ping -c 3 "$b"

# The daemon is killed: the file is whole.
begin orphan
ping -c 5 "$b"
stop a KILL
eventually 10 gone "$(pid_of orphan)" || fail 'ddpctl goes on without the daemon'
wait "$(pid_of orphan)"
[ $? -eq 3 ] && grep -q '^[0-9]* packets' "$tmp/orphan.log" || fail 'the end of the daemon'
clean orphan
[ "$(shown orphan 1)" -gt 10 ] || fail 'the packets before the end of the daemon'

# IPv6, where a UDP checksum of 0 would be wrong.
if grep -q . /proc/net/if_inet6 2>/dev/null; then
	port=$((20000 + $$ % 20000))
	daemon c '"::1"' "user: {udp_port: $port}" 'session: {connect_ms: 1000}'
	background six "$ddpctl" --socket "$(socket_of c)" capture "$tmp/six.pcapng"
	eventually 10 captures six || fail 'six: does not begin'
	"$ddping" --socket "$(socket_of c)" -c 1 ::2 >"$tmp/six-ping.log" 2>&1 && fail 'somebody answers at ::2'
	finish six
	clean six -d "udp.port==$port,sctp"
	[ "$(shown six 'chunks ~ /,1,/ && len > 48')" -gt 0 ] || fail 'no INIT over IPv6'
fi

# Within a daemon there are no packets, and nobody without rights gets any.
socket_mode=0666
d=$(address 2)
daemon d "$d"
server own d "$ddping" -s --socket "$(socket_of d)"
background inside "$ddping" --socket "$(socket_of d)" -i 0.02 -c 100000 "$d"
eventually 10 grep -q 'bytes from' "$tmp/inside.log" || fail 'no session within the daemon'
assoc=$(ctl d -o assoc | sed -n 's/^assoc id \([0-9]*\) .*/\1/p' | head -n 1)
ctl d capture "$tmp/loop.pcapng" assoc "$assoc" >"$tmp/loop.log" 2>&1
[ $? -eq 1 ] && grep -q 'both ends of the association are in this daemon' "$tmp/loop.log" || fail 'within the daemon'
[ ! -e "$tmp/loop.pcapng" ] || fail 'within the daemon: a file'
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$tmp"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$ddpctl" --socket "$(socket_of d)" capture - >"$tmp/rights.log" 2>&1
	[ $? -eq 4 ] && grep -q 'no administrator of the daemon (admin)' "$tmp/rights.log" || fail 'another user captures'
fi
echo "$in packets in, $out out"
