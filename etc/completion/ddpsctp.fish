# SPDX-License-Identifier: BSD-2-Clause
# fish completion for the daemon and the tools: the program itself says what there is.

function __ddpsctp_complete
	set -l words (commandline -opc) (commandline -ct)
	set -l cur $words[-1]
	for line in ($words[1] --complete $words[2..-1] 2>/dev/null)
		switch $line
			case \tfiles
				__fish_complete_path (string replace -r -- '^--[^=]*=' '' $cur)
			case \tdirs
				__fish_complete_directories (string replace -r -- '^--[^=]*=' '' $cur)
			case \thosts
				__fish_print_hostnames
			case \tcommands
				__fish_complete_command
			case '*'
				echo $line
		end
	end
end

for program in ddpctl ddping ddperf ddpcp ddpverbs ddpsctpd ddpmetrics
	complete -c $program -f -a '(__ddpsctp_complete)'
end
