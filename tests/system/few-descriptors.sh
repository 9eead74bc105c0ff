#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: where descriptors run out in a program, its messages name the limit, the process and the value, and nothing
# half-made stays: a program of the library and ddping. ddpctl needs one descriptor, and says after a second that the daemon does not answer.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping python3
a=$(address 0)
daemon a "$a"

"$bin/tests/system/few_descriptors" "$(socket_of a)" >"$tmp/few.log" 2>&1 || fail few_descriptors
cat "$tmp/few.log"

# little N COMMAND...: with so many descriptors. The program itself: libtool's script needs more.
little() (
	ulimit -n "$1"
	shift
	program=$1
	shift
	[ ! -x "$bin/.libs/${program##*/}" ] || { program=$bin/.libs/${program##*/} && export LD_LIBRARY_PATH=$bin/.libs; }
	exec "$program" "$@"
)

said=0
for n in 4 5 6 7; do
	little $n "$ddping" --socket "$(socket_of a)" -c 1 "$a" >"$tmp/ddping.log" 2>&1 && continue
	grep -q "this process has reached its limit of descriptors (RLIMIT_NOFILE, $n)" "$tmp/ddping.log" || fail "ddping with $n descriptors"
	said=$((said + 1))
done
[ $said -ge 2 ] || fail "ddping needs fewer descriptors than expected"

# It needs its socket alone.
little 4 "$ddpctl" --socket "$(socket_of a)" status >"$tmp/ctl.log" 2>&1 || fail 'ddpctl with 4 descriptors'

# A capture needs some more, for the reply, signals and the file. A refused one leaves no file.
captures_or_gone() { gone $capture || grep -q '^capturing' "$tmp/capture.log"; }
refused=0
# capture_with N: true when it captures.
capture_with() {
	rm -f "$tmp/few.pcapng"
	: >"$tmp/capture.log"
	little "$1" "$ddpctl" --socket "$(socket_of a)" capture "$tmp/few.pcapng" >"$tmp/capture.log" 2>&1 &
	capture=$!
	eventually 20 captures_or_gone || fail "ddpctl capture with $1 descriptors hangs"
	kill -TERM $capture 2>/dev/null
	eventually 20 gone $capture || { kill -KILL $capture; fail "ddpctl capture with $1 descriptors does not end"; }
	! grep -q '^capturing' "$tmp/capture.log" || return 0
	grep -q "limit of descriptors (RLIMIT_NOFILE, $1)" "$tmp/capture.log" || fail "ddpctl capture with $1 descriptors"
	[ ! -e "$tmp/few.pcapng" ] || fail "ddpctl capture with $1 descriptors leaves a file"
	refused=$((refused + 1))
	return 1
}
if [ "$DDP_TRANSPORT" = user ]; then # the others see no packets: ctl-capture
	for n in 4 5 6 7; do ! capture_with $n || break; done
	[ $refused -ge 1 ] || fail 'ddpctl capture needs fewer descriptors than expected'
fi

# A daemon that does not answer.
kill -STOP "$(pid_of a)"
"$ddpctl" --socket "$(socket_of a)" --timeout 2 status >"$tmp/ctl.log" 2>&1
status=$?
kill -CONT "$(pid_of a)"
[ $status -ne 0 ] || fail 'a stopped daemon answers'
grep -q 'has not accepted the connection; waiting another 1 s.*limit of descriptors (RLIMIT_NOFILE)' "$tmp/ctl.log" || fail 'ddpctl waits in silence'
grep -q 'no reply within 2 s' "$tmp/ctl.log" || fail 'ddpctl does not end its wait'

eventually 10 none_of a qp mr cq pd client || fail 'objects are left'
stop a || fail "daemon a: exit status $?"
