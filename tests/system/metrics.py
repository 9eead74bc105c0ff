# SPDX-License-Identifier: BSD-2-Clause
"""What tests/system/metrics.sh checks of ddpmetrics: `metrics.py CHECK WHERE [FILE]`. WHERE is a port of 127.0.0.1 or
the path of a UNIX socket; `dashboard` and `user` compare two files."""
import json
import math
import re
import socket
import sys
import threading
import time

PATIENCE = 120  # seconds; only a server that does not work at all takes so long
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)?\}})? (-?[0-9][0-9.e+-]*|[+-]Inf|NaN)")


def connect(where):
    if where.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(PATIENCE)
        s.connect(where)
        return s
    return socket.create_connection(("127.0.0.1", int(where)), PATIENCE)


def until_end(s):
    """All bytes until the server ends the connection."""
    got = b""
    try:
        while data := s.recv(65536):
            got += data
    except ConnectionError:
        pass
    return got


def answer(where, request):
    with connect(where) as s:
        try:
            s.sendall(request)
        except ConnectionError:
            pass
        return until_end(s)


def get(where, path="/metrics", method="GET"):
    """Status, headers and body of a well-formed request."""
    head, _, body = answer(where, f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    return int(lines[0].split()[1]), {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}, body.decode()


# ---- the format ----


def base_of(name, kinds):
    """The family of a line's name."""
    for end in ("_bucket", "_sum", "_count"):
        if name.endswith(end) and kinds.get(name[: -len(end)]) == "histogram":
            return name[: -len(end)]
    return name


def families(text):
    """The samples of each family, {family: [(name, labels, value)]}: text format 0.0.4, and more strict than its readers:
    each family once, with HELP and TYPE before its samples, each sample once."""
    kinds, helps, found, seen, current = {}, set(), {}, set(), None
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if m := re.fullmatch(rf"# HELP ({NAME}) (\S.*)", line):
            assert m[1] not in helps, f"twice: {line}"
            helps.add(m[1])
            current = m[1]
        elif m := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge|histogram)", line):
            assert m[1] not in kinds and m[1] == current, line
            assert (m[2] == "counter") == m[1].endswith("_total"), line
            kinds[m[1]], found[m[1]] = m[2], []
        elif not line.startswith("# "):
            m = SAMPLE.fullmatch(line)
            assert m, f"no sample: {line!r}"
            base = base_of(m[1], kinds)
            assert base == current and base in kinds, f"of no family: {line}"
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m[2] or ""))
            key = (m[1], tuple(sorted(labels.items())))
            assert key not in seen, f"twice: {line}"
            seen.add(key)
            value = float(m[3])
            assert not math.isnan(value) and (kinds[base] != "counter" or value >= 0), line
            found[base].append((m[1], labels, value))
    for name, kind in kinds.items():
        if kind == "histogram":
            check_histogram(name, found[name])
    return found


def check_histogram(name, samples):
    buckets = [(float(labels["le"]), value) for n, labels, value in samples if n == name + "_bucket"]
    count = [value for n, _, value in samples if n == name + "_count"]
    assert len(buckets) > 2 and buckets == sorted(buckets), f"{name}: bounds {buckets}"
    assert all(a[0] < b[0] and a[1] <= b[1] for a, b in zip(buckets, buckets[1:])), f"{name}: {buckets}"
    assert buckets[-1][0] == math.inf and [buckets[-1][1]] == count, f"{name}: {buckets} {count}"


# ---- checks ----


def check_format(where, _):
    """With a session: its objects are there, with values that a live session has."""
    code, head, text = get(where)
    assert code == 200 and head["content-type"].startswith("text/plain; version=0.0.4"), (code, head)
    found = families(text)
    print(text, end="")
    assert found["ddpsctpd_up"] == [("ddpsctpd_up", {}, 1)]
    for name in ("tx_packets_total", "assoc_cwnd_bytes", "qp_tx_msgs_total", "mr_length_bytes", "limit_used", "limit_max",
                 "user_tx_bytes_total", "user_rx_msgs_total", "user_mr_bytes", "turn_seconds"):
        values = found["ddpsctpd_" + name]
        assert values and any(v > 0 for _, _, v in values), (name, values)
    used = {tuple(sorted(labels.items())): v for _, labels, v in found["ddpsctpd_limit_used"]}
    limit = {tuple(sorted(labels.items())): v for _, labels, v in found["ddpsctpd_limit_max"]}
    assert used.keys() == limit.keys() and all(used[k] <= limit[k] for k in used)


