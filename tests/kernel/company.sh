#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two flows of bulk data share a bottleneck in a third host between their ends, a queue that drops what has no room. scripts/goodput -c
# runs it in guests. Promise: no session is lost. The figures are for people.
# Usage: company.sh LINK QUEUE SECONDS WARM ROUNDS FLOW FLOW
#   LINK         300m10 and so on: the rate in Mbit/s and the round trip in ms
#   QUEUE        bandwidth-delay products that it holds, in percent
#   SECONDS      of a measurement, after WARM others; the flows last a little longer
#   FLOW         an algorithm of user.congestion_control; tcp-ALGORITHM; fq-ALGORITHM: TCP that fq paces; single-ALGORITHM: TCP that
#                sends packets one by one; each may end in +N: it begins N seconds later
# The second flow may be messages of 64 bytes instead, which start when the other one has warmed up:
#   small        Sends of an association of their own; beside: of the association of the first flow; echo: by TCP
# Prints lines: company LINK QUEUE FLOW FLOW MB/S MB/S SHARE DROPPED DROPPED MS MS NUMBER LOST: what b received on the wire, what the
# queue has dropped of each flow, and round trips of small packets: mean, 99th percentile; then those of a second flow of small
# messages. Before them, for each second:
# beside SECOND MB/S MB/S QUEUE WINDOW WINDOW: the queue in bytes, windows in packets, or -.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
needs ddpsctpd ddpctl ddperf iperf3 python3 ss
[ $# -eq 7 ] || fail 'wrong usage'
link=$1 part=$2 seconds=$3 warm=$4 rounds=$5
flow=("$6" "$7")
rate=${link%m*} trip=${link#*m}
DDP_TRANSPORT=user
# Of both flows, which come from the hosts a0 and a1: from and to.
from=(10.7.0.1 10.7.1.1) to=(10.7.2.2 10.7.2.102)

# --- the link ---

# connect HOST N ADDRESS...: a link N between it and the router, with these addresses of 10.7.N.0/24.
connect() {
	local host=$1 n=$2 address
	shift 2
	ip link add "link$n" netns "$host" type veth peer name "link$n" netns r || fail "no link $n"
	for address; do
		at "$host" ip address add "$address/24" dev "link$n" || fail "no address $address"
	done
	if ! { at r ip address add "10.7.$n.3/24" dev "link$n" && at r ip link set "link$n" up && at "$host" ip link set "link$n" up &&
		at "$host" ip route add default via "10.7.$n.3"; }; then
		fail "link $n is not up"
	fi
}

# a0 and a1, the router r, and b.
four_hosts() {
	local host
	for host in a0 a1 r b; do
		ip netns add $host && at $host ip link set lo up || fail "no host $host"
	done
	connect a0 0 "${from[0]}"
	connect a1 1 "${from[1]}"
	connect b 2 "${to[@]}"
	at r sysctl -q -w net.ipv4.ip_forward=1 || fail ip_forward
}

# count_packets HOST DEVICE FLOW...: those that arrive there, of each flow.
count_packets() {
	local host=$1 device=$2 n
	shift 2
	at "$host" tc qdisc add dev "$device" clsact || fail clsact
	for n; do
		at "$host" tc filter add dev "$device" ingress protocol ip prio $((n + 1)) u32 match ip dst "${to[n]}" action gact pass index $((n + 1)) ||
			fail gact
	done
}

# The delay is that of the way back.
bottleneck() {
	local queue=$((rate * trip * 125 * part / 100))
	at r tc qdisc add dev link2 root tbf rate "${rate}mbit" burst 1600 limit $queue &&
		at b tc qdisc add dev link2 root netem limit 100000 delay "${trip}ms" || fail 'no bottleneck'
	count_packets r link0 0
	count_packets r link1 1
	count_packets b link2 0 1
}

# How TCP sends: as it is, paced, or packet by packet.
tune() {
	local n=$1
	case ${flow[n]} in
	fq-*) at "a$n" tc qdisc replace dev "link$n" root fq limit 100000 flow_limit 10000 || fail fq ;;
	single-*) at "a$n" ip link set "link$n" gso_max_segs 1 || fail gso_max_segs ;;
	esac
}

