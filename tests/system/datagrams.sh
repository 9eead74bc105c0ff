#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: datagrams of one program reach queue pairs of another by number, with their bytes and both addresses; those that
# nobody receives are counted, and their senders neither fail nor wait.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3
datagrams=$bin/tests/system/datagrams

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
port=5042 # session.datagram_port
carriers=$bin/tests/raw/carriers # a peer that is no daemon
"$datagrams" "$(socket_of a)" "$(socket_of a)" "$a" "$a" $port || fail 'inside one daemon'
"$datagrams" "$(socket_of a)" "$(socket_of b)" "$a" "$b" $port || fail 'between two daemons'
eventually 10 none_of a qp mr mw cq srq pd session || fail 'objects are left'
eventually 10 none_of b qp mr mw cq srq pd session || fail 'objects are left in the other daemon'

# hold [take]: a program of daemon b waits for datagrams; number: that of its queue pair, or of one whose number that has taken.
hold() {
	background hold "$datagrams" "${1:-hold}" "$(socket_of b)" "$b"
	eventually 10 grep -q '^number' "$tmp/hold.log" || fail 'no queue pair'
	number=$(sed -n 's/^number //p' "$tmp/hold.log")
}
came() { grep -q '^came' "$tmp/hold.log"; }
# Those that found no receive came to the other daemon, too.
unreceived() { ctl b -j qp | python3 -c 'import json, sys; print(sum(q["rx_dropped"] or 0 for q in json.load(sys.stdin)))'; }
all_came() { [ $(($(grep -c '^came' "$tmp/hold.log") + $(unreceived))) = "$1" ]; }
send() { "$datagrams" send "$(socket_of a)" "$a" "$b" "$number" 1 >"$tmp/send.log"; }
send_until_it_came() { send && came; }
one_session() { [ "$(count a session)" = 1 ]; }

# The daemon of the receiver is killed: Sends go on, and reach the program that comes next.
hold
send || fail 'no datagram was sent'
eventually 10 came || fail 'the datagram of a program that ended at once did not come'
echo 'ok a program may end when it has sent'

# The programs of a user share the carrier, which ends with the last queue pair.
eventually 10 none_of a qp session || fail 'a carrier outlives the queue pairs of its user'
for name in one other; do
	background $name "$datagrams" send "$(socket_of a)" "$a" "$b" "$number" 2
done
eventually 10 all_came 3 || fail 'datagrams of two programs did not come'
one_session || fail "$(count a session) sessions for two programs of a user"
echo 'ok two programs of a user have one carrier'
stop one
one_session || fail 'the carrier ended with one of two programs'
stop other
eventually 10 none_of a qp session || fail 'a carrier outlives the queue pairs of its user'

# Daemon b sleeps meanwhile, so that datagrams wait.
kill -STOP "$(pid_of b)"
"$datagrams" share "$(socket_of a)" "$a" "$b" "$number" >"$tmp/share.log" || fail 'a queue pair leaves others no room'
kill -CONT "$(pid_of b)"
waited=$(sed -n 's/^wait //p' "$tmp/share.log")
eventually 10 all_came $((3 + waited)) || fail "$waited datagrams waited when their program ended; they did not come"
echo 'ok datagrams that wait outlive their program'

background sender "$datagrams" send "$(socket_of a)" "$a" "$b" "$number" 0
eventually 10 one_session || fail 'no carrier'
stop b KILL
eventually 10 gone "$(pid_of hold)" || fail 'its program did not notice'
daemon b "$b"
hold
eventually 60 send_until_it_came || fail 'no datagram comes after the restart'
gone "$(pid_of sender)" && fail 'the sender did not survive'
echo 'ok the sender goes on when the other daemon is killed'
stop sender
eventually 20 none_of a qp session || fail 'a carrier outlives its queue pair'

# One to a number that nobody has is counted for the network that sent it.
lost() { ctl b -j peer | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["lost_datagrams"])'; }
before=$(lost)
one_more() { [ "$(lost)" -gt "$before" ]; }
send_to_nobody() { "$datagrams" send "$(socket_of a)" "$a" "$b" 7654321 1 >"$tmp/send.log" && one_more; }
eventually 10 send_to_nobody || fail 'a datagram to nobody is not counted'
echo 'ok a datagram to nobody is counted'

came_before=$(grep -c '^came' "$tmp/hold.log")
more_came() { [ "$(grep -c '^came' "$tmp/hold.log")" -gt "$came_before" ]; }

# A peer that is no daemon is refused, or its messages are dropped: it has an SCTP of its own.
foreign_peers() {
	before=$(lost)
	"$carriers" foreign "$(address 2)" "$b" $port || fail 'a foreign peer'
	eventually 10 one_more || fail 'messages that are no datagrams are not counted'
	more_came && fail 'what is no datagram came'
	send && eventually 10 more_came || fail 'a datagram does not come after those of a foreign peer'
	echo 'ok what a foreign peer sends harms nobody'

	# A network of peers has at most three quarters of the carriers that a daemon accepts, so datagrams of others arrive.
	local crowd c2 c3 c4
	IFS=. read -r _ c2 c3 c4 <<<"$(address 3)"
	daemon c "127.$c2.$((c3 ^ 128)).$c4"
	background crowd "$carriers" crowd "$(address 2)" "$b" $port
	eventually 60 grep -q '^crowd' "$tmp/crowd.log" || fail 'the crowd does not end'
	crowd=$(sed -n 's/^crowd //p' "$tmp/crowd.log")
	[ "$crowd" -ge 500 ] && [ "$crowd" -le 768 ] || fail "$crowd carriers of one network: at most 768 were expected"
	came_before=$(grep -c '^came' "$tmp/hold.log")
	send_of_c() { "$datagrams" send "$(socket_of c)" "127.$c2.$((c3 ^ 128)).$c4" "$b" "$number" 1 >"$tmp/send.log" && more_came; }
	eventually 10 send_of_c || fail 'a datagram of another network does not come'
	echo "ok a network with $crowd carriers leaves room for others"
	stop crowd
	stop c || fail "daemon c: exit status $?"
}
if [ "$DDP_TRANSPORT" = user ]; then
	foreign_peers
else
	echo 'left out: foreign peers, whose program has the transport user alone'
fi

# Without datagrams the carrier ends, although its queue pair does not.
background sender "$datagrams" send "$(socket_of a)" "$a" "$b" "$number" 2
eventually 10 one_session || fail 'no carrier'
eventually 40 none_of a session || fail 'an idle carrier does not end'
[ "$(count a qp)" = 1 ] || fail 'its queue pair has ended'
echo 'ok an idle carrier ends'
stop sender
stop hold

# ddpctl shows the number that peers know.
hold take
own=$(sed -n 's/^own //p' "$tmp/hold.log")
[ "$own" != "$number" ] || fail 'the queue pair has no number of its own'
ctl b -j qp >"$tmp/qp.json" && valid qp-list="$tmp/qp.json"
shown=$(ctl b -o qp type dgram dgram_num "$number") || fail "ddpctl qp: exit status $?"
case " $shown " in
*" qp_num $own dgram_num $number type dgram "*) ;;
*) fail "ddpctl does not find the queue pair $own by the number $number that it has taken: $shown" ;;
esac
eventually 10 send_until_it_came || fail 'a datagram to a number that was taken does not come'
echo 'ok ddpctl shows the number that a queue pair has taken'
stop hold
for name in a b; do
	stop $name || fail "daemon $name: exit status $?"
done
