#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: rdma-core's own tests (package python3-pyverbs), each in its own process, pass with ddpverbs, but for those in
# verbs-pyverbs.list, each with its reason. The tests are in /usr/share/doc/rdma-core/tests, or in $PYVERBS_TESTS where the
# system leaves documents out (dpkg -x takes them out of the package).
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl unshare ip
[ "$DDP_SANITIZERS" = none ] || skip 'programs are preloaded, which sanitizers do not allow'
library=$bin/.libs/libddpverbs.so.0
[ -e "$library" ] || skip 'needs ddpverbs, which is not built'
/usr/bin/python3 -c 'import pyverbs.device' 2>/dev/null || skip 'needs python3-pyverbs'
tests=${PYVERBS_TESTS:-/usr/share/doc/rdma-core/tests}
[ -e "$tests/run_tests.py" ] || skip 'needs the tests of python3-pyverbs: set PYVERBS_TESTS'
list=$(cd "$top_srcdir" && pwd)/tests/system/verbs-pyverbs.list

# The tests use the first address of the interface of the device: 127.0.0.1, in a network of their own.
if [ -z "${PYVERBS_NETWORK:-}" ]; then
	unshare -n true 2>/dev/null || skip 'needs the right to make a network namespace'
	rm -rf "$tmp"
	PYVERBS_NETWORK=own exec unshare -n "$BASH" "$0"
fi
ip link set lo up
mkdir "$tmp/tests"
cp "$tests"/* "$tmp/tests/" && gunzip -qf "$tmp"/tests/*.gz 2>/dev/null
rm -f "$tmp"/tests/test_{mlx5,efa,cuda}*
# Their limits of time are for a machine that does nothing else: ten times as long. A receive may be posted late, too.
sed -i 's/^POLL_CQ_TIMEOUT = 10 /POLL_CQ_TIMEOUT = 100 /' "$tmp/tests/utils.py"
sed -i 's/timeout=15)/timeout=150)/; s/repeat_times=150 /repeat_times=1500 /' "$tmp/tests/base.py"
sed -i 's/ConnParam(qp_num=qp_num)/ConnParam(qp_num=qp_num, rnr_retry=7)/' "$tmp/tests/base_rdmacm.py"
cd "$tmp/tests" || exit 1
/usr/bin/python3 run_tests.py --list-tests 2>/dev/null | grep '^tests\.' | sort -u >"$tmp/all"
[ "$(wc -l <"$tmp/all")" -gt 100 ] || fail 'the tests do not list themselves'

# verdict TEST: one process. The sockets of the devices are in $sockets.
verdict() {
	local log=$tmp/one.$1 word=PASS
	# shellcheck disable=SC2086
	if ! DDPVERBS_LIBRARY=$library timeout 400 "$bin/verbs/ddpverbs" $sockets /usr/bin/python3 run_tests.py \
		--dev ddpsctp0 -v "$1" >"$log" 2>&1; then
		word=FAIL
	elif grep -q 'skipped=' "$log"; then
		word=SKIP
	fi
	echo "$word $1"
}

# expected TEST: the first line that names it.
expected() {
	awk -F '\t' -v test="$1" '/^#/ { next } { split($1, w, " "); if (test ~ w[2]) { print w[1]; found = 1; exit } }
		END { if (!found) print "PASS" }' "$list"
}

# compare NAME: all tests with these devices. The last line says which of them differ from the list, and why they fail.
compare() {
	local test got differ=''
	while read -r test; do
		got=$(verdict "$test")
		echo "$got" >>"$tmp/$1.results"
		[ "$got" = "$(expected "$test") $test" ] && continue
		echo "$1: $got, expected $(expected "$test")"
		cat "$tmp/one.$test"
		differ+=" $got ($(grep -E '^[A-Za-z._]*(Error|Exception|Exit)' "$tmp/one.$test" | tail -n 3 | paste -s -d ' '));"
	done <"$tmp/all"
	echo "$1: $(grep -c ^PASS "$tmp/$1.results") pass, $(grep -c ^FAIL "$tmp/$1.results") fail," \
		"$(grep -c ^SKIP "$tmp/$1.results") skip"
	[ -z "$differ" ] || fail "$1 differ from the list:$differ"
}

daemon a 127.0.0.1
daemon b 127.0.0.2
sockets="-s $(socket_of a)"
compare 'one device'
sockets="-s $(socket_of a) -s $(socket_of b)"
grep -E 'test_(rdmacm|qpex|mr)\.' "$tmp/all" >"$tmp/some" && mv "$tmp/some" "$tmp/all"
compare 'two devices'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
