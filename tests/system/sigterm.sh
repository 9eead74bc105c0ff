#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: SIGTERM and SIGINT end a daemon with status 0, and it removes its socket, also during a transfer; its
# clients and those of its peers get an error that says why. Operations in progress finish first.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping python3

daemon idle "$(address 0)"
stop idle || fail "exit status $?"
[ ! -e "$(socket_of idle)" ] || fail 'the socket is still there'

daemon a "$(address 0)"
daemon b "$(address 1)"
server pong b "$ddping" -s --socket "$(socket_of b)"
background ping "$ddping" --socket "$(socket_of a)" -i 0 -q -S 65536 "$(address 1)"
has_session() { [ "$(count "$1" session)" -gt 0 ]; }
eventually 10 has_session a || fail 'no session'

stop a INT || fail "exit status $? with clients"
[ ! -e "$(socket_of a)" ] || fail 'the socket is still there'
eventually 10 gone "$(pid_of ping)" || fail 'ddping does not detect the end of its daemon'
wait "$(pid_of ping)" && fail 'ddping exits with status 0'
[ -s "$tmp/ping.log" ] || fail 'ddping prints nothing'

grep -q 'ddpsctpd is stopping' "$tmp/ping.log" || fail 'ddping does not say why'

# The other daemon ends the session, too.
eventually 20 none_of b session qp || fail 'the peer keeps the session'
stop b || fail "exit status $?"
[ ! -e "$(socket_of b)" ] || fail 'the socket is still there'

# A Read that the stopped peer has not answered: the daemon waits for it. (A Send would not do: Linux acknowledges it for
# a stopped daemon of the transport kernel.)
daemon a "$(address 0)" 'session: {connect_ms: 60000, stop_ms: 60000}'
daemon b "$(address 1)"
coproc last_read { exec "$bin/tests/system/last_read" "$(socket_of a)" "$(socket_of b)" "$(address 1)" 2>&1; }
# shellcheck disable=SC2154 # set by coproc
children="$children $last_read_PID" reader=$last_read_PID
says() {
	local line
	read -r -t 100 -u "${last_read[0]}" line && [ "$line" = "$1" ] || fail "last_read says '$line' instead of '$1'"
}
says ready
kill -STOP "$(pid_of b)"
echo >&"${last_read[1]}"
says posted
kill -TERM "$(pid_of a)"
is_stopping() { grep -q 'stopping: ' "$tmp/a.log"; }
eventually 10 is_stopping || fail 'the daemon does not stop'
kill -CONT "$(pid_of b)"
eventually 20 gone "$reader" || fail 'the Read does not end'
wait "$reader" || fail "the Read was not finished"
eventually 20 gone "$(pid_of a)" || fail 'the daemon does not end after the last operation'
wait "$(pid_of a)" || fail 'exit status'

# The peer of a daemon that stops learns why.
eventually 10 more_listeners b 0 || fail "ddping -s does not listen at the next daemon"
daemon a "$(address 0)"
background ping "$ddping" --socket "$(socket_of a)" -i 0 -q "$(address 1)"
eventually 10 has_session a || fail 'no session'
stop b || fail "exit status $?"
eventually 10 gone "$(pid_of ping)" || fail 'ddping does not detect the end of the peer'
wait "$(pid_of ping)" && fail 'ddping exits with status 0'
# Linux's SCTP sends no words with an ABORT.
words='aborted the association: ddpsctpd is stopping'
[ "$DDP_TRANSPORT" != kernel ] || words='aborted the association (cause 12)'
grep -qF "$words" "$tmp/ping.log" || fail 'the peer does not know why'
