# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# bash completion for the daemon and the tools: the program itself prints the candidates.

# _ddpsctp_by_shell WHAT WORD: names that bash knows.
_ddpsctp_by_shell() {
	case $1 in
	files) compgen -f -- "$2" ;;
	dirs) compgen -d -- "$2" ;;
	hosts) compgen -A hostname -- "$2" ;;
	commands) compgen -c -- "$2" ;;
	esac
}

_ddpsctp() {
	local typed=${COMP_LINE:0:COMP_POINT} words cur name cut line
	# Not COMP_WORDS, where ":" and "=" begin words.
	read -ra words <<<"$typed"
	case $typed in *[[:space:]]) words+=('') ;; esac
	cur=${words[${#words[@]} - 1]}
	# readline replaces only the part after the last of these.
	cut=${cur%"${cur##*[:=]}"}
	name=$cur
	[[ $cur != --*=* ]] || name=${cur#*=}
	COMPREPLY=()
	while read -r line; do
		COMPREPLY+=("${line#"$cut"}")
	done < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null | while IFS= read -r line; do
		case $line in
		$'\t'*) _ddpsctp_by_shell "${line#?}" "$name" ;;
		*) printf '%s\n' "${line%%$'\t'*}" ;;
		esac
	done)
	# Adds a slash to folders, where the candidates are files.
	[ ${#COMPREPLY[@]} -eq 0 ] || [ ! -e "${COMPREPLY[0]}" ] || compopt -o filenames 2>/dev/null
}

complete -F _ddpsctp ddpctl ddping ddperf ddpcp ddpverbs ddpsctpd ddpmetrics
