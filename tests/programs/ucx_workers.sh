#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# UCX as Dask uses it (package libucx-dev; Debian has no ucx-py): workers of two daemons with an endpoint to each other one, error
# handlers and a descriptor to sleep at; one is killed. With what UCX chooses itself. UCX_WORKERS chooses how many.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs cc pkg-config
pkg-config --exists ucx 2>/dev/null || skip 'needs libucx-dev'
# shellcheck disable=SC2046
cc -w -O1 -I "$top_srcdir" -o "$tmp/ucx_workers" "$top_srcdir/tests/programs/ucx_workers.c" $(pkg-config --cflags --libs ucx) ||
	fail 'ucx_workers.c does not build'
hosts

workers=${UCX_WORKERS:-8}
mkdir "$tmp/meeting"
limit=250
for i in $(seq 0 $((workers - 1))); do
	[ $((i % 2)) = 0 ] && on a || on b
	background "worker$i" "${with[@]}" "$tmp/ucx_workers" "$tmp/meeting" "$i" "$workers" "$a,$b" 20000
done
for i in $(seq 0 $((workers - 1))); do
	expected=0
	[ "$i" != $((workers - 1)) ] || expected=137
	wait "$(pid_of "worker$i")"
	status=$?
	[ $status = $expected ] || fail "worker $i: status $status, expected $expected: $(tail -n 3 "$tmp/worker$i.log")"
done
eventually 10 clean || fail 'the workers leave something in a daemon'
hosts_end
version libucx0 "$workers workers, each with an endpoint to each other one: 1 byte to 1 MiB, compared; one killed, the others heard of it and went on"
