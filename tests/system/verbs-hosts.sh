# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Two hosts for programs that do not use loopback addresses, or look into /sys and /proc for those of the host: daemon a
# and its programs are in the namespace of this test, b and its programs in another one; a link joins them. Tests source
# this file instead of verbs-list.sh, and then start the hosts. VERBS_FAMILY=6: with IPv6.

if [ -z "${VERBS_HOSTS-}" ] && unshare -rn true 2>/dev/null; then
	VERBS_HOSTS=1 exec unshare -rn "$0" "$@"
fi
# shellcheck source=verbs-list.sh
. "${top_srcdir:-.}/tests/system/verbs-list.sh"
needs ip nsenter
[ -n "${VERBS_HOSTS-}" ] || skip 'needs a network namespace'
# shellcheck disable=SC2034 # used by the tests
a=198.51.100.1 b=198.51.100.2 c=198.51.100.3 width=24 port=10000
[ "${VERBS_FAMILY:-4}" = 4 ] || a=2001:db8::1 b=2001:db8::2 c=2001:db8::3 width='64 nodad'
at_b=()

apart() { [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }

# hosts [LINE...]: starts both daemons, with these lines of YAML.
hosts() {
	local other
	# The first process of the second host has begun when it is in another namespace.
	background other unshare -n sleep 3600
	other=$pid
	eventually 10 apart "$other" || fail 'no second namespace'
	at_b=(nsenter -t "$other" -n)
	ip link add left type veth peer name right || skip 'needs virtual interfaces'
	ip link set right netns "$other" || fail 'no link'
	# shellcheck disable=SC2086 # several words
	ip link set lo up && ip addr add dev left $a/$width && ip link set left up || fail "no address $a"
	# shellcheck disable=SC2086
	"${at_b[@]}" ip link set lo up && "${at_b[@]}" ip addr add dev right $b/$width && "${at_b[@]}" ip link set right up ||
		fail "no address $b"
	daemon a $a "$@"
	daemon_in=("${at_b[@]}")
	daemon b $b "$@"
	daemon_in=()
}

# another_daemon [YAML...]: c, in the namespace of daemon a: programs that speak to each other by the loopback use both.
another_daemon() {
	# shellcheck disable=SC2086 # several words
	ip addr add dev left $c/$width || fail "no address $c"
	daemon c $c "$@"
}

# hosts_end: both daemons end well.
hosts_end() {
	stop a || fail "daemon a: exit status $?"
	stop b || fail "daemon b: exit status $?"
}

# on DAEMON: the words before a program there, in the array with. Other daemons than b are in the namespace of the test.
on() {
	local place=()
	[ "$1" != b ] || place=("${at_b[@]}")
	with=("${place[@]}" env "DDPVERBS_LIBRARY=$library" timeout -k 5 "${limit:-100}" "$bin/verbs/ddpverbs" -s "$(socket_of "$1")")
}

# version PACKAGE WORDS: the last line of a test of tests/programs: what was seen, with the version of what was run.
version() { echo "$1 $(dpkg-query -W -f '${Version}' "$1" 2>/dev/null): $2"; }
