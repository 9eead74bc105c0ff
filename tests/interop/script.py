# SPDX-License-Identifier: BSD-2-Clause
"""Scripts of packets, and a conversation with a stack that follows one.

A file has cases, one below the other:

  case a name, the same in expected.tsv: 9260-8.4-07
    established                            the peer, which is us, sets an association up
    send [DATA tsn=1][DATA tsn=2 sid=1]    a packet with these chunks
    send [ABORT T=1] with tag=peer         with another verification tag than the stack's
    expect [SACK cum=2]                    the next packet has these chunks, in this order; a SACK may be anywhere
    expect [ABORT] with tag=reflected      with another tag than ours: that of the packet sent last, zero
    expect nothing                         no packet waits
    expect nothing for 5 s                 and none comes
    within 5 s expect [DATA tsn=1]         it may take that long; without it half a second
    wait 2 s                               packets wait until they are expected
    drain                                  packets that wait are forgotten
    host connects                          what the stack's user does
    host delivers 2                        messages that its user has got so far
    host is up, host is down               what it has heard last

Lines that begin with # are comments; only=STACK,... behind the row limits a case. Heartbeats are answered and not shown, unless a
case says "heartbeats"; or they are neither, if it says "heartbeats are lost"."""
import re
import socket
import struct
import subprocess

import wire

PATIENCE = 120  # seconds in which a program answers: only a fault needs them
USUAL_MS = 500  # the longest that an acknowledgement may be delayed (6.2)
PORTS = 5555, 5043


class Failed(Exception):
    pass


class Case:
    def __init__(self, path, line, name, row, only):
        self.path, self.line, self.name, self.row, self.only, self.steps = path, line, name, row, only, []


def read(path):
    """The cases of a file."""
    cases = []
    with open(path, encoding='ascii') as f:
        for number, line in enumerate(f, 1):
            text = line.strip()
            if not text or text.startswith('#'):
                continue
            head = re.fullmatch(r'case (.+): (\d{4}-[\d.A-Z]+-\d\d)(?: only=([\w,]+))?', text)
            if head:
                cases.append(Case(path, number, *head.groups()))
            elif cases and line[0] == ' ':
                cases[-1].steps.append((number, text))
            else:
                raise SystemExit(f'{path}:{number}: not understood: {text}')
    return cases


def parse_chunks(text):
    """[NAME field=value ...]... as names and fields."""
    found = []
    for part in re.findall(r'\[([^\]]*)\]', text):
        words = part.split()
        names = [w for w in words if '=' not in w]
        found.append((' '.join(names), dict(w.split('=', 1) for w in words if '=' in w)))
    return found


# ---- a stack ----------------------------------------------------------------------------------


class Stack:
    """A program of host.h."""

    def __init__(self, program):
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE)
        with other:
            self.process = subprocess.Popen([program], stdin=other)
        self.packets, self.events = [], []

    def close(self):
        self.socket.close()
        self.process.wait(PATIENCE)

    def ask(self, message):
        """Sends a message of host.h; returns the time that has passed, in ms."""
        self.socket.send(message)
        while True:
            answer = self.socket.recv(1 << 17)
            if not answer:
                raise Failed('the program has ended')
            letter, rest = answer[:1], answer[1:]
            if letter == b'd':
                return int(rest)
            if letter == b'p':
                self.packets.append(rest)
            else:
                self.events.append(rest.decode())


# ---- a conversation ---------------------------------------------------------------------------


