#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: `ddpctl doctor HOST` names the cause in each of these set-ups of two hosts, and is never content where ddping fails.
# CASES: the numbers of those that run; the others are printed as left out.
# shellcheck source=net.sh
. "${top_srcdir:-.}/tests/net/net.sh"
needs ddpsctpd ddpctl ddping python3 ip
export PATH=$bin:$PATH # doctor runs ddping and ddpsctpd

link delay=1000
# Rules before the table "local" are a firewall that needs no module.
for host in a b; do
	on $host sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' && ip -n $host link set lo up && ip -n $host rule add pref 100 lookup local && ip -n $host rule del pref 0 lookup local || fail "host $host"
done
n=0 left_out=0

# Both hosts are as after the installation, but for what a case breaks. Time limits are short, since most cases wait for them.
quick='session: {connect_ms: 3000}
sctp: {init_ms: 1000}'
both() {
	host_daemon a "$quick"
	host_daemon b "$quick"
}
program() { server ping b "$ddping" -s --socket "$(socket_of b)"; }
good() { both && program; }

# rule HOST WORDS...: of its routing.
rule() {
	ip -n "$1" rule add pref 10 "${@:2}" || fail "rule of $1: ${*:2}"
	rules="$rules $1"
}

running() { [ -e "$tmp/$1.pid" ] && ! gone "$(pid_of "$1")"; }

# restore: as if the case had not been.
restore() {
	local name host
	for host in $rules; do ip -n "$host" rule del pref 10; done
	rules=
	for name in ping a b other; do running $name && kill -CONT "$(pid_of $name)"; done
	for name in ping a b other; do
		! running $name || kill "$(pid_of $name)"
		[ ! -e "$tmp/$name.pid" ] || eventually 15 gone "$(pid_of $name)" || fail "case $n: $name does not end"
		rm -f "$tmp/$name.pid" "$(socket_of $name)"
	done
	host_a=10.9.0.1 host_b=10.9.0.2
}
rules=

# begin: whether the next case is to run.
begin() {
	n=$((n + 1))
	[ -z "${CASES-}" ] || case " $CASES " in *" $n "*) ;; *) left_out=$((left_out + 1)) && return 1 ;; esac
}

doctor() { on a "$ddpctl" --socket "$(socket_of a)" "${@:2}" doctor "$1" >"$tmp/doctor.log" 2>&1; }
ping() { on a timeout 60 "$ddping" --socket "$(socket_of a)" -c 3 -i 0.01 -W 2 "$1" >"$tmp/ddping.log" 2>&1; }

# names HOST WHAT FINDING REMEDY: doctor fails with a finding and a remedy like these, in one entry; ddping fails as well.
names() {
	local host=$1 what=$2 finding=$3 remedy=$4
	! ping "$host" || fail "case $n, $what: ddping works"
	! doctor "$host" || fail "case $n, $what: doctor is content"
	grep -A1 "^WRONG *$finding" "$tmp/doctor.log" | grep -q -- "-> .*$remedy" || fail "case $n, $what: no '$finding' with '$remedy'"
	echo "case $n: $what: $(grep -m1 "^WRONG *$finding" "$tmp/doctor.log")"
	restore
}

# works HOST WHAT FINDING: doctor is content and says so, and so is ddping.
works() {
	ping "$1" || fail "case $n, $2: ddping fails"
	doctor "$1" || fail "case $n, $2: doctor is not content"
	grep -q "^ok *$3" "$tmp/doctor.log" || fail "case $n, $2: no '$3'"
	echo "case $n: $2: $(grep -m1 "^ok *$3" "$tmp/doctor.log")"
	restore
}

# ---- these work ----
begin && good && works $host_b 'nothing is broken' 'session: a ddpsctpd answers over UDP port 9899: 5 of 5 rounds'
begin && good && rule b iif wan0 ipproto icmp blackhole && works $host_b 'ICMP is filtered' 'session: a ddpsctpd answers'
begin && ip -n a link set wan0 mtu 1000 && good && works $host_b 'a small MTU here' 'path: .* path MTU 1000'
ip -n a link set wan0 mtu 1500
begin && good && ctl a limit set limits.qps 1 >/dev/null && works $host_b 'a limit that suffices' 'limits: no request was refused'

