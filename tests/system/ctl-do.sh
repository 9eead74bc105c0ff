#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpctl monitor shows events as they happen; ddpctl ends sessions, associations and programs, and both sides
# hear the reason; a drained daemon begins no session; stats has every counter, as OpenMetrics too.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping python3

b=$(address 1)
daemon a "$(address 0)"
daemon b "$b"
server pong b "$ddping" -s --socket "$(socket_of b)"
background monitor "$ddpctl" --socket "$(socket_of a)" monitor
background json "$ddpctl" --socket "$(socket_of b)" -j -c 2 monitor event session-end
watching() { [ "$(ctl "$1" -o client comm ddpctl | wc -l)" -ge 2 ]; }
eventually 10 watching a && eventually 10 watching b || fail 'nobody watches'

# ping: begins a session that goes on.
ping() {
	background ping "$ddping" --socket "$(socket_of a)" -i 0.05 -c 10000 "$b"
	eventually 10 grep -q 'bytes from' "$tmp/ping.log" || fail 'no session'
}
# ended_with REASON: it has ended, and its program and the monitor have the reason.
ended_with() {
	eventually 10 gone "$(pid_of ping)" || fail "$1: the program goes on"
	grep -q "$1" "$tmp/ping.log" || fail "the program does not say: $1"
	eventually 10 grep -q "session with $b:5043 ended .*: .*$1" "$tmp/monitor.log" || fail "the monitor does not say: $1"
}
value() { ctl a -o "$1" | sed -n "s/.* $2 \([0-9]*\).*/\1/p" | head -n 1; }

ping
for n in session qp; do
	[ "$(value $n client)" = "$(ctl a -o client comm ddping | sed -n 's/^client id \([0-9]*\) .*/\1/p')" ] || fail "whose $n: $(ctl a -o $n)"
done
[ "$(value status qps)" = "$(count a qp)" ] || fail "status: $(ctl a -o status)"
ctl a session terminate "$(value session assoc)" "$(value session stream)" || fail 'session terminate'
ended_with 'ended by the administrator'
ping
ctl a assoc abort "$(ctl a -o assoc | sed -n 's/^assoc id \([0-9]*\) .*/\1/p')" || fail 'assoc abort'
ended_with 'ended by the administrator'
case $DDP_TRANSPORT in
kernel) words='aborted the association (cause 12)' ;; # Linux reports no more
*) words='aborted the association: ended by the administrator' ;;
esac
eventually 5 grep -q "$words" "$tmp/b.log" || fail 'the peer has no reason'
ping
ctl a client kick "$(ctl a -o client comm ddping | sed -n 's/^client id \([0-9]*\) .*/\1/p')" || fail 'client kick'
eventually 10 gone "$(pid_of ping)" || fail 'client kick: the program goes on'
grep -q 'corrupted' "$tmp/ping.log" && fail 'client kick: the program blames the daemon'
eventually 5 grep -q 'client [0-9]* (ddping, .*): ended: ended by the administrator' "$tmp/monitor.log" || fail 'the monitor does not show the kick'
for words in 'session terminate 99 0' 'assoc abort 99' 'client kick 99'; do
	# shellcheck disable=SC2086
	ctl a $words 2>/dev/null
	[ $? -eq 5 ] || fail "$words: not status 5"
done

eventually 10 gone "$(pid_of json)" || fail 'monitor -c 2 goes on'
python3 -c '
import json, sys
events = [json.loads(line) for line in sys.stdin]
assert len(events) == 2 and all(e["event"] == "session-end" and e["comm"] == "ddping" for e in events), events
assert all(e["tx_bytes"] > 0 and e["reason"] for e in events), events' <"$tmp/json.log" || fail 'monitor -j'

ctl a drain on || fail 'drain on'
"$ddping" --socket "$(socket_of a)" -c 1 "$b" >"$tmp/drain.log" 2>&1 && fail 'a session begins in a drained daemon'
grep -q 'drains this daemon' "$tmp/drain.log" || fail 'the program does not hear of the drain'
ctl a status | grep -q '^draining *yes' || fail 'status does not show the drain'
ctl a drain off && "$ddping" --socket "$(socket_of a)" -c 1 "$b" >"$tmp/drain.log" 2>&1 || fail 'drain off'
# Sessions end with the reason on both sides, the daemon and its programs stay.
ping
ctl a drain end || fail 'drain end'
eventually 10 gone "$(pid_of ping)" || fail 'drain end: the program goes on'
grep -q 'drains this daemon' "$tmp/ping.log" || fail 'drain end: the program has no reason'
words='drains this daemon'
[ "$DDP_TRANSPORT" != kernel ] || words='aborted the association (cause 12)'
eventually 5 grep -q "$words" "$tmp/b.log" || fail 'drain end: the peer has no reason'
[ -z "$(ctl a -o session)" ] && ctl a status | grep -q '^draining *yes' || fail 'drain end: a session is left'
ctl a drain off && "$ddping" --socket "$(socket_of a)" -c 1 "$b" >"$tmp/drain.log" 2>&1 || fail 'drain off after its end'

