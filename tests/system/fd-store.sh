#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: where a service manager keeps descriptors, no program gets the daemon's UDP port while the daemon is killed and
# restarted, also in the middle of its start and at addresses that came later; the port is free when the service was stopped.
# Sockets that the configuration does not need any more are removed. Without such a manager the daemon says who has the port.
# DDP_RESTARTS: how many, 100 by default.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ip unshare python3
grep -q '^SYSTEMD_LIBS = .*-lsystemd' "$top_builddir/Makefile" || skip 'built without libsystemd'
# A network namespace of its own, where all have the usual port; root's thief has another uid.
if [ -z "${STORE_INSIDE:-}" ]; then
	map=--map-root-user
	[ "$(id -u)" != 0 ] || map=--keep-caps
	unshare $map --net true 2>/dev/null || skip 'needs a network namespace'
	cleanup
	STORE_INSIDE=1 exec unshare $map --net bash "$0"
fi
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
DDP_TRANSPORT=user
ip link set lo up || skip 'needs a network namespace'
ip link add eth0 type veth peer name far0 && ip link set eth0 up && ip link set far0 up ||
	skip 'needs links of type veth'
restarts=${DDP_RESTARTS:-100}

# of FILE LISTEN [LINE...]: a configuration for the daemon `a`.
of() {
	configure a "$2" 'loopback: off' "${@:3}"
	mv "$tmp/a.yaml" "$tmp/$1"
}
# manager NAME ADDRESS WORD...: plays the service manager.
manager() { background "$1" "$bin/tests/system/fd_store" "$2" 9899 "$ddpsctpd" "${@:3}"; }
go_on() { kill -USR1 "$(pid_of "$1")"; }
is_in() { grep -q -- "$2" "$tmp/$1.log"; }
ended() { gone "$(pid_of "$1")" && wait "$(pid_of "$1")"; }
obeyed() { eventually 20 gone "$(pid_of "$1")" && wait "$(pid_of "$1")" || fail "$1"; }
stored() { sed -n 's/^stored //p' "$tmp/$1.log" | sort | tr '\n' ' '; }

# Restarts beside a thief. Then the daemon serves; a clean end changes nothing, but when the service is stopped the port is free.
of one 127.0.1.1
daemon peer 127.0.2.1 'loopback: off'
manager thief 127.0.1.1 start "$tmp/one" thief 65534 restarts "$restarts" wait term start "$tmp/one" term list stop stolen
eventually 60 is_in thief '^wait done\|restarts done' || fail 'restarts'
server ping a "$ddping" -s --socket "$(socket_of a)"
"$ddping" --socket "$(socket_of peer)" -q -c 3 -i 0 127.0.1.1 >"$tmp/ping.log" 2>&1 || fail 'the daemon does not serve'
go_on thief
obeyed thief
[ "$(stored thief)" = 'stored-127.0.1.1_9899 ' ] || fail "stored: $(stored thief)"

# Addresses that come later are stored, those that go are not.
of any any
manager late 192.0.2.1 start "$tmp/any" wait thief 65534 restarts 10 wait term list
eventually 20 is_in late '^start done' || fail 'the daemon does not start without an address'
at() { ctl a -j status | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["naddrs"])'; }
has() { [ "$(at)" = "$1" ]; }
for n in 1 2; do ip address add "192.0.2.$n/32" dev eth0; done
eventually 20 has 2 || fail "$(at) addresses"
ip address del 192.0.2.2/32 dev eth0
eventually 20 has 1 || fail "$(at) addresses"
go_on late
eventually 20 is_in late '^restarts done' || fail 'restarts with an address that came later'
go_on late
obeyed late
[ "$(stored late)" = 'stored-192.0.2.1_9899 ' ] || fail "stored: $(stored late)"

# Another address, another port, another transport: the old socket is removed. While an interface is missing, all are kept.
of two '127.0.1.1, 127.0.1.2'
of moved 127.0.1.2 'user: {udp_port: 19899}'
of missing '127.0.1.1, eth9'
for next in one:127.0.1.1_9899 moved:127.0.1.2_19899 'missing:127.0.1.1_9899 stored-127.0.1.2_9899'; do
	manager next 127.0.1.1 start "$tmp/two" term start "$tmp/${next%%:*}" term list
	obeyed next
	[ "$(stored next)" = "stored-${next#*:} " ] || fail "with ${next%%:*}: $(stored next)"
done

# A port that another program has.
python3 -c 'import signal, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 19899))
print("bound", flush=True)
signal.pause()' >"$tmp/holder.log" &
holder=$!
children="$children $holder"
eventually 20 is_in holder bound || fail 'no other program'
! "$ddpsctpd" --config "$tmp/moved" >"$tmp/refused.log" 2>&1 || fail 'two programs have the port'
is_in refused "UDP port 19899 of 127.0.1.2 is in use by process $holder (python3) of uid $(id -u)" || fail 'it does not say who has the port'
stop peer || fail 'daemon peer fails'
