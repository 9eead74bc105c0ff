# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Two hosts with a link between them: a test that sources this file runs in namespaces of its own, which end with it.
if [ -z "${DDP_NET:-}" ]; then
	[ -c /dev/net/tun ] || { echo 'needs /dev/net/tun' && exit 77; }
	user=--map-root-user
	[ "$(id -u)" != 0 ] || user=
	# shellcheck disable=SC2086
	unshare $user --mount --net true 2>/dev/null || user=--map-root-user
	# shellcheck disable=SC2086
	unshare $user --mount --net true 2>/dev/null || { echo 'needs namespaces: unshare --map-root-user --mount --net' && exit 77; }
	# shellcheck disable=SC2086,SC2093
	DDP_NET=yes exec unshare $user --mount --net "$0" "$@"
fi
# shellcheck source=../system/lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
DDP_TRANSPORT=user
mount -t tmpfs none /run || fail 'no private /run'
for host in a b; do ip netns add $host || fail "no namespace $host"; done
# Second daemons a2 and b2 are in the same namespaces. `far` of the link is for their addresses.
# shellcheck disable=SC2034 # used by name
host_a=10.9.0.1 host_b=10.9.0.2 host_a2=10.9.0.101 host_b2=10.9.0.102

# on HOST COMMAND...: runs it there.
on() {
	local host=${1%2}
	shift
	nsenter --net=/run/netns/"$host" "$@"
}

emulates() { grep -q '^ready$' "$tmp/wan.log"; }

# link_keys NAME: the link of that name, as in tests/sctp/lab/link.c; other words are taken as keys.
link_keys() {
	local base='rate=3e8 delay=5000 queue=375000'
	case $1 in
	lan) echo rate=1e10 delay=50 queue=1500000 ;;
	300m10) echo "$base" ;;
	300m10-loss0.1) echo "$base loss=1000" ;;
	300m10-loss1) echo "$base loss=10000" ;;
	300m10-reorder2) echo "$base reorder=20000 early=3000" ;;
	300m10-queue26) echo "${base/375000/39000}" ;;
	300m100) echo rate=3e8 delay=50000 queue=3750000 ;;
	1g50) echo rate=1e9 delay=25000 queue=6250000 ;;
	100m20) echo rate=1e8 delay=10000 queue=250000 ;;
	*=*) echo "$1" ;;
	*) fail "no link $1" ;;
	esac
}

# link KEY=VALUE...: connects a and b by a link like that, until unlink_hosts. The devices hold what comes while the emulator waits
# for the processor: only its own queue shall drop packets.
link() {
	background wan "$bin/tests/net/wan" /run/netns/a /run/netns/b "$@"
	eventually 10 emulates || fail 'the emulator does not start'
	for host in a b; do
		local addr=host_$host far=host_${host}2
		ip -n $host addr add "${!addr}/24" dev wan0 && ip -n $host addr add "${!far}/24" dev wan0 &&
			ip -n $host link set wan0 mtu 1500 txqueuelen 10000 up || fail "wan0 of $host"
	done
}

# host_drops: packets that the devices have dropped, and those that the buffers of sockets have.
host_drops() {
	for host in a b; do
		on $host awk '$1 == "wan0:" { device = $13 } $1 == "Udp:" && $6 ~ /^[0-9]/ { socket = $6 } END { print device, socket }' /proc/net/dev /proc/net/snmp
	done | awk '{ device += $1; socket += $2 } END { print device, socket }'
}

# wan_drops: packets that the emulator has dropped or lost, after unlink_hosts.
wan_drops() { sed -n 's/.* dropped \([0-9]*\) lost \([0-9]*\) refused \([0-9]*\) .*/\1 \2 \3/p' "$tmp/wan.log" | awk '{ n += $1 + $2 + $3 } END { print n + 0 }'; }

unlink_hosts() {
	stop wan || fail 'the emulator fails'
}

# host_daemon HOST [LINE...]: a daemon there (a, b, a2 or b2); lines of its configuration.
host_daemon() {
	local host=$1 addr=host_$1
	shift
	daemon_in=(nsenter --net=/run/netns/"${host%2}")
	daemon "$host" "${!addr}" "$@"
	daemon_in=()
}

# json FILE EXPRESSION...: the values of Python expressions of d, the object that the file holds.
json() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(*(eval(x) for x in sys.argv[2:]))' "$@"; }

# tcp_host HOST: its TCP may use windows of 128 MiB, and remembers nothing of former connections.
tcp_host() {
	# shellcheck disable=SC2016 # there
	on "$1" sh -c 'cd /proc/sys/net/ipv4 && echo 1 >tcp_no_metrics_save && for f in tcp_rmem tcp_wmem; do
		echo "4096 131072 134217728" >$f || exit; done' || fail "TCP of $1"
}

# tcp_listen NAME HOST: a server of iperf3 there, for one client.
tcp_listen() {
	local addr=host_$2
	background "$1" nsenter --net=/run/netns/"${2%2}" iperf3 --forceflush -1 -s -B "${!addr}"
	eventually 10 grep -q listening "$tmp/$1.log" || fail 'iperf3 -s'
}
