#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: for an unreachable peer, a peer without a listener and a missing daemon, tools soon print a reason and exit
# with a status other than 0.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping

quick='sctp:
  init_ms: 20000'
daemon a "$(address 0)" "$quick"
daemon b "$(address 1)"

# fails_with WORDS -- COMMAND...
fails_with() {
	local words=() word status
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift
	timeout 300 "$@" >"$tmp/output.log" 2>&1
	status=$?
	[ $status -ne 124 ] || fail "$* took more than 300 s"
	[ $status -eq 1 ] || fail "$* : exit status $status"
	for word in "${words[@]}"; do
		grep -qE -- "$word" "$tmp/output.log" || fail "$* does not print $word"
	done
}

ping="$ddping --socket $(socket_of a) -c 1"
# shellcheck disable=SC2086
fails_with "$(address 2)" 'reach|answer|nothing listens|refuses|timed out' -- $ping "$(address 2)"
# shellcheck disable=SC2086
fails_with "$(address 2)" "transport (kernel|user)|an address of this host: .* in 'listen'" 'ddpctl status' -- $ping "$(address 2)"
# shellcheck disable=SC2086
fails_with "$(address 1)" 'listen|refuses' -- $ping "$(address 1)"
# The log and ddpctl have the reason as well.
grep -q "qp [0-9]*: no session with $(address 1):5043 on assoc .* (ddping, pid [0-9]*, uid $(id -u)): .* refuses associations to SCTP port 5043" "$tmp/a.log" ||
	fail 'no line about the refused session'
ctl a status | grep -q "^last_error .*no session with $(address 1):5043" || fail 'ddpctl status shows no error'
[ "$(ctl a -o event event session-fail | wc -l)" = 3 ] || fail 'ddpctl event does not show both'
fails_with "$tmp/absent.sock" 'running|No such file' -- "$ddping" --socket "$tmp/absent.sock" -c 1 "$(address 1)"

# A daemon with loopback addresses only, and a peer elsewhere.
# shellcheck disable=SC2086
fails_with 'no route to 198.51.100.1' "$(address 0)" "'listen'" -- $ping 198.51.100.1

"$ddpctl" --socket "$tmp/absent.sock" status >"$tmp/output.log" 2>&1
[ $? -eq 3 ] || fail 'ddpctl without a daemon: not status 3'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