# counters HOST: packets and bytes of the flows: those of the first one, those of the second.
counters() {
	at "$1" tc -s actions list action gact |
		awk '/index/ { n = $0; sub(/.*index /, "", n); n += 0 } /Sent / { bytes[n] = $2; packets[n] = $4 } END { print packets[1], bytes[1], packets[2], bytes[2] }'
}

backlog() { at r tc -s qdisc show dev link2 root | sed -n 's/.*backlog \([0-9]*\)\([KM]\{0,1\}\)b.*/\1\2/p' | head -n 1; }

# --- the flows ---

algorithm() {
	local x=${flow[$1]%+*}
	[ "$x" != small ] || x=${flow[0]%+*}
	echo "${x#*-}"
}

# Windows of any size; no memory of former connections.
tcp_host() {
	# shellcheck disable=SC2016 # there
	at "$1" sh -c 'cd /proc/sys/net/ipv4 && echo 1 >tcp_no_metrics_save && for f in tcp_rmem tcp_wmem; do
		echo "4096 131072 134217728" >$f || exit; done' || fail "TCP of $1"
}

# prepare N: what is there in all rounds.
prepare() {
	local n=$1
	case ${flow[n]} in
	beside) server ddperf1 b0 "$ddperf" -s -p 5045 --socket "$(socket_of b0)" ;;
	echo)
		background little ip netns exec b "$echo" tcp "${to[1]}" serve
		eventually 20 grep -q ready "$tmp/little.log" || fail echo
		;;
	*-*)
		background "iperf$n" ip netns exec b iperf3 --forceflush -s -B "${to[n]}"
		eventually 20 grep -q listening "$tmp/iperf$n.log" || fail 'iperf3 -s'
		;;
	*)
		local config=("user: {congestion_control: $(algorithm "$n"), mtu: 1500}" "polling: {budget_us: 0}" 'session: {connect_ms: 60000, idle_ms: 0}')
		daemon_in=(ip netns exec "a$n")
		daemon "a$n" "${from[n]}" "${config[@]}"
		daemon_in=(ip netns exec b)
		daemon "b$n" "${to[n]}" "${config[@]}"
		daemon_in=()
		server "ddperf$n" "b$n" "$ddperf" -s --socket "$(socket_of "b$n")"
		;;
	esac
}

# small_messages N
small_messages() {
	local n=1 port=5044
	[ "${flow[$1]}" != beside ] || n=0 port=5045
	read -r -t "$warm" <>"$tmp/never"
	if [ "${flow[$1]}" = echo ]; then
		at a1 "$echo" tcp "${to[1]}" "$seconds" "${from[1]}" "$(algorithm 0)"
	else
		"$ddperf" --socket "$(socket_of a$n)" -j -p $port -t "$seconds" "${to[n]}" send lat
	fi
}

# Their round trips in ms: mean, 99th percentile. ddperf has the way there alone.
small_trips() {
	case ${flow[1]} in
	echo) cut -d ' ' -f 1,2 "$tmp/flow1.log" ;;
	small | beside) python3 -c 'import json, sys; d = json.load(sys.stdin); print(*(round(d[f"latency_{x}_us"] / 500, 1) for x in ("mean", "p99")))' <"$tmp/flow1.log" ;;
	esac
}

# begin N
begin() {
	local n=$1 all=$(((seconds + warm) * 11 / 10 + 5)) # longer than "watch", whose seconds are no shorter
	case ${flow[n]} in
	small | beside | echo)
		small_messages "$n" >"$tmp/flow$n.log" 2>&1
		return
		;;
	esac
	case ${flow[n]} in
	*+*) read -r -t "${flow[n]#*+}" <>"$tmp/never" ;;
	esac
	case ${flow[n]} in
	*-*) at "a$n" iperf3 -C "$(algorithm "$n")" -B "${from[n]}" -c "${to[n]}" -t $all ;;
	*) "$ddperf" --socket "$(socket_of "a$n")" -S 1M -d 64 -t $all -w 0 "${to[n]}" write bw ;;
	esac >"$tmp/flow$n.log" 2>&1
}

