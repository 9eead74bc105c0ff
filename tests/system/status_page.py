# SPDX-License-Identifier: BSD-2-Clause
"""What tests/system/status-page.sh and scripts/check-pages check of the status page: `status_page.py CHECK WHERE [WORDS...]`.
WHERE is a port of 127.0.0.1 or the path of a UNIX socket."""
import html.parser
import json
import re
import socket
import sys
import threading
import time

from metrics import PATIENCE, answer, connect


def get(where, path="/", host="localhost:80", method="GET"):
    """Status, headers and body. host None: the request names none."""
    line = "" if host is None else f"Host: {host}\r\n"
    head, _, body = answer(where, f"{method} {path} HTTP/1.1\r\n{line}\r\n".encode()).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    return int(lines[0].split()[1]), {k.lower(): v for k, v in (x.split(": ", 1) for x in lines[1:])}, body.decode()


def state(where):
    code, head, body = get(where, "/status.json")
    assert code == 200 and head["content-type"] == "application/json", (code, head, body)
    return json.loads(body)


# ---- HTTP ----


class Elements(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def check_page(where):
    """The page is one file, and its policy lets nothing in but its own script and style."""
    nonces = set()
    for _ in range(3):
        code, head, body = get(where)
        assert code == 200 and head["content-type"].startswith("text/html") and head["cache-control"] == "no-store", (code, head)
        assert (head["x-content-type-options"], head["referrer-policy"]) == ("nosniff", "no-referrer"), head
        assert head["cross-origin-resource-policy"] == "same-origin", head
        policy = dict(part.strip().split(" ", 1) for part in head["content-security-policy"].split(";"))
        nonce = re.fullmatch(r"'nonce-([0-9a-f]{32})'", policy["script-src"])[1]
        assert policy == {
            "default-src": "'none'", "script-src": f"'nonce-{nonce}'", "style-src": f"'nonce-{nonce}'", "connect-src": "'self'",
            "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'", "require-trusted-types-for": "'script'",
        }, policy
        nonces.add(nonce)
        for tag, attrs in Elements(body).found:
            assert not {"src", "href", "action", "style"} & set(attrs) and not any(a.startswith("on") for a in attrs), (tag, attrs)
            assert tag not in ("script", "style") or attrs == {"nonce": nonce}, (tag, attrs)
        assert "NONCE" not in body and "innerHTML" not in body, "the page"
    assert len(nonces) == 3, nonces


def check_hosts(where):
    """Only requests for this host are answered: the name of another site that leads here is refused."""
    for host in ("localhost", "localhost:9899", "127.0.0.1:1", "127.9.9.9", "[::1]:80", "[::1]"):
        for path in ("/", "/status.json"):
            assert get(where, path, host)[0] == 200, (host, path)
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1", "[2001:db8::1]", "127.1", "x" * 500, None):
        for path in ("/", "/status.json"):
            code, _, body = get(where, path, host)
            assert code == 421 and "<" not in body and "{" not in body, (host, path, code, body)
    for method in ("POST", "HEAD", "DELETE"):
        assert get(where, "/status.json", method=method)[0] == 405, method


def check_totals(where, *words):
    """At an address: sums, and none of the words, which are addresses and names."""
    got = state(where)
    assert set(got) == {"scope", "status"} and got["scope"] == "totals", got
    for key, value in got["status"].items():
        assert key in ("version", "transport", "draining") or isinstance(value, int), (key, value)
    assert got["status"]["sessions"] >= 1 and got["status"]["tx_bytes"] > 0, got
    text = json.dumps(got)
    for word in ("remote", "addr", "comm", "uid", "pid", "last_error", *words):
        assert word not in text, (word, text)


def check_all(where, program, peer):
    """At a UNIX socket: the sessions with their programs, peers, and the event that failed, with its reason."""
    got = state(where)
    assert got["scope"] == "all" and set(got["more"]) == set(got["hidden"]) == {"assoc", "session", "qp", "user", "limit", "event"}
    assert any(a["remote"].startswith(peer) for a in got["assoc"]), got["assoc"]
    qps = {q["qp_num"]: q for q in got["qp"] if q["comm"] == program}
    assert any(s["qp_num"] in qps for s in got["session"]), (got["session"], got["qp"])
    assert sum(q["tx_bytes"] for q in qps.values()) > 0, qps
    assert any(e["reason"] and e["errno"] and (e["remote"] or "").startswith(peer) for e in got["event"]), got["event"]


def check_bounded(where, most):
    """No list is longer than that, and "more" says how many there are besides."""
    end = time.monotonic() + PATIENCE
    while (got := state(where))["status"]["qps"] <= int(most) and time.monotonic() < end:
        time.sleep(0.05)  # answers are a second old at most
    lists = {k: v for k, v in got.items() if isinstance(v, list)}
    assert all(len(v) <= int(most) for v in lists.values()), {k: len(v) for k, v in lists.items()}
    assert len(lists["qp"]) == int(most) and len(lists["qp"]) + got["more"]["qp"] == got["status"]["qps"], got["more"]


def check_down(where, words):
    end = time.monotonic() + PATIENCE
    while (reply := get(where, "/status.json"))[0] == 200 and time.monotonic() < end:
        time.sleep(0.05)
    assert reply[0] == 503 and words in json.loads(reply[2])["error"], reply
    assert get(where)[0] == 200, "the page itself needs no daemon"


# ---- the browser ----


FRAMES = b"frame-ancestors 'none'; "
FRAME = (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<!doctype html><meta name='color-scheme' "
         b"content='light dark'><body style='margin:0'><iframe src='/' style='border:0;width:WIDTHpx;height:1400px'></iframe>")


def serve_socket(where, ret_port, framed):
    """Forwards a port of 127.0.0.1, as `ssh -L` does, since a browser opens no UNIX socket; until it is killed. It is slow, so
    that the counters grow while the time of the page, which is not that of the host, stands still. framed: /frame-WIDTH has the page in a frame, which can be as narrow as a telephone."""
    server = socket.create_server(("127.0.0.1", 0))
    print(server.getsockname()[1], file=ret_port, flush=True)

    def pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data.replace(FRAMES, b"") if framed else data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    while True:
        near, _ = server.accept()
        first = near.recv(65536)
        if framed and (m := re.match(rb"GET /frame-(\d+) ", first)):
            near.sendall(FRAME.replace(b"WIDTH", m[1]))
            near.close()
            continue
        time.sleep(1.1)  # answers are a second old at most
        far = connect(where)
        far.sendall(first)
        for pair in ((near, far), (far, near)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


def check_forward(where, framed=False):
    serve_socket(where, sys.stdout, framed)


class Texts(html.parser.HTMLParser):
    """What a browser has made of the page: its elements, and the text of each table below its heading."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.rows, self.heading, self.polls, self.text = [], {}, {}, None, 0, ""
        self.inside = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        self.inside.append((tag, attrs.get("id")))
        if tag == "body":
            self.polls = int(attrs.get("data-polls", 0))
        if tag == "tr":
            self.rows.setdefault(self.heading, []).append([])
        if tag in ("meta", "input", "br"):
            self.inside.pop()

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tags = [tag for tag, _ in self.inside]
        if "script" in tags or "style" in tags:
            return
        self.text += data + " "
        for _, name in self.inside:
            if name:
                self.ids[name] = self.ids.get(name, "") + data
        if "h2" in tags:
            self.heading = data
        elif tags and tags[-1] in ("td", "th"):
            self.rows[self.heading][-1].append(data)


def check_dom(file, scope, *words):
    """file: the page as the browser has it, after several polls. words: of its tables; each is there as a text."""
    with open(file, encoding="utf-8") as f:
        got = Texts(f.read())
    assert got.polls >= 2, f"{got.polls} polls"
    assert got.ids["title"].startswith("ddpsctpd ") and got.ids["title"] != "ddpsctpd ", got.ids["title"]
    cards = got.ids["cards"]
    assert re.search(r"[1-9]\d*\.?\d* k?B/ssent", cards) and re.search(r"[1-9]\d*sessions", cards), cards
    assert not any(attrs.get("id") == "evil" for _, attrs in got.tags), "a name became an element"
    points = [attrs["points"] for tag, attrs in got.tags if tag == "polyline"]
    assert len(points) == 2 and all(points), points
    if scope == "totals":
        assert not got.rows and "Sums only" in got.ids["scope"], got.rows
    else:
        assert {"Associations", "Sessions", "Last errors", "Users"} <= set(got.rows), set(got.rows)
        heads, row = got.rows["Sessions"][0], got.rows["Sessions"][1]
        assert re.fullmatch(r"[1-9].* k?B/s", dict(zip(heads, row))["sent"]), (heads, row)
    for word in words:
        assert (word in got.text) == (scope == "all"), (word, got.text)


def check_dom_down(file, words):
    with open(file, encoding="utf-8") as f:
        got = Texts(f.read())
    assert words in got.ids["error"], got.ids
    assert not any(tag == "p" and attrs.get("id") == "error" and "hidden" in attrs for tag, attrs in got.tags), "not shown"


if __name__ == "__main__":
    globals()["check_" + sys.argv[1]](*sys.argv[2:])
