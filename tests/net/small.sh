#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# By hand: how long messages of 64 bytes take beside bulk data, over a bottleneck whose queue holds four products of
# bandwidth and delay: round trips in ms, mean and 99th percentile, with the rate of the bulk data in MB/s.
#   tcp        a TCP connection beside a bulk one of TCP with TCP_ALGORITHM
#   other      Sends (there and back) beside a bulk session of another association, and the bare path (UDP) meanwhile
#   same       Sends beside a bulk session of the same association, and the bare path meanwhile
# Sends, because a latency test of Writes polls, which takes both processors from the emulator.
# ALGORITHM: user.congestion_control. TCP_ALGORITHM. LINK: of net.sh, or keys. SECONDS_EACH, ROUNDS.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/net/net.sh"
needs ddpsctpd ddpctl ddperf iperf3 python3

algorithm=${ALGORITHM:-bbr} tcp_algorithm=${TCP_ALGORITHM:-bbr}
link=${LINK:-300m10} queue=${QUEUE:-1500000} seconds=${SECONDS_EACH:-15} rounds=${ROUNDS:-3}
echo="$top_srcdir/tests/net/echo.py"
limit=$((2 * seconds + 60))

begin() {
	# shellcheck disable=SC2046
	link $(link_keys "$link") queue="$queue"
	tcp_host a && tcp_host b
	# shellcheck disable=SC2154 # net.sh has it
	background echo nsenter --net=/run/netns/b "$echo" "$1" "$host_b" serve
	eventually 10 grep -q ready "$tmp/echo.log" || fail echo
}

finish() {
	kill "$(pid_of echo)"
	unlink_hosts
}

# round_trips KIND: beside the bulk data, after its start.
round_trips() {
	sleep 3
	on a "$echo" "$1" "$host_b" "$seconds" "$host_a" || fail 'no round trips'
}

beside_tcp() {
	local bulk result
	begin tcp
	tcp_listen server b
	timeout $limit nsenter --net=/run/netns/a iperf3 -J -C "$tcp_algorithm" -t $((seconds + 5)) -c "$host_b" >"$tmp/bulk.json" 2>&1 &
	bulk=$!
	result=$(round_trips tcp)
	wait $bulk || fail iperf3
	echo "tcp $tcp_algorithm: $result; bulk $(json "$tmp/bulk.json" "round(d['end']['sum_received']['bits_per_second'] / 8e6, 2)")"
	finish
}

# small_sends HOST SERVER: ddperf reports the way there alone.
small_sends() {
	local to=host_$2
	sleep 3
	timeout $limit "$ddperf" --socket "$(socket_of "$1")" -j -p 5045 -t "$seconds" "${!to}" send lat >"$tmp/small.json" 2>"$tmp/small.log"
}

# beside_ours other|same: the small Sends are those of a2 and b2, or of a and b.
beside_ours() {
	local n=2 bulk small bare host
	[ "$1" = other ] || n=''
	begin udp
	for host in a b ${n:+a2 b2}; do host_daemon $host "user: {congestion_control: $algorithm}"; done
	server bulk b "$ddperf" -s --socket "$(socket_of b)"
	server little b$n "$ddperf" -s -p 5045 --socket "$(socket_of b$n)"
	timeout $limit "$ddperf" --socket "$(socket_of a)" -j -S 1M -d 16 -t $((seconds + 5)) "$host_b" write bw >"$tmp/bulk.json" 2>"$tmp/client.log" &
	bulk=$!
	small_sends a$n b$n &
	small=$!
	bare=$(round_trips udp)
	wait $small || fail 'small Sends'
	wait $bulk || fail 'bulk data'
	echo "$1 $algorithm: $(json "$tmp/small.json" "round(d['latency_mean_us'] / 500, 1)" "round(d['latency_p99_us'] / 500, 1)");" \
		"bare path $bare; bulk $(json "$tmp/bulk.json" "round(d['bandwidth_mean_mb_per_s'], 2)")"
	kill "$(pid_of bulk)" "$(pid_of little)"
	for host in a b ${n:+a2 b2}; do stop $host || fail "daemon $host"; done
	finish
}

for _ in $(seq "$rounds"); do
	beside_tcp
	beside_ours other
	beside_ours same
done
