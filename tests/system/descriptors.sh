#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a user who has all the descriptors that the daemon gives to one hears of that limit, programs go on, nothing
# half-made stays, and ddpctl of the administrator gets in.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl

limit=128
as_user=()
# shellcheck disable=SC2016 # expanded by that shell
daemon_in=(bash -c 'ulimit -n "$1"; shift; exec "$@"' limited "$limit")
daemon a "$(address 0)"
open_now() { find "/proc/$(pid_of a)/fd" -mindepth 1 | wc -l; }
as_before() { [ "$(open_now)" = "$before" ]; }
before=$(open_now)
for _ in 1 2 3; do
	"$bin/tests/system/descriptors" "$(socket_of a)" || fail 'a program'
	eventually 10 none_of a client cq mr pd || fail 'objects are left'
	eventually 10 as_before || fail "descriptors are left: $before before, $(open_now) now"
done

# ddpctl, while connections of a user that say nothing have them all.
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid=60001 --regid=60001 --clear-groups)
chmod 0711 "$tmp"
chmod 0666 "$(socket_of a)"
"${as_user[@]}" python3 - "$(socket_of a)" $limit <<'END' &
import socket, sys, time
held = []
for _ in range(int(sys.argv[2])):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    held.append(s)
time.sleep(600)
END
holder=$!
children="$children $holder"
refused() { grep -q 'refused: uid .* descriptors of the daemon, its share, and asks for 3 more (RLIMIT_NOFILE)' "$tmp/a.log"; }
eventually 10 refused || fail 'the log does not name the limit'
[ ${#as_user[@]} -eq 0 ] || for _ in 1 2 3; do ctl a status >"$tmp/status.log" 2>&1 || fail 'ddpctl is turned away'; done
kill $holder
eventually 10 answers a || fail 'ddpctl, with descriptors again'
stop a || fail "daemon: exit status $?"
