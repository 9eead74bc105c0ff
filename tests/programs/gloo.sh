#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Gloo over verbs (package libgloo-dev): two processes make an allreduce and compare the sums.
# shellcheck source-path=SCRIPTDIR/../system source=verbs-hosts.sh
. "${top_srcdir:-.}/tests/system/verbs-hosts.sh"
needs g++
[ -e /usr/include/gloo/transport/ibverbs/device.h ] || skip 'needs libgloo-dev'
g++ -O1 -o "$tmp/gloo" "$top_srcdir/tests/programs/gloo_allreduce.cc" -lgloo -libverbs >"$tmp/build.log" 2>&1 ||
	fail 'gloo_allreduce.cc cannot be built'
hosts

mkdir "$tmp/meeting"
on a
background gloo "${with[@]}" "$tmp/gloo" "$tmp/meeting" 0 2
on b
"${with[@]}" "$tmp/gloo" "$tmp/meeting" 1 2 >"$tmp/gloo-client.log" 2>&1 || fail "gloo, rank 1: status $?"
ended gloo
hosts_end
version libgloo-dev 'transport ibverbs: allreduce of two processes, sums compared'
