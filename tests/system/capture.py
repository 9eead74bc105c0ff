#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Judges what tests/system/whole sends, as tshark dissects it: PDML on standard input, rows and counts to
standard output. Headers are Wireshark's view; DDP-SSNs, control messages, lengths and what Wireshark has no
field for (the 8 octets of Immediate Data, messages of raw queue pairs) are that of ddp_sctp.lua."""
import collections
import sys
import xml.etree.ElementTree as ET

INITIATE, ACCEPT, REJECT, TERMINATE, E_INITIATE, E_ACCEPT, E_REJECT = range(1, 8)
WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERM, IMM, IMM_SE, ATOMIC, ATOMIC_RSP = range(12)

TAGGED = {WRITE, READ_RESPONSE}
QUEUE = {READ_REQUEST: 1, SEND: 0, SEND_INV: 0, SEND_SE: 0, SEND_SE_INV: 0, TERM: 2, IMM: 0, IMM_SE: 0, ATOMIC: 1,
         ATOMIC_RSP: 3}
LENGTH = {READ_REQUEST: 28, IMM: 8, IMM_SE: 8, ATOMIC: 52, ATOMIC_RSP: 12}


def must(holds, *words):
    if not holds:
        sys.exit('FAILED: ' + ' '.join(map(str, words)))


class Message:
    """One DATA chunk, and what is in it: numbers by the name of their field."""

    def __init__(self, frame, path, chunk):
        self.frame, self.path = frame, path
        self.fields = number_fields(chunk)
        self.tsn, self.sid = self['sctp.data_tsn_raw'], self['sctp.data_sid']

    def add(self, proto):
        self.fields.update(number_fields(proto))
        for f in proto.iter('field'):
            if f.get('name') in ('ddp_sctp.octets', 'ddp_session.private'):
                self.fields[f.get('name')] = bytes.fromhex(f.get('value'))
            elif f.get('name') == 'ddp_sctp.len':
                self.fields['ddp_sctp.len'] = int(f.get('size'))

    def __getitem__(self, name):
        must(name in self.fields, f'frame {self.frame}: no {name}')
        return self.fields[name]

    def has(self, name):
        return name in self.fields

    def __str__(self):
        return f'frame {self.frame}, stream {self.sid}'


def number_fields(element):
    return {f.get('name'): int(f.get('value'), 16) for f in element.iter('field')
            if f.get('value') and len(f.get('value')) <= 16 and f.get('name')}


def chunks_of(sctp):
    for c in sctp:
        if any(f.get('name') == 'sctp.data_tsn_raw' for f in c):
            yield c


def read_packet(packet, seen):
    frame = path = None
    chunks, contents = [], []
    for proto in packet:
        name = proto.get('name')
        if name == 'geninfo':
            frame = int(proto.find("field[@name='num']").get('show'))
        elif name == 'ip':
            hosts = [proto.find(f"field[@name='ip.{e}']").get('show') for e in ('src', 'dst')]
        elif name == 'sctp':
            ports = [int(proto.find(f"field[@name='sctp.{e}port']").get('show')) for e in ('src', 'dst')]
            path = tuple(zip(hosts, ports))
            chunks += [Message(frame, path, c) for c in chunks_of(proto)]
        elif name in ('ddp_sctp', 'ddp_session'):
            contents.append([proto])
        elif name == 'iwarp_ddp_rdmap':
            contents[-1].append(proto)
    new = [c for c in chunks if (c.path, c.tsn) not in seen]
    # What is sent again may or may not be dissected again.
    for chunk, protos in zip(chunks if len(contents) == len(chunks) else new, contents, strict=True):
        for p in protos:
            chunk.add(p)
    seen.update((c.path, c.tsn) for c in new)
    return new


def read_messages(file):
    seen, messages = set(), []
    for _, element in ET.iterparse(file):
        if element.tag == 'packet':
            messages += read_packet(element, seen)
            element.clear()
    return messages


# ---- sessions ---------------------------------------------------------------------------------


class Session:
    def __init__(self):
        self.half = []  # the one that asked, the one that answered

    @property
    def raw(self):
        return self.half[0][0].fields.get('ddp_session.private') == b'raw'


def function(m):
    return m.fields.get('ddp_session.function')


def split(stream):
    """Messages of one stream and direction, by session."""
    sessions = []
    for m in stream:
        ssn = m['ddp_session.ssn'] if m.has('ddp_session.ssn') else m['ddp_sctp.ssn']
        if ssn == 0 and function(m):
            sessions.append([])
        must(sessions and ssn == len(sessions[-1]), m, 'DDP-SSN', ssn)
        sessions[-1].append(m)
    return sessions


def sessions_of(messages):
    streams = collections.defaultdict(list)
    for m in messages:
        streams[m.path, m.sid].append(m)
    for s in streams.values():
        first = s[0].tsn
        s.sort(key=lambda m: (m.tsn - first + 2**31) % 2**32)
    halves = {k: split(s) for k, s in streams.items()}
    found = []
    for (path, sid), mine in halves.items():
        theirs = halves.get((path[::-1], sid), [])
        must(len(mine) == len(theirs), path, 'stream', sid, 'has', len(mine), 'and', len(theirs), 'sessions')
        for one, other in zip(mine, theirs):
            if function(one[0]) in (INITIATE, E_INITIATE):
                found.append(Session())
                found[-1].half = [one, other]
    return found


def check_pattern(s):
    """RFC 5043 6.2 and 6.3, RFC 6581 7."""
    asked, answered = (function(h[0]) for h in s.half)
    kinds = {INITIATE: (ACCEPT, REJECT, TERMINATE), E_INITIATE: (E_ACCEPT, E_REJECT, TERMINATE)}
    must(answered in kinds[asked], s.half[0][0], 'function', asked, 'answered by', answered)
    ends = 0
    for half in s.half:
        control = [function(m) for m in half if function(m)]
        if answered in (ACCEPT, E_ACCEPT):
            must(control[1:] in ([], [TERMINATE]), half[0], 'functions', control)
            must(len(control) == 1 or function(half[-1]) == TERMINATE, half[0], 'a message behind Terminate')
            ends += len(control) == 2
        else:
            must(len(half) == 1, half[0], 'messages of a session that is refused')
    must(ends or answered not in (ACCEPT, E_ACCEPT), s.half[0][0], 'no Terminate')


# ---- RDMAP ------------------------------------------------------------------------------------


def opcode(m):
    return m['iwarp_rdma.opcode']


def payload(m):
    return m['ddp_sctp.len'] - (14 if m['iwarp_ddp.tagged_flag'] else 18)


def whole_messages(half):
    """DDP messages, as lists of their segments."""
    found, last = [], True
    for m in half:
        if function(m):
            continue
        if last:
            found.append([])
        found[-1].append(m)
        last = m['iwarp_ddp.last_flag']
    must(last, half[0], 'a message without its last segment')
    return found


def check_offsets(segments, start):
    for m in segments:
        must(m['iwarp_ddp.tagged_offset' if 'iwarp_ddp.tagged_offset' in m.fields else 'iwarp_ddp.mo'] == start, m,
             'offset')
        start += payload(m)


def check_message(segments, msns, counts):
    first = segments[0]
    op = opcode(first)
    counts[op] += 1
    size = sum(map(payload, segments))
    for m in segments:
        must(opcode(m) == op and m['iwarp_rdma.version'] == 1 and m['iwarp_ddp.dv'] == 1, m, 'opcode or versions')
        must(m['iwarp_ddp.rsvd'] == 0 and m['iwarp_rdma.rsv'] == 0, m, 'reserved bits')
        must(bool(m['iwarp_ddp.tagged_flag']) == (op in TAGGED), m, 'T of opcode', op)
        must(payload(m) > 0 or len(segments) == 1, m, 'an empty segment')
    if op in TAGGED:
        must(len({m['iwarp_ddp.stag'] for m in segments}) == 1, first, 'STag changes')
        check_offsets(segments, first['iwarp_ddp.tagged_offset'])
        return
    msns[QUEUE[op]] += 1
    invalidates = op in (SEND_INV, SEND_SE_INV)
    for m in segments:
        must(m['iwarp_ddp.qn'] == QUEUE[op], m, 'QN of opcode', op)
        must(m['iwarp_ddp.msn'] == msns[QUEUE[op]], m, 'MSN', m['iwarp_ddp.msn'], 'for', msns[QUEUE[op]])
        stag = int.from_bytes(m['ddp_sctp.octets'][2:6], 'big')
        must(bool(stag) == invalidates, m, 'Invalidate STag of opcode', op)
        must(m.fields.get('iwarp_rdma.inval_stag', 0) == stag, m, 'the Invalidate STag that Wireshark sees')
    check_offsets(segments, 0)
    must(op not in LENGTH or size == LENGTH[op], first, 'opcode', op, 'with', size, 'octets')


def check_half(half, counts):
    msns = collections.Counter()
    messages = whole_messages(half)
    for segments in messages:
        check_message(segments, msns, counts)
    terms = [i for i, segments in enumerate(messages) if opcode(segments[0]) == TERM]
    must(terms in ([], [len(messages) - 1]), half[0], 'a message behind an RDMAP Terminate')
    must(not terms or function(half[-1]) == TERMINATE, half[0], 'no Terminate behind that of RDMAP')
    return messages


def check_answers(asks, answers):
    """Responses are those to the requests, in their order; the last may be missing if the session failed."""
    requests = [m[0] for m in asks if opcode(m[0]) in (READ_REQUEST, ATOMIC)]
    responses = [m for m in answers if opcode(m[0]) in (READ_RESPONSE, ATOMIC_RSP)]
    must(len(responses) <= len(requests), 'more responses than requests')
    for q, r in zip(requests, responses):
        if opcode(q) == ATOMIC:
            must(opcode(r[0]) == ATOMIC_RSP and q['iwarp_rdma.atomic.request_identifier'] ==
                 r[0]['iwarp_rdma.atomic.original_request_identifier'], r[0], 'Atomic Response')
            continue
        got = r[0]['iwarp_ddp.stag'], r[0]['iwarp_ddp.tagged_offset'], sum(map(payload, r))
        want = q['iwarp_rdma.sinkstag'], q['iwarp_rdma.sinkto'], q['iwarp_rdma.rdmardsz']
        must(opcode(r[0]) == READ_RESPONSE and got == want, r[0], 'Read Response', got, 'for', want)
    failed = any(opcode(m[0]) == TERM for m in answers)
    must(failed or len(responses) == len(requests), 'requests without a response')


def check_immediate(segments):
    m = segments[0]
    if opcode(m) in (IMM, IMM_SE):
        number = int.from_bytes(m['ddp_sctp.octets'][18:], 'big')
        must(number in (0, 0x0123456789abcdef), m, 'Immediate Data', hex(number))


# ---- RFC 6581 ---------------------------------------------------------------------------------


def words(m):
    return tuple(m['ddp_session.' + k] for k in ('a', 'b', 'c', 'd', 'ird', 'ord'))


def check_first(s):
    """The first message of the side that asked is one of those that both named; the other side waits."""
    ask, answer = words(s.half[0][0]), words(s.half[1][0])
    must(ask[0] == answer[0], s.half[1][0], 'A differs')
    if not ask[0]:
        must(not any(ask[1:4] + answer[1:4]), s.half[0][0], 'B, C or D without A')
        return None
    must(len(s.half[0]) > 1, s.half[0][0], 'no ready-to-receive message')
    first = s.half[0][1]
    kind = {SEND: 0, WRITE: 1, READ_REQUEST: 2}[opcode(first)]
    must(ask[1 + kind] and answer[1 + kind], first, 'is not one that both named')
    empty = first['iwarp_rdma.rdmardsz'] == 0 if kind == 2 else payload(first) == 0
    must(empty, first, 'is not empty')
    data = [m for m in s.half[1] if not function(m)]
    must(not data or data[0].frame > first.frame, data[0] if data else '', 'is sent before', first)
    return kind


def check_enhanced(sessions):
    enhanced = [s for s in sessions if function(s.half[0][0]) == E_INITIATE]
    accepted = [s for s in enhanced if function(s.half[1][0]) == E_ACCEPT]
    first = {check_first(s) for s in accepted}
    must(first == {None, 0, 1, 2}, 'first messages', first)
    for s in accepted:
        ask, answer = words(s.half[0][0]), words(s.half[1][0])
        must((ask[5] == 0x3fff) == (answer[4] == 0x3fff), s.half[1][0], 'IRD in answer to "unchanged"')
        must(ask[4] == 0x3fff if answer[5] == 0x3fff else answer[5] <= ask[4], s.half[1][0], 'ORD of the answer')
    asked = {words(s.half[0][0])[4:] for s in accepted}
    must({(7, 5), (2, 1), (0, 0), (0x3fff, 0x3fff), (4, 0x3fff)} <= asked, 'depths', asked)
    (reject,) = (s.half[1][0] for s in enhanced if function(s.half[1][0]) == E_REJECT)
    must(words(reject)[4:] == (3, 2), 'depths of the Enhanced Reject', words(reject))
    must(len(reject['ddp_session.private']) == 512, 'length of its private data')


# ---- all of it --------------------------------------------------------------------------------


def row(ids, words):
    print(f'row {ids}: {words}')


def check_raw(sessions):
    """Messages of raw queue pairs: their headers are DDP's, and RsvdULP is the program's."""
    octets = [m['ddp_sctp.octets'] for s in sessions for h in s.half for m in h if not function(m)]
    must({o[0] & 3 for o in octets} == {1}, 'DDP versions of raw sessions')
    untagged = {(o[1:6].hex(), int.from_bytes(o[6:10], 'big')) for o in octets if not o[0] & 0x80}
    must({(f'{0x89abcdef01 + q:010x}', q) for q in range(3)} <= untagged, 'RsvdULP and queues', untagged)
    must({o[1] for o in octets if o[0] & 0x80} == {0x7f, 0x95}, 'RsvdULP of tagged messages')


def main():
    messages = read_messages(sys.stdin.buffer)
    sessions, counts, functions = sessions_of(messages), collections.Counter(), collections.Counter()
    for m in messages:
        functions[function(m)] += 1
    for s in sessions:
        check_pattern(s)
    row('5043-6-02 5043-6.1-01 5043-6.1-03', 'DDP-SSNs from 0 on without gaps, each session in one of the patterns')
    raw = [s for s in sessions if s.raw]
    must(len(raw) == 3, len(raw), 'raw sessions')
    check_raw(raw)
    row('5041-4.2-02 5041-4.2-04', 'RsvdULP of raw messages is that of the program in all segments')
    for s in sessions:
        if s.raw:
            continue
        halves = [check_half(h, counts) for h in s.half]
        check_answers(*halves)
        check_answers(*halves[::-1])
        for segments in halves[0] + halves[1]:
            check_immediate(segments)
    must(set(counts) == set(range(12)), 'opcodes', counts)
    row('5040-4.1-01 5040-4.1-02 5040-4.1-03 5040-4.1-04 5040-4.1-05',
        'every opcode with its T, QN, MSN, offsets and Invalidate STag')
    row('7306-4.1-01 7306-4.1-02 7306-4.1-03 7306-4.2-01 7306-6.3-04', 'the four messages of RFC 7306 likewise, and no octet more')
    row('5043-6.2-05', 'behind an RDMAP Terminate nothing but that of the session')
    must({INITIATE, ACCEPT, TERMINATE, E_INITIATE, E_ACCEPT, E_REJECT} <= set(functions), 'functions', functions)
    check_enhanced(sessions)
    row('6581-7-01 6581-9-01 6581-9-02 6581-9.2-01 6581-9.2-04 6581-9.2-09 6581-9.2-11 6581-5-01',
        'functions 5 to 7 with their words, and the first message that they agree on')
    print(f'{len(messages)} messages, {len(sessions)} sessions; opcodes', *(f'{o:x}:{n}' for o, n in sorted(counts.items())))


main()
