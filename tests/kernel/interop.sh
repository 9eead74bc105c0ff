#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: daemons of two transports interoperate over UDP, whichever opens the association, in every operation.
# Usage: interop.sh TRANSPORT-A TRANSPORT-B
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/kernel/net.sh"
needs ddpsctpd ddpctl
hosts

# A daemon with the transport kernel needs the kernel's UDP tunnel.
DDP_TRANSPORT=
for host in a b; do
	transport=$1
	shift
	[ "$transport" != kernel ] || at $host sysctl -q net.sctp.udp_port=9899 || fail 'no tunnel'
	daemon_at $host "$(addr $host)" "transport: $transport" 'kernel: {udp_port: 9899}'
done
"$bin/tests/system/whole" "$(socket_of a)" "$(socket_of b)" "$(addr b)" || fail whole
for name in a b; do
	eventually 10 none_of $name qp mr mw cq srq pd session || fail "daemon $name: objects are left"
	stop $name || fail "daemon $name: exit status $?"
done