# window N: in packets of 1500 bytes.
window() {
	case ${flow[$1]} in
	small | beside | echo) echo 0 ;;
	*-*) at "a$1" ss -tin dst "${to[$1]}" | sed -n 's/.* cwnd:\([0-9]*\).*/\1/p' | sort -n | tail -n 1 ;;
	*) ctl "a$1" -o path | sed -n 's/.* cwnd \([0-9]*\).*/\1/p' | awk '$1 > n { n = $1 } END { print int(n / 1448) }' ;;
	esac
}

# Each second: SECOND, counters at b, the queue, the windows.
watch() {
	local second first other now
	for second in $(seq 0 $((seconds + warm))); do
		first=$(window 0) other=$(window 1)
		read -r now _ </proc/uptime
		echo "$second $(counters b) $(backlog) ${first:--} ${other:--} $now"
		[ "$second" != "$warm" ] || echo "$(counters r) $(counters b) $(backlog)" >"$tmp/warm"
		read -r -t 1 <>"$tmp/never"
	done
}

# report FILE: of watch; the last line is a summary: MB/S MB/S SHARE.
report() {
	awk -v warm="$warm" '
		function rate(i) { return ($(i) - was[i]) / 1e6 / ($9 - was[9]) }
		NR > 1 { printf "beside %d %.2f %.2f %s %s %s\n", $1, rate(3), rate(5), $6, $7, $8 }
		{ for (i = 1; i <= NF; i++) was[i] = $i }
		$1 == warm { first = $3; second = $5; since = $9 }
		END {
			a = $3 - first; b = $5 - second; s = $9 - since
			printf "%.2f %.2f %.2f\n", a / 1e6 / s, b / 1e6 / s, a / (a + b)
		}' "$1"
}

# Packets of each flow that the queue has dropped since the time of "warm", when it is empty again. What waited in it then is
# divided as arrivals were.
dropped() {
	echo "$(cat "$tmp/warm") $(counters r) $(counters b)" | awk '{
		waiting = ($9 ~ /K/ ? $9 * 1024 : $9 ~ /M/ ? $9 * 1048576 : $9) / 1514
		for (i = 1; i <= 3; i += 2)
			printf "%d ", $(i + 9) - $(i + 13) - ($(i) - $(i + 4)) + waiting * $(i) / ($1 + $3)
	}'
}

round() {
	local n running=
	for n in 0 1; do
		begin $n &
		running="$running $!"
	done
	(read -r -t "$warm" <>"$tmp/never"; at a0 "$echo" udp "${to[0]}" "$seconds" "${from[0]}" >"$tmp/trips") &
	running="$running $!"
	watch >"$tmp/watched"
	for n in $running; do
		wait "$n" || fail "a flow of ${flow[*]} failed"
	done
	report "$tmp/watched" >"$tmp/report"
	sed '$d' "$tmp/report"
	read -r -t 2 <>"$tmp/never"
	echo "company $link $part ${flow[*]} $(tail -n 1 "$tmp/report") $(dropped)$(cat "$tmp/trips") $(small_trips)"
}

modprobe -d /run/uml -a act_gact sch_fq tcp_bbr || fail modules
four_hosts
bottleneck
tcp_host a0 && tcp_host a1 && tcp_host b
tune 0 && tune 1
mkfifo "$tmp/never"
echo="$top_srcdir/tests/net/echo.py"
background echo ip netns exec b "$echo" udp "${to[0]}" serve
eventually 20 grep -q ready "$tmp/echo.log" || fail echo
prepare 0 && prepare 1
for _ in $(seq "$rounds"); do
	round
done
