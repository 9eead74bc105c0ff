#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: whatever users take, the next one finds a share of it, and ddpctl of the administrator gets in: of descriptors
# where the daemon may have few, and of every kind after twenty users.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl setpriv
[ "$(id -u)" = 0 ] || skip 'needs root, to be several users'
chmod 0711 "$tmp"
# Objects stay until the processes end.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
socket_mode=0666

# user NAME DAEMON UID MOST KIND...: takes all it gets, and keeps it.
done_or_gone() { grep -q '^done' "$tmp/$1.log" || gone "$(pid_of "$1")"; }
user() {
	local name=$1 at=$2 uid=$3
	shift 3
	background "$name" setpriv --reuid="$uid" --regid="$uid" --clear-groups "$bin/tests/system/hoard" "$(socket_of "$at")" "$@"
	eventually 20 done_or_gone "$name" || fail "$name hangs"
}
# has NAME KIND: how many it has.
has() { sed -n "s/^$2 \([0-9]*\) .*/\1/p" "$tmp/$1.log"; }

# Three users, 70 programs each, and 256 descriptors.
# shellcheck disable=SC2016 # expanded by that shell
daemon_in=(bash -c 'ulimit -n 256; exec "$@"' limited)
daemon few "$(address 0)"
daemon_in=()
for n in 1 2 3; do
	user first$n few $((60000 + n)) 70 clients
	[ "$(has first$n clients)" -ge 2 ] || fail "user $n has $(has first$n clients) of 70 programs"
done
grep -q 'descriptors of the daemon, its share beside 2 other users, and asks for 3 more (RLIMIT_NOFILE)' "$tmp/first3.log" || fail 'no reason'
ctl few status >"$tmp/status.log" 2>&1 || fail 'ddpctl of the administrator is turned away'
grep -q 'accept:' "$tmp/few.log" && fail 'the daemon has no descriptor left'
stop few || fail "daemon few: exit status $?"

# Twenty users at their limits.
limits=()
kinds=(clients pds mrs mws cqs qps srqs listeners)
for kind in "${kinds[@]}"; do limits+=("  $kind: 100"); done
daemon many "$(address 1)" 'limits:' "${limits[@]}"
for n in {1..20}; do user "u$n" many $((60000 + n)) 110 "${kinds[@]}"; done
# As many as the limit allows: the first has one client, domain and queue besides.
for n in 1 2; do [ "$(has u$n mrs)/$(has u$n qps)" = 100/100 ] || fail "user $n does not reach its limits"; done
user late many 60021 110 "${kinds[@]}"
for kind in "${kinds[@]}"; do
	[ "$(has late "$kind")" -ge 1 ] || case $kind in
	clients | pds | cqs) [ "$(has late "$kind")" = 0 ] ;; # the one that it began with
	*) false ;;
	esac || fail "the last user has no $kind"
done
setpriv --reuid=60021 --regid=60021 --clear-groups "$ddpctl" --socket "$(socket_of many)" limit >"$tmp/limit.log" 2>&1 || fail 'ddpctl of a user is turned away'
ctl many user >"$tmp/user.log" 2>&1 || fail 'ddpctl of the administrator is turned away'
stop many || fail "daemon many: exit status $?"