def check_dashboard(file, board):
    """Every metric that the dashboard names is one of those in the file, no two panels overlap, and its expressions are
    printed as rules for promtool."""
    with open(file, encoding="utf-8") as f:
        found = families(f.read())
    # `kernel` measures no round-trip time of less than a tick, so that family may be empty.
    have = set(found) | {name for samples in found.values() for name, _, _ in samples}
    with open(board, encoding="utf-8") as f:
        text = f.read()
    panels = json.loads(text)["panels"]
    missing = {name for name in re.findall(r"ddpsctpd_[a-z_]+", text)} - have
    assert not missing, missing
    places = [(p["gridPos"]["x"] + dx, p["gridPos"]["y"] + dy)
              for p in panels for dx in range(p["gridPos"]["w"]) for dy in range(p["gridPos"]["h"])]
    assert len(set(places)) == len(places) and max(x for x, _ in places) == 23
    print("groups:\n- name: dashboard\n  rules:")
    exprs = [t["expr"] for p in panels for t in p.get("targets", [])]
    assert len(exprs) > 20
    for i, expr in enumerate(exprs):
        print(f"  - record: panel:{i}\n    expr: {json.dumps(expr.replace('$__rate_interval', '1m'))}")


def check_user(before, after):
    """The counters of the user go on after the program's end."""
    was, now = (json.load(open(name, encoding="utf-8")) for name in (before, after))
    assert len(was) == len(now) == 1, (was, now)
    assert was[0]["qps"] == 1 and now[0]["qps"] == 0, (was, now)
    for key in ("tx_msgs", "rx_msgs", "tx_bytes", "rx_bytes"):
        assert 0 < was[0][key] <= now[0][key], (key, was, now)


def check_requests(where, _):
    for path in ("//", "/status", "/index.html", "/metric", "/metrics/", "/../metrics", "/%00"):
        assert get(where, path)[0] == 404, path
    for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "FOO"):
        code, head, _ = get(where, method=method)
        assert code in (405, 501), (method, code)
        assert code == 501 or head["allow"] == "GET", head
    assert get(where, "/metrics?x=1")[0] == 200


def check_garbage(where, _):
    """None of it is answered with metrics, and the next client is served."""
    junk = [b"", b"\r\n\r\n", b"\0" * 5000, bytes(range(256)) * 40, b"GET\r\n\r\n", b"GET /metrics\r\n\r\n",
            b"GET /metrics HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 100000 + b"\r\n\r\n",
            b"GET /" + b"m" * 100000 + b" HTTP/1.1\r\n\r\n",
            b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\nx",
            b"POST /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\nx",
            b"POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx"]
    for words in junk:
        with connect(where) as s:
            try:
                s.sendall(words)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            got = until_end(s)
        assert b"ddpsctpd_up" not in got or words.startswith(b"GET /metrics"), (words[:40], got[:80])
        assert get(where)[0] == 200, words[:40]


def check_slow(where, _):
    """More silent clients than there may be connections: others are served, and all of the silent ones end. One that
    sends a byte now and then ends, too."""
    silent = [connect(where) for _ in range(80)]
    for s in silent[::2]:
        s.sendall(b"GET /metrics HT")
    assert get(where)[0] == 200
    drip = connect(where)
    try:
        end = time.monotonic() + PATIENCE
        drip.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        while time.monotonic() < end:
            drip.sendall(b"y")
            time.sleep(0.1)  # the pace of the client
        raise AssertionError("a slow client has no end")
    except ConnectionError:
        drip.close()
    for s in silent:
        assert b"200 OK" not in until_end(s)
        s.close()
    assert get(where)[0] == 200


def check_many(where, _):
    """16 clients at a time, each several times: all are served."""
    wrong = []

    def client():
        for _ in range(20):
            try:
                code, _, text = get(where)
                assert code == 200 and families(text)
            except Exception as e:  # pylint: disable=broad-except
                wrong.append(e)

    clients = [threading.Thread(target=client) for _ in range(16)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    assert not wrong, wrong[:3]


def check_down(where, words):
    """503 with the reason, and ddpsctpd_up is 0. words: a part of the reason."""
    end = time.monotonic() + PATIENCE
    while (reply := get(where))[0] == 200 and time.monotonic() < end:
        time.sleep(0.05)
    code, _, text = reply
    assert code == 503 and words in text.split("\n")[0], reply
    assert families(text) == {"ddpsctpd_up": [("ddpsctpd_up", {}, 0)]}, text


def check_up(where, _):
    end = time.monotonic() + PATIENCE
    while get(where)[0] != 200:
        assert time.monotonic() < end
        time.sleep(0.05)


if __name__ == "__main__":
    globals()["check_" + sys.argv[1]](sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
