# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The programs that run unchanged with ddpverbs, as lists: tests run them as one user (verbs.sh and others), as two users
# (verbs-users.sh), and in user-mode Linux on the transport `kernel`. Daemons a and b run; each list leaves nothing in them.

# shellcheck source=verbs-lib.sh
. "${top_srcdir:-.}/tests/system/verbs-lib.sh"
rdma_port=7471 # of programs that take no other
iterations=${ITERATIONS:-100}

# shows PATTERN COMMAND...: at daemon a.
shows() {
	local pattern=$1
	shift
	on a
	"${with[@]}" "$@" >"$tmp/shows.log" 2>&1 || fail "$*: status $?"
	grep -q -- "$pattern" "$tmp/shows.log" || fail "$* does not show '$pattern'"
	echo "ran: $*"
}

list_devices() {
	shows '^ *ddpsctp0 ' ibv_devices
	shows 'state:.*PORT_ACTIVE' ibv_devinfo -v
	shows 'link_layer:.*Ethernet' ibv_devinfo -d ddpsctp0 -i 1
}

# -V compares the data.
list_rdmacm() {
	local r='rping -C 100 -V -v'
	pair rping-V 7174 'rdma-ping-99' $r -s -a "$a" -- $r -c -a "$a"
	port=$((port + 1))
	pair rping-q $port 'rdma-ping-99' $r -q -s -a "$a" -p $port -- $r -q -c -a "$a" -p $port
	pair ucmatose $rdma_port 'return status 0' ucmatose -b "$a" -C 100 -S 1000 -- ucmatose -s "$a" -C 100 -S 1000
	# The server ends when its answers are on their way, which wait for a session with the other daemon.
	pair udaddy 7174 'return status 0' udaddy -b "$a" -S 4000 -- udaddy -s "$a" -S 4000
	pair udaddy-c 7174 'return status 0' udaddy -b "$a" -c 5 -C 20 -- udaddy -s "$a" -c 5 -C 20
	pair rdma_client $rdma_port 'end 0' rdma_server -s "$a" -- rdma_client -s "$a"
	pair rdma_xclient $rdma_port 'end 0' rdma_xserver -- rdma_xclient -s "$a"
}

# Its server does not end by itself. It is a child of timeout, which passes the signal on.
list_cmtime() {
	port=$((port + 1))
	start cmtime $port cmtime -b "$a" -p $port
	client cmtime '^destroy ' cmtime -s "$a" -p $port -c 100
	! grep -E 'event:|fail' "$tmp/cmtime-client.log" || fail 'cmtime: errors'
	kill "$(pid_of cmtime)"
	ended cmtime 143
}

# Without rdma_cm; -c compares the data.
list_pingpong() {
	local options n=$((iterations * 2))
	for options in '' -c -e -N '-e -N -c'; do
		port=$((port + 1))
		# shellcheck disable=SC2086
		pair "ibv_rc_pingpong $options" $port 'iters in' ibv_rc_pingpong $options -g 0 -n $n -p $port -- \
			ibv_rc_pingpong $options -g 0 -n $n -p $port "$a"
	done
	for options in '' -e; do
		port=$((port + 1))
		# shellcheck disable=SC2086
		pair "ibv_ud_pingpong $options" $port 'iters in' ibv_ud_pingpong $options -g 0 -n $n -p $port -- \
			ibv_ud_pingpong $options -g 0 -n $n -p $port "$a"
	done
	perftest 1 ib_send_lat -c UD -n "$iterations"
}

# perftest ROWS PROGRAM OPTION...: with a port of its own; the client prints a row for each size. Its times are "inf" where
# it does not find the clock rate of the processor.
perftest() {
	local rows=$1 name="${*:2}" came
	shift
	port=$((port + 1))
	start "$name" $port "$@" -F -p $port
	client "$name" '^ *#bytes' "$@" -F -p $port "$a"
	came=$(grep -cE '^ *[0-9]+ +[0-9]+ +([0-9.]+|inf)' "$tmp/$name-client.log")
	[ "$came" -eq "$rows" ] || fail "$name: $came rows, expected $rows"
	ended "$name"
}

# Of these, Writes make no events, and only the programs for bandwidth have -b and -q.
bandwidth='ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw'
latency='ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat'

list_perftest() {
	local program
	for program in $bandwidth $latency; do
		perftest 1 $program -R -n "$iterations"
		perftest 1 $program -n "$iterations"
		case $program in ib_write_*) ;; *) perftest 1 $program -R -e -n "$iterations" ;; esac
	done
	for program in $bandwidth; do
		perftest 1 $program -R -b -n "$iterations"
		perftest 1 $program -R -q 4 -n "$iterations"
		perftest 1 $program -q 4 -b -n "$iterations"
	done
}

# For slow machines: each program with rdma_cm and without, each option with each program that has it, all sizes
# once.
list_perftest_few() {
	local program event
	for program in $bandwidth $latency; do
		event=-e
		case $program in ib_write_*) event= ;; esac
		case $program in
		*_bw)
			# shellcheck disable=SC2086
			perftest 1 $program -R $event -q 4 -n "$iterations"
			perftest 1 $program -b -n "$iterations"
			;;
		*)
			# shellcheck disable=SC2086
			perftest 1 $program -R $event -n "$iterations"
			perftest 1 $program -n "$iterations"
			;;
		esac
	done
	perftest 23 ib_send_bw -R -a -n 5
}

# All sizes, 2 bytes to 8 MiB.
list_perftest_sizes() {
	local program
	for program in ib_{write,read,send}_{bw,lat}; do
		perftest 23 $program -R -a -n 5
		perftest 23 $program -a -n 5
	done
}

# list_qperf [TEST...]: its server has a child for each client. ver_rc_compare_swap compares what it finds.
list_qperf() {
	local cm test tests=(rc_lat rc_bw rc_rdma_write_poll_lat rc_rdma_write_bw ver_rc_compare_swap)
	[ $# -eq 0 ] || tests=("$@")
	port=$((port + 1))
	start qperf $port qperf -lp $port
	for cm in 0 1; do
		for test in "${tests[@]}"; do
			client "qperf-$test" '(latency|bw|msg_rate) += ' qperf "$a" -lp $port -t 1 -cm $cm $test
			eventually 10 clean || fail "qperf -cm $cm $test leaves something in a daemon"
			echo "ran: qperf -cm $cm $test"
		done
	done
	client quit '' qperf "$a" -lp $port quit
	ended qperf
}

# Writes, Reads, and Sends that are faster than their receiver. It writes files into the current folder.
list_fio() {
	local verb fio=(fio --ioengine=rdma --bs=64k "--size=${FIO_SIZE:-256m}" --iodepth=16)
	for verb in write read send; do
		port=$((port + 1))
		pair "fio-$verb" $port 'err= 0' "${fio[@]}" --name=server --rw=read --port=$port -- \
			"${fio[@]}" --name=client --rw=write --verb=$verb "--hostname=$a" --port=$port
	done
}
