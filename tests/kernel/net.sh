# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Two hosts, a and b, as network namespaces of the guest, and what lies between them: one or two links, each a subnet of
# its own, that can lose, delay and spoil what they carry, and be cut. Sourced by tests of the guest; with
# tests/system/lib.sh, whose daemons then live in a host. UNIX sockets are no part of a host, so clients need
# not be there. The guest throws all away when the test has ended.

# shellcheck source=../system/lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
[ -d /run/guest ] || skip 'needs the guest of scripts/check-kernel'
needs ip tc ethtool

# at HOST COMMAND...
at() { ip netns exec "$@"; }

# addr HOST [LINK]: its address there.
addr() { case $1 in a) echo "10.7.${2:-1}.1" ;; b) echo "10.7.${2:-1}.2" ;; esac; }

# hosts [LINKS]: makes both, with so many links between them.
hosts() {
	local host n
	for host in a b; do
		ip netns add $host && at $host ip link set lo up || fail "no host $host"
	done
	for n in $(seq "${1:-1}"); do
		ip link add "link$n" netns a type veth peer name "link$n" netns b || fail "no link $n"
		for host in a b; do
			at $host ip address add "$(addr $host "$n")/24" dev "link$n" &&
				at $host ip link set "link$n" up || fail "no link $n in host $host"
		done
	done
}

# daemon_at HOST ADDRESS [LINE...]: as daemon(); its name is that of the host.
daemon_at() {
	daemon_in=(ip netns exec "$1")
	daemon "$@"
	daemon_in=()
}

# link N up|down: at both ends.
link() {
	at a ip link set "link$1" "$2" && at b ip link set "link$1" "$2" || fail "link $1 is not $2"
}

# disturb N [WORD...]: what the link does to the packets of both directions, as tc-netem(8) has it; "loss 100%" cuts the
# link without a notice to either host. Without words it is quiet again. A packet of veth has no checksum
# until somebody needs it, and netem, who spoils packets, makes only those of UDP and TCP; so hosts make all
# by themselves from now on.
disturb() {
	local host link=link$1
	shift
	for host in a b; do
		at $host ethtool -K "$link" tx off >/dev/null || fail "ethtool of $link"
		at $host tc qdisc del dev "$link" root 2>/dev/null
		[ $# -eq 0 ] || at $host tc qdisc add dev "$link" root netem limit 10000 "$@" || fail "netem $*"
	done
}

# lost N: packets that the link has lost on purpose.
lost() {
	local host
	for host in a b; do
		at $host tc -s qdisc show dev "link$1"
	done | sed -n 's/.*dropped \([0-9]*\).*/\1/p' | awk "{ n += \$1 } END { print n + 0 }"
}

# counter HOST FILE NAME: of /proc/net, in either of its forms: SctpChecksumErrors, Udp:InCsumErrors.
counter() {
	at "$1" awk -v name="$3" '
		$1 == name { print $2; exit }
		$1 ~ /:$/ && $1 == head { for (i = 2; i <= NF; i++) if (key[i] == name) { print $i; exit } }
		{ head = $1; for (i = 2; i <= NF; i++) key[i] = $1 $i }' "/proc/net/$2"
}