ctl a log level debug || fail 'log level'
ctl a -o pd >/dev/null
eventually 5 grep -q 'debug: client ' "$tmp/a.log" || fail 'no debug lines'
ctl a log level info && ctl a config reload || fail 'config reload'
eventually 5 grep -q 'reload: done' "$tmp/a.log" || fail 'no reload'

# Each family once, with type, help and unit, and the end.
ctl a stats openmetrics >"$tmp/metrics" || fail 'stats openmetrics'
ctl a -j stats >"$tmp/stats.json" || fail 'stats -j'
python3 - "$tmp/metrics" "$tmp/stats.json" <<'END' || fail 'metrics'
import json, re, sys
lines = open(sys.argv[1]).read().splitlines()
assert lines[-1] == "# EOF" and lines.count("# EOF") == 1
kind, unit, last, seen = {}, {}, None, set()
for line in lines[:-1]:
    m = re.fullmatch(r"# (TYPE|UNIT|HELP) (\w+) (.+)", line)
    if m:
        what, name, value = m.groups()
        if what == "TYPE":
            assert name not in kind and value in ("counter", "gauge", "histogram"), line
            kind[name], last = value, name
        assert name == last, line
        if what == "UNIT":
            assert name.endswith("_" + value), line
        continue
    m = re.fullmatch(r'(\w+)(\{(?:\w+="(?:[^"\\]|\\.)*",?)*\})? (-?[0-9.e+-]+)', line)
    assert m, line
    ends = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}[kind[last]]
    assert m.group(1) in [last + end for end in ends] and line.rsplit(" ", 1)[0] not in seen, line
    seen.add(line.rsplit(" ", 1)[0])
values = {s["name"]: s for s in json.load(open(sys.argv[2]))}
assert values["tx_packets"]["value"] > 0 and values["tx_packets"]["type"] == "counter", values["tx_packets"]
END
[ "$(ctl a -w 0.1 -c 3 -o status | grep -c ' tx_packets ')" = 3 ] || fail '-w'

# The configuration: in effect, where from, changed, refused.
source_of() { ctl a -o config "$1" | sed -n 's/.* value \(.*\) source \(.*\)/\1 \2/p'; }
[ "$(source_of limits.mrs)" = '16384 default' ] || fail "config: $(source_of limits.mrs)"
source_of listen | grep -q "a.yaml:1\$" || fail "config: $(source_of listen)"
ctl a limit set mrs 50 && [ "$(source_of limits.mrs)" = '50 ddpctl' ] || fail "limit set: $(source_of limits.mrs)"
[ "$(ctl a -o limit uid "$(id -u)" name mrs)" = "limit uid $(id -u) name mrs used 0 max 50 refused 0" ] || fail 'limit'
refuses() { # STATUS WORDS COMMAND...
	local status=$1 words=$2
	shift 2
	ctl a "$@" >"$tmp/refused.log" 2>&1
	[ $? -eq "$status" ] && grep -q -- "$words" "$tmp/refused.log" || fail "$*: not status $status and: $words"
}
refuses 1 'limits.mrs: 0 is too small: 1 to 65535' limit set mrs 0
refuses 1 'cannot change while the daemon runs: set it in its file and restart' limit set user.mtu 1500
refuses 5 'did you mean mrs?' limit set mrz 1
refuses 5 'unknown key' limit set no.such.key 1
refuses 1 'control characters' limit set mrs $'1\n'
refuses 2 'a key has at most' limit set "$(printf '%041d' 0)" 1
refuses 2 'usage: ddpctl limit set KEY VALUE' limit set mrs
[ "$(source_of limits.mrs)" = '50 ddpctl' ] || fail 'a refused change changed something'
printf 'limit set mrs 60 # more\n\nlimit "set" mrs %s\nlimit set mrs 70\n' "'x y'" >"$tmp/batch"
refuses 1 'batch:3: .limit. failed' -b "$tmp/batch"
[ "$(source_of limits.mrs)" = '60 ddpctl' ] || fail 'the batch went on'
refuses 1 'stdin:3: .limit. failed' --force -b - <"$tmp/batch"
[ "$(source_of limits.mrs)" = '70 ddpctl' ] || fail 'the batch ended although --force'
printf 'qp\nlog "level' >"$tmp/batch"
refuses 2 'batch:2: a quote is not closed' -b "$tmp/batch"
refuses 1 'absent: No such file' -b "$tmp/absent"
ctl a config check "$tmp/a.yaml" || fail 'config check'
printf 'limits:\n  mrz: 1\n' >"$tmp/bad.yaml"
refuses 1 'bad.yaml:2:3: limits.mrz: unknown key: did you mean mrs?' config check "$tmp/bad.yaml"

