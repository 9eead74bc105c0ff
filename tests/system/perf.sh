#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddperf measures several operations and sizes, queue pairs, both directions and runs, and says the same in
# JSON, which is as its schema says, and in CSV. A server stays with its client for all tests, and with --once ends after
# them. --plot draws by gnuplot, beside an earlier run if there is one, or says what is missing before it measures.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddperf python3
python3 -c 'import jsonschema' 2>/dev/null || skip "needs python3-jsonschema"

a=$(address 0) b=$(address 1)
daemon a "$a"
daemon b "$b"
server perf b "$ddperf" -s --socket "$(socket_of b)"
perf() { "$ddperf" --socket "$(socket_of a)" -w 0.01 "$@" 2>"$tmp/said"; }

# Both directions, with several queue pairs: each counts its messages.
for op in write read send fetch-add; do
	perf -j -b -q 2 -c 300 -r 3 "$b" $op rate >"$tmp/$op.json" || fail "$op: $(cat "$tmp/said")"
	valid_tool ddperf="$tmp/$op.json"
done
perf -j -q 2 -t 1 -i 20 "$b" send bw >"$tmp/bw.json" || fail "send bw: $(cat "$tmp/said")"
perf -j -q 2 -c 50 -r 2 "$b" write lat >"$tmp/lat.json" || fail "write lat: $(cat "$tmp/said")"
perf -j -c 3 --pause 20 "$b" send lat >"$tmp/sparse.json" || fail "sparse latency: $(cat "$tmp/said")"
valid_tool ddperf="$tmp/bw.json" ddperf="$tmp/lat.json" ddperf="$tmp/sparse.json"
python3 - "$tmp" <<'PYTHON' || fail 'figures'
import json, sys


def read(name):
    return json.load(open(f"{sys.argv[1]}/{name}.json"))


for op in ("write", "read", "send", "fetch-add"):
    got = read(op)
    assert (got["operation"], got["queue_pairs"], got["bidirectional"], got["runs"]) == (op, 2, True, 3), got
    # 300 of each of 2 queue pairs, 2 directions and 3 runs
    assert got["messages"] == 300 * 2 * 2 * 3 and got["bytes"] == got["messages"] * got["size_bytes"], got
    spread = [got[f"rate_runs_{which}_messages_per_s"] for which in ("min", "median", "max")]
    assert 0 < spread[0] <= spread[1] <= spread[2], spread
assert read("bw")["messages"] > 0 and not read("bw")["bidirectional"]
lat = read("lat")
assert (lat["messages"], lat["samples"]) == (200, 200), lat
sparse = read("sparse")
# The rests are between the messages and not in them.
assert sparse["pause_ms"] == 20 and sparse["elapsed_s"] >= 0.06 and lat["pause_ms"] == 0, sparse
assert sparse["elapsed_s"] - 0.06 >= 6e-6 * sparse["latency_min_us"], sparse
assert lat["latency_min_us"] <= lat["latency_runs_median_us"] <= lat["latency_max_us"], lat
PYTHON

# All sizes of two operations, in one call, for a server that ends after one client.
server once b "$ddperf" -s --once -p 5046 --socket "$(socket_of b)"
perf -j -a -p 5046 -c 20 -r 2 "$b" write,send bw >"$tmp/all.json" || fail "all sizes: $(cat "$tmp/said")"
valid_tool ddperf-list="$tmp/all.json"
eventually 10 gone "$(pid_of once)" || fail 'the server goes on after its client'
perf --csv -a -c 20 "$b" write,fetch-add rate >"$tmp/all.csv" || fail "CSV: $(cat "$tmp/said")"
python3 - "$tmp" <<'PYTHON' || fail 'all sizes'
import csv, json, sys

sizes = [2**n for n in range(6, 21)]
tests = json.load(open(f"{sys.argv[1]}/all.json"))
assert [(t["operation"], t["size_bytes"]) for t in tests] == [(op, n) for op in ("write", "send") for n in sizes], tests
assert all(t["messages"] == 40 and t["metric"] == "bw" for t in tests), tests
rows = list(csv.DictReader(open(f"{sys.argv[1]}/all.csv")))
want = [("write", n) for n in sizes] + [("fetch-add", 8)]
assert [(r["operation"], int(r["size_bytes"])) for r in rows] == want, rows
assert all(r["unit"] == "messages_per_s" and float(r["mean"]) > 0 and r["messages"] == "20" for r in rows), rows
assert sum(float(r["cpu_daemon_user_s"]) + float(r["cpu_daemon_system_s"]) for r in rows) > 0, "the daemon works"
PYTHON
perf -a -c 2 -r 2 "$b" write lat >"$tmp/table" || fail "table: $(cat "$tmp/said")"
[ "$(grep -c '^write ' "$tmp/table")" = 15 ] || fail "the table: $(cat "$tmp/table")"

# A client that stays keeps others away, but not those that come after it.
background stays "$ddperf" --socket "$(socket_of a)" -t 600 -w 0 -q 2 "$b" write rate
both_busy() { [ "$(ctl a -j qp comm ddperf | python3 -c 'import json, sys; print(sum(q["tx_bytes"] > 100000 for q in json.load(sys.stdin)))')" = 2 ]; }
eventually 10 both_busy || fail 'the client does not measure'
perf -c 1 "$b" write rate && fail 'two clients at once'
grep -q 'rejected: busy: another client is being served' "$tmp/said" || fail "busy: $(cat "$tmp/said")"
stop stays INT || fail "an interrupted client: status $?"
eventually 10 none_of b session || fail 'the sessions of the client are left'
grep -q 'interrupted' "$tmp/stays.log" || fail "an interrupted client: $(cat "$tmp/stays.log")"
perf -c 1 "$b" write rate >"$tmp/after" || fail "the next client: $(cat "$tmp/said")"

