#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks a capture of the packets between two daemons, as tshark dissects it: rows and counts to standard output.
Headers are Wireshark's view; DDP-SSNs, session control, lengths, Immediate Data and the copies in a Terminate are that of
etc/wireshark/ddp_sctp.lua.

Usage: capture.py DDP_SCTP.LUA CAPTURE TRANSPORT LOG ping
       capture.py DDP_SCTP.LUA CAPTURE TRANSPORT LOG whole POSTED
  ping     of ddping: no enhanced sessions, no errors
  whole    of tests/system/whole; POSTED has what its programs posted (posted.h)"""
import collections
import itertools
import sys

import pdml

INITIATE, ACCEPT, REJECT, TERMINATE, E_INITIATE, E_ACCEPT, E_REJECT = range(1, 8)
WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERM, IMM, IMM_SE, ATOMIC, ATOMIC_RSP = range(12)
DATA, INIT, INIT_ACK = range(3)
CREDIT = 0x44445063  # the payload protocol of credits, docs/choices.md
# The requests, in the order of enum ddp_wr_opcode.
(WR_SEND, WR_SEND_INV, WR_WRITE, WR_READ, WR_IMM, WR_ADD, WR_SWAP, WR_BIND, WR_LOCAL_INV, WR_MASKED_ADD,
 WR_MASKED_SWAP) = range(11)

TAGGED = {WRITE, READ_RESPONSE}
QUEUE = {READ_REQUEST: 1, SEND: 0, SEND_INV: 0, SEND_SE: 0, SEND_SE_INV: 0, TERM: 2, IMM: 0, IMM_SE: 0, ATOMIC: 1,
         ATOMIC_RSP: 3}
LENGTH = {READ_REQUEST: 28, IMM: 8, IMM_SE: 8, ATOMIC: 52, ATOMIC_RSP: 12}


def must(holds, *words):
    if not holds:
        sys.exit('FAILED: ' + ' '.join(map(str, words)))


def row(ids, words):
    print(f'row {ids}: {words}')


# ---- packets ----------------------------------------------------------------------------------


def check_checksums(packets, transport):
    """A device that computes checksums itself, as the loopback device does for the kernel, leaves 0 in what we see."""
    computed = [p for p in packets if transport != 'kernel' or p.checksum]
    for p in computed:
        must(p.checksum_status == 1, f'frame {p.frame}: wrong checksum', hex(p.checksum))
    if len(computed) == len(packets):
        row('5041-3-07', 'every packet has the right CRC32c')
    else:
        print(f'{len(computed)} of {len(packets)} packets have a checksum, the right one')


def check_packets(packets, transport):
    check_checksums(packets, transport)
    for p in packets:
        wrong = [text for severity, name, text in p.experts
                 if name.startswith('ddp_sctp.') or severity >= pdml.ERROR and name != 'sctp.checksum_bad.expert']
        must(not p.malformed and not wrong, f'frame {p.frame}: malformed', wrong)
    hosts = {tuple(host for host, _ in p.path) for p in packets}
    must(len(hosts) == 2, 'pairs of source and destination:', hosts)
    row('5043-7.2-04', 'one source and one destination each way, although both daemons have two addresses')
    for kind in INIT, INIT_ACK:
        seen = {(tuple(p.indications), p.adaptation) for p in packets if kind in p.types}
        must(seen == {((1,), 1)}, 'adaptation indications in chunks of type', kind, seen)
    row('5043-5.1-01 5043-11.1-01', 'the indication is 1 in INIT and in INIT ACK')
    must(not any(p.indications for p in packets if not {INIT, INIT_ACK} & set(p.types)), 'an indication elsewhere')
    row('5061-4.2.6-01', 'the indication is in no other chunk')


def without_credits(messages):
    """Takes credits out: each has the tag that the other end offered on this stream, in a session with both offers."""
    offers, rest = collections.defaultdict(set), []
    for m in messages:
        if 'ddp_sctp.offer.tag' in m:
            offers[m.path, m.sid].add(m['ddp_sctp.offer.tag'])
    for m in messages:
        if m['sctp.data_payload_proto_id'] != CREDIT:
            rest.append(m)
            continue
        must(m['ddp_sctp.credit.tag'] in offers[m.path[::-1], m.sid], m, 'a credit without an offer')
        must(offers[m.path, m.sid], m, 'a credit without an agreement')
    return rest


def check_chunks(messages):
    must({m['sctp.data_payload_proto_id'] for m in messages} == {16, 17}, 'other payload protocols')
    row('5043-5.1-02 5043-5.2-01', 'payload protocols 16 and 17, and no other without an agreement')
    for m in messages:
        must(m['sctp.data_u_bit'] and m['sctp.data_b_bit'] and m['sctp.data_e_bit'], m, 'is ordered or in pieces')
    row('5043-8-03 5043-9-04 5043-10-01', 'all DATA unordered and in one piece')
    for m in messages:
        control = m['sctp.data_payload_proto_id'] == 17
        must(m.layers == ['ddp_sctp'] if control else m.layers == ['ddp_sctp', 'iwarp_ddp_rdmap'], m, m.layers)
        must(control == ('ddp_sctp.function' in m), m, 'function')
    row('5043-4-01', 'one DDP header in each message, one message for each segment')


# ---- sessions ---------------------------------------------------------------------------------


class Session:
    def __init__(self):
        self.half = []  # the initiator, the responder

    @property
    def raw(self):
        return self.half[0][0].get('ddp_sctp.private') == b'raw'


def function(m):
    return m.get('ddp_sctp.function')


def split(stream):
    """Messages of one stream and direction, by session."""
    sessions = []
    for m in stream:
        ssn = m['ddp_sctp.ssn']
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
    requested, answered = (function(h[0]) for h in s.half)
    kinds = {INITIATE: (ACCEPT, REJECT, TERMINATE), E_INITIATE: (E_ACCEPT, E_REJECT, TERMINATE)}
    must(answered in kinds[requested], s.half[0][0], 'function', requested, 'answered by', answered)
    ends = 0
    for half in s.half:
        control = [function(m) for m in half if function(m)]
        if answered in (ACCEPT, E_ACCEPT):
            must(control[1:] in ([], [TERMINATE]), half[0], 'functions', control)
            must(len(control) == 1 or function(half[-1]) == TERMINATE, half[0], 'a message after Terminate')
            ends += len(control) == 2
        else:
            must(len(half) == 1, half[0], 'messages of a session that is refused')
    must(ends or answered not in (ACCEPT, E_ACCEPT), s.half[0][0], 'no Terminate')


# ---- RDMAP ------------------------------------------------------------------------------------


def opcode(m):
    return m['iwarp_rdma.opcode']


def payload(m):
    return m['ddp_sctp.payload_length']


def invalidated(m):
    """The Invalidate STag, or the field in its place."""
    return int.from_bytes(m['iwarp_ddp.rsvdulp'][1:], 'big')


def whole_messages(half, cut=False):
    """DDP messages, as lists of their segments. cut: the last one is left out if it is not whole, because the rest
    waited for a credit when the other side refused what came before."""
    found, last = [], True
    for m in half:
        if function(m):
            continue
        if last:
            found.append([])
        found[-1].append(m)
        last = m['iwarp_ddp.last_flag']
    must(last or cut, half[0], 'a message without its last segment')
    return found if last else found[:-1]


def check_offsets(segments, start):
    for m in segments:
        must(m['iwarp_ddp.tagged_offset' if m['iwarp_ddp.tagged_flag'] else 'iwarp_ddp.mo'] == start, m, 'offset')
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
        must(bool(invalidated(m)) == invalidates, m, 'Invalidate STag of opcode', op)
        must(m.get('iwarp_rdma.inval_stag', 0) == invalidated(m), m, 'the Invalidate STag that Wireshark sees')
    check_offsets(segments, 0)
    must(op not in LENGTH or size == LENGTH[op], first, 'opcode', op, 'with', size, 'octets')


def check_half(half, counts, cut=False):
    msns = collections.Counter()
    messages = whole_messages(half, cut)
    for segments in messages:
        check_message(segments, msns, counts)
    terms = [i for i, segments in enumerate(messages) if opcode(segments[0]) == TERM]
    must(terms in ([], [len(messages) - 1]), half[0], 'a message after an RDMAP Terminate')
    must(not terms or function(half[-1]) == TERMINATE, half[0], 'no Terminate after that of RDMAP')
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


# ---- RFC 6581 ---------------------------------------------------------------------------------


def words(m):
    return tuple(m['ddp_sctp.' + k] for k in ('p2p', 'rtr.send', 'rtr.write', 'rtr.read', 'ird', 'ord'))


def check_first(s):
    """The first message of the initiator is one of those that both named; the other side waits."""
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
    requested = {words(s.half[0][0])[4:] for s in accepted}
    must({(7, 5), (2, 1), (0, 0), (0x3fff, 0x3fff), (4, 0x3fff)} <= requested, 'depths', requested)
    (reject,) = (s.half[1][0] for s in enhanced if function(s.half[1][0]) == E_REJECT)
    must(words(reject)[4:] == (3, 2), 'depths of the Enhanced Reject', words(reject))
    must(reject['ddp_sctp.private_length'] == 508, 'length of its private data')


# ---- posted requests --------------------------------------------------------------------------


class Request:
    """A session that a program requested, and the requests of both sides."""

    def __init__(self, line):
        self.line, self.work, self.refusal = line, ([], []), None

    def number(self, name):
        return int(self.line[name])


def read_posted(path):
    """The sessions between two daemons, in the order of the requests."""
    requested = {}
    with open(path, encoding='ascii') as f:
        for text in f:
            kind, *pairs = text.split()
            line = dict(p.split('=') for p in pairs)
            if kind == 'session':
                requested[line['number']] = Request(line)
            elif kind == 'work':
                line = {k: int(v) for k, v in line.items()}
                requested[str(line['number'])].work[line['side']].append(line)
            else:
                requested[line['number']].refusal = int(line['side']), int(line['term'])
    return [a for a in requested.values() if a.line['from'] != a.line['to']]


def check_request(requested, m):
    must((m.get('ddp_sctp.private') or b'').hex() == requested.line['private'], m, 'private data')
    must((function(m) == E_INITIATE) == ('ird' in requested.line), m, 'function', function(m))
    if 'ird' in requested.line:
        want = tuple(requested.number(k) for k in ('p2p', 'send', 'write', 'read', 'ird', 'ord'))
        must(words(m) == want, m, 'asks for', words(m), 'instead of', want)


def atomic_of(w):
    """Operation, data, mask, compared data and mask, as RFC 7306 5.2.1 has them."""
    if w['opcode'] in (WR_ADD, WR_MASKED_ADD):
        return 0, w['compare_add'], w['add_mask'] if w['opcode'] == WR_MASKED_ADD else 0
    full, masked = 2**64 - 1, w['opcode'] == WR_MASKED_SWAP
    return (2, w['swap'], w['swap_mask'] if masked else full, w['compare_add'],
            w['compare_mask'] if masked else full)


def posted(w):
    """What a request of the program must look like, for seen()."""
    op = w['opcode']
    if op == WR_SEND:
        return SEND_SE if w['solicited'] else SEND, 0, w['length']
    if op == WR_SEND_INV:
        return SEND_SE_INV if w['solicited'] else SEND_INV, w['invalidate'], w['length']
    if op == WR_WRITE:
        return WRITE, w['stag'], w['to'], w['length']
    if op == WR_READ:
        return READ_REQUEST, w['sink_stag'], w['sink_to'], w['length'], w['stag'], w['to']
    if op == WR_IMM:
        return IMM_SE if w['solicited'] else IMM, w['immediate']
    return ATOMIC, w['stag'], w['to'], *atomic_of(w)


def seen(segments):
    """The fields of a message that are compared."""
    first = segments[0]
    op, size = opcode(first), sum(map(payload, segments))
    rdma = [first.get('iwarp_rdma.' + k) for k in ('sinkstag', 'sinkto', 'rdmardsz', 'srcstag', 'srcto')]
    atomic = {k: first.get('iwarp_rdma.atomic.' + k) for k in
              ('opcode', 'remote_stag', 'remote_tagged_offset', 'add_data', 'add_mask', 'swap_data', 'swap_mask',
               'compare_data', 'compare_mask')}
    if op == WRITE:
        return op, first['iwarp_ddp.stag'], first['iwarp_ddp.tagged_offset'], size
    if op == READ_REQUEST:
        return op, *rdma
    if op in (IMM, IMM_SE):
        return op, first['ddp_sctp.immediate']
    if op == ATOMIC:
        kind = ('add_data', 'add_mask') if atomic['opcode'] == 0 else ('swap_data', 'swap_mask', 'compare_data', 'compare_mask')
        return op, atomic['remote_stag'], atomic['remote_tagged_offset'], atomic['opcode'], *(atomic[k] for k in kind)
    return op, invalidated(first), size


def raw_posted(w):
    if w['opcode'] == WR_SEND:
        return w['qn'], w['rsvd'], w['length']
    return w['stag'], w['to'], w['rsvd'], w['length']


def raw_seen(segments):
    first, size = segments[0], sum(map(payload, segments))
    if not first['iwarp_ddp.tagged_flag']:
        return first['iwarp_ddp.qn'], int.from_bytes(first['iwarp_ddp.rsvdulp'], 'big'), size
    rsvd = first['iwarp_rdma.version'] << 6 | first['iwarp_rdma.rsv'] << 4 | opcode(first)
    return first['iwarp_ddp.stag'], first['iwarp_ddp.tagged_offset'], rsvd, size


def check_work(work, messages, see, expect, short):
    """Messages are the posted requests, in order; short: the last ones may have been flushed."""
    work = [w for w in work if w['opcode'] not in (WR_BIND, WR_LOCAL_INV)]
    for m, w in itertools.zip_longest(messages, work):
        must(w is not None, m and m[0], 'was not posted')
        must(m is not None or short, 'posted, but not sent:', w)
        if m is None:
            return
        must(see(m) == expect(w), m[0], 'is', see(m), 'and was posted as', expect(w))


def own_work(half, messages):
    """Without answers, Terminates, and the first message of a session from peer to peer."""
    own = [m for m in messages if opcode(m[0]) not in (READ_RESPONSE, ATOMIC_RSP, TERM)]
    return own[1:] if half[0].get('ddp_sctp.p2p') and function(half[0]) == E_INITIATE else own


def header(m):
    """The DDP header of a segment, put together again."""
    rdmap = m['iwarp_rdma.version'] << 6 | m['iwarp_rdma.rsv'] << 4 | opcode(m)
    flags = m['iwarp_ddp.tagged_flag'] << 7 | m['iwarp_ddp.last_flag'] << 6 | m['iwarp_ddp.rsvd'] << 2 | m['iwarp_ddp.dv']
    if m['iwarp_ddp.tagged_flag']:
        return (bytes((flags, rdmap)) + m['iwarp_ddp.stag'].to_bytes(4, 'big') +
                m['iwarp_ddp.tagged_offset'].to_bytes(8, 'big'))
    return bytes((flags,)) + m['iwarp_ddp.rsvdulp'] + b''.join(m['iwarp_ddp.' + k].to_bytes(4, 'big') for k in
                                                              ('qn', 'msn', 'mo'))


def read_request(m):
    sizes = {'sinkstag': 4, 'sinkto': 8, 'rdmardsz': 4, 'srcstag': 4, 'srcto': 8}
    return b''.join(m['iwarp_rdma.' + k].to_bytes(n, 'big') for k, n in sizes.items())


def check_refusal(requested, session, halves):
    """The RDMAP Terminate: from the side that refuses, with its code, and with the header of a segment that came."""
    terms = [(side, m[0]) for side, half in enumerate(halves) for m in half if opcode(m[0]) == TERM]
    codes = [(side, t['ddp_sctp.term']) for side, t in terms]
    must(codes == ([requested.refusal] if requested.refusal else []), session.half[0][0], 'sides and codes of Terminates:', codes,
         'expected:', requested.refusal)
    for side, t in terms:
        must('ddp_sctp.term.ddp_header' in t, t, 'names no segment')
        blamed = [m for m in session.half[not side] if not function(m) and m['ddp_sctp.length'] ==
                  t['ddp_sctp.term.segment_length'] and header(m) == t['ddp_sctp.term.ddp_header']]
        must(blamed, t, 'has the header of no segment that came')
        copy = t.get('ddp_sctp.term.read_request')
        must(copy is None or copy == read_request(blamed[0]), t, 'has another Read Request than came')
    return len(terms)


# ---- all of it --------------------------------------------------------------------------------


def check_rdmap(requested, session, counts):
    refuses = requested.refusal[0] if requested.refusal else None
    halves = [check_half(h, counts, refuses == 1 - side) for side, h in enumerate(session.half)]
    check_answers(*halves)
    check_answers(*halves[::-1])
    refused = check_refusal(requested, session, halves)
    for work, half, messages in zip(requested.work, session.half, halves):
        check_work(work, own_work(half, messages), seen, posted, bool(refused))
    return refused


def check_raw(requested, session):
    """Messages of raw queue pairs: their headers are DDP's, and RsvdULP is the program's."""
    for work, half in zip(requested.work, session.half):
        messages = whole_messages(half)
        for segments in messages:
            for m in segments:
                must(m['iwarp_ddp.dv'] == 1, m, 'DDP version')
                must(raw_seen([m])[-2] == raw_seen(segments)[-2], m, 'RsvdULP changes')
            check_offsets(segments, segments[0]['iwarp_ddp.tagged_offset'] if segments[0]['iwarp_ddp.tagged_flag'] else 0)
        check_work(work, messages, raw_seen, raw_posted, True)


def judge_whole(messages, posted_file):
    sessions, counts, functions = sessions_of(messages), collections.Counter(), collections.Counter()
    for m in messages:
        functions[function(m)] += 1
    for s in sessions:
        check_pattern(s)
    row('5043-6-02 5043-6.1-01 5043-6.1-03', 'DDP-SSNs from 0 on without gaps, each session in one of the patterns')
    requested, refused = read_posted(posted_file), 0
    sessions.sort(key=lambda s: s.half[0][0].frame)
    must(len(requested) == len(sessions), len(sessions), 'sessions, requested:', len(requested))
    must(sum(s.raw for s in sessions) == 3, 'raw sessions')
    for a, s in zip(requested, sessions):
        check_request(a, s.half[0][0])
        must(a.number('raw') == s.raw, s.half[0][0], 'raw or not')
        if s.raw:
            check_raw(a, s)
        else:
            refused += check_rdmap(a, s, counts)
    row('5041-4.2-02 5041-4.2-04', 'RsvdULP of raw messages is that of the program in all segments')
    must(set(counts) == set(range(12)), 'opcodes', counts)
    row('5040-4.1-01 5040-4.1-02 5040-4.1-03 5040-4.1-04 5040-4.1-05',
        'every opcode with its T, QN, MSN, offsets and Invalidate STag')
    row('7306-4.1-01 7306-4.1-02 7306-4.1-03 7306-4.2-01 7306-6.3-04', 'the four messages of RFC 7306 likewise, and no octet more')
    row('5043-6.2-05', 'after an RDMAP Terminate only that of the session')
    must({INITIATE, ACCEPT, TERMINATE, E_INITIATE, E_ACCEPT, E_REJECT} <= set(functions), 'functions', functions)
    check_enhanced(sessions)
    row('6581-7-01 6581-9-01 6581-9-02 6581-9.2-01 6581-9.2-04 6581-9.2-09 6581-9.2-11 6581-5-01',
        'functions 5 to 7 with their parameters, and the first message that they agree on')
    print(f'{len(messages)} messages as posted, {len(sessions)} sessions, {refused} RDMAP Terminates; opcodes',
          *(f'{o:x}:{n}' for o, n in sorted(counts.items())))


def judge_ping(packets, messages):
    must(len(packets) >= 60, 'only', len(packets), 'packets')
    must(not any(function(m) == TERMINATE and m['ddp_sctp.private_length'] for m in messages), 'a Terminate with private data')
    row('5043-5.2.3-05', 'no Terminate with private data')
    must({function(m) for m in messages} == {None, INITIATE, ACCEPT, TERMINATE}, 'functions')
    row('6581-10-03', 'no enhanced message without a request for one')
    control = [(function(m), m['ddp_sctp.ssn']) for m in messages if function(m)]
    must(control[:2] == [(INITIATE, 0), (ACCEPT, 0)], 'the first control messages and their DDP-SSNs are', control[:2])
    row('5043-6.2-01', 'an Initiate, answered by an Accept')
    counts = collections.Counter()
    for s in sessions_of(messages):
        check_pattern(s)
        halves = [check_half(h, counts) for h in s.half]
        check_answers(*halves)
        check_answers(*halves[::-1])
    must({WRITE, READ_REQUEST, READ_RESPONSE, SEND} <= set(counts), 'opcodes', counts)
    print(f'{len(messages)} messages; opcodes', *(f'{o:x}:{n}' for o, n in sorted(counts.items())))


def main():
    lua, capture, transport, log, kind, *posted_file = sys.argv[1:]
    packets, taken = list(pdml.read_packets(lua, capture, log)), set()
    check_packets(packets, transport)
    messages = [m for p in packets for m in p.new_messages(taken)]
    total, messages = len(messages), without_credits(messages)
    must((total > len(messages)) == (kind == 'whole'), total - len(messages), 'credits')
    check_chunks(messages)
    if kind == 'ping':
        judge_ping(packets, messages)
    else:
        judge_whole(messages, *posted_file)
    print(f'{len(packets)} packets of {kind}, no malformed one')


main()
