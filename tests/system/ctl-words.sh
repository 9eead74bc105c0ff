#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpctl(8), completion and ddpctl have the same objects, keys, options and errors. ddpctl
# explains a code without a daemon, in each notation.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpctl python3
page=$top_srcdir/man/ddpctl.8

# This test needs no daemon.
export DDP_SOCKET=$tmp/none.sock

# completed WORDS...: the completions of the last word, sorted. completion.sh tries the shells.
completed() { "$ddpctl" --complete "$@" | cut -f 1 | sort; }

# same WHAT FILE FILE
same() { diff "$2" "$3" >"$tmp/diff" || fail "$1 differ: $(cat "$tmp/diff")"; }

# listed AFTER: the words after "AFTER:" in the error message of ddpctl.
listed() { sed -n "s/^$1: \(.*\)\.\$/\1/p" "$tmp/said" | tr -d , | tr ' ' '\n'; }

# keys_of_page SECTION: the keys in that section of the page, in order.
keys_of_page() {
	awk -v want="$1" '
		/^\.S[SH]/ { in_it = $1 == ".SS" && $2 == want }
		in_it && key && /^\.B / { print $2 }
		{ key = /^\.TP/ }' "$page"
}

"$ddpctl" unknown 2>"$tmp/said"
[ $? -eq 2 ] || fail 'an unknown object: not status 2'
listed Objects >"$tmp/objects"
[ "$(wc -l <"$tmp/objects")" -gt 10 ] || fail "too few objects: $(cat "$tmp/said")"
listed Commands >"$tmp/words"
[ "$(wc -l <"$tmp/words")" -gt 4 ] || fail "too few commands: $(cat "$tmp/said")"
sort "$tmp/objects" "$tmp/words" >"$tmp/want"
completed '' >"$tmp/got"
same 'objects, and those that are completed' "$tmp/want" "$tmp/got"

"$ddpctl" asoc 2>"$tmp/said"
[ $? -eq 2 ] || fail 'a misspelled object: not status 2'
grep -q "unknown object 'asoc'; did you mean assoc?" "$tmp/said" || fail "no near miss: $(cat "$tmp/said")"
"$ddpctl" doctr 2>"$tmp/said" && fail 'a command that does not exist'
grep -q "unknown object 'doctr'; did you mean doctor?" "$tmp/said" || fail "no command near: $(cat "$tmp/said")"
"$ddpctl" qp stat error 2>"$tmp/said"
[ $? -eq 2 ] || fail 'a misspelled key: not status 2'
grep -q "qp has no key 'stat'; did you mean state?" "$tmp/said" || fail "no near miss: $(cat "$tmp/said")"
"$ddpctl" c 2>"$tmp/said"
[ $? -eq 2 ] || fail 'an ambiguous object: not status 2'
grep -q "object 'c' is ambiguous: cq, client, config, capture\$" "$tmp/said" || fail "the candidates: $(cat "$tmp/said")"
"$ddpctl" mr valid maybe 2>"$tmp/said"
[ $? -eq 2 ] || fail 'an impossible value: not status 2'
grep -q "valid: 'maybe' is not yes or no" "$tmp/said" || fail "the values: $(cat "$tmp/said")"

"$ddpctl" qp state foo 2>"$tmp/said"
[ $? -eq 2 ] || fail 'an impossible state: not status 2'
grep -q "state: 'foo' is not one of: idle connecting" "$tmp/said" || fail "the states: $(cat "$tmp/said")"

while read -r object; do
	"$ddpctl" "$object" unknown 1 2>"$tmp/said"
	listed Keys >"$tmp/keys"
	[ -s "$tmp/keys" ] || fail "$object has no keys: $(cat "$tmp/said")"
	keys_of_page "$object" >"$tmp/page"
	sort "$tmp/keys" >"$tmp/want"
	sort "$tmp/page" >"$tmp/got"
	same "keys of $object, and those of the manual page" "$tmp/want" "$tmp/got"
	listed Commands >"$tmp/commands"
	[ -s "$tmp/commands" ] || echo show >"$tmp/commands"
	cat "$tmp/keys" "$tmp/commands" | sort >"$tmp/want"
	completed "$object" '' >"$tmp/got"
	same "keys of $object, and those that are completed" "$tmp/want" "$tmp/got"
done <"$tmp/objects"

