#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# librpma (package librpma-dev): a Write with a flush, and a Read that compares.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs gcc
[ -e /usr/include/librpma.h ] || skip 'needs librpma-dev'
gcc -O1 -Wall -o "$tmp/rpma_pair" "$top_srcdir/tests/programs/rpma_pair.c" -lrpma -libverbs >"$tmp/build.log" 2>&1 ||
	fail 'rpma_pair.c cannot be built'
hosts
pair rpma_pair 7204 compared "$tmp/rpma_pair" $a 7204 -- "$tmp/rpma_pair" $a 7204 client
hosts_end
version librpma-dev 'a Write with a flush, a Read, both compared'
