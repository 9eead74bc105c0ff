# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Common functions of the tests of ddpverbs: two daemons, a and b, and programs of other projects, a server at a and
# then a client at b. The tests source this file, and it sources lib.sh.

# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl
[ "$DDP_SANITIZERS" = none ] || skip 'the programs are not built with sanitizers'
library=$bin/.libs/libddpverbs.so.0
[ -e "$library" ] || skip 'needs ddpverbs, which is not built'

# shellcheck disable=SC2034 # used by the tests
a=$(address 0) b=$(address 1) port=$((10000 + $$ % 200 * 100)) # TCP ports of tests that run at the same time differ

# on DAEMON: the words before a program, in the array with; as_user may come before them. tgtd
# ignores SIGTERM while it has a target, so timeout kills it then.
as_user=()
on() {
	with=("${as_user[@]}" env "DDPVERBS_LIBRARY=$library" timeout -k 5 100 "$bin/verbs/ddpverbs" -s "$(socket_of "$1")")
}

# Sessions, queues, regions: nothing of a program is left.
clean() { none_of a client listener qp mr && none_of b client listener qp mr; }

# listens PORT: at TCP, or as an SCTP port of a daemon.
listens() {
	awk -v port="$(printf ':%04X' "$1")" '$4 == "0A" && index($2, port) { found = 1 } END { exit !found }' \
		/proc/net/tcp /proc/net/tcp6 || ctl a -o listener | grep -q "port $1 "
}

# start NAME PORT SERVER...: waits until it listens.
start() {
	local name=$1 at=$2
	shift 2
	on a
	background "$name" "${with[@]}" "$@"
	eventually 20 listens_or_gone "$at" "$pid" && ! gone "$pid" || fail "$name: the server does not listen"
}
listens_or_gone() { listens "$1" || gone "$2"; }

# client NAME WORDS CLIENT...: at daemon client_at, ends well and prints the words, an extended regular expression.
client_at=b
client() {
	local name=$1 words=$2
	shift 2
	on $client_at
	"${with[@]}" "$@" >"$tmp/$name-client.log" 2>&1 || fail "$name: client: status $?"
	grep -qE -- "$words" "$tmp/$name-client.log" || fail "$name: the client does not print '$words'"
}

# ended NAME [STATUS]: the server has ended, with this status, and both programs leave nothing.
ended() {
	local status
	wait "$(pid_of "$1")"
	status=$?
	[ $status -eq "${2:-0}" ] || fail "$1: server: status $status"
	eventually 10 clean || fail "$1 leaves something in a daemon"
	rm -f "$tmp/$1.log" "$tmp/$1-client.log"
	echo "ran: $1"
}

# pair NAME PORT WORDS SERVER... -- CLIENT...: both end well, and the client prints the words.
pair() {
	local name=$1 at=$2 words=$3 server=()
	shift 3
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	start "$name" "$at" "${server[@]}"
	client "$name" "$words" "$@"
	ended "$name"
}

# two_users: the daemons are of one user, the programs of another one. The current folder is that of the programs.
two_users() {
	local nothing=(--clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs)
	[ "$(id -u)" -eq 0 ] || skip 'needs root, to start programs as two other users'
	# Copies that both users can read: the project may be in a folder of root.
	mkdir -p "$tmp/bin/.libs" "$tmp/bin/verbs" "$tmp/run" "$tmp/work"
	cp -L "$library" "$bin/.libs/libddpclient.so.1" "$tmp/bin/.libs/"
	cp "$bin/verbs/ddpverbs" "$tmp/bin/verbs/"
	cp "$ddpsctpd" "$tmp/bin/"
	chmod -R a+rX "$tmp"
	bin=$tmp/bin library=$tmp/bin/.libs/libddpverbs.so.0 ddpsctpd=$tmp/bin/ddpsctpd
	# shellcheck disable=SC2034 # used by the functions of lib.sh
	{
		daemon_in=(setpriv --reuid=65532 --regid=65532 "${nothing[@]}")
		socket_mode=0666
	}
	as_user=(setpriv --reuid=65533 --regid=65533 "${nothing[@]}" env "LD_LIBRARY_PATH=$bin/.libs")
	socket_of() { echo "$tmp/run/$1.sock"; }
	chown 65532 "$tmp/run" && chown 65533 "$tmp/work" && "${as_user[@]}" true && "${daemon_in[@]}" true ||
		skip 'needs root that may become other users'
	cd "$tmp/work" || exit
}
