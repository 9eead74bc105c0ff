#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One run of scripts/scale, which has the words about it: SCALE_HOSTS daemons, SCALE_RANKS processes at each.
if [ -z "${DDP_NET:-}" ]; then
	user=--map-root-user
	[ "$(id -u)" != 0 ] || user=
	# shellcheck disable=SC2086
	unshare $user --mount --net true 2>/dev/null || { echo 'needs namespaces: unshare --mount --net' && exit 77; }
	# shellcheck disable=SC2086,SC2093
	DDP_NET=yes exec unshare $user --mount --net "$0" "$@"
fi
# shellcheck source=../system/lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
hosts=${SCALE_HOSTS:-8} ranks=${SCALE_RANKS:-4} pattern=${SCALE_PATTERN:-all} listen=${SCALE_LISTEN:-own} messages=${SCALE_MESSAGES:-10}
export DDP_TRANSPORT=user
ulimit -n "$(ulimit -Hn)"
mount -t tmpfs none /run && ip link add bridge0 type bridge && ip link set bridge0 up || fail 'no bridge'

at() { echo "10.77.$(($1 / 250)).$(($1 % 250 + 1))"; }
add_host() {
	ip netns add "h$1" && ip link add "port$1" type veth peer name eth0 netns "h$1" &&
		ip link set "port$1" master bridge0 up && ip -n "h$1" addr add "$(at "$1")/16" dev eth0 &&
		ip -n "h$1" link set eth0 up && ip -n "h$1" link set lo up || fail "host $1"
	daemon_in=(nsenter --net=/run/netns/"h$1")
	daemon "h$1" "$(at "$1")"
}

# all_of WORDS: of all daemons. KiB of memory, seconds of a processor, associations.
memory() { for ((i = 0; i < hosts; i++)); do sed -n 's/^RssAnon:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$(pid_of "h$i")/status"; done; }
ticks() { for ((i = 0; i < hosts; i++)); do cut -d ' ' -f 14,15 "/proc/$(pid_of "h$i")/stat" | tr ' ' '\n'; done; }
sum() { awk '{ n += $1 } END { print n + 0 }'; }
state() { echo "$(memory | sum) $(ticks | sum)"; }

# Chunks that the daemons sent again, and packets that the buffers of their sockets dropped.
repeated() {
	for ((i = 0; i < hosts; i++)); do ctl "h$i" -j status | sed -n 's/.*"retransmits": *\([0-9]*\).*/\1/p'; done | sum
}
drops() {
	for ((i = 0; i < hosts; i++)); do
		nsenter --net=/run/netns/"h$i" awk '$1 == "Udp:" && $6 ~ /^[0-9]/ { print $6 }' /proc/net/snmp
	done | sum
}

# stage WORD: waits for its line, whose other words are in said.
stage() {
	eventually 100 reached "$1" || fail "the processes do not come to '$1'"
	grep -q "^$1" "$tmp/scale.log" || fail "the processes end before '$1'"
	said=$(sed -n "s/^$1 *//p" "$tmp/scale.log")
}
reached() { grep -q "^$1" "$tmp/scale.log" || gone "$(pid_of scale)"; }

peers=()
for ((i = 0; i < hosts; i++)); do
	add_host $i
	peers+=("$(socket_of "h$i")" "$(at $i)")
done
mkfifo "$tmp/next"
background scale sh -c 'exec "$@" <"$0"' "$tmp/next" "$bin/tests/net/scale" "$ranks" "$pattern" "$listen" "$messages" "${peers[@]}"
exec 9>"$tmp/next"
stage listening
read -r kib_0 ticks_0 <<<"$(state)"
echo >&9
stage connected
read -r sessions took <<<"$said"
read -r kib_1 ticks_1 <<<"$(state)"
assocs=$(for ((i = 0; i < hosts; i++)); do count "h$i" assoc; done | sum)
echo >&9
stage exchanged
read -r kib_2 ticks_2 <<<"$(state)"
exchange=$said again=$(repeated) dropped=$(drops)
echo >&9
exec 9>&-
wait "$(pid_of scale)" || fail 'the processes failed'
gone_all() { for ((i = 0; i < hosts; i++)); do none_of "h$i" client session || return; done; }
eventually 60 gone_all || fail 'objects are left'
for ((i = 0; i < hosts; i++)); do stop "h$i" || fail "daemon of host $i: exit status $?"; done
awk -v hosts="$hosts" -v ranks="$ranks" -v pattern="$pattern" -v listen="$listen" -v sessions="$sessions" -v took="$took" -v assocs="$assocs" \
	-v kib=$((kib_1 - kib_0)) -v after=$((kib_2 - kib_0)) -v setup=$((ticks_1 - ticks_0)) -v cost=$((ticks_2 - ticks_1)) \
	-v exchange="$exchange" -v messages="$messages" -v again="$again" -v dropped="$dropped" -v hertz="$(getconf CLK_TCK)" 'BEGIN {
	printf "%d hosts of %d ranks, %s, %s: %d sessions on %d associations in %.1f s; for each session and daemon %.0f us of a processor, %.1f KiB, %.1f after traffic; %d messages each way in %.2f s, %.1f us for each and daemon; %d chunks sent again, %d packets dropped by sockets\n",
		hosts, ranks, pattern, listen, sessions, assocs / 2, took, setup / hertz * 1e6 / sessions / 2, kib / sessions / 2, after / sessions / 2,
		messages, exchange, cost / hertz * 1e6 / (messages * 4 * sessions), again, dropped
}'
