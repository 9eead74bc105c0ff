#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# uDAPL over rdma_cm (packages dapl2-utils, libdapl2): dtest, dtestx and dtestsrq pass.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs dtest dtestx dtestsrq

# What an administrator writes into dat.conf: an address for each host.
printf 'dapl u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "%s 0" ""\n' $a >"$tmp/dat.a"
printf 'dapl u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "%s 0" ""\n' $b >"$tmp/dat.b"
hosts

for program in dtest dtestx dtestsrq; do
	on a
	DAT_OVERRIDE=$tmp/dat.a server $program a "${with[@]}" $program -P dapl
	[ $program != dtest ] || eventually 10 grep -q 'Server is waiting' "$tmp/dtest.log" || fail 'dtest: the server does not wait for its client'
	DAT_OVERRIDE=$tmp/dat.b client $program 'PASSED|Test Complete|test finished' $program -P dapl -h $a
	ended $program
done
hosts_end
version dapl2-utils 'dtest, dtestx and dtestsrq pass'
