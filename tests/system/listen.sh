#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: `listen` may name all addresses, interfaces, hosts and addresses that this host does not have yet. They are
# waited for and used when they are there; one that is gone ends no session at others; an interface may get another name.
# A name that is neither is reported at once. Loopback stays, unless it is switched off or in use.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ip unshare python3
# A network namespace of its own, in which this user may change addresses and the names of hosts.
if [ -z "${LISTEN_INSIDE:-}" ]; then
	unshare --map-root-user --net --mount true 2>/dev/null || skip 'needs a network namespace'
	cleanup
	LISTEN_INSIDE=1 exec unshare --map-root-user --net --mount bash "$0"
fi
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

cp /etc/hosts "$tmp/hosts" && mount --bind "$tmp/hosts" /etc/hosts || skip 'needs an /etc/hosts of its own'
ip link set lo up || skip 'needs a network namespace'
for n in 0 1; do
	ip link add "eth$n" type veth peer name "far$n" || skip 'needs links of type veth'
	ip link set "eth$n" up && ip link set "far$n" up || fail "link $n"
done

ip address add 192.0.2.200/32 dev lo || fail 'an address for the peer'
daemon peer 192.0.2.200 'loopback: off'

at() { ctl "$1" -j status | python3 -c 'import json, sys
s = json.load(sys.stdin)[0]
print(s["naddrs"], s["addr1"], s["addr2"])'; }
waits() { ctl "$1" -j status | python3 -c 'import json, sys
print(json.load(sys.stdin)[0]["waits_for"] or "")'; }
is_at() { [ "$(at "$1")" = "$2" ]; }
listens() { eventually 5 is_at "$1" "$2" || fail "$1 is at '$(at "$1")', not '$2'"; }
# shellcheck disable=SC2053 # a pattern
waits_for() { [[ $(waits "$1") == $2 ]]; }
pings() { "$ddping" --socket "$(socket_of peer)" -c 1 "$1" >"$tmp/ping.log" 2>&1; }
reported() { grep -q "$2" "$tmp/$1.log" || fail "$1 does not say: $2"; }
is_in() { grep -q "$2" "$tmp/$1.log"; }

# All addresses, and there is none.
daemon any any 'loopback: off'
reported any 'warning: listen: any: no interface has an address: waiting for it'
waits_for any 'any (no interface has an address)' || fail "waits for '$(waits any)'"
server any-server any "$ddping" -s --socket "$(socket_of any)"
ip address add 192.0.2.1/32 dev eth0
listens any '1 192.0.2.1 None'
waits_for any '' || fail "waits for '$(waits any)'"
pings 192.0.2.1 || fail "not at the address that was added: $(cat "$tmp/ping.log")"

# A session at one address, while another one comes and goes.
background session "$ddping" --socket "$(socket_of peer)" -c 1000000 -i 0.02 192.0.2.1
eventually 5 is_in session 'seq\|round\|time' || fail 'no session'
ip address add 192.0.2.3/32 dev eth1
listens any '2 192.0.2.1 192.0.2.3'
pings 192.0.2.3 || fail "not at the second address: $(cat "$tmp/ping.log")"
ip address del 192.0.2.3/32 dev eth1
listens any '1 192.0.2.1 None'
! pings 192.0.2.3 || fail 'an association at an address that is gone'
ip address add 192.0.2.3/32 dev eth1
listens any '2 192.0.2.1 192.0.2.3'
pings 192.0.2.3 || fail "not at the address that returned: $(cat "$tmp/ping.log")"
! gone "$(pid_of session)" || fail 'the session at the other address has ended'
stop session INT || fail "the session lost something: $(tail -3 "$tmp/session.log")"

# IPv6: used once it is no longer tentative.
ip address add 2001:db8::1/64 dev eth1
eventually 5 is_at any '3 192.0.2.1 192.0.2.3' || fail "not at the IPv6 address: $(at any)"

# Somebody else has the port there. Ports of the kernel's SCTP are taken when a program listens.
[ "$DDP_TRANSPORT" = kernel ] || {
	configure second any
	! "$ddpsctpd" --foreground --config "$tmp/second.yaml" >"$tmp/second.log" 2>&1 || fail 'two daemons at one address'
	reported second 'UDP port 9899 of 192.0.2.1 is in use'
}
stop any || fail "daemon any: exit status $?"

# An interface that gets another name, and a new one that gets its name. Loopback stays.
daemon link eth1
listens link '5 192.0.2.3 2001:db8::1'
ip link set eth1 down && ip link set eth1 name lan1 && ip link set lan1 up || fail 'rename'
listens link '2 127.0.0.1 ::1'
eventually 5 waits_for link 'eth1 (no such interface, and no host of this name*)' || fail "waits for '$(waits link)'"
ip link add eth1 type veth peer name far3 && ip link set far3 up && ip link set eth1 up && ip address add 192.0.2.9/32 dev eth1 || fail 'a new eth1'
first_is() { [[ $(at "$1") == ?' '"$2 "* ]]; }
eventually 5 first_is link 192.0.2.9 || fail "not at the new interface: $(at link)"
stop link || fail "daemon link: exit status $?"

# What does not exist yet, or never.
daemon names 'later0, 192.0.2.50, no-such-host.invalid, "fe80::1%later0"'
reported names 'warning: listen: later0: no such interface, and no host of this name'
reported names 'warning: listen: 192.0.2.50: this host does not have the address'
reported names 'warning: listen: no-such-host.invalid: no such interface, and no host of this name'
reported names 'warning: listen: fe80::1%later0: its interface does not exist'
ip link add later0 type veth peer name far4 && ip link set far4 up && ip link set later0 up && ip address add 192.0.2.60/32 dev later0 &&
	ip address add 192.0.2.50/32 dev lan1 && ip address add fe80::1/64 dev later0 nodad || fail 'later0'
eventually 5 waits_for names 'no-such-host.invalid (*)' || fail "waits for '$(waits names)'"
stop names || fail "daemon names: exit status $?"

# A host that gets its name later: names are looked up again.
daemon host new-host.invalid 'loopback: off'
reported host 'warning: listen: new-host.invalid: no such interface, and no host of this name'
echo '192.0.2.60 new-host.invalid' >>"$tmp/hosts"
eventually 12 is_at host '1 192.0.2.60 None' || fail "at '$(at host)', waits for '$(waits host)'"
stop host || fail "daemon host: exit status $?"

# Names of hosts. Loopback addresses that another daemon has are no reason not to start.
daemon name localhost
eventually 5 waits_for name '' || fail "waits for '$(waits name)'"
[[ $(at name) == *127.0.0.1* ]] || fail "localhost is not 127.0.0.1: $(at name)"
[ "$DDP_TRANSPORT" != kernel ] || exit 0
daemon other 192.0.2.50
listens other '1 192.0.2.50 None'

# This host has the address, and no daemon listens there.
! pings 192.0.2.60 || fail 'an answer from an address without a daemon'
grep -q "192.0.2.60, an address of this host: the daemons here have others in 'listen'" "$tmp/ping.log" ||
	fail "not the reason: $(cat "$tmp/ping.log")"
ctl peer doctor 192.0.2.60 >"$tmp/doctor.out" 2>&1
grep -q "it is an address of this host, and the daemon listens elsewhere" "$tmp/doctor.out" || fail "$(cat "$tmp/doctor.out")"
