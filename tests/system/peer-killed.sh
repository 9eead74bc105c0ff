#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the end of a remote daemon by SIGKILL is noticed by the next use of a session, and by the next heartbeat while a
# program waits: whether another daemon runs there, or none. The reason says which.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping

DDP_TRANSPORT=user
there=$(address 1)
daemon idle "$(address 0)"
daemon used "$(address 2)" 'sctp: {heartbeat_ms: 0}' # so it is the use that notices
began() { [ "$(grep -c 'session with .* began' "$tmp/$1.log")" -gt "$2" ]; }
reported() { grep -q "assoc [0-9]*: down, .*$2" "$tmp/$1.log"; }

# killed NAME SECONDS RESTARTED REASON: a session of NAME with a round each SECONDS until its peer is killed. NAME is stopped
# meanwhile: it hears of the peer only what is so after the restart, however long that takes.
killed() {
	local before
	daemon there "$there"
	server pong there "$ddping" -s -q --socket "$(socket_of there)"
	before=$(grep -c 'session with .* began' "$tmp/$1.log")
	background ping "$ddping" --socket "$(socket_of "$1")" -c 100000 -i "$2" "$there"
	eventually 20 began "$1" "$before" || fail "$1: no session"
	kill -STOP "$(pid_of "$1")"
	stop there KILL
	[ "$3" = no ] || daemon there "$there"
	kill -CONT "$(pid_of "$1")"
	eventually 20 reported "$1" "$4" || fail "$1 does not hear: $4"
	kill "$(pid_of ping)" "$(pid_of pong)" 2>/dev/null
	[ "$3" = no ] || stop there || fail 'the second daemon fails'
}
killed idle 30 yes 'aborted the association'
killed idle 30 no 'nothing listens on UDP port 9899 of .* any more'
killed used 1 yes 'aborted the association'
killed used 1 no 'nothing listens on UDP port 9899 of .* any more'
for name in idle used; do stop $name || fail "daemon $name fails"; done
