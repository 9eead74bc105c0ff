# SPDX-License-Identifier: BSD-2-Clause
"""Somebody between two daemons: passes UDP datagrams on, and meddles with them.

usage: dtls_between.py MODE PORT A TO_A TO_B B [SEED]

The daemon at A takes TO_A for its peer, the one at B takes TO_B; all have PORT. SIGUSR1 makes TO_B change its port, as an
address translator may; SIGTERM ends it. At the end it prints how many datagrams it saw and changed.

MODE: pass; flip-handshake (a byte of each third datagram of a handshake, twenty times); flip-records (a byte of each tenth
record); replay (each datagram twice, and again after 2,000 later ones); late (each 50th datagram after 1,000 later ones, or after
half a second); mix (each third datagram twice or behind the next one, each twentieth lost); last-flight (the server's last flight is lost
twice).
"""
import collections
import random
import select
import signal
import socket
import sys
import time

MODE, PORT, A, TO_A, TO_B, B = sys.argv[1], int(sys.argv[2]), *sys.argv[3:7]
draw = random.Random(int(sys.argv[7]) if len(sys.argv) > 7 else 1)
CHANGE_CIPHER_SPEC, HANDSHAKE = 20, 22
BUFFER = 4 << 20


def bind(addr, port):
    """A socket at an address of ours."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    s.bind((addr, port))
    s.setblocking(False)
    return s


def flip(p):
    """Another value for one byte."""
    at = draw.randrange(len(p))
    return p[:at] + bytes([p[at] ^ draw.randrange(1, 256)]) + p[at + 1:]


class Between:
    """Both directions: index 0 is from A to B."""

    def __init__(self):
        self.sock = [bind(TO_A, PORT), bind(TO_B, PORT)]
        self.to = [(B, PORT), (A, PORT)]
        self.seen = self.changed = 0
        self.moves = self.ends = False
        # For each direction: datagrams that leave after so many later ones, with the time at which they leave anyway.
        self.later = [collections.deque(), collections.deque()]
        self.count = [0, 0]

    def send(self, way, p):
        """To the other side."""
        try:
            self.sock[not way].sendto(p, self.to[way])
        except (BlockingIOError, ConnectionRefusedError):
            pass

    def keep(self, way, p, after, seconds):
        """Sends it when `after` later ones have passed."""
        self.later[way].append((self.count[way] + after, time.monotonic() + seconds, p))

    def release(self, way):
        """Those whose number or time has been reached."""
        now = time.monotonic()
        while self.later[way] and (self.later[way][0][0] <= self.count[way] or self.later[way][0][1] <= now):
            self.send(way, self.later[way].popleft()[2])

    def pass_on(self, way, p):
        """A datagram has arrived."""
        handshake = p[0] in (CHANGE_CIPHER_SPEC, HANDSHAKE)
        third, tenth, twentieth = (self.seen % n == 0 for n in (3, 10, 20))
        before = self.changed
        if MODE == 'flip-handshake' and handshake and third and self.changed < 20:
            self.changed += 1
            p = flip(p)
        elif MODE == 'flip-records' and not handshake and tenth:
            self.changed += 1
            p = flip(p)
        elif MODE == 'replay':
            self.changed += 1
            self.send(way, p)
            self.keep(way, p, 2000, 1e9)
        elif MODE == 'late' and self.seen % 50 == 0:
            self.changed += 1
            self.keep(way, p, 1000, 0.5)
            return
        elif MODE == 'last-flight' and way == 1 and p[0] == CHANGE_CIPHER_SPEC and before < 2:
            self.changed += 1
            return
        elif MODE == 'mix' and (third or twentieth):
            self.changed += 1
            if twentieth:
                return
            self.keep(way, p, 1, 0.05)
            if draw.randrange(2):
                return
        self.send(way, p)

    def read(self, way):
        """All that has arrived."""
        for _ in range(256):
            try:
                p = self.sock[way].recv(65536)
            except BlockingIOError:
                return
            except ConnectionRefusedError:
                continue
            self.seen += 1
            self.count[way] += 1
            self.pass_on(way, p)
            self.release(way)

    def move(self):
        """The translator has forgotten the port."""
        self.moves = False
        self.sock[1].close()
        self.sock[1] = bind(TO_B, 0)
        print('moved', flush=True)

    def run(self):
        """Until SIGTERM."""
        print('ready', flush=True)
        while not self.ends:
            if self.moves:
                self.move()
            ready = select.select(self.sock, [], [], 0.01)[0]
            for way in (0, 1):
                if self.sock[way] in ready:
                    self.read(way)
                self.release(way)
        print(f'seen {self.seen} changed {self.changed}', flush=True)


between = Between()
signal.signal(signal.SIGUSR1, lambda *_: setattr(between, 'moves', True))
signal.signal(signal.SIGTERM, lambda *_: setattr(between, 'ends', True))
between.run()