# top: rates of what happens; ^C ends it.
ping
# A busy machine may leave the program without a round in so short a time: then it is asked again.
top_shows() {
	ctl a -j -w 0.2 -c 2 top >"$tmp/top.json" || fail 'top -j'
	python3 - "$tmp/top.json" <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) == 2 and all(0.1 < t["seconds"] and len(t["status"]) == len(t["assoc"]) == len(t["qp"]) == 1 for t in lines), lines
assert any(t["qp"][0]["tx_bytes"] > 0 and t["status"][0]["tx_packets"] > 0 for t in lines), lines
END
}
eventually 10 top_shows || fail 'top'
ctl b -j listener >"$tmp/listener.json" || fail 'listener -j'
kinds=(top="$tmp/top.json" event="$tmp/json.log" metric-list="$tmp/stats.json" listener-list="$tmp/listener.json")
for object in status assoc path session qp event client config limit user peer turn; do
	ctl a -j $object >"$tmp/$object.json" || fail "$object -j"
	kinds+=("$object-list=$tmp/$object.json")
done
ctl a -j explain >"$tmp/error.json" || fail 'explain -j'
valid "${kinds[@]}" error-list="$tmp/error.json"
background top "$ddpctl" --socket "$(socket_of a)" -w 0.1 top
eventually 10 grep -q 'ddping' "$tmp/top.log" || fail 'top shows no program'
kill -INT "$(pid_of top)"
users_show() {
	ctl a -w 0.1 -c 1 top users sort bytes >"$tmp/users.log" || fail 'top users'
	grep -qE "^ *$(id -u)  $(id -un) +[1-9]" "$tmp/users.log"
}
eventually 10 users_show || fail "top users: $(cat "$tmp/users.log")"
ctl a -c 1 top sort size 2>"$tmp/users.log" && fail 'top takes an unknown order'
grep -q "'size' is not one of: traffic messages" "$tmp/users.log" || fail "top sort size: $(cat "$tmp/users.log")"
eventually 10 gone "$(pid_of top)" || fail 'top goes on after SIGINT'
timeout 300 python3 "$top_srcdir/tests/system/terminal.py" "$ddpctl" "$(socket_of a)" || fail 'top on a small terminal'
kill -INT "$(pid_of ping)"
eventually 10 gone "$(pid_of ping)" || fail 'ddping goes on'

# doctor: a session proves that a daemon answers, an answer to an INIT does not; what is wrong has a remedy.
PATH=$(dirname "$ddping"):$PATH
ctl a -j doctor "$b" >"$tmp/doctor.json"
python3 - "$tmp/doctor.json" <<'END' || fail 'doctor'
import json, sys
found = json.load(open(sys.argv[1]))
assert all(sorted(f) == ["check", "finding", "ok", "remedy"] and f["ok"] == (f["remedy"] is None) for f in found), found
by_name = {f["check"]: f for f in found}
assert {"socket", "daemon", "transport", "listen", "host", "user", "kernel"} <= set(by_name), sorted(by_name)
want = by_name["transport"]["finding"].split()[0]
assert by_name["socket"]["ok"] and by_name["daemon"]["ok"] and "program listens" in by_name[want]["finding"], by_name
assert by_name["session"]["ok"] and "ddpsctpd answers over " in by_name["session"]["finding"], by_name
assert "5 of 5 rounds" in by_name["session"]["finding"], by_name
assert "path MTU" in by_name["path"]["finding"], by_name
END
valid finding-list="$tmp/doctor.json"
stop pong
ctl a doctor "$b" >"$tmp/doctor.log"
[ $? -eq 1 ] || fail 'doctor is content with a daemon where no program listens'
grep -A1 '^WRONG *session: .* no program listens' "$tmp/doctor.log" | grep -q 'enable --now ddping' || fail 'no remedy for it'
ctl a doctor "$(address 2)" >"$tmp/doctor.log"
[ $? -eq 1 ] || fail 'doctor does not find the missing daemon'
# Linux's SCTP answers for each address of the host, also where no daemon has one.
[ "$DDP_TRANSPORT" = kernel ] || grep -A1 '^WRONG .*nothing listens there' "$tmp/doctor.log" | grep -q "address of this host, .* add it to 'listen'" ||
	fail 'no remedy'
DDP_SOCKET=$tmp/absent.sock "$ddpctl" doctor >"$tmp/doctor.log" 2>/dev/null
[ $? -eq 1 ] || fail 'doctor without a daemon'
grep -q 'systemctl enable' "$tmp/doctor.log" || fail 'no remedy without a daemon'

# Only administrators change anything.
if [ "$(id -u)" = 0 ]; then
	chmod 0711 "$tmp"
	chmod 0666 "$(socket_of a)"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$ddpctl" --socket "$(socket_of a)" drain on 2>/dev/null
	[ $? -eq 4 ] || fail 'drain by another user: not status 4'
fi
stop a || fail "daemon a: exit status $?"
eventually 10 grep -q 'closed the connection' "$tmp/monitor.log" || fail 'the monitor does not say that the daemon is gone'
stop b || fail "daemon b: exit status $?"
