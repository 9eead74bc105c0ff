#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the Python package does what python/README.md says, declares what the header declares, and its example works.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip 'needs Python 3.9'

b=$(address 1)
daemon a "$(address 0)"
daemon b "$b"
PYTHONPATH=$(cd "$top_srcdir" && pwd)/python
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1
export DDP_CLIENT_LIBRARY=$bin/.libs/libddpclient.so.1
export DDP_TEST_A DDP_TEST_B DDP_TEST_ADDRESS=$b DDP_TEST_LAYOUT=$bin/tests/system/python_layout
DDP_TEST_A=$(socket_of a) DDP_TEST_B=$(socket_of b)

# python COMMAND...: the interpreter is not built with the sanitizers, and does not free everything.
preload=
case $DDP_SANITIZERS in
*address*) preload=$(${CC:-cc} -print-file-name=libasan.so) ;;
*thread*) skip 'the interpreter cannot be run by the thread sanitizer' ;;
esac
python() {
	env ${preload:+"LD_PRELOAD=$preload"} ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" \
		timeout 300 python3 "$@"
}

python -W error::ResourceWarning "$top_srcdir/python/tests/test_ddpclient.py" -v >"$tmp/unittest.log" 2>&1 ||
	fail "unittest: exit status $?"

mkdir "$tmp/folder"
export DDPSCTPD=$ddpsctpd DDP_TEST_FOLDER=$tmp/folder
python "$top_srcdir/python/tests/test_testing.py" -v >"$tmp/testing.log" 2>&1 || fail "daemons for tests: exit status $?"

kv=$top_srcdir/python/examples/kv.py
port=$((10000 + $$ % 50000))
server kv b env ${preload:+"LD_PRELOAD=$preload"} ASAN_OPTIONS=detect_leaks=0 DDP_SOCKET="$(socket_of b)" \
	python3 "$kv" --port $port serve
export DDP_SOCKET=$DDP_TEST_A
python "$kv" --port $port put "$b" city Potsdam >"$tmp/put.log" 2>&1 || fail "kv.py put: exit status $?"
python "$kv" --port $port get "$b" city >"$tmp/get.log" 2>&1 || fail "kv.py get: exit status $?"
grep -qx Potsdam "$tmp/get.log" || fail 'kv.py get: another value'
python "$kv" --port $port get "$b" nothing >"$tmp/none.log" 2>&1
[ $? -eq 1 ] || fail 'kv.py get without a value'
stop kv
for name in a b; do
	eventually 10 none_of "$name" qp cq mr mw listener || fail "objects are left in $name"
	stop "$name" || fail "daemon $name: exit status $?"
done
