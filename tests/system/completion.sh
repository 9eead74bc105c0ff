#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: bash, zsh and fish complete options, operands, keys and values of the programs with what each is, ids and
# values as the daemon has them, and names of files. Without a daemon nothing is printed but what the tables have.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ddperf ddpcp ddpmetrics
files=$top_srcdir/etc/completion
mkdir "$tmp/bin" "$tmp/home" "$tmp/folder"
for program in ddpctl ddping ddperf ddpcp ddpsctpd ddpmetrics; do ln -s "$bin/$program" "$tmp/bin/$program"; done
ln -s "$bin/verbs/ddpverbs" "$tmp/bin/ddpverbs"
export PATH=$tmp/bin:$PATH HOME=$tmp/home XDG_CONFIG_HOME=$tmp/home XDG_DATA_HOME=$tmp/home
: >"$tmp/folder/file-1"

# in_SHELL LINE: what the shell offers at the end of the line, a candidate in each.
in_bash() {
	bash -uc '
		source "$0"
		COMP_LINE=$1 COMP_POINT=${#1}
		_ddpsctp
		[ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\n" "${COMPREPLY[@]}"' "$files/ddpsctp.bash" "$1"
}
# The functions of zsh that show candidates work on a terminal only.
in_zsh() {
	zsh -fc '
		words=("${(@s: :)2}") CURRENT=$#words PREFIX=$words[-1]
		_describe() { local candidate; for candidate in "${(@P)argv[-1]}"; do print -r -- ${${candidate%%[^\\]:*}}${${(M)candidate%%[^\\]:*}[1]}; done }
		compset() { PREFIX=${PREFIX##*=} }
		_files() { print -rl -- $PREFIX*(N) }
		_hosts() { print hosts }
		_command_names() { print -rl -- ${(k)commands[(I)$PREFIX*]} }
		source $1' zsh "$files/ddpsctp.zsh" "$1"
}
in_fish() { fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$files/ddpsctp.fish" "$1" | cut -f 1; }

a=$(address 0)
daemon a "$a"
server pong a "$ddping" -s --socket "$(socket_of a)"
background ping "$ddping" --socket "$(socket_of a)" -i 0.01 -q "$a"
eventually 10 sh -c "[ \$('$ddpctl' --socket '$(socket_of a)' -o session | wc -l) -ge 1 ]" || fail 'no session'
export DDP_SOCKET
DDP_SOCKET=$(socket_of a)
client=$(ctl a -o client pid "$(pid_of ping)" | sed -n 's/^client id \([0-9]*\) .*/\1/p')
[ -n "$client" ] || fail 'no client'

# Both ends of the session are here, and what is the same is offered once.
[ "$("$ddpctl" --complete session state '' | sort | uniq -c | sed 's/ *//;s/ .*//')" = 1 ] ||
	fail "not once: $("$ddpctl" --complete session state '')"

# What an id is, for shells that show it.
"$ddpctl" --complete client kick '' | grep -q "^$client	.*ddping" || fail "the client is not described: $("$ddpctl" --complete client kick '')"

# LINE|CANDIDATE...: these are among what is offered; -CANDIDATE: this is not.
cases() {
	cat <<CASES
ddpctl ass|assoc
ddpctl |qp doctor log -file-1
ddpctl --sock|--socket
ddpctl client kick |$client
ddpctl qp comm dd|ddping -comm
ddpctl qp |qp_num show -set-primary
ddpctl mw valid |no yes
ddpctl path set-|set-primary
ddpctl --socket=$tmp/none.sock client kick |-$client
ddpctl --socket $tmp/none.sock log level |debug
ddperf --plo|--plot
ddperf h wri|write
ddperf h write,se|write,send
ddperf h write |bw lat rate
ddping --j|--json
ddping --json --co|--count
ddpctl --nothing ass|assoc
ddpcp |put get serve
ddpsctpd --verb|--verbose
ddpsctpd --config $tmp/folder/fi|$tmp/folder/file-1
ddpmetrics --lis|--listen
ddpctl top |users sort
ddpctl capture - |assoc qp snap
ddpctl capture - snap 40 |assoc qp snap
ddpctl top users sort |bytes received
ddpctl limit set limits.m|limits.mrs limits.mr_bytes
ddpverbs -|-d -i
ddpverbs ddpc|ddpctl ddpcp
CASES
}

try() {
	local shell=$1 line want word got count=0
	while IFS='|' read -r line want; do
		got=$(in_"$shell" "$line" 2>"$tmp/said")
		[ ! -s "$tmp/said" ] || fail "$shell: $line: $(cat "$tmp/said")"
		for word in $want; do
			case $word in
			-*[0-9]*) ! grep -qxe "${word#-}" <<<"$got" || fail "$shell: '$line' is completed to ${word#-}: $got" ;;
			-comm | -set-primary) ! grep -qxe "${word#-}" <<<"$got" || fail "$shell: '$line': ${word#-}: $got" ;;
			*) grep -qxe "$word" <<<"$got" || fail "$shell: '$line' is not completed to $word: $got" ;;
			esac
			count=$((count + 1))
		done
	done < <(cases)
	got=$(in_"$shell" "ddpctl --socket $tmp/folder/fi" 2>/dev/null)
	[ "$got" = "$tmp/folder/file-1" ] || fail "$shell: the file of --socket: $got"
	echo "$shell: $count candidates"
}

try bash
[ "$(in_bash "ddpctl --socket=$tmp/folder/fi")" = "$tmp/folder/file-1" ] || fail 'bash: the file of --socket='
# Of an address, readline keeps all up to the last colon.
"$ddpctl" --complete listener address '' >"$tmp/addresses"
grep -q . "$tmp/addresses" || fail 'no address of a listener'
for shell in zsh fish; do
	if command -v $shell >/dev/null; then try $shell; else echo "$shell is not installed"; fi
done
