#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: 32 processes on each of two daemons that connect all pairs, 1,024 sessions which both sides begin, share
# one association; with transport kernel, one for each direction of beginning. Prints the rate and the memory.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
# The processes do not free all; their end does.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

# kib NAME: memory of that daemon, and of no other process.
kib() { sed -n 's/^RssAnon:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$(pid_of "$1")/status"; }

# mesh N DAEMON DAEMON: asks the first daemon for its state while the sessions are up.
mesh() {
	local before idle
	before=$(($(kib "$2") + $(kib "$3")))
	idle=$(count "$2" assoc)
	mkfifo "$tmp/end"
	background mesh sh -c 'exec "$@" <"$0"' "$tmp/end" "$bin/tests/system/mesh" "$1" "$(socket_of "$2")" \
		"${at[$2]}" "$(socket_of "$3")" "${at[$3]}"
	exec 9>"$tmp/end"
	eventually 120 up || fail 'the sessions are not up'
	! gone "$(pid_of mesh)" || fail mesh
	assocs=$(($(count "$2" assoc) - idle)) sessions=$(count "$2" session)
	kib=$(($(kib "$2") + $(kib "$3") - before))
	exec 9>&-
	wait "$(pid_of mesh)" || fail mesh
	rm "$tmp/end"
	cat "$tmp/mesh.log"
	echo "$assocs associations at daemon $2; both daemons take $kib KiB"
}
up() { grep -q 'a second' "$tmp/mesh.log" || gone "$(pid_of mesh)"; }

declare -A at=([a]=$(address 0) [b]=$(address 1))
daemon a "${at[a]}"
daemon b "${at[b]}"
mesh 32 a b
[ "$sessions" = 1024 ] || fail "$sessions sessions of 1024"
[ "$DDP_TRANSPORT" = user ] && most=1 || most=2
[ "$assocs" -le $most ] || fail "$assocs associations: at most $most were expected"
echo "$((kib / 1024)) KiB a session"
eventually 20 none_of a client listener session || fail 'objects are left'

# One daemon has both ends of the association.
mesh 16 a a
[ "$sessions" = 512 ] || fail "$sessions ends of 256 sessions"
[ "$assocs" -le 2 ] || fail "$assocs ends of associations: 2 were expected"
stop a || fail "daemon: exit status $?"
stop b || fail "daemon: exit status $?"
