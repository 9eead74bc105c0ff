#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: what `admin` names may do all that ddpctl has, by uid, group and supplementary group; any other user, root too,
# is refused each command by a sentence with the key, and sees what is its own. `ports` says who listens where. A reload
# changes both. A private daemon is administered by its user.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping setpriv
[ "$(id -u)" = 0 ] || skip 'needs root, to be several users'
chmod 0711 "$tmp"
socket_mode=0666
b=$(address 1)
daemon a "$(address 0)" 'admin: [60010, "@60020"]' 'ports: ["1-1023 60011", "7000-7099 @60021"]'
daemon b "$b"
server pong b "$ddping" -s --socket "$(socket_of b)"

# as UID COMMAND...: uid:group for one with a supplementary group.
as() {
	local uid=${1%:*} groups=--clear-groups
	case $1 in *:*) groups=--groups=${1#*:} ;; esac
	shift
	setpriv --reuid="$uid" --regid="$uid" "$groups" "$@"
}
ctl_as() {
	local who=$1
	shift
	as "$who" "$ddpctl" --socket "$(socket_of a)" "$@"
}
# ping: a session of user 60001 that goes on.
ping() {
	background ping setpriv --reuid=60001 --regid=60001 --clear-groups "$ddping" --socket "$(socket_of a)" -i 0.05 -c 10000 "$b"
	eventually 10 grep -q 'bytes from' "$tmp/ping.log" || fail 'no session'
}
value() { ctl_as 60010 -o "$1" comm ddping | sed -n "s/.* $2 \([0-9]*\).*/\1/p" | head -n 1; }
field() { ctl_as 60010 -o "$1" | sed -n "s/.*\<$2 \([0-9]*\).*/\1/p" | head -n 1; }
# refused WHO COMMAND...: for want of rights.
refused() {
	ctl_as "$@" >"$tmp/refused.log" 2>&1
	[ $? -eq 4 ] && grep -q "uid ${1%:*} is no administrator of the daemon (admin)" "$tmp/refused.log" || fail "not refused: $*"
}
background other setpriv --reuid=60002 --regid=60002 --clear-groups "$ddpctl" --socket "$(socket_of a)" monitor
background watch setpriv --reuid=60010 --regid=60010 --clear-groups "$ddpctl" --socket "$(socket_of a)" monitor
watching() { [ "$(ctl_as 60010 -o client comm ddpctl | wc -l)" -ge 3 ]; }
eventually 10 watching || fail 'nobody watches'
ping

# What each sees. An own ddpctl is a client.
# sees WHO OBJECT N: so many.
sees() { [ "$(ctl_as "$1" -o "$2" 2>/dev/null | grep -vc 'comm ddpctl')" = "$3" ] || fail "$1 sees of $2: $(ctl_as "$1" -o "$2")"; }
for object in assoc path session qp client; do
	sees 60010 $object 1
	sees 60001 $object 1
	sees 60002 $object 0
	sees 0 $object 0
done
ctl_as 60010 -o user | grep -q '^user uid 60001 .*clients 1 .*qps 1 ' || fail "the user with the session: $(ctl_as 60010 -o user)"
for object in event peer; do
	sees 60002 $object 0
	ctl_as 60010 $object | grep -q . || fail "the administrator sees no $object"
done
ctl_as 60002 -o config 2>/dev/null | grep -v '^config key \(limits\|session\)\.' && fail 'another user sees the configuration'
ctl_as 60010 -o config | grep -q '^config key admin value \[60010, "@60020"\]' || fail 'the administrator does not see the configuration'
[ "$(ctl_as 60002 -o limit 2>/dev/null | grep -vc '^limit uid 60002 ')" = 0 ] || fail 'another user sees the limits of others'

# Not after its session, while another user has one.
as 60005 "$ddping" --socket "$(socket_of a)" -c 1 "$b" >"$tmp/ping5.log" 2>&1 || fail 'ddping of user 60005'
sees 60005 assoc 0
ctl_as 60002 status >"$tmp/status.log" || fail 'status of another user'

# What each may do.
assoc=$(field assoc id) stream=$(field session stream) client=$(value client id)
commands=("drain on" "drain off" "drain end" "log level info" "config reload" "limit set mrs 50" "path set-primary $assoc $b"
	"assoc abort $assoc" "session terminate $assoc $stream" "client kick $client" "capture $tmp/none")
for words in "${commands[@]}"; do
	for who in 60002 60001 0 60002:60021; do
		# shellcheck disable=SC2086
		refused $who $words
	done
