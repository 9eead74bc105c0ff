#compdef ddpctl ddping ddperf ddpcp ddpverbs ddpsctpd ddpmetrics
# SPDX-License-Identifier: BSD-2-Clause
# zsh completion for the daemon and the tools: the program itself says what there is.

_ddpsctp() {
	local line word what
	local -a candidates asked
	for line in "${(@f)$("${(Q)words[1]}" --complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
		word=${line%%$'\t'*}
		what=${${line#"$word"}#$'\t'}
		if [[ -n $word ]]; then
			candidates+=("${word//:/\\:}${what:+:$what}")
		elif [[ -n $what ]]; then
			asked+=("$what")
		fi
	done
	(( $#candidates )) && _describe -V candidate candidates
	for what in $asked; do
		[[ $PREFIX != --*=* ]] || compset -P '*='
		case $what in
		files) _files ;;
		dirs) _files -/ ;;
		hosts) _hosts ;;
		commands) _command_names -e ;;
		esac
	done
	return 0
}

_ddpsctp "$@"
