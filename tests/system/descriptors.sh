#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: when the daemon has no descriptors left, programs and ddpctl hear of that limit and its value, programs that it
# has go on, and nothing half-made stays.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl

limit=40
# shellcheck disable=SC2016 # expanded by that shell
daemon_in=(bash -c 'ulimit -n "$1"; shift; exec "$@"' limited "$limit")
daemon a "$(address 0)"
open_now() { find "/proc/$(pid_of a)/fd" -mindepth 1 | wc -l; }
as_before() { [ "$(open_now)" = "$before" ]; }
before=$(open_now)
for _ in 1 2 3; do
	"$bin/tests/system/descriptors" "$(socket_of a)" $limit || fail 'a program'
	eventually 10 none_of a client cq mr pd || fail 'objects are left'
	eventually 10 as_before || fail "descriptors are left: $before before, $(open_now) now"
done

# ddpctl, while programs have them all.
python3 - "$(socket_of a)" $limit <<'END' &
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
refused() {
	! ctl a status >"$tmp/out" 2>&1 && grep -q "limit of descriptors (RLIMIT_NOFILE, $limit)" "$tmp/out"
}
eventually 10 refused || fail "ddpctl: $(cat "$tmp/out")"
grep -q "accept: .*limit of descriptors (RLIMIT_NOFILE, $limit)" "$tmp/a.log" || fail 'the log does not name the limit'
kill $holder
eventually 10 answers a || fail 'ddpctl, with descriptors again'
stop a || fail "daemon: exit status $?"
