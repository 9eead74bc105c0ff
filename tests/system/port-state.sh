#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: clients hear when no interface with an address of the daemon is up, and when one is up again; a client that
# comes later hears the present state. ibv_query_port() agrees with what a program has heard.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ip unshare
# A network namespace of its own, in which this user may change links.
if [ -z "${PORT_STATE_INSIDE:-}" ]; then
	unshare --map-root-user --net true 2>/dev/null || skip 'needs a network namespace'
	cleanup
	PORT_STATE_INSIDE=1 exec unshare --map-root-user --net bash "$0"
fi
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

ip link set lo up || skip 'needs a network namespace'
for n in 1 2; do
	ip link add "near$n" type veth peer name "far$n" || skip 'needs links of type veth'
	ip address add "192.0.2.$n/32" dev "near$n" && ip link set "near$n" up && ip link set "far$n" up || fail "link $n"
done

library=$bin/.libs/libddpverbs.so.0
verbs=yes
[ "$DDP_SANITIZERS" = none ] && [ -e "$library" ] || verbs=no

watcher() { background "$1" "$bin/tests/system/async" -w "$(socket_of a)" "$2"; }
verbs_watcher() {
	[ $verbs = yes ] || return 0
	background "$1" env DDPVERBS_LIBRARY="$library" timeout 200 "$bin/verbs/ddpverbs" -s "$(socket_of a)" \
		"$bin/tests/system/verbs_port" "$2"
}
verbs_hears() { [ $verbs = no ] || hears "$@"; }
has() { [ "$(tail -n +2 "$tmp/$1.log" | tr '\n' ' ')" = "$2" ]; }
hears() { eventually 20 has "$1" "$2" || fail "$1 heard '$(cat "$tmp/$1.log")', not '$2'"; }

daemon a '192.0.2.1, 192.0.2.2'
watcher first 3
eventually 10 grep -q ready "$tmp/first.log" || fail 'the watcher does not begin'
verbs_watcher verbs_first 3
verbs_hears verbs_first 'ACTIVE '
ip link set near2 down
ip link set far1 down # no carrier
hears first 'port down '
watcher second 2
hears second 'port down '
verbs_watcher verbs_second 2
verbs_hears verbs_first 'ACTIVE PORT_ERR DOWN '
verbs_hears verbs_second 'DOWN PORT_ERR DOWN '
ip link set near2 up
hears first 'port down port up '
hears second 'port down port up '
verbs_hears verbs_first 'ACTIVE PORT_ERR DOWN PORT_ACTIVE ACTIVE '
verbs_hears verbs_second 'DOWN PORT_ERR DOWN PORT_ACTIVE ACTIVE '
ip address del 192.0.2.2/32 dev near2
hears first 'port down port up port down '
verbs_hears verbs_first 'ACTIVE PORT_ERR DOWN PORT_ACTIVE ACTIVE PORT_ERR DOWN '
[ $verbs = yes ] || echo 'without ddpverbs, which is not built or cannot be preloaded'
stop a || fail "daemon: exit status $?"