# Each command is in the page, and completed.
"$ddpctl" --help | sed -n 's/^  \([a-z][a-z -]*[a-z]\) .*/\1/p' >"$tmp/commands"
[ "$(wc -l <"$tmp/commands")" -gt 8 ] || fail "too few commands: $(cat "$tmp/commands")"
while read -r command; do
	sed -n '/^\.SH COMMANDS/,/^\.SH OPTIONS/p' "$page" | tr -d '\\"' | grep -qE "^\.(B|BR|BI) .*$command" || fail "$command is not in the page"
	# shellcheck disable=SC2086
	set -- $command
	[ $# = 1 ] || completed "$1" '' | grep -qx -- "$2" || fail "$command is not completed"
done <"$tmp/commands"
[ "$(completed log level '')" = $'debug\nerror\ninfo\nwarning' ] || fail 'log level'

"$ddpctl" --help | grep -oE '^ +(-[a-zA-Z], )?--[a-z]+' | tr -d ' ' | tr , '\n' | sort >"$tmp/want"
completed - >"$tmp/got"
same 'options, and those that are completed' "$tmp/want" "$tmp/got"

"$ddpctl" -j explain >"$tmp/json" || fail 'explain'
python3 -c '
import json, sys
print("\n".join(sorted(e["name"] for e in json.load(sys.stdin) if e["name"])))' <"$tmp/json" | LC_ALL=C sort >"$tmp/want"
completed explain '' >"$tmp/got"
same 'errors, and those that are completed' "$tmp/want" "$tmp/got"
python3 -c '
import json, sys
print("\n".join(json.load(sys.stdin)[0]))' <"$tmp/json" | sort >"$tmp/want"
keys_of_page error | sort >"$tmp/got"
same 'keys of an error, and those of the manual page' "$tmp/want" "$tmp/got"

# A key is followed by its values, then by keys again; arguments of options are not objects.
[ "$(completed path set)" = set-primary ] || fail 'a command of its own'
[ "$(completed mw valid '')" = $'no\nyes' ] || fail 'values of valid'
[ "$(completed mw 5 valid y)" = yes ] || fail 'values after an id'
[ "$(completed mw valid yes mr_)" = mr_stag ] || fail 'keys after a value'
[ "$(completed --socket cq qp ird)" = ird ] || fail 'keys after --socket'
[ "$(completed --timeout=3 -j qp ird)" = ird ] || fail 'keys after --timeout='
[ "$(completed -jw 3 -c9 qp ird)" = ird ] || fail 'keys after -jw and -c9'
[ "$(completed -- qp ird)" = ird ] || fail 'keys after --'
for words in '--socket /x' '--socket=/x' '-jb /x' 'config check /x'; do
	# shellcheck disable=SC2086
	[ "$("$ddpctl" --complete $words)" = $'\tfiles' ] || fail "the path of $words"
done
[ "$("$ddpctl" --complete doctor '')" = $'\thosts' ] || fail 'the host of doctor'
for words in '-c ""' '--watch= ' 'drain on ""' 'log level debug ""' 'unknown ""'; do
	eval "set -- $words"
	[ -z "$("$ddpctl" --complete "$@")" ] || fail "something completes $words"
done

"$ddpctl" explain 0x1101 >"$tmp/want" || fail 'explain 0x1101'
grep -q '^layer_name  DDP$' "$tmp/want" || fail "no layer: $(cat "$tmp/want")"
for code in 1/1/01 1/1/1 TAGGED_BOUNDS tagged_bounds; do
	"$ddpctl" exp $code >"$tmp/got" || fail "explain $code"
	same "0x1101 and $code" "$tmp/want" "$tmp/got"
done
"$ddpctl" explain 1/1/77 2>"$tmp/said"
[ $? -eq 5 ] || fail 'an unknown code: not status 5'
grep -q 'layer 1 (DDP)' "$tmp/said" || fail "$(cat "$tmp/said")"
"$ddpctl" explain unknown 2>/dev/null
[ $? -eq 2 ] || fail 'not a code: not status 2'
"$ddpctl" explain 0x1101 0x1102 2>/dev/null
[ $? -eq 2 ] || fail 'two codes: not status 2'
"$ddpctl" qp 2>/dev/null
[ $? -eq 3 ] || fail 'an object without a daemon: not status 3'

# A command with invalid arguments needs no daemon either.
for words in '' 1 '1 127.0.0.1 2' 'x 127.0.0.1' '1 unknown' '-1 127.0.0.1' '4294967296 127.0.0.1'; do
	# shellcheck disable=SC2086
	"$ddpctl" path set-primary $words 2>/dev/null
	[ $? -eq 2 ] || fail "path set-primary $words: not status 2"
done
"$ddpctl" path set-primary 1 ::1 2>/dev/null
[ $? -eq 3 ] || fail 'set-primary without a daemon: not status 3'