# Wrong command lines.
while read -r words; do
	# shellcheck disable=SC2086
	perf $words >"$tmp/out"
	[ $? -eq 2 ] || fail "ddperf $words: not status 2"
	[ -s "$tmp/said" ] && [ ! -s "$tmp/out" ] || fail "ddperf $words: $(cat "$tmp/out")"
done <<WORDS
-b $b write lat
--pause 20 $b write rate
-a -S 64 $b write bw
-a -I $b write bw
--plot $tmp/x.svg $b write bw
-a --log $b write bw
-a --compare $tmp/x.json $b write bw
-j --csv $b write bw
$b write,write bw
$b write,jump bw
$b , bw
-q 17 $b write bw
-r 0 $b write bw
WORDS

# A stand-in for gnuplot gets the figures; without any, no test begins.
mkdir "$tmp/path" "$tmp/none"
printf '#!/bin/sh\ncat >"%s/script"\necho "<svg/>"\n' "$tmp" >"$tmp/path/gnuplot"
chmod +x "$tmp/path/gnuplot"
PATH=$tmp/path:$PATH perf -a -c 2 --plot "$tmp/stand-in.svg" "$b" write,send rate >"$tmp/out" || fail "--plot: $(cat "$tmp/said")"
[ "$(cat "$tmp/stand-in.svg")" = '<svg/>' ] || fail 'the drawing is not in the file'
[ "$(grep -cE '^[0-9]+( [0-9.]+){3}$' "$tmp/script")" = 30 ] || fail "the script of gnuplot: $(cat "$tmp/script")"
script_has() { grep -q -- "$1" "$tmp/script" || fail "the script of gnuplot lacks $1: $(cat "$tmp/script")"; }
script_has "^set title .*ddperf rate.*$b by transport ${DDP_TRANSPORT:-[a-z]*}, 20[0-9-]* [0-9:]* UTC"
script_has '^set yrange'
# An earlier run beside it: its points, and its host, which cannot become a command.
perf -j -a -c 2 "$b" write,send rate >"$tmp/earlier.json" || fail "JSON: $(cat "$tmp/said")"
valid_tool ddperf-list="$tmp/earlier.json"
python3 - "$tmp" <<'PYTHON' || fail 'the earlier run'
import json, sys

tests = json.load(open(f"{sys.argv[1]}/earlier.json"))
for t in tests:
    t["host"] = "it's\n!touch broken\n`touch broken`"
json.dump(tests, open(f"{sys.argv[1]}/earlier.json", "w"))
PYTHON
PATH=$tmp/path:$PATH perf -a -c 2 --plot "$tmp/both.svg" --log --compare "$tmp/earlier.json" "$b" write,read rate >"$tmp/out" ||
	fail "--compare: $(cat "$tmp/said")"
[ "$(grep -cE '^[0-9]+( [0-9.]+){3}$' "$tmp/script")" = 60 ] || fail "the script of gnuplot: $(cat "$tmp/script")"
script_has '^set logscale y'
script_has "dashed: it''s?!touch broken??touch broken? by transport"
[ "$(grep -c '^plot .*\$op0 .*\$earlier0 .* dashtype 2 .*\$op1 .*\$earlier2 ' "$tmp/script")" = 1 ] || fail "the lines: $(grep ^plot "$tmp/script")"
! grep -q -e '^!' -e '[`]' "$tmp/script" || fail 'the name of a host is a command'
for file in earlier.json all.csv none.json; do
	perf -a -c 2 --plot "$tmp/no.svg" --compare "$tmp/$file" "$b" write bw >"$tmp/out" && fail "--compare $file"
	grep -q -e '--compare .*another metric' -e '--compare .*cannot be read as JSON' "$tmp/said" || fail "--compare $file: $(cat "$tmp/said")"
	[ ! -s "$tmp/out" ] && [ ! -e "$tmp/no.svg" ] || fail "ddperf measured with $file"
done
PATH=$tmp/none perf -a --plot "$tmp/no.svg" "$b" write bw >"$tmp/out" && fail '--plot without gnuplot'
grep -q 'needs the program gnuplot, which is not installed' "$tmp/said" || fail "no gnuplot: $(cat "$tmp/said")"
[ ! -s "$tmp/out" ] && [ ! -e "$tmp/no.svg" ] || fail 'ddperf measured without gnuplot'
perf -a --plot "$tmp/none/no/x.svg" "$b" write bw >"$tmp/out" && fail '--plot into no folder'
if command -v gnuplot >/dev/null; then
	perf -j -a -c 2 -r 2 "$b" send lat >"$tmp/lat-all.json" || fail "JSON: $(cat "$tmp/said")"
	perf -a -c 2 -r 2 --log --compare "$tmp/lat-all.json" --plot "$tmp/real.svg" "$b" write,send lat >"$tmp/out" ||
		fail "gnuplot: $(cat "$tmp/said")"
	[ ! -s "$tmp/said" ] || fail "gnuplot says: $(cat "$tmp/said")"
	python3 - "$tmp/real.svg" "$b" <<'PYTHON' || fail 'the drawing'
import sys, xml.etree.ElementTree

root = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
text = "".join(root.itertext())
assert root.tag.endswith("svg") and "write" in text and "send, earlier" in text and sys.argv[2] in text, text
PYTHON
fi
