#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Valkey's server with its RDMA module, and its client for tests, where PATH has valkey-server and rdma-test, and
# VALKEY_RDMA names the module (Debian 12 has no package): clients connect, work and go, twice.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs valkey-server
needs rdma-test
module=${VALKEY_RDMA:-$(dirname "$(command -v valkey-server)")/valkey-rdma.so}
[ -e "$module" ] || skip 'needs valkey-rdma.so beside valkey-server'
hosts
on a
background valkey "${with[@]}" valkey-server --port 0 --save '' --dir "$tmp" --protected-mode no --loadmodule "$module" \
	bind=$a port=6379
eventually 20 listens_or_gone 6379 "$pid" && ! gone "$pid" || fail 'valkey-server does not listen'
for _ in 1 2; do
	on b
	"${with[@]}" rdma-test -h $a -p 6379 -t 4 >"$tmp/client.log" 2>&1 || fail "rdma-test: status $?"
done
! gone "$(pid_of valkey)" || fail 'valkey-server has ended'
kill "$(pid_of valkey)"
eventually 20 gone "$(pid_of valkey)" || fail 'valkey-server does not end'
eventually 20 clean || fail 'valkey-server leaves something in a daemon'
hosts_end
echo "$(valkey-server --version | cut -d ' ' -f 1-3), not of Debian: its test client, twice, with 4 threads"
