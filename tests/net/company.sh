#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# By hand: two flows of bulk data share a bottleneck; prints the rate of each, its share, and the round trip of small
# packets beside them (UDP: mean and 99th percentile in ms), which shows the queue. The second flow has another pair of
# daemons, or is iperf3.
# LINK: of net.sh. PAIRS: FLOW+FLOW..., each an algorithm of user.congestion_control or tcp-ALGORITHM. FAR: microseconds one
# way that the second flow has more. SECONDS_EACH, ROUNDS.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/net/net.sh"
needs ddpsctpd ddpctl ddperf iperf3 python3

link=${LINK:-300m10} pairs=${PAIRS:-cubic+cubic cubic+tcp-cubic bbr+bbr bbr+tcp-bbr tcp-cubic+tcp-cubic tcp-bbr+tcp-bbr}
seconds=${SECONDS_EACH:-20} rounds=${ROUNDS:-3} far=${FAR:-0}
echo="$top_srcdir/tests/net/echo.py"
limit=$((2 * seconds + 60))

# prepare FLOW N: servers of the N-th flow, 1 or 2.
prepare() {
	local n=${2#1}
	case $1 in
	tcp-*) tcp_listen "server$2" "b$n" ;;
	*)
		host_daemon "a$n" "user: {congestion_control: $1}"
		host_daemon "b$n" "user: {congestion_control: $1}"
		server "server$2" "b$n" "$ddperf" -s --socket "$(socket_of "b$n")"
		;;
	esac
}

# flow FLOW N: bulk data; the first five seconds do not count.
flow() {
	local n=${2#1}
	local from=host_a$n to=host_b$n
	case $1 in
	tcp-*) timeout $limit nsenter --net=/run/netns/a iperf3 -J -C "${1#tcp-}" -O 5 -t "$seconds" -B "${!from}" -c "${!to}" ;;
	*) timeout $limit "$ddperf" --socket "$(socket_of "a$n")" -j -S 1M -d 16 -w 5 -t "$seconds" "${!to}" write bw ;;
	esac >"$tmp/flow$2.json" 2>"$tmp/flow$2.log"
}

rate() {
	case $1 in
	tcp-*) json "$tmp/flow$2.json" "d['end']['sum_received']['bits_per_second'] / 8e6" ;;
	*) json "$tmp/flow$2.json" "d['bandwidth_mean_mb_per_s']" ;;
	esac
}

# together FLOW FLOW
together() {
	local one two delay n first second
	# shellcheck disable=SC2046
	link $(link_keys "$link") far="$far"
	tcp_host a && tcp_host b
	prepare "$1" 1 && prepare "$2" 2
	# shellcheck disable=SC2154 # net.sh has it
	background echo nsenter --net=/run/netns/b "$echo" udp "$host_b" serve
	eventually 10 grep -q ready "$tmp/echo.log" || fail echo
	flow "$1" 1 &
	one=$!
	flow "$2" 2 &
	two=$!
	delay=$(on a "$echo" udp "$host_b" "$seconds" "$host_a") || fail 'no round trips'
	wait $one || fail "$1 beside $2"
	wait $two || fail "$2 beside $1"
	first=$(rate "$1" 1) second=$(rate "$2" 2)
	for n in server1 server2 echo; do kill "$(pid_of $n)" 2>/dev/null; done
	for n in a b a2 b2; do
		[ ! -e "$tmp/$n.pid" ] || stop $n || fail "daemon $n"
		rm -f "$tmp/$n.pid"
	done
	unlink_hosts
	python3 -c 'import sys; a, b = map(float, sys.argv[4:6]); print(f"{sys.argv[1]} {sys.argv[2]} beside {sys.argv[3]}: {a:.2f} and {b:.2f} MB/s, share {a / (a + b):.2f}, round trips", *sys.argv[6:8])' \
		"$link" "$1" "$2" "$first" "$second" $delay
}

for _ in $(seq "$rounds"); do
	for pair in $pairs; do
		together "${pair%%+*}" "${pair#*+}"
	done
done
