#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpctl shows each stage of a session. A request creates no objects, the domain never changes, and segments
# have the size that ddp_query_qp() returns. A client shares only UNIX sockets, and the memory of its queues and
# regions, with the daemon.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
coproc stages { exec "$bin/tests/system/stages" "$(socket_of a)" "$(socket_of b)" "$b" 2>&1; }
# shellcheck disable=SC2154 # set by coproc
pid=$stages_PID
children="$children $pid"

# stage NAME: waits for that stage; the words after the name go to the variable rest.
stage() {
	local word name
	while read -r -t 300 -u "${stages[0]}" word name rest; do
		if [ "$word $name" = "stage $1" ]; then return; fi
		echo "$word $name $rest"
		[ "$word" = ok ] || break
	done
	fail "stage $1 was not reached"
}
go() { echo >&"${stages[1]}"; }

# field DAEMON OBJECT KEY: of the only object.
field() { ctl "$1" -j "$2" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0][sys.argv[1]])' "$3"; }

stage requested
[ "$(field b listener waiting)" -eq 1 ] || fail 'no unanswered request'
for object in pd mr cq qp; do
	[ "$(count b $object)" -eq 0 ] || fail "$object: the request created an object"
done
row 5043-6.3-01: a program gets a request before there is a domain, a region or a queue pair for it
go

stage made
domain=$(field b qp pd)
[ "$domain" -ne 0 ] || fail 'a queue pair without a domain'
go
stage established
[ "$(field b qp pd)" = "$domain" ] || fail 'the domain has changed'

# The descriptors of the program, and the memory that it shares with the daemon.
find "/proc/$pid/fd" -type l -printf '%l\n' >"$tmp/fds"
grep -qvE '^(socket:|pipe:|/memfd:|anon_inode:\[eventfd\]|/dev/)' "$tmp/fds" && fail "descriptors: $(sort "$tmp/fds" | uniq -c)"
for inode in $(sed -n 's/^socket:\[\(.*\)\]/\1/p' "$tmp/fds"); do
	awk -v i="$inode" '$7 == i { found = 1 } END { exit !found }' /proc/net/unix || fail "socket $inode is no UNIX socket"
done
python3 - "$pid" "$(pid_of b)" <<'EOP' || fail 'memory'
import sys

def maps(pid):
    """Inodes and names of shared mappings, by what they are shared with."""
    found = {}
    for line in open(f"/proc/{pid}/maps"):
        span, rights, offset, device, inode, *name = line.split(None, 5)
        if "s" in rights:
            found[device, inode] = name[0].strip() if name else ""
    return found

client, daemon = maps(sys.argv[1]), maps(sys.argv[2])
both = {client[i].split()[0] for i in client.keys() & daemon.keys()}
print("shared:", *sorted(both))
want = {"/memfd:ddp-" + k for k in ("page", "cq", "qp", "mr")}
assert both and all(b.startswith("/memfd:ddp-") for b in both), both
EOP
row 5041-8.3-06 5041-8.3.2-01: a client has UNIX sockets, and shares only memfds of its own queues and regions
go

stage region-moved
[ "$(field b qp pd)" = "$domain" ] || fail 'the domain has changed'
[ "$(field b mr pd)" != "$domain" ] || fail 'the region has the same domain'
go
row 5043-6-05: a session keeps the domain of its queue pair when a region is reregistered
stage sizes
[ "$(field a assoc max_message)" -eq "$rest" ] || fail "ddpctl: $(field a assoc max_message) bytes, ddp_query_qp: $rest"

# Segments of each message.
was=$(field a assoc tx_segments)
go
for expected in 'largest-send 1' 'larger-send 2' 'largest-write 1' 'larger-write 2'; do
	stage "${expected% *}"
	now=$(field a assoc tx_segments)
	[ $((now - was)) -eq "${expected#* }" ] || fail "$((now - was)) segments: $expected"
	was=$now
	go
done
row 4296-2.2.1-08: a message of the largest size is one segment, and one with one more byte is two
wait "$pid" || fail 'the program failed'
eventually 10 none_of b pd mr cq qp session || fail 'objects are left'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
