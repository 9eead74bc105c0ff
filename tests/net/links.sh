#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: over links with delay, loss and short queues all data of a bulk transfer arrives, whatever the rate; the rate is
# printed. A transfer may take twenty times as long as the link needs for it.
# LINKS: other links, a line each. LINK_MB: megabytes of a transfer.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/net/net.sh"
needs ddpsctpd ddpctl ddperf python3

links=${LINKS:-'rate=3e8 delay=5000 queue=375000
rate=3e8 delay=5000 queue=375000 loss=10000
rate=1e9 delay=25000 queue=6250000'}
megabytes=${LINK_MB:-16}

# transfer KEY=VALUE...: from a to b over a link like that.
transfer() {
	link "$@"
	host_daemon a
	host_daemon b
	server perf b "$ddperf" -s --socket "$(socket_of b)"
	timeout "$(python3 -c "import sys; rate = float(sys.argv[1].split('=')[1]); print(60 + int(20 * 8e6 * $megabytes / rate))" "$1")" \
		"$ddperf" --socket "$(socket_of a)" -j -w 0 -S 1M -n "$megabytes" $host_b write bw >"$tmp/perf.json" 2>"$tmp/client.log" ||
		fail "$*: exit status $?"
	kill "$(pid_of perf)"
	eventually 10 none_of a qp || fail "$*: objects are left"
	stop a && stop b || fail "$*: a daemon fails"
	unlink_hosts
	python3 - "$*" "$tmp/perf.json" <<-'END' || fail "$*: not all of it has arrived"
		import json, sys
		r = json.load(open(sys.argv[2]))
		print(f"{sys.argv[1]}: {r['bandwidth_mean_mb_per_s']:.1f} MB/s, {r['retransmits']} packets again")
		sys.exit(r["interrupted"] or r["messages"] * r["size_bytes"] != r["bytes"])
	END
}

while read -r keys; do
	# shellcheck disable=SC2086
	transfer $keys || exit
done <<<"$links"
