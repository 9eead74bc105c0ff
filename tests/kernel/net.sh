# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Two hosts, a and b, as network namespaces of the guest, with one or two links between them. Each link is a subnet. It
# can lose, delay and corrupt packets, and be cut. Tests of the guest source this file; it includes
# tests/system/lib.sh, whose daemons then run in a host. UNIX sockets are independent of hosts, so clients may run
# anywhere. The guest removes everything at the end of the test.

# shellcheck source=../system/lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
[ -d /run/guest ] || skip 'needs the guest of scripts/check-kernel'
needs ip tc ethtool

# at HOST COMMAND...
at() { ip netns exec "$@"; }

# addr HOST [LINK]: its address on that link.
addr() { case $1 in a) echo "10.7.${2:-1}.1" ;; b) echo "10.7.${2:-1}.2" ;; esac; }

# hosts [LINKS]: creates both, with this number of links.
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

# daemon_at HOST ADDRESS [LINE...]: like daemon(); its name is that of the host.
daemon_at() {
	daemon_in=(ip netns exec "$1")
	daemon "$@"
	daemon_in=()
}

# link N up|down: at both ends.
link() {
	at a ip link set "link$1" "$2" && at b ip link set "link$1" "$2" || fail "link $1 is not $2"
}

# disturb N [WORD...]: disturbs both directions of the link, with words of tc-netem(8). "loss 100%" cuts the link without
# notice to the hosts. Without words the disturbance ends. veth packets have no checksum until it is needed, and netem
# computes only those of UDP and TCP before it corrupts packets. So the hosts compute all checksums from now on.
disturb() {
	local host link=link$1
	shift
	for host in a b; do
		at $host ethtool -K "$link" tx off >/dev/null || fail "ethtool of $link"
		at $host tc qdisc del dev "$link" root 2>/dev/null
		[ $# -eq 0 ] || at $host tc qdisc add dev "$link" root netem limit 10000 "$@" || fail "netem $*"
	done
}

# lost N: packets that netem has dropped on the link.
lost() {
	local host
	for host in a b; do
		at $host tc -s qdisc show dev "link$1"
	done | sed -n 's/.*dropped \([0-9]*\).*/\1/p' | awk "{ n += \$1 } END { print n + 0 }"
}

# counter HOST FILE NAME: a counter of /proc/net, in either form: SctpChecksumErrors, Udp:InCsumErrors.
counter() {
	at "$1" awk -v name="$3" '
		$1 == name { print $2; exit }
		$1 ~ /:$/ && $1 == head { for (i = 2; i <= NF; i++) if (key[i] == name) { print $i; exit } }
		{ head = $1; for (i = 2; i <= NF; i++) key[i] = $1 $i }' "/proc/net/$2"
}
