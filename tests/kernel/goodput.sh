#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Goodput of Writes between two daemons and of iperf3 (TCP) in turn over the same disturbed link. scripts/goodput runs it
# in guests. Promise: no session is lost. The figures are for people.
# Usage: goodput.sh LINK DISTURBANCE SECONDS WARM ROUNDS ALGORITHM TCP FLOW...
#   LINK         lan: no limit, no delay; wan: 100 Mbit/s, round trip 20 ms, a queue of their product; 300m10, 300m100, 1g50:
#                the rate, and the round trip in ms
#   DISTURBANCE  none; loss-PERCENT: random, both directions (lan, wan) or that of the data; burst-N: N packets in a row,
#                every 500 ms; reorder-PERCENT: these overtake by 5 ms (wan), 1 ms (lan) or 3 ms; queue-N: room for N
#                packets; share: both flows at the same time
#   SECONDS      of a measurement, after WARM others; each begins with a new association
#   ALGORITHM    user.congestion_control
#   TCP          the algorithm of TCP: cubic, bbr
#   FLOW         ours or tcp
# Prints lines: figure LINK DISTURBANCE ALGORITHM ours|tcp MB/S RETRANSMITS
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
needs ddpsctpd ddpctl ddperf iperf3
[ $# -ge 8 ] || fail 'wrong usage'
link=$1 disturbance=$2 seconds=$3 warm=$4 rounds=$5 algorithm=$6 tcp_algorithm=$7
shift 7
amount=${disturbance#*-}
DDP_TRANSPORT=user

# --- the link ---

# All delay is that of the way back.
depth=64
case $link in
lan) rate=20gbit queue=1000 delay='' depth=4 ;;
wan) rate=100mbit queue=170 delay='delay 20ms' depth=4 ;;
300m10) rate=300mbit queue=250 delay='delay 10ms' ;;
300m100) rate=300mbit queue=2500 delay='delay 100ms' ;;
1g50) rate=1gbit queue=4167 delay='delay 50ms' ;;
*) fail "no link $link" ;;
esac

# netem host a, the direction of the data, and host b: words of tc-netem(8). tbf cuts batches into packets: netem would
# lose a batch as if it were one packet.
netem() {
	# shellcheck disable=SC2086 # words
	at a tc qdisc add dev link1 root handle 1: tbf rate $rate burst 3200 limit 1000000 &&
		at a tc qdisc add dev link1 parent 1: handle 2: netem limit $queue $1 || fail "netem $1"
	# shellcheck disable=SC2086 # words
	[ -z "$2$delay" ] || at b tc qdisc add dev link1 root netem limit 10000 $delay $2 || fail "netem $2"
}

# Twice a second, b drops as many packets with data (IP length 1024 to 2047) as come within 100 ms, up to this number. A token
# bucket is full when the action is replaced, and 100 ms do not fill in another packet; what conforms is dropped.
bursts() {
	local police=(action police index 1 rate 24kbit burst $((amount * 1500)) mtu 2047 conform-exceed)
	at b tc qdisc add dev link1 clsact && at b tc actions add "${police[@]}" pass/pass &&
		at b tc filter add dev link1 ingress protocol ip u32 match u16 0x400 0xfc00 at 2 action police index 1 || fail police
	mkfifo "$tmp/never"
	(
		exec 8<>"$tmp/never"
		while :; do
			echo "actions replace ${police[*]} pass/drop"
			read -r -t 0.1 <&8
			echo "actions replace ${police[*]} pass/pass"
			read -r -t 0.4 <&8
		done | at b tc -batch - >"$tmp/tc.log" 2>&1
	) &
	children="$children $!"
}

hosts
case $disturbance in
none) netem '' '' ;;
# TCP keeps about 1 ms of data in queues of its own host. A delay makes this the queue of another one.
share) netem 'delay 1us' '' ;;
loss-*)
	back="loss $amount%"
	[ "$link" = lan ] || [ "$link" = wan ] || back=''
	netem "loss $amount%" "$back"
	;;
queue-*) queue=$amount && netem '' '' ;;
burst-*) netem '' '' && bursts ;;
reorder-*)
	early=3ms queue=$((queue + 1000))
	[ "$link" != lan ] || early=1ms
	[ "$link" != wan ] || early=5ms queue=1000
	netem "delay $early reorder $amount%" ''
	;;
*) fail "no disturbance $disturbance" ;;
esac

# --- the flows ---

# value KEY FILE: the last number with this key of a JSON object.
value() { sed -n "s/.*\"$1\":[[:space:]]*\([0-9.e+]*\).*/\1/p" "$2" | tail -n 1; }
figure() { echo "figure $link $disturbance $*"; }

ours() {
	"$ddperf" --socket "$(socket_of a)" -j -S 1M -d $depth -t "$seconds" -w "$warm" "$(addr b)" write bw >"$tmp/ours.log" 2>&1 ||
		fail "a session was lost: $(ctl a -d path)"
	figure "$algorithm" ours "$(value bandwidth_mean_mb_per_s "$tmp/ours.log")" "$(value retransmits "$tmp/ours.log")"
}
tcp() {
	at a iperf3 -J -C "$tcp_algorithm" -c "$(addr b)" -t "$seconds" -O "$warm" >"$tmp/tcp.log" 2>&1 || fail iperf3
	figure "$tcp_algorithm" tcp "$(awk '/"sum_received"/ { here = 1 } here && /"bits_per_second"/ { print $2 / 8e6; exit }' "$tmp/tcp.log")" \
		"$(value retransmits "$tmp/tcp.log")"
}

# Windows of any size; no memory of former connections.
tcp_host() {
	# shellcheck disable=SC2016 # there
	at "$1" sh -c 'cd /proc/sys/net/ipv4 && echo 1 >tcp_no_metrics_save && for f in tcp_rmem tcp_wmem; do
		echo "4096 131072 134217728" >$f || exit; done' || fail "TCP of $1"
}
[ "$tcp_algorithm" != bbr ] || modprobe -d /run/uml tcp_bbr || fail 'no tcp_bbr'
for host in a b; do
	tcp_host $host
	daemon_at $host "$(addr $host)" "user: {congestion_control: $algorithm, mtu: 1500}" "polling: {budget_us: 0}" \
		'session: {connect_ms: 60000, idle_ms: 0}'
done
server ddperf b "$ddperf" -s --socket "$(socket_of b)"
background iperf ip netns exec b iperf3 --forceflush -s
eventually 20 grep -q listening "$tmp/iperf.log" || fail 'iperf3 -s'
for _ in $(seq "$rounds"); do
	running=
	for flow; do
		if [ "$disturbance" = share ]; then
			$flow &
			running="$running $!"
		else
			$flow
		fi
	done
	for flow in $running; do
		wait "$flow" || exit
	done
done
echo "packets lost: $(lost 1) and $(at b tc -s actions list action police 2>/dev/null | sed -n 's/.*(dropped \([0-9]*\).*/\1/p'); daemon a: $(ctl a -o status | grep -o 'retransmits [0-9]*')"