class Conversation:
    """Follows the steps of a case, and remembers what the packets say."""

    def __init__(self, stack):
        self.stack = stack
        self.own_tag, self.own_tsn = 0x5eed5eed, 0xfffffffe  # TSNs wrap soon
        self.peer_tag, self.old_tag, self.peer_tsn, self.old_tsn = 0xabcdef01, 0, 0, 0
        self.sent_tag, self.info, self.cookies = 0, b'', []
        self.heartbeats = self.lost = False  # they are shown; they are lost

    # -- sending --

    def tag(self, name):
        if name.startswith('0x'):
            return int(name, 16)
        return {'zero': 0, 'peer': self.own_tag, 'other': self.peer_tag + 1 & wire.MASK, 'old': self.old_tag,
                'reflected': self.sent_tag}[name]

    def send(self, text):
        chunks = parse_chunks(text)
        options = dict(w.split('=') for w in text.rpartition(']')[2].split() if '=' in w)
        for name, fields in chunks:
            if name == 'INIT' and fields.get('tag') == 'new':
                fields.pop('tag')
                self.own_tag, self.own_tsn = 0x77777777, 5000
        tag = self.tag(options['tag']) if 'tag' in options else 0 if chunks[0][0] == 'INIT' else self.peer_tag
        data = b''.join(wire.make(name, fields, self) for name, fields in chunks)
        self.sent_tag = tag
        self.stack.ask(b'p' + bytes([int(options.get('port', 1)) - 1]) +
                       wire.packet(*PORTS, tag, data, options.get('checksum') == 'wrong'))

    def answer(self, chunks):
        """True for a packet with heartbeats alone, which is answered at once or lost."""
        if self.heartbeats or any(name not in ('HEARTBEAT', 'PAD') for name, _ in chunks):
            return False
        if self.lost:
            return True
        self.info = chunks[0][1]['info']
        before = self.sent_tag
        self.send('[HEARTBEAT ACK]')
        self.sent_tag = before
        return True

    # -- receiving --

    def take(self, ms):
        """The next packet as its tag and its chunks; waits that long. None: there is none."""
        while True:
            while not self.stack.packets and ms > 0:
                ms -= self.stack.ask(b'w%d' % ms)
            if not self.stack.packets:
                return None
            data = self.stack.packets.pop(0)
            if wire.packet(*struct.unpack_from('!HHI', data), data[12:]) != data:
                raise Failed('saw a wrong checksum')
            self.learn(data)
            chunks = wire.chunks(data, self)
            if not self.answer(chunks):
                return struct.unpack_from('!I', data, 4)[0], chunks

    def learn(self, data):
        for name, f in wire.chunks(data, self):
            if name in ('INIT', 'INIT ACK') and f['tag']:
                self.old_tag, self.old_tsn = self.peer_tag, self.peer_tsn
                self.peer_tag, self.peer_tsn = f['tag'], f['tsn']
                self.cookies += f['cookies']
            if name == 'HEARTBEAT':
                self.info = f['info']

    def expect(self, text, ms):
        got = self.take(ms)
        if not got:
            raise Failed('saw nothing')
        tag, chunks = got
        wanted = parse_chunks(text)
        seen = describe(chunks, wanted)
        if 'SACK' not in [name for name, _ in wanted]:
            chunks = [c for c in chunks if c[0] != 'SACK']
        chunks, wanted = (sorted(c, key=lambda chunk: chunk[0] != 'SACK') for c in (chunks, wanted))
        if [name for name, _ in chunks] != [name for name, _ in wanted]:
            raise Failed(f'saw {seen}')
        for (_, f), (_, want) in zip(chunks, wanted):
            if any(str(f.get(key)) != value for key, value in want.items()):
                raise Failed(f'saw {seen}')
        options = dict(w.split('=') for w in text.rpartition(']')[2].split() if '=' in w)
        right = self.tag(options['tag']) if 'tag' in options else 0 if chunks[0][0] == 'INIT' else self.own_tag
        if tag != right:
            raise Failed(f'saw {seen} with another tag')

    def expect_nothing(self, ms):
        got = self.take(ms)
        if got:
            raise Failed(f'saw {describe(got[1], [])}')

    # -- steps --

    def establish(self):
        for step in ('send [INIT]', 'expect [INIT ACK]', 'send [COOKIE ECHO]', 'expect [COOKIE ACK]'):
            self.step(step)

    def host_establishes(self):
        for step in ('host connects', 'expect [INIT]', 'send [INIT ACK]', 'expect [COOKIE ECHO]', 'send [COOKIE ACK]'):
            self.step(step)

    def host(self, what):
        events = self.stack.events
        state = [e for e in events if e in ('up', 'down')]
        sends = re.fullmatch(r'sends (\d+) x (\d+)', what)
        if sends:
            self.stack.ask(b'csend %d %d' % tuple(map(int, sends.groups())))
        elif what in ('connects', 'shuts down', 'aborts'):
            self.stack.ask({'connects': b'cconnect', 'shuts down': b'cshutdown', 'aborts': b'cabort'}[what])
        elif what.startswith('delivers '):
            n = sum(e.startswith('data') for e in events)
            if n != int(what.split()[1]):
                raise Failed(f'saw {n} messages delivered')
        elif what in ('is up', 'is down'):
            if (state[-1:] or ['never up'])[0] != what.split()[1]:
                raise Failed(f'saw {(state[-1:] or ["never up"])[0]}')
        else:
            raise SystemExit(f'not understood: host {what}')

    def step(self, text):
        within = re.fullmatch(r'within ([\d.]+) s (expect .+)', text)
        ms = USUAL_MS
        if within:
            ms, text = int(float(within[1]) * 1000), within[2]
        word, _, rest = text.partition(' ')
        silence = re.fullmatch(r'expect nothing(?: for ([\d.]+) s)?', text)
        if text == 'established':
            self.establish()
        elif text == 'host establishes':
            self.host_establishes()
        elif text == 'heartbeats':
            self.heartbeats = True
        elif text == 'heartbeats are lost':
            self.lost = True
        elif text == 'drain':
            while self.take(0):
                pass
        elif silence:
            self.expect_nothing(int(float(silence[1] or 0) * 1000))
        elif word == 'send':
            self.send(rest)
        elif word == 'expect':
            self.expect(rest, ms)
        elif word == 'wait':
            self.wait(int(float(rest.split()[0]) * 1000))
        elif word == 'host':
            self.host(rest)
        else:
            raise SystemExit(f'not understood: {text}')

    def wait(self, ms):
        """Packets that come meanwhile wait; heartbeats are answered on time."""
        kept = []
        while ms > 0:
            ms -= self.stack.ask(b'w%d' % ms)
            while self.stack.packets:
                data = self.stack.packets.pop(0)
                if not self.answer(wire.chunks(data, self)):
                    kept.append(data)
        self.stack.packets = kept


def describe(chunks, wanted):
    """What a packet has, with the fields that were asked for."""
    keys = {key for _, want in wanted for key in want} | {'cause'}
    return ''.join('[' + ' '.join([name] + [f'{k}={f[k]}' for k in sorted(keys) if f.get(k) not in (None, '')]) + ']'
                   for name, f in chunks)


def run(case, program):
    """'ok', or what was seen instead."""
    stack = Stack(program)
    try:
        conversation = Conversation(stack)
        for number, text in case.steps:
            try:
                conversation.step(text)
            except Failed as e:
                return f'{e}, not line {number - case.line}'
            except SystemExit as e:
                raise SystemExit(f'{case.path}:{number}: {e}') from None
    finally:
        stack.close()
    return 'ok'
