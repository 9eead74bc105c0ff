#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: a server cannot make ddpcp get write outside of the folder that the user named, nor a file that the user did
# not ask for, nor leave half a file, nor send a control character to the terminal; ddpcp says what is wrong and fails.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddpcp

a=$(address 0)
daemon a "$a"
server bad a "$bin/tests/system/copy_server" "$(socket_of a)" 5045

state() { find "$tmp/$1" -path "$tmp/$1/in" -prune -o -printf '%P %y %m %s %T@\n' | sort; }

# attack NAME WORDS [OPTION]...: the client fails with the words, and no file is new.
attack() {
	local name=$1 words=$2 status way=in/way deep
	shift 2
	mkdir -p "$tmp/$name/in" "$tmp/$name/outside"
	echo secret >"$tmp/$name/outside/file"
	case " $* " in *' -r '* | *' -a '*) deep=1 ;; *) deep= ;; esac
	if [ -n "$deep" ] && [ "$name" != way ]; then
		mkdir "$tmp/$name/in/$name"
		way=in/$name/way
	fi
	ln -s "$tmp/$name/outside" "$tmp/$name/$way"
	state "$name" >"$tmp/before"
	timeout 300 "$ddpcp" --socket "$(socket_of a)" "$@" get "$a:$name" "$tmp/$name/in" >"$tmp/cp.log" 2>&1
	status=$?
	[ $status -eq 1 ] || fail "$name: exit status $status"
	grep -qF -- "$words" "$tmp/cp.log" || fail "$name: ddpcp did not say: $words"
	! grep -q '[[:cntrl:]]' "$tmp/cp.log" || fail "$name: a control character is printed"
	state "$name" | cmp -s - "$tmp/before" || fail "$name: something outside has changed"
	[ -z "$(find "$tmp/$name/in" -type f)" ] || fail "$name: a file was made"
}

attack up 'the name has a component . or ..' -r
attack above 'the name has a component . or ..' -r
attack dots 'the name has a component . or ..' -r
attack absolute 'the name has an empty component' -r
attack part 'reserved for temporary files' -r
attack way 'not a directory' -r
attack deep 'not a directory' -r
attack leave 'not a directory' -r -p
attack named 'get ?[2J?x/y: ' -r
attack tree 'a directory without -r'
attack child 'a file that was not requested'
attack second 'unexpected record'
attack nothing 'the server sent no file'
attack chunk 'a chunk arrived out of order'
attack resumed 'the peer starts at byte 4096, expected 0 or 0'
attack sum 'the SHA-256 of the written file differs'
attack huge 'unexpected record'
attack window 'a malformed record'
attack offered-up 'the name has a component . or ..' -a
attack offered-way 'not a directory' -a
attack offered-left 'not a directory' -a
attack absolute-link 'leads out of the folder: its target is absolute' -a
attack upward-link 'the link leads out of the folder' -a
attack chained-link "'..' is not at its beginning" -a
attack written-link 'not a directory' -a
attack hard-link 'not a directory' -a
attack hard-up 'the name has a component . or ..' -a
attack links 'a directory or a link without -r or -a'
attack links 'a directory or a link without -r or -a' -r
attack beyond 'data outside of the memory for it'
attack unasked 'data outside of the memory for it'
attack other-sum 'the SHA-256 of the written file differs'
attack hole 'write: '
attack absent '?[2Jx??'
attack words '?[2Jall is well??'
attack skipped '?[2Jx?]0;y?'
stop bad
stop a || fail "daemon: exit status $?"