# ---- the way to the host ----
begin && good && names 10.9.0.77 'no such host' 'user: no answer' 'firewalls .* UDP port 9899'
begin && good && rule a to $host_b prohibit && names $host_b 'a rule of this host' 'host: .* no route' 'ip route get'
begin && good && rule a to $host_b unreachable && names $host_b 'no route' 'user: unreachable' 'ip route get'
begin && good && rule b iif wan0 ipproto udp dport 9899 blackhole && names $host_b 'the port is filtered there' 'user: no answer' 'firewalls .* UDP port 9899'
begin && good && rule a iif wan0 ipproto udp sport 9899 blackhole && names $host_b 'answers are filtered here' 'user: no answer' 'firewalls .* UDP port 9899'
begin && good && rule b iif wan0 ipproto udp dport 9899 prohibit && names $host_b 'a firewall rejects' 'user: a firewall rejects' 'firewalls .* UDP port 9899'
begin && good && rule b iif wan0 ipproto udp sport 9899 dport 9899 blackhole && names $host_b 'one pair of ports is filtered' 'session: .*does not answer' 'the UDP ports of both daemons'

# ---- the name of the host ----
begin && good && names no.such.name.invalid 'a name without address' 'host: no.such' 'a name or an address'
begin && good && names $host_b:5043 'a port behind the name' 'host: ' 'without user and port'
begin && good && names root@$host_b 'a user before the name' 'host: ' 'without user and port'
begin && good && names fe80::1 'a link-local address without its link' 'host: fe80::1, no route' 'route'
begin && good && names fd00::1 'an address of another family' 'host: fd00::1, no route' 'route'
begin && good && names 255.255.255.255 'a broadcast address' 'session: .* not the address of one host' 'an address of one host'
begin && good && names 0.0.0.0 'no address' 'session: .* not the address of one host' 'an address of one host'

# ---- the other host ----
begin && host_daemon a "$quick" && names $host_b 'no daemon there' 'user: refused' 'start ddpsctpd there'
begin && both && names $host_b 'no program there' 'session: .* no program listens' 'enable --now ddping'
begin && host_daemon a "$quick" && host_b=127.0.0.1 && host_daemon b "$quick" && host_b=10.9.0.2 &&
	names 10.9.0.2 'the daemon there listens to loopback' 'user: refused' "this address in 'listen'"
begin && host_daemon a "$quick" && host_daemon b "$quick" 'user: {udp_port: 9900}' && program &&
	names $host_b 'another UDP port there' 'user: refused' 'UDP port 9899'
begin && good && ctl b drain on >/dev/null && names $host_b 'the daemon there drains' 'session: .* refused' "doctor' there"
begin && host_daemon a "$quick" && host_daemon b 'sctp: {adaptation: 7}' && program &&
	names $host_b 'another adaptation indication' 'session: .* adaptation indication 0x7, expected 0x1' "doctor' there"
begin && good && kill -STOP "$(pid_of b)" && names $host_b 'the daemon there does not run' 'user: no answer' "doctor' there"
begin && good && kill -STOP "$(pid_of ping)" && names $host_b 'the program there does not run' 'session: .* neither accepted' "doctor' there"
begin && host_daemon a "$quick" && background other nsenter --net=/run/netns/b python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 9899))
print("bound", flush=True)
while True:
    s.sendto(b"what?", s.recvfrom(2000)[1])' $host_b && eventually 10 grep -q bound "$tmp/other.log" &&
	names $host_b 'something else has the port there' 'user: something else' 'start ddpsctpd there'

# ---- this host ----
begin && good && stop a && names $host_b 'no daemon here' 'socket: .* No such file' 'systemctl enable'
begin && good && { stop a KILL 2>/dev/null || :; } && names $host_b 'the daemon here was killed' 'daemon: it does not answer' 'journalctl'
begin && good && kill -STOP "$(pid_of a)" && names $host_b 'the daemon here does not run' 'daemon: it does not answer' 'journalctl'
begin && host_a=127.0.0.1 && host_daemon a "$quick" && host_daemon b "$quick" && program &&
	names $host_b 'only loopback here' 'listen: only loopback' "the key 'listen'"
begin && host_daemon a "$quick" 'user: {udp_port: 9900}' && host_daemon b "$quick" && program &&
	names $host_b 'another UDP port here' 'user: refused' 'UDP port 9900'
begin && good && ctl a drain on >/dev/null && names $host_b 'the daemon here drains' 'drain: new sessions are refused' 'drain off'
begin && good && ctl a limit set limits.qps 1 >/dev/null && background other nsenter --net=/run/netns/a "$ddping" --socket "$(socket_of a)" $host_b &&
	eventually 10 grep -q time= "$tmp/other.log" && names $host_b 'a limit here' 'limits: .* refused by qps: 1 of 1' 'limit set'
begin && both && names $host_a 'no program on this host' 'session: .* nothing listens on this port' 'enable --now ddping'

# ---- a link that loses ----
unlink_hosts
link delay=1000 loss=100000 lossb=100000
begin && good && works $host_b 'a tenth of the packets is lost' 'path: .* [1-9][0-9]* chunks sent again'
unlink_hosts
[ $left_out -eq 0 ] || echo "$left_out of $n cases left out"
echo "$((n - left_out)) set-ups"
