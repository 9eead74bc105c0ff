#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: the manual pages have the options of the programs, and the keys of their JSON; numbers are numbers.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddping ddperf ddpcp ddpmetrics python3
python3 -c 'import jsonschema' 2>/dev/null || skip "needs python3-jsonschema"

# options_of_page PAGE: short and long options of its section OPTIONS.
options_of_page() {
	awk '/^\.SH/ { in_it = $2 == "OPTIONS" } in_it && tag { print } { tag = /^\.TP/ }' "$1" |
		sed 's/\\f[A-Z]//g; s/\\-/-/g' | grep -oE -- '(^|[ "])--?[a-zA-Z][a-z-]*' | tr -d ' "' | sort
}

# options_of_help PROGRAM: the same of --help.
options_of_help() {
	"$bin/$1" --help | grep -oE '^ +(-[a-zA-Z], )*--[a-z-]+' | tr -d ' ' | tr , '\n' | sort
}

for page in ddping.1 ddperf.1 ddpcp.1 ddpctl.8 ddpmetrics.8 ddpsctpd.8; do
	options_of_help ${page%.*} >"$tmp/help"
	[ "$(wc -l <"$tmp/help")" -gt 5 ] || fail "${page%.*} --help: $(cat "$tmp/help")"
	options_of_page "$top_srcdir/man/$page" >"$tmp/page"
	diff "$tmp/help" "$tmp/page" >"$tmp/diff" || fail "--help and $page: $(cat "$tmp/diff")"
done

# A value outside of its range: status 2, and a message with option, value and range.
for wrong in "ddping --port 0" "ddperf --depth 4097" "ddpcp --port 65536" "ddpctl --timeout 0"; do
	read -r program option value <<<"$wrong"
	"$bin/$program" "$option" "$value" 2>"$tmp/said"
	[ $? -eq 2 ] || fail "$wrong: not status 2"
	grep -qE -- "$option: '$value' is not a [a-z]+ between [0-9.]+ and [0-9]+" "$tmp/said" ||
		fail "$wrong: $(cat "$tmp/said")"
done

# The daemon refuses wrong options with status 64, and says which options it has.
for wrong in --unknown --config extra; do
	"$ddpsctpd" -n $wrong >"$tmp/out" 2>"$tmp/said"
	[ $? -eq 64 ] || fail "ddpsctpd $wrong: not status 64"
	grep -qF -- "${wrong#--}" "$tmp/said" && grep -q -- --foreground "$tmp/said" || fail "$wrong: $(cat "$tmp/said")"
	[ ! -s "$tmp/out" ] || fail "ddpsctpd $wrong: $(cat "$tmp/out")"
done

a=$(address 0)
daemon a "$a"
# A client without a server there: the message has the command that serves.
for wrong in "ddping -s|ddping $a" "ddperf -s|ddperf $a write bw" "ddpcp serve --root DIR|ddpcp get $a:x $tmp"; do
	read -ra command <<<"${wrong#*|}"
	"$bin/${command[0]}" --socket "$(socket_of a)" "${command[@]:1}" 2>"$tmp/said" && fail "$wrong: it succeeds"
	grep -qF "'${wrong%|*}' serves there" "$tmp/said" || fail "$wrong: $(cat "$tmp/said")"
done

server pings a "$ddping" -s --socket "$(socket_of a)"
server perfs a "$ddperf" -s --socket "$(socket_of a)"
server owns a "$ddperf" -s -m -p 5045 --socket "$(socket_of a)"

"$ddping" --socket "$(socket_of a)" -j -c 3 -i 0 "$a" >"$tmp/ping.json" || fail 'ddping -j'
"$ddping" --socket "$(socket_of a)" -j -q -c 1 "$a" >"$tmp/quiet.json" || fail 'ddping -j -q'
"$ddping" --socket "$(socket_of a)" -j -c 1 -p 9 "$a" >"$tmp/failed.json" 2>/dev/null && fail 'there is no listener at port 9'
"$ddperf" --socket "$(socket_of a)" -m -p 5045 -w 0 -c 20 "$a" write bw >"$tmp/own.log" || fail 'ddperf with memory of malloc()'
for metric in bw lat rate; do
	"$ddperf" --socket "$(socket_of a)" -j -w 0 -c 2000 "$a" write $metric >"$tmp/$metric.json" || fail "ddperf $metric"
done
valid_tool ddping="$tmp/ping.json" ddping="$tmp/quiet.json" ddping="$tmp/failed.json" ddperf="$tmp/bw.json" ddperf="$tmp/lat.json" \
	ddperf="$tmp/rate.json"
python3 - "$tmp" "$top_srcdir/man" <<'PYTHON' || fail 'JSON'
import json, re, sys


def read(name):
    return json.load(open(f"{sys.argv[1]}/{name}.json"))


def documented(page):
    """The words in bold of the section JSON."""
    text = open(f"{sys.argv[2]}/{page}").read().split("\n.SH JSON\n")[1].split("\n.SH ")[0]
    return set(re.findall(r"^\.BR? (\S+)", text, re.M)) - {"\\-q"}


ping = read("ping")
rounds = ping.pop("rounds")
assert [r["seq"] for r in rounds] == [1, 2, 3], rounds
assert all(r["ok"] is True and r["rtt_us"] > 0 for r in rounds), rounds
assert set(ping) | set(rounds[0]) | {"rounds"} == documented("ddping.1"), documented("ddping.1") ^ set(ping)
assert (ping["sent"], ping["good"], ping["failed"], ping["error"]) == (3, 3, 0, None), ping
assert set(read("quiet")) == set(ping)
failed = read("failed")
assert (failed["rounds"], failed["sent"], failed["rtt_min_us"]) == ([], 0, None), failed
assert "nothing listens" in failed["error"], failed

units = {"bw": ("bandwidth", "mb_per_s"), "lat": ("latency", "us"), "rate": ("rate", "messages_per_s")}
for metric, (name, unit) in units.items():
    perf = read(metric)
    assert perf["messages"] == 2000 and perf["bytes"] == 2000 * perf["size_bytes"], perf
    figures = {f"{name}_{which}_{unit}" for which in ("mean", "min", "median", "max")}
    figures |= {f"{name}_runs_{which}_{unit}" for which in ("min", "median", "max")}
    if metric == "lat":
        figures |= {"latency_p99_us", "latency_p99_9_us"}
    assert figures <= set(perf), figures - set(perf)
    assert perf[f"{name}_mean_{unit}"] > 0, perf
    others = documented("ddperf.1") - {"bandwidth", "mb_per_s", "rate", "messages_per_s", "latency", "us"}
    others -= {"latency_p99_us", "latency_p99_9_us"} | ({"sample_interval_ms"} if metric == "lat" else set())
    assert set(perf) - figures == others, set(perf) - figures ^ others
PYTHON
