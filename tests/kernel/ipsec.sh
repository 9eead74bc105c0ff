#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: with the policies of docs/choices.md, IPsec, the host protects what daemons send, over UDP and over IP: files
# arrive, every packet of a session is ESP, the path MTU makes room for ESP, and a host that requires ESP answers nothing
# else.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
# shellcheck source=mounts.sh
. "${top_srcdir:-.}/tests/kernel/mounts.sh"
needs ddpsctpd ddpctl ddping ddpcp modprobe
load esp4 xfrm_user gcm ghash-generic seqiv echainiv ctr sha512_generic hmac drbg act_gact || fail 'the kernel has no IPsec'
hosts

# states HOST: what an IKE daemon would set up there, for both directions.
states() {
	local way
	for way in 'a b 0x101' 'b a 0x102'; do
		# shellcheck disable=SC2086 # three words
		set -- "$1" $way
		at "$1" ip xfrm state add src "$(addr "$2")" dst "$(addr "$3")" proto esp spi "$4" reqid 1 mode transport replay-window 64 \
			aead 'rfc4106(gcm(aes))' 0x0102030405060708090a0b0c0d0e0f1011121314 128 || fail "no state at $1"
	done
}

# policies HOST PEER out-SELECTOR in-SELECTOR
policies() {
	local here there way selector
	here=$(addr "$1") there=$(addr "$2")
	for way in out in; do
		selector=$3
		[ $way = out ] || selector=$4
		# shellcheck disable=SC2086 # several words
		if [ $way = out ]; then
			at "$1" ip xfrm policy add src "$here" dst "$there" $selector dir out tmpl src "$here" dst "$there" proto esp reqid 1 mode transport
		else
			at "$1" ip xfrm policy add src "$there" dst "$here" $selector dir in tmpl src "$there" dst "$here" proto esp reqid 1 mode transport level required
		fi || fail "no policy at $1"
	done
}

# plain drop|pass: what link1 does with SCTP and UDP that no ESP hides.
plain() {
	local host
	for host in a b; do
		if [ "$1" = drop ]; then
			at $host tc qdisc add dev link1 ingress &&
				at $host tc filter add dev link1 parent ffff: protocol ip prio 1 u32 match ip protocol 17 0xff action drop &&
				at $host tc filter add dev link1 parent ffff: protocol ip prio 1 u32 match ip protocol 132 0xff action drop
		else
			at $host tc qdisc del dev link1 ingress
		fi || fail "tc: $1"
	done
}
refused() { at b awk '/^XfrmIn(NoPols|TmplMismatch|PolBlock)/ { n += $2 } END { print n + 0 }' /proc/net/xfrm_stat; }

# protected TRANSPORT out-a in-a: the selectors of host a; those of b are the same, seen from there.
protected() {
	local before
	DDP_TRANSPORT=$1
	for host in a b; do
		states $host
		daemon_at $host "$(addr $host)" 'session: {connect_ms: 10000, idle_ms: 60000}'
	done
	policies a b "$2" "$3"
	policies b a "$3" "$2"
	plain drop
	mkdir -p "$tmp/in"
	server copy b "$ddpcp" --socket "$(socket_of b)" serve --root "$tmp/in" --port 5043
	# A path MTU that forgot ESP would lose every full packet, or fragment it.
	"$ddpcp" --socket "$(socket_of a)" put --port 5043 "$tmp/file" "$(addr b):copy" >"$tmp/copy.out" 2>&1 || fail "$1: $(cat "$tmp/copy.out")"
	cmp "$tmp/file" "$tmp/in/copy" || fail "$1: the file has changed"
	echo "$1: $(at b ip -s xfrm state | awk -F '[ \t(),]*' '/lifetime current/ { getline; n += $2; p += $4 } END { print n " bytes, " p " packets" }') as ESP, path MTU $(ctl a -o path | sed -n 's/.* mtu \([0-9]*\).*/\1/p')"
	rm "$tmp/in/copy"
	stop copy
	server ping b "$ddping" -s --socket "$(socket_of b)"
	"$ddping" --socket "$(socket_of a)" -c 3 "$(addr b)" >"$tmp/ping.out" 2>&1 || fail "$1: $(cat "$tmp/ping.out")"
	# Without ESP: b has to refuse what its network lets through.
	plain pass
	at a ip xfrm policy flush
	before=$(refused)
	! "$ddping" --socket "$(socket_of a)" -c 1 "$(addr b)" >"$tmp/ping.out" 2>&1 || fail "$1: b answers without ESP"
	[ "$(refused)" -gt "$before" ] || fail "$1: b has refused nothing"
	for host in a b; do
		at $host ip xfrm policy flush
		at $host ip xfrm state flush
	done
	stop ping
	stop a || fail "daemon a: exit status $?"
	stop b || fail "daemon b: exit status $?"
}

head -c 3000000 /dev/urandom >"$tmp/file"
protected user 'proto udp sport 9899 dport 9899' 'proto udp sport 9899 dport 9899'
protected kernel 'proto sctp dport 5043' 'proto sctp sport 5043'
