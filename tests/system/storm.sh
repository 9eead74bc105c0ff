#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: hundreds of associations that come and leave, in order, with an ABORT or without a word, and 1000 at once, are
# all accepted, whatever their network. Another session loses nothing meanwhile, and the daemon's memory goes back to the
# system.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping
unset MALLOC_PERTURB_ # it writes to memory that would otherwise never be touched

a=$(address 0)
daemon a "$a" 'sctp: {heartbeat_ms: 500}'
daemon b "$(address 1)"
server pong a "$ddping" -s --socket "$(socket_of a)"
background ping "$ddping" --socket "$(socket_of b)" -i 0.05 "$a"
associations() { [ "$(count a assoc)" = "$1" ]; }
eventually 20 associations 1 || fail 'no session'

resident() { sed -n 's/^VmRSS:[ \t]*\([0-9]*\).*/\1/p' "/proc/$(pid_of a)/status"; }
most=0

# storm N HOW
storm() {
	local now
	"$bin/tests/system/storm" "$a" 5043 "$1" "$2" >"$tmp/storm.log" 2>&1 || fail "$1 associations, $2"
	now=$(resident)
	[ "$now" -le $most ] || most=$now
	# Those that vanished answer no heartbeat.
	eventually 60 associations 1 || fail "$(count a assoc) associations after $1, $2"
}
# Code and tables that were never used before.
storm 100 abort
storm 100 vanish
before=$(resident)
storm 300 shutdown
storm 300 abort
storm 300 vanish
storm 1000 abort
storm 1000 vanish

given_back() { [ "$(resident)" -le $((before + before / 10)) ]; }
# A sanitizer keeps what was freed.
[ "$DDP_SANITIZERS" != none ] || eventually 60 given_back || fail "resident: $before KiB, $most KiB, then $(resident) KiB"
stop ping INT || fail "the session: $(tail -n 3 "$tmp/ping.log")"
grep -q ', 0 failed' "$tmp/ping.log" || fail 'the session lost rounds'
echo "resident: $before KiB, with the storms $most KiB, then $(resident) KiB"
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
