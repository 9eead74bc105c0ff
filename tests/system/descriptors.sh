#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a user who has all the descriptors that the daemon gives to one hears of that limit, programs go on, nothing
# half-made stays, and ddpctl of the administrator gets in.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping

limit=128
as_user=()
# shellcheck disable=SC2016 # expanded by that shell
daemon_in=(bash -c 'ulimit -n "$1"; shift; exec "$@"' limited "$limit")
daemon a "$(address 0)"
open_now() { find "/proc/$(pid_of a)/fd" -mindepth 1 | wc -l; }
as_before() { [ "$(open_now)" -le "$before" ]; }
# Without the ddpctl that has just ended, which the daemon may not have noticed.
settled() {
	before=$(open_now)
	[ "$(open_now)/$(open_now)" = "$before/$before" ]
}
eventually 10 settled || fail 'the descriptors of an idle daemon change'
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

# Where an association is a socket of the kernel, its opener pays, as long as it is there.
if [ "$DDP_TRANSPORT" = kernel ]; then
	daemon_in=()
	b=$(address 1) c=$(address 2)
	daemon b "$b" 'session: {connect_ms: 60000, idle_ms: 60000}'
	daemon c "$c"
	server pong c "$ddping" -s --socket "$(socket_of c)"
	fds() { ctl b -o limit uid "$(id -u)" name RLIMIT_NOFILE | sed -n 's/.* used \([0-9]*\) .*/\1/p'; }
	alone=$(fds)
	"$ddping" --socket "$(socket_of b)" -c 1 "$c" >"$tmp/ping.log" 2>&1 || fail ddping
	with_one() { [ "$(fds)" = $((alone + 1)) ]; }
	eventually 10 with_one || fail "the association is not charged: $alone descriptors alone, $(fds) with it"
	ctl b assoc abort "$(ctl b -o assoc | sed -n 's/^assoc id \([0-9]*\) .*/\1/p')" || fail 'assoc abort'
	without() { [ "$(fds)" = "$alone" ]; }
	eventually 10 without || fail "its charge stays: $(fds)"
	echo 'an association is charged while it lasts'
fi
