#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: in sequences of packets that are made by hand, SCTP stacks answer as expected.tsv says: sctp.sh [STACK...].
# Without a name these are ours and libusrsctp, each with a clock of its own. The stack linux is the kernel of this
# machine, which has to be a guest: its SCTP gets other settings.
# shellcheck source=../system/lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs python3
[ $# -gt 0 ] || set -- user usrsctp

# Times of RFC 9260, and a path MTU as on a network.
tune_kernel() {
	echo 9899 >/proc/sys/net/sctp/udp_port && echo 1000 >/proc/sys/net/sctp/rto_initial || skip 'needs SCTP over UDP in the kernel'
	ip link set lo mtu 1500
}

stacks=
for stack; do
	program=$bin/tests/interop/host_$stack
	if [ ! -x "$program" ]; then
		[ "$stack" = usrsctp ] || fail "$program is not built"
		echo 'without usrsctp, which is not here'
		continue
	fi
	[ "$stack" != linux ] || tune_kernel
	stacks="$stacks $stack=$program"
done
# shellcheck disable=SC2086
python3 "$top_srcdir/tests/interop/interop.py" ${INTEROP:-} $stacks || fail 'a verdict differs from tests/interop/expected.tsv'
