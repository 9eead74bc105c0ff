#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: rules of peers are kept in both directions. A refused program and the refused peer get a sentence that names the rule
# and its line, both journals have it, and others go on. Changed rules end what they do not allow any more, and the configuration
# check names rules that cannot be meant.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping

a=$(address 0)
b=$(address 1)
c=$(address 2)
daemon a "$a"
daemon b "$b"
daemon c "$c" "peers: {rules: [\"$a name=good accept=all\", \"$b name=bad accept=none\"]}"
line=$(grep -n 'name=bad' "$tmp/c.yaml" | cut -d : -f 1)
where="line $line of $tmp/c.yaml"
# What the refused peer hears. Linux's SCTP sends no words with an ABORT.
heard="may not connect to port [0-9]* (rule bad, $where)"
[ "$DDP_TRANSPORT" != kernel ] || heard='aborted the association (cause 12)'
heard_later=${heard#may not connect to port \[0-9\]\* }
server ping c "$ddping" -s --socket "$(socket_of c)"

# ask DAEMON: its exit status
ask() { "$ddping" --socket "$(socket_of "$1")" -q -c 1 "$c" >"$tmp/ask-$1.log" 2>&1; }

# The peer that the rule does not accept: its program, its journal and ours have the rule; another peer is served.
ask a || fail 'the rule refuses a peer that it names as good'
ask b && fail 'the rule accepts'
grep -q "$heard" "$tmp/ask-b.log" || fail 'the program has no reason'
ctl c event >"$tmp/events-c.log"
grep -q "assoc-refuse .*rule bad, $where" "$tmp/events-c.log" || fail "no event with the rule: $(cat "$tmp/events-c.log")"
grep -q "refused: .*rule bad" "$tmp/c.log" || fail 'no line in the log'
ctl b event >"$tmp/events-b.log"
grep -q "$heard" "$tmp/events-b.log" || fail "no event at the peer: $(cat "$tmp/events-b.log")"

# The way out: the rule of this side, and nothing is sent.
ctl b limit set peers.rules "$c connect=1-7" >"$tmp/set.log" 2>&1 || fail 'limit set'
ask b && fail 'the rule does not count on the way out'
grep -q "no connection to port [0-9]* of $c (rule $c/32, set by ddpctl)" "$tmp/ask-b.log" || fail 'no reason on the way out'
ctl b limit set peers.rules '' >"$tmp/set.log" 2>&1 || fail 'limit set'

# A reload ends the session of the one, and the other goes on.
sed -i 's/name=bad accept=none/name=bad accept=all/' "$tmp/c.yaml"
kill -HUP "$(pid_of c)"
eventually 20 ask b || fail 'the reload has no effect'
background stays "$ddping" --socket "$(socket_of a)" -i 0.05 "$c"
background goes "$ddping" --socket "$(socket_of b)" -i 0.05 "$c"
answers() { [ "$(grep -c 'seq=\|bytes' "$tmp/$1.log")" -gt "$2" ]; }
eventually 20 answers stays 3 || fail 'no session of a'
eventually 20 answers goes 3 || fail 'no session of b'
sed -i 's/name=bad accept=all/name=bad accept=none/' "$tmp/c.yaml"
kill -HUP "$(pid_of c)"
eventually 20 gone "$(pid_of goes)" && grep -q "$heard_later" "$tmp/goes.log" || fail 'the session goes on'
eventually 20 answers stays "$(($(grep -c 'seq=\|bytes' "$tmp/stays.log") + 5))" || fail 'the other session ended'
stop stays

# The configuration check. refused RULES WORDS
refused() {
	printf 'peers:\n  rules:\n%s\n' "$1" >"$tmp/wrong.yaml"
	"$ddpsctpd" -n --config "$tmp/wrong.yaml" >"$tmp/wrong.log" 2>&1 && fail "accepted: $1"
	grep -q "$2" "$tmp/wrong.log" || fail "$1: $(cat "$tmp/wrong.log")"
}
refused $'  - 10.0.0.0/8 name=x accept=all\n  - 11.0.0.0/8 name=x accept=none' 'wrong.yaml:4:5: peers.rules: .* has the name of another rule'
refused '  - 10.0.0.0/8 security=require' 'wrong.yaml:3:5: .* has a security other than none, which no transport here has'
printf 'peers:\n  limits_for: [10.0.0.0/8 sessions=1]\n' >"$tmp/old.yaml"
"$ddpsctpd" -n --config "$tmp/old.yaml" >"$tmp/old.log" 2>&1 && fail 'the old name'
grep -q 'limits_for: unknown key: it is now peers.rules' "$tmp/old.log" || fail 'the old name is not explained'
printf 'peers:\n  rules:\n  - 10.0.0.0/8 name=site accept=all\n  - 10.1.0.0/16 name=lab accept=none\n' >"$tmp/around.yaml"
"$ddpsctpd" -n --config "$tmp/around.yaml" >"$tmp/around.log" 2>&1 || fail 'rules in each other'
grep -q 'around.yaml:4: peers.rules: lab (10.1.0.0/16) is a part of site, line 3, and counts first' "$tmp/around.log" ||
	fail "the check does not tell: $(cat "$tmp/around.log")"
for name in a b c; do stop $name || fail "daemon $name fails"; done
