#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# By hand: the cost of a flow: per cent of a processor that each daemon takes while Writes fill a link, and how often
# each is woken up a second. A flow udp is iperf3 that sends at the rate of the link, for comparison.
# LINK: of net.sh. FLOWS: algorithms of user.congestion_control, udp. SECONDS_EACH, after two others. ROUNDS.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/net/net.sh"
needs ddpsctpd ddpctl ddperf iperf3 python3

link=${LINK:-100m20} flows=${FLOWS:-cubic bbr udp} seconds=${SECONDS_EACH:-6} rounds=${ROUNDS:-3}
keys=$(link_keys "$link")
limit=$((seconds + 60))

# spent HOST: nanoseconds on a processor, and voluntary context switches, of the daemon there so far; and the time in seconds.
spent() {
	local process
	process=/proc/$(pid_of "$1")
	echo "$(cut -d ' ' -f 1 "$process/schedstat") $(awk '/^voluntary/ { print $2 }' "$process/status") $(date +%s.%N)"
}

# share HOST BEFORE AFTER: of two results of spent.
share() {
	python3 - "$@" <<-'END'
		import sys
		before, after = (list(map(float, x.split())) for x in sys.argv[2:])
		cpu, wakes, time = (y - x for x, y in zip(before, after))
		print(f"{sys.argv[1]} {cpu / time / 1e7:.2f} %, {wakes / time:.0f} wake-ups a second", end="; ")
	END
}

ours() {
	local config="user: {congestion_control: $1}" bulk a b a_end b_end
	host_daemon a "$config"
	host_daemon b "$config"
	server perf b "$ddperf" -s --socket "$(socket_of b)"
	timeout $limit "$ddperf" --socket "$(socket_of a)" -j -S 1M -w 2 -t $((seconds + 1)) $host_b write bw >"$tmp/perf.json" 2>"$tmp/client.log" &
	bulk=$!
	sleep 2.5
	a=$(spent a) b=$(spent b)
	sleep "$seconds"
	a_end=$(spent a) b_end=$(spent b)
	wait $bulk || fail ddperf
	share sender "$a" "$a_end"
	share receiver "$b" "$b_end"
	json "$tmp/perf.json" "round(d['bandwidth_mean_mb_per_s'], 2)" "'MB/s'"
	kill "$(pid_of perf)"
	stop a && stop b || fail 'a daemon fails'
}

udp() {
	local rate
	rate=$(sed -n 's/.*rate=\([0-9e]*\).*/\1/p' <<<"$keys")
	tcp_listen iperf b
	timeout $limit nsenter --net=/run/netns/a iperf3 -J -u -l 1440 -b "$(python3 -c "print(int($rate))")" -t "$seconds" -c $host_b >"$tmp/udp.json" || fail iperf3
	json "$tmp/udp.json" "'sender %.2f %%; receiver %.2f %%; %.2f MB/s' % (d['end']['cpu_utilization_percent']['host_total'], d['end']['cpu_utilization_percent']['remote_total'], d['end']['sum']['bits_per_second'] / 8e6)"
}

for _ in $(seq "$rounds"); do
	for flow in $flows; do
		# shellcheck disable=SC2086
		link $keys
		echo "$link $flow: $(if [ "$flow" = udp ]; then udp; else ours "$flow"; fi)"
		unlink_hosts
	done
done
