#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# By hand: the goodput of Writes of 1 MiB and of TCP (iperf3) from a cold start over links of net.sh, in turn on the same
# machine, MB/s: medians. Every measurement has a link, daemons and an association of its own.
# LINKS: names of net.sh. FLOWS: algorithms of user.congestion_control, and tcp-ALGORITHM. ROUNDS, SECONDS_EACH: of each
# measurement. WARM: seconds before it. BUFFER: user.buffer.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/net/net.sh"
needs ddpsctpd ddpctl ddperf iperf3 python3

links=${LINKS:-300m10 300m10-loss0.1 300m10-loss1 300m10-reorder2 300m10-queue26 300m100 1g50}
flows=${FLOWS:-cubic bbr tcp-cubic tcp-bbr}
rounds=${ROUNDS:-3} seconds=${SECONDS_EACH:-6} warm=${WARM:-0}
limit=$((seconds + warm + 60))

# ours ALGORITHM: MB/s, packets sent again, processor time of the daemon that sends per second.
ours() {
	local config="user: {congestion_control: $1${BUFFER:+, buffer: $BUFFER}}" status
	host_daemon a "$config"
	host_daemon b "$config"
	server perf b "$ddperf" -s --socket "$(socket_of b)"
	timeout $limit "$ddperf" --socket "$(socket_of a)" -j -S 1M -w "$warm" -t "$seconds" $host_b write bw >"$tmp/perf.json" 2>"$tmp/client.log"
	status=$?
	kill "$(pid_of perf)"
	stop a && stop b && [ $status = 0 ] || fail "ddperf: $status"
	json "$tmp/perf.json" "d['bandwidth_mean_mb_per_s']" "d['retransmits']" \
		"(d['cpu_daemon_user_s'] + d['cpu_daemon_system_s']) / d['elapsed_s']"
}

# tcp ALGORITHM: the same of TCP; the processor time is that of iperf3.
tcp() {
	tcp_listen iperf b
	timeout $limit nsenter --net=/run/netns/a iperf3 -J -C "$1" -O "$warm" -t "$seconds" -c $host_b >"$tmp/tcp.json" 2>&1 || fail "iperf3 -C $1"
	json "$tmp/tcp.json" "d['end']['sum_received']['bits_per_second'] / 8e6" "d['end']['sum_sent']['retransmits']" \
		"d['end']['cpu_utilization_percent']['host_total'] / 100"
}

# measure LINK FLOW: a line of $tmp/figures, with the packets that the emulator, the devices and the sockets have dropped: what is sent
# again beyond these is needless.
measure() {
	local result before after
	before=$(host_drops)
	# shellcheck disable=SC2046
	link $(link_keys "$1")
	tcp_host a && tcp_host b
	case $2 in
	tcp-*) result=$(tcp "${2#tcp-}") ;;
	*) result=$(ours "$2") ;;
	esac || { echo "$result" && exit 1; }
	after=$(host_drops)
	unlink_hosts
	echo "$1 $2 $result dropped $(wan_drops) ${after% *} $((${after#* } - ${before#* }))" | tee -a "$tmp/figures"
}

medians() {
	python3 - "$tmp/figures" <<-'END'
		import collections, statistics, sys
		value = collections.defaultdict(list)
		links, flows = {}, {}
		for line in open(sys.argv[1]):
		    link, flow, rate = line.split()[:3]
		    links[link] = flows[flow] = 1
		    value[link, flow].append(float(rate))
		print("| link |", " | ".join(flows), "|")
		print("|---|" + "---|" * len(flows))
		for link in links:
		    print(f"| {link} |", " | ".join(f"{statistics.median(value[link, flow] or [0]):.2f}" for flow in flows), "|")
	END
}

for _ in $(seq "$rounds"); do
	for link in $links; do
		for flow in $flows; do
			measure "$link" "$flow"
		done
	done
done
medians
