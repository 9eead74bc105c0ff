#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a core dump of a daemon has no byte that programs send or receive, neither of their memory nor of messages on
# their way, at both ends.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddpcp python3
[ "$DDP_SANITIZERS" = none ] || skip 'a sanitizer has copies of its own'
[ "$DDP_TRANSPORT" = user ] || skip 'the transport kernel keeps messages in its heap'

daemon one "$(address 0)"
daemon two "$(address 1)"
mkdir "$tmp/in"
text='nobody else may read these words'
for _ in $(seq 20000); do echo "$text"; done >"$tmp/file"
server serve two "$ddpcp" --socket "$(socket_of two)" serve --root "$tmp/in"
"$ddpcp" --socket "$(socket_of one)" put "$tmp/file" "$(address 1):" >"$tmp/put.log" || fail put
"$ddpcp" --socket "$(socket_of one)" get "$(address 1):file" "$tmp/back" >"$tmp/get.log" || fail get

for d in one two; do
	python3 "$top_srcdir/tests/system/dump.py" "$(pid_of $d)" "$text" >"$tmp/$d.maps"
	case $? in
	0) ;;
	77) skip "cannot read the memory of a daemon: $(cat "$tmp/$d.maps")" ;;
	*) fail "dump.py $d" ;;
	esac
	! grep dumped "$tmp/$d.maps" || fail "a core dump of daemon $d has what programs sent"
	grep -q 'left out' "$tmp/$d.maps" || fail "daemon $d has no trace of the file: the search finds nothing"
done
