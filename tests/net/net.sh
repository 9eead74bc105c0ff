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
# shellcheck disable=SC2034 # used by name
host_a=10.9.0.1 host_b=10.9.0.2

# on HOST COMMAND...: runs it there.
on() {
	local host=$1
	shift
	nsenter --net=/run/netns/"$host" "$@"
}

emulates() { grep -q '^ready$' "$tmp/wan.log"; }

# link KEY=VALUE...: connects a and b by a link like that, until unlink_hosts.
link() {
	background wan "$bin/tests/net/wan" /run/netns/a /run/netns/b "$@"
	eventually 10 emulates || fail 'the emulator does not start'
	for host in a b; do
		local addr=host_$host
		ip -n $host addr add "${!addr}/24" dev wan0 && ip -n $host link set wan0 mtu 1500 up || fail "wan0 of $host"
	done
}

unlink_hosts() {
	stop wan || fail 'the emulator fails'
}

# host_daemon HOST: a daemon there.
host_daemon() {
	local addr=host_$1
	daemon_in=(nsenter --net=/run/netns/"$1")
	daemon "$1" "${!addr}"
	daemon_in=()
}