done
gone "$(pid_of ping)" && fail 'a refused command ended the session'
may() { ctl_as "$@" >"$tmp/may.log" 2>&1 || fail "an administrator may not: $*: $(cat "$tmp/may.log")"; }
for who in 60010 60003:60020; do
	may $who limit set mrs 50
	may $who log level info
	may $who config reload
	may $who drain on
	may $who drain off
	may $who path set-primary "$(field assoc id)" "$b"
	[ "$DDP_TRANSPORT" != user ] || timeout 300 "$(command -v setpriv)" --reuid="${who%:*}" --regid="${who%:*}" --groups=60020 "$ddpctl" --socket "$(socket_of a)" -c 1 capture - >"$tmp/packets" 2>"$tmp/may.log" || fail "$who captures nothing"
	may $who session terminate "$(field assoc id)" "$(field session stream)"
	eventually 10 gone "$(pid_of ping)" || fail "$who: session terminate"
	ping
	may $who assoc abort "$(field assoc id)"
	eventually 10 gone "$(pid_of ping)" || fail "$who: assoc abort"
	ping
	may $who client kick "$(value client id)"
	eventually 10 gone "$(pid_of ping)" || fail "$who: client kick"
	ping
done
eventually 10 grep -q 'session with .* ended' "$tmp/watch.log" || fail 'the administrator does not see the end of sessions'
[ ! -s "$tmp/other.log" ] || fail 'another user sees events of others'

# Ports.
# listens WHO PORT: a server there, which is ended.
listens() {
	local before
	before=$(ctl_as 60010 -o listener | wc -l)
	background listen setpriv --reuid="${1%:*}" --regid="${1%:*}" "--groups=${1#*:}" "$ddping" -s -p "$2" --socket "$(socket_of a)"
	has_one() { [ "$(ctl_as 60010 -o listener | wc -l)" -gt "$before" ] || gone "$(pid_of listen)"; }
	eventually 10 has_one || fail "$1 neither listens at $2 nor fails"
	if gone "$(pid_of listen)"; then return 1; fi
	stop listen INT
}
for pair in '60011:60011 80' '60002:60021 7005' '60001:60001 9000'; do
	# shellcheck disable=SC2086
	listens $pair || fail "may not listen: $pair"
done
listens 60001:60001 80 && fail 'everybody listens at port 80'
grep -q "listen: port 80: uid 60001 is not among those of '1-1023 60011' (ports)" "$tmp/listen.log" || fail 'not the rule'
listens 60011:60011 7005 && fail 'everybody listens at port 7005'
grep -q "'7000-7099 @60021' (ports)" "$tmp/listen.log" || fail 'not the other rule'

# A reload changes both; what listens goes on.
configure a "$(address 0)" 'session: {connect_ms: 60000, idle_ms: 60000}' 'admin: [60002]' 'ports: ["49152-65535 60011"]'
kill -HUP "$(pid_of a)"
eventually 10 grep -q 'reload: done' "$tmp/a.log" || fail 'no reload'
reloaded() { ctl_as 60002 -o config admin >/dev/null 2>&1 && ctl_as 60002 log level info >/dev/null 2>&1; }
eventually 10 reloaded || fail 'the new administrator may nothing'
refused 60010 drain on
# A port that the daemon chooses.
background free setpriv --reuid=60001 --regid=60001 --clear-groups "$bin/tests/system/hoard" "$(socket_of a)" 1 pds listeners
eventually 10 grep -q '^done' "$tmp/free.log" || fail 'hoard hangs'
grep -q '^listeners 0 .*listen: uid 60001 may use no free port (ports)' "$tmp/free.log" || fail 'a free port that it may not have'

# An idle association is that of its last session.
kill -TERM "$(pid_of ping)"
eventually 10 gone "$(pid_of ping)" || fail 'ddping goes on'
as 60005 "$ddping" --socket "$(socket_of a)" -c 1 "$b" >"$tmp/ping5.log" 2>&1 || fail 'ddping of user 60005'
sees 60005 assoc 1
sees 60001 assoc 0
for n in a b; do stop $n || fail "daemon $n: exit status $?"; done

# A private daemon: the user who started it, and root.
install -d -o 60030 -g 60030 "$tmp/own"
background private setpriv --reuid=60030 --regid=60030 --clear-groups env TMPDIR="$tmp/own" XDG_RUNTIME_DIR= "$ddpsctpd" --private
eventually 10 grep -q DDP_SOCKET= "$tmp/private.log" || fail 'no private daemon'
socket=$(sed -n 's/^DDP_SOCKET=\([^ ]*\) .*/\1/p' "$tmp/private.log")
as 60030 "$ddpctl" --socket "$socket" drain on || fail 'the user of a private daemon is no administrator'
stop private || fail "the private daemon: exit status $?"
