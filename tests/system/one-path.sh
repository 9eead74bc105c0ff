#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: if an association has one path, ddpctl shows it and can make it the primary path. ddpctl refuses other
# addresses and other associations with different reasons. The tools refuse addresses that are not the daemon's or
# given twice with a reason; session and daemon continue.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ddpcp python3
DDP_TRANSPORT=user

a=$(address 0) b=$(address 1) c=$(address 2)
daemon a "$a"
daemon b "$b, $c"
server pong b "$ddping" -s --socket "$(socket_of b)"
background ping "$ddping" --socket "$(socket_of a)" -i 0.1 "$b"
has_session() { [ "$(count a session)" = 1 ]; }
eventually 10 has_session || fail 'no session'

ctl a -j path >"$tmp/path.json" || fail "ddpctl path: exit status $?"
python3 - "$tmp/path.json" "$b:5043" <<'EOF' || fail "ddpctl path: $(cat "$tmp/path.json")"
import json, sys
path, = json.load(open(sys.argv[1]))
assert path["address"] == sys.argv[2] and path["state"] == "active" and path["primary"] is True
assert path["mtu"] > 1000 and path["rto_ms"] > 0 and path["cwnd"] > 0
EOF
assoc=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[0]["assoc"])' "$tmp/path.json")
[ "$(ctl a -o path assoc "$assoc" address "$b" | wc -l)" = 1 ] || fail 'the path by its association and address'
[ "$(ctl a -o path state inactive | wc -l)" = 0 ] || fail 'a path that is inactive'

# refused STATUS WORDS COMMAND...
refused() {
	local want=$1 words=$2 status
	shift 2
	"$@" >"$tmp/refused.log" 2>&1
	status=$?
	[ $status = "$want" ] || fail "$*: exit status $status instead of $want"
	grep -q -- "$words" "$tmp/refused.log" || fail "$* does not print $words"
}
[ -z "$(ctl a path set-primary "$assoc" "$b")" ] || fail 'set-primary prints something'
ctl a path set-primary "$assoc" "$b" || fail "set-primary: exit status $?"
refused 5 "association $assoc has no path to $c" ctl a path set-primary "$assoc" "$c"
refused 5 'no association 99' ctl a path set-primary 99 "$b"
refused 2 'usage: ddpctl path set-primary ASSOC ADDRESS' ctl a path set-primary "$b"

refused 1 "$c is not an address of the daemon" "$ddping" --socket "$(socket_of a)" -c 1 --bind "$c" "$b"
refused 1 "$c is given twice" "$ddping" --socket "$(socket_of a)" -c 1 "$b,$c,$c"

# One address is not a list; inside one daemon no path can fail.
"$ddping" --socket "$(socket_of a)" -c 1 --bind "$a" "$b" >"$tmp/one.log" 2>&1 || fail 'one local address'
"$ddping" --socket "$(socket_of b)" -c 1 "$b,$c" >"$tmp/one.log" 2>&1 || fail 'two addresses of this daemon'
server at_b b "$ddping" -s --socket "$(socket_of b)" -p 5051 --bind "$c"
"$ddping" --socket "$(socket_of a)" -c 1 -p 5051 "$c" >"$tmp/one.log" 2>&1 || fail 'the second address'
refused 1 '.' "$ddping" --socket "$(socket_of a)" -c 1 -p 5051 "$b"
ctl b -j -d listener port 5051 | python3 -c '
import json, sys
listener, = json.load(sys.stdin)
assert listener["naddrs"] == 1 and listener["addr"] == sys.argv[1] + ":5051" and listener["addr2"] is None' "$c" ||
	fail "ddpctl listener: $(ctl b -d listener)"

stop ping INT || fail "the session: $(tail -n 3 "$tmp/ping.log")"
grep -q ', 0 failed' "$tmp/ping.log" || fail 'the session lost rounds'
stop a || fail "daemon a: exit status $?"
stop b || fail "daemon b: exit status $?"
