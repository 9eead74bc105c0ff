#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpctl shows every object of a program with its numbers: domains, regions, windows, queue pairs of
# both types, completion queues and shared receive queues, each counted once.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl python3

a=$(address 0)
daemon a "$a"
mkfifo "$tmp/hold"
background objects sh -c "exec '$bin/tests/system/ctl_objects' '$(socket_of a)' <'$tmp/hold'"
exec 9>"$tmp/hold"
made() { grep -q '"mr"' "$tmp/objects.log" || gone "$(pid_of objects)"; }
eventually 20 made
grep -q '"mr"' "$tmp/objects.log" || fail 'the objects were not created'

for object in pd mr mw qp cq srq client; do
	ctl a -j $object >"$tmp/$object.json" || fail "ddpctl $object: exit status $?"
done
valid pd-list="$tmp/pd.json" mr-list="$tmp/mr.json" mw-list="$tmp/mw.json" qp-list="$tmp/qp.json" cq-list="$tmp/cq.json" \
	srq-list="$tmp/srq.json" client-list="$tmp/client.json"
python3 - "$tmp" >"$tmp/compared.log" 2>&1 <<'EOF' || fail 'ddpctl and the program differ'
import json, sys

def read(name):
    return json.load(open(f"{sys.argv[1]}/{name}"))

def same(what, got, **want):
    got = {k: got[k] for k in want}
    assert got == want, f"{what}: {got} instead of {want}"

made = read("objects.log")
client = [c for c in read("client.json") if c["comm"] != "ddpctl"][0]
same("client", client, pds=2, mrs=2, mws=2, cqs=2, qps=2, srqs=1)

used, empty = sorted(read("pd.json"), key=lambda p: -p["mrs"])
same("the domain", used, client=client["id"], mrs=2, mws=2, qps=2, srqs=1)
same("the empty domain", empty, mrs=0, mws=0, qps=0, srqs=0)

mrs = {m["stag"]: m for m in read("mr.json")}
same("the region", mrs[made["mr"]], len=8192, windows=1, qp_num=0, valid=True, pd=used["handle"],
     access="local_write,remote_atomic,mw_bind")
same("the tied region", mrs[made["tied"]], windows=0, qp_num=made["qp"][1], valid=True, access="remote_read")

mws = {m["type"]: m for m in read("mw.json")}
same("the bound window", mws[1], stag=made["bound"], valid=True, mr_stag=made["mr"], qp_num=0, len=1024,
     addr=made["iova"] + 4096, access="remote_read", pd=used["handle"])
same("the other window", mws[2], valid=False, qp_num=0, len=0, addr=0, access="none")

srq, = read("srq.json")
same("the shared queue", srq, entries=8, max_sge=2, limit=3, per_qp=2, posted=5, held=0, qps=1, taken=0,
     pd=used["handle"])

qps = {q["qp_num"]: q for q in read("qp.json")}
same("the queue pair", qps[made["qp"][0]], type="rdmap", srq=srq["handle"], srq_held=0, srq_taken=0,
     sq_entries=16, rq_entries=0, rq_posted=0, ord=5, ird=7, assoc=0)
same("the raw queue pair", qps[made["qp"][1]], type="raw", srq=0, rq_entries=32, rq_posted=3)

cqs = {c["handle"]: c["qps"] for c in read("cq.json")}
both, receives = (qps[n]["recv_cq"] for n in made["qp"])
assert cqs == {both: 2, receives: 1}, f"completion queues: {cqs}"
EOF

# One object by its id, and filters.
bound=$(sed 's/.*"bound": "\([^"]*\)".*/\1/' "$tmp/objects.log")
ctl a mw "$bound" >/dev/null || fail "ddpctl mw $bound: exit status $?"
[ "$(ctl a -o mw valid no | wc -l)" = 1 ] || fail 'ddpctl mw valid no'
[ "$(ctl a -o qp type raw | wc -l)" = 1 ] || fail 'ddpctl qp type raw'
ctl a srq 4711 2>/dev/null
[ $? -eq 5 ] || fail 'a shared queue that does not exist: not status 5'

exec 9>&-
wait "$(pid_of objects)" || fail 'the program did not destroy the objects'
none_of a pd mr mw qp cq srq || fail 'objects are left'
stop a || fail "daemon: exit status $?"
