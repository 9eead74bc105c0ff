#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: memory that a program registers untouched and that the daemon fills for it is charged to its user, up to
# limits.sparse_bytes. Beyond it the session ends with a reason, and nothing else. The daemon runs as another user.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl

limit=$((2 << 20))
a=$(address 0) b=$(address 1)
daemon a "$a"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 1777 "$tmp"
	daemon_in=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	socket_mode=0666
fi
daemon b "$b" "limits: {sparse_bytes: $limit}"
"$bin/tests/system/holes" "$(socket_of a)" "$(socket_of b)" "$b" $limit || fail holes
refused() { ctl b -o limit | sed -n 's/.* name sparse_bytes .* refused \([0-9]*\).*/\1/p'; }
eventually 10 none_of b client qp mr || fail 'objects are left'
for name in a b; do stop $name || fail "daemon $name: exit status $?"; done
