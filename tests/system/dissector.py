#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Gives generated packets to etc/wireshark/ddp_sctp.lua and compares the results.
Usage: dissector.py DDP_SCTP.LUA VECTORS.JSON FOLDER-FOR-FILES"""
import json
import os
import random
import struct
import subprocess
import sys

import pdml

LUA, VECTORS, FOLDER = sys.argv[1:]
UDP, PLAIN, OTHER_PORT = 9899, None, 4711  # what a packet travels in: SCTP over UDP to this port, or SCTP in IP
SEGMENT, CONTROL, CREDIT = 16, 17, 0x44445063
OFFER = '8b4444506372640{}' + '00000007' + '00100000' + '00000009'
failures = []


def check(what, came, expected):
    if came != expected:
        failures.append(f'{what}: {expected} was expected, {came} came')


# ---- packets ----------------------------------------------------------------------------------


def crc32c_table():
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82f63b78 if n & 1 else 0)
        yield n


CRC32C = list(crc32c_table())


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ CRC32C[(crc ^ byte) & 0xff]
    return struct.pack('<I', crc ^ 0xffffffff)


def padded(data):
    return data + bytes(-len(data) % 4)


def data_chunk(tsn, ppid, message, flags=7, sid=3):
    return padded(struct.pack('>BBHIHHI', 0, flags, 16 + len(message), tsn, sid, 0, ppid) + message)


def init_chunk(kind, indication=None):
    body = struct.pack('>IIHHI', 0x1234, 65536, 8, 8, 1000)
    if indication is not None:
        body += struct.pack('>HHI', 0xc006, 8, indication)
    return struct.pack('>BBH', kind, 0, 4 + len(body)) + body


def sctp(chunks, ports=(5043, 40000), checksum=True):
    head, body = struct.pack('>HHI', *ports, 0x1234), b''.join(chunks)
    return head + (crc32c(head + bytes(4) + body) if checksum else bytes(4)) + body


def ip(protocol, body, hosts=(1, 2)):
    return struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(body), 0, 0, 64, protocol, 0,
                       *(bytes((192, 0, 2, h)) for h in hosts)) + body


def packet(chunks, within=UDP, **how):
    body = sctp(chunks, **how)
    if within is PLAIN:
        return ip(132, body)
    return ip(17, struct.pack('>HHHH', within, within, 8 + len(body), 0) + body)


def write_capture(name, packets):
    path = os.path.join(FOLDER, name)
    with open(path, 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 228))  # raw IPv4
        for i, p in enumerate(packets):
            f.write(struct.pack('<IIII', i, 0, len(p), len(p)) + p)
    return path


def dissect(name, packets, *options):
    path = write_capture(name, packets)
    found = list(pdml.read_packets(LUA, path, os.path.join(FOLDER, 'dissect.log'), *options))
    check(f'{name}: packets with SCTP', len(found), len(packets))
    return found


def columns(name, *options):
    """The Info column of each packet."""
    done = subprocess.run(pdml.command(LUA, os.path.join(FOLDER, name), '-T', 'fields', '-e', '_ws.col.Info', *options),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return done.stdout.splitlines()


# ---- one message each -------------------------------------------------------------------------


def names(**fields):
    """a=1, term_length=2: ddp_sctp.a, ddp_sctp.term.length"""
    return {'ddp_sctp.' + k.replace('__', '.'): v for k, v in fields.items()}


def control(ssn, function, private=b'', words=None):
    p2p, send, write, read, ird, ord_ = words or (None,) * 6
    return names(ssn=ssn, function=function, private=private or None, private_length=len(private), p2p=p2p,
                 rtr__send=send, rtr__write=write, rtr__read=read, ird=ird, ord=ord_)


def segment(ssn, length, body, **more):
    return {**names(ssn=ssn, length=length, payload_length=body, **more),
            'iwarp_ddp.last_flag': 1, **({'iwarp_ddp.dv': 1})}


def tagged(ssn, length, op, stag, to, last=1):
    return {**segment(ssn, length, length - 14), 'iwarp_ddp.tagged_flag': 1, 'iwarp_ddp.stag': stag,
            'iwarp_ddp.tagged_offset': to, 'iwarp_rdma.opcode': op, 'iwarp_ddp.last_flag': last}


def untagged(ssn, length, op, qn, msn, inv=None, **more):
    return {**segment(ssn, length, length - 18, **more), 'iwarp_ddp.tagged_flag': 0, 'iwarp_ddp.qn': qn,
            'iwarp_ddp.msn': msn, 'iwarp_ddp.mo': 0, 'iwarp_rdma.opcode': op, 'iwarp_rdma.inval_stag': inv}


def terminate(ssn, length, term, segment_length=None, header=None, read=None):
    return untagged(ssn, length, 7, 2, 1, term=term, term__segment_length=segment_length,
                    term__ddp_header=header and bytes.fromhex(header), term__read_request=read and bytes.fromhex(read))


# What the field must have of each golden vector; None: it is not there.
EXPECTED = {
    'V02': control(0, 1, bytes.fromhex('deadbeef')),
    'V03': control(0, 2),
    'V04': control(0, 3, b'no'),
    'V05': control(5, 4),
    'V06': control(0, 4),
    'V07': tagged(1, 30, 0, 0x12345678, 0x4000, last=0),
    'V08': tagged(2, 18, 0, 0x12345678, 0x4010),
    'V09': tagged(3, 14, 0, 0, 0),
    'V10': untagged(1, 23, 3, 0, 1),
    'V11': untagged(2, 22, 4, 0, 2, inv=0xbadcafe),
    'V12': untagged(3, 18, 5, 0, 3),
    'V13': untagged(4, 19, 6, 0, 4, inv=0xbadcafe),
    'V14': {**untagged(5, 46, 1, 1, 1), 'iwarp_rdma.sinkstag': 0xc0ffee, 'iwarp_rdma.sinkto': 0x100,
            'iwarp_rdma.rdmardsz': 6, 'iwarp_rdma.srcstag': 0x12345678, 'iwarp_rdma.srcto': 0x4000},
    'V15': tagged(1, 20, 2, 0xc0ffee, 0x100),
    'V16': {**untagged(6, 46, 1, 1, 2), 'iwarp_rdma.rdmardsz': 0, 'iwarp_rdma.srcstag': 0xffffffff},
    'V17': tagged(2, 14, 2, 0, 0),
    'V18': tagged(7, 22, 0, 0x12345678, 0x5000),
    'V19': terminate(3, 38, 0x1101, 22, 'c140123456780000000000005000'),
    'V20': {**untagged(8, 46, 1, 1, 3), 'iwarp_rdma.rdmardsz': 0x2000, 'iwarp_rdma.srcto': 0x4800},
    # Wireshark 4.0 cuts this header short, and shows the Read Request four octets too early.
    'V21': terminate(3, 70, 0x0101, 46, '414100000000000000010000000300000000',
                     '00c0ffee000000000000010000002000123456780000000000004800'),
    'V22': terminate(3, 22, 0x0000),
    'V23': terminate(1, 22, 0x2006),
    'V24': control(0, 5, b'hi', (1, 1, 0, 1, 16, 8)),
    'V25': control(0, 6, b'', (1, 0, 0, 1, 8, 16)),
    'V26': control(0, 5, b'', (0, 0, 0, 0, 0x3fff, 0x3fff)),
    'V27': untagged(3, 26, 8, 0, 3, immediate=0x1122334455667788),
    'V28': untagged(4, 26, 9, 0, 4, immediate=0x1122334455667788),
    'V29': {**untagged(9, 70, 10, 1, 3), 'iwarp_rdma.atomic.request_identifier': 7,
            'iwarp_rdma.atomic.remote_tagged_offset': 0x4008},
    'V30': {**untagged(3, 30, 11, 3, 1), 'iwarp_rdma.atomic.original_request_identifier': 7},
    'V31': {**untagged(10, 70, 10, 1, 4), 'iwarp_rdma.atomic.request_identifier': 8},
    'V32': untagged(65535, 19, 3, 0, 65535),
}

HEAD = '4143' + '00' * 16  # an untagged header, a Send
# Malformed messages: the name of our expert information, and the fields that are still shown.
WRONG = [
    ('an empty segment', SEGMENT, '', 'no_ssn', {}),
    ('one octet', SEGMENT, '00', 'no_ssn', {}),
    ('a DDP-SSN alone', SEGMENT, '0007', 'short_header', names(ssn=7, length=0)),
    ('17 octets of an untagged header', SEGMENT, '0007' + HEAD[:34], 'short_header', names(ssn=7, length=17)),
    ('13 octets of a tagged header', SEGMENT, '0007c140' + '00' * 11, 'short_header', names(ssn=7, length=13)),
    ('a Read Request of 27 octets', SEGMENT, '0001' + '4141' + '00' * 43, 'body_length', names(payload_length=27)),
    ('Immediate Data of 9 octets', SEGMENT, '0001' + '4148' + '00' * 25, 'body_length', names(immediate=None)),
    ('an Atomic Response of 32 octets', SEGMENT, '0001' + '414b' + '00' * 48, 'body_length', {}),
    ('a Terminate of 2 octets', SEGMENT, '0001' + '4147' + '00' * 16 + '1101', 'short_terminate', names(term=None)),
    ('a Terminate without the header that it announces', SEGMENT, '0001' + '4147' + '00' * 16 + '1101c0000016c140',
     'short_terminate', names(term=0x1101, term__segment_length=22, term__ddp_header=None)),
    ('an empty control message', CONTROL, '', 'no_ssn', {}),
    ('half a DDP-SSN', CONTROL, '00', 'no_ssn', {}),
    ('no function', CONTROL, '0000', 'no_function', names(ssn=0, function=None)),
    ('half a function', CONTROL, '000000', 'no_function', names(ssn=0, function=None)),
    ('function 0', CONTROL, '00000000', 'unknown_function', names(function=0)),
    ('function 8', CONTROL, '00000008', 'unknown_function', names(function=8)),
    ('the function for experiments', CONTROL, '0000ffff', 'experiment', names(function=0xffff)),
    ('512 octets of private data', CONTROL, '00000001' + '11' * 512, None, names(private_length=512)),
    ('513 octets of private data', CONTROL, '00000001' + '11' * 513, 'long_private', names(private_length=513)),
    ('508 octets after the parameters', CONTROL, '00000005' + '11' * 512, None, names(private_length=508)),
    ('509 octets after the parameters', CONTROL, '00000006c0100008' + '11' * 509, 'long_private', names(private_length=509)),
    ('a service key', CONTROL, '00000001' + '8b4444506b657901' + '0000000000000010' + '6869', None,
     names(service_key=0x10, private=b'hi', private_length=18)),
    ('a service key in an Enhanced Initiate', CONTROL, '0000000500080008' + '8b4444506b657901' + 'ffffffffffffffff', None,
     names(service_key=2**64 - 1, private=None, private_length=16)),
    ('half a service key', CONTROL, '00000001' + '8b4444506b657901' + '00' * 7, None,
     names(service_key=None, private_length=15)),
    ('a service key in an Accept is private data', CONTROL, '00000002' + '8b4444506b657901' + '00' * 7 + '01', None,
     names(service_key=None, private_length=16)),
    ('an offer of credits', CONTROL, '00000001' + '6869' + OFFER.format(1), None,
     names(offer__tag=7, offer__window=1 << 20, offer__receives=9, private=b'hi', private_length=22)),
    ('an answer to it', CONTROL, '0000000600100008' + OFFER.format(2), None,
     names(ird=16, offer__tag=7, offer__window=1 << 20, offer__receives=9, private=None)),
    ('an answer in an Initiate is private data', CONTROL, '00000001' + OFFER.format(2), None,
     names(offer__tag=None, private_length=20)),
    ('half an offer', CONTROL, '00000001' + OFFER.format(1)[2:], None, names(offer__tag=None, private_length=19)),
    ('a credit', CREDIT, '00000007' + '0000000a' + '0000000100000000', None,
     names(ssn=None, credit__tag=7, credit__limit=10, credit__position=1 << 32)),
    ('a credit of 15 octets', CREDIT, '00' * 15, 'credit_length', names(credit__tag=None)),
    ('a Terminate with private data', CONTROL, '0005000400', 'terminate_private', names(private_length=1)),
    ('an Enhanced Initiate without parameters', CONTROL, '00000005', 'no_words', names(ird=None)),
    ('an Enhanced Accept with half of them', CONTROL, '000000060010', 'no_words', names(ird=None, private_length=2)),
    ('an Enhanced Reject without parameters', CONTROL, '000000076e6f', None, names(ird=None, private=b'no')),
    ('an Enhanced Reject with parameters', CONTROL, '0000000700030002', None, names(ird=3, ord=2, private=None)),
    ('B without A', CONTROL, '0000000540100008', 'flags', names(p2p=0, rtr__send=1)),
    ('a protocol that is not RDMAP', SEGMENT, '0001' + '4189' + '00' * 16, None, names(immediate=None)),
]

# Messages that Wireshark itself cannot dissect completely.
CUT = {'a Read Request of 27 octets', 'a Terminate of 2 octets', 'a Terminate without the header that it announces'}


def compare(what, message, expected, expert=None):
    for name, value in expected.items():
        check(f'{what}: {name}', message.get(name), value)
    ours = [name for _, name, _ in message.experts if name.startswith('ddp_sctp.')]
    check(f'{what}: expert information', ours, [f'ddp_sctp.{expert}'] if expert else [])
    check(f'{what}: layers', message.layers[:1], ['ddp_sctp'])
    # No layer of another protocol, least of all RPC over RDMA.
    check(f'{what}: layers', set(message.layers) <= {'ddp_sctp', 'iwarp_ddp_rdmap'}, True)


def lua_errors(packet):
    return [text for _, _, text in packet.experts if 'Lua' in text]


def single_messages():
    """Each golden vector and each wrong message, in every kind of packet."""
    with open(VECTORS, encoding='utf-8') as f:
        vectors = [v for v in json.load(f)['vectors'] if v['ppid'] is not None and v['id'] != 'V02c']
    check('vectors', {v['id'] for v in vectors}, set(EXPECTED))
    cases = [(v['id'], v['ppid'], v['hex'], None, EXPECTED[v['id']]) for v in vectors] + WRONG
    for name, within, options in ('udp', UDP, ()), ('ip', PLAIN, ()), ('other', OTHER_PORT, (
            '-d', f'udp.port=={OTHER_PORT},sctp')):
        packets = [packet([data_chunk(i, ppid, bytes.fromhex(octets))], within)
                   for i, (_, ppid, octets, _, _) in enumerate(cases)]
        for (what, ppid, octets, expert, expected), p in zip(cases, dissect(f'{name}.pcap', packets, *options)):
            what = f'{name}: {what}'
            check(f'{what}: malformed', p.malformed, what.split(': ')[1] in CUT)
            check(f'{what}: checksum', p.checksum_status, 1)
            check(f'{what}: errors of the script', lua_errors(p), [])
            if len(octets) > 0:  # else Wireshark calls no dissector
                compare(what, p.messages[0], expected, expert)
            if expected.get('ddp_sctp.payload_length') is not None:
                check(f'{what}: given to DDP and RDMAP', 'iwarp_ddp_rdmap' in p.messages[0].layers, True)
    return len(cases)


# ---- several ----------------------------------------------------------------------------------


def bundles():
    """Several messages in one packet, of several streams: each has its own chunk's fields, and the column all."""
    write, send, ask = ('0002c140123456780000000000004010b0b1b2b3', '0001' + HEAD[:26] + '0100000000' + '68',
                        '00000005c010c008' + '6869')
    chunks = [data_chunk(1, SEGMENT, bytes.fromhex(write), sid=1), data_chunk(2, CONTROL, bytes.fromhex(ask), sid=2),
              data_chunk(3, SEGMENT, bytes.fromhex(send), flags=3, sid=3),
              data_chunk(4, CONTROL, bytes.fromhex('00050004'), sid=4)]
    (p,) = dissect('bundle.pcap', [packet(chunks)])
    a, b, c, d = p.messages
    compare('first of four', a, {'ddp_sctp.ssn': 2, 'sctp.data_sid': 1, 'iwarp_ddp.stag': 0x12345678})
    compare('second of four', b, {'ddp_sctp.ssn': 0, 'sctp.data_sid': 2, 'ddp_sctp.ird': 16, 'ddp_sctp.ord': 8})
    compare('third of four', c, {'ddp_sctp.ssn': 1, 'sctp.data_sid': 3, 'iwarp_ddp.msn': 1}, 'ordered')
    compare('fourth of four', d, {'ddp_sctp.ssn': 5, 'sctp.data_sid': 4, 'ddp_sctp.function': 4})
    check('the column of four', columns('bundle.pcap'), [
        'RDMA Write STag 0x12345678 TO 0x0000000000004010, 4 bytes | '
        'DDP Stream Session Enhanced Initiate, IRD 16 ORD 8, peer to peer, first message: Send, Write, Read, '
        '2 bytes of private data | Send QN 0 MSN 1 MO 0, 1 byte | DDP Stream Session Terminate'])


def fragments():
    """Wireshark reassembles a message of several chunks, and the script reports it."""
    message = bytes.fromhex('0002c140123456780000000000004010b0b1b2b3')
    packets = [packet([data_chunk(1, SEGMENT, message[:9], flags=6)]),
               packet([data_chunk(2, SEGMENT, message[9:], flags=5)])]
    found = dissect('fragments.pcap', packets, '-o', 'sctp.reassembly:TRUE')
    compare('two fragments', found[1].messages[0], {'ddp_sctp.ssn': 2, 'ddp_sctp.length': 18}, 'fragment')


def associations():
    init = [packet([init_chunk(1, 1)]), packet([init_chunk(2, 1)], PLAIN), packet([init_chunk(1, 2)]),
            packet([init_chunk(1)])]
    found = dissect('init.pcap', init)
    check('indications that are DDP', [p.adaptation for p in found], [1, 1, None, None])
    check('columns of INIT', ['DDP' in c for c in columns('init.pcap')], [True, True, False, False])


def no_checksum():
    """Captures of the sending side, where a device computes checksums, have 0."""
    (p,) = dissect('offload.pcap', [packet([data_chunk(1, CONTROL, bytes(3) + b'\1')], PLAIN, checksum=False)])
    check('a checksum that is not computed', (p.checksum, p.checksum_status), (0, 0))
    compare('a message without checksum', p.messages[0], {'ddp_sctp.function': 1})


def sends():
    """Two streams and two directions that send in turns: Wireshark joins the segments of each one's Send."""
    packets, tsn = [], 0
    for mo, last in (0, 0), (4, 1):
        for sid in 1, 2:
            for ports in (5043, 40000), (40000, 5043):
                message = struct.pack('>HBBIIIII', tsn // 2, 0x41 if last else 1, 0x43, 0, 0, 1, mo, 0x30303030 + tsn)
                body = sctp([data_chunk(tsn, SEGMENT, message, sid=sid)], ports)
                packets.append(ip(132, body, (1, 2) if ports[0] == 5043 else (2, 1)))
                tsn += 1
    path = write_capture('sends.pcap', packets)
    done = subprocess.run(['tshark', '-Q', '-n', '-r', path, '-X', f'lua_script:{LUA}', '-T', 'fields', '-e',
                           'iwarp_rdma.send.reassembled.data'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=True)
    expected = [struct.pack('>II', 0x30303030 + i, 0x30303034 + i).hex() for i in range(4)]
    check('Sends that are joined', done.stdout.split(), expected)


def anything():
    """Random messages, in packets that may be cut: the script itself never fails."""
    chance, packets = random.Random(5043), []
    for tsn in range(0, 3000, 3):
        chunks = []
        for i in range(chance.randint(1, 3)):
            message = bytearray(chance.randbytes(chance.choice((1, 2, 3, 4, 5, 8, 16, 19, 20, 21, 24, 28, 40, 72, 600))))
            if len(message) > 3 and chance.random() < 0.9:
                message[2:4] = chance.choice((0x41, 0xc1, 1, 0x81, 0)), chance.choice((0x40, 0)) + chance.randrange(16)
            ppid, flags = chance.choice((SEGMENT, CONTROL)), chance.choice((7, 3, 2, 1))
            chunks.append(data_chunk(tsn + i, ppid, bytes(message), flags))
        whole = packet(chunks, chance.choice((UDP, PLAIN)))
        packets.append(whole[:len(whole) if chance.random() < 0.9 else chance.randint(40, len(whole))])
    found = dissect('anything.pcap', packets)
    check('errors of the script', [e for p in found for e in lua_errors(p)], [])


# ---- datagrams between daemons ----------------------------------------------------------------

CARRIER, TO_CARRIERS = '64647064676d0001', (40000, 5042)


def datagram_segment(body, last=1, mo=0):
    return struct.pack('>HBBIIII', 1, 0x41 if last else 1, 0x43, 0, 0, 1, mo) + body


def datagram(length, flags=0, version=1, says=None, number=0x654321):
    return struct.pack('>BBHIIIQ', version, flags, length if says is None else says, 0x123456, number, 0x80010203,
                       0x0102030405060708 if flags & 2 else 0) + bytes(length)


def head(length, flags=0):
    return names(datagram__version=1, datagram__solicited=flags & 1, datagram__with_immediate=flags >> 1,
                 datagram__length=length, datagram__from=0x123456, datagram__to=0x654321, datagram__qkey=0x80010203,
                 datagram__immediate=0x0102030405060708 if flags & 2 else None)


def carriers():
    """Sessions that carry datagrams, and the header of each datagram, at the port for them alone."""
    none = names(datagram__version=None, datagram__to=None)
    cases = [
        ('a datagram', datagram_segment(datagram(5)), None, head(5)),
        ('with immediate data', datagram_segment(datagram(0, 3)), None, head(0, 3)),
        ('the first segment of one', datagram_segment(datagram(9, says=4096), last=0), None, head(4096)),
        ('the rest of it', datagram_segment(bytes(30), mo=33), None, none),
        ('another version', datagram_segment(datagram(5, version=2)), 'no_datagram', none),
        ('an unknown flag', datagram_segment(datagram(5, 4)), 'no_datagram', none),
        ('another length', datagram_segment(datagram(5, says=6)), 'no_datagram', none),
        ('more than 4096 bytes', datagram_segment(datagram(5, says=4097), last=0), 'no_datagram', none),
        ('a number of 25 bits', datagram_segment(datagram(5, number=1 << 24)), 'no_datagram', none),
        ('half a header', datagram_segment(bytes(12)), 'no_datagram', none),
        ('nothing', datagram_segment(b''), 'no_datagram', none)]
    found = dissect('carriers.pcap', [packet([data_chunk(i, SEGMENT, m)], ports=TO_CARRIERS)
                                      for i, (_, m, _, _) in enumerate(cases)])
    for (what, _, expert, expected), p in zip(cases, found):
        compare(f'carrier: {what}', p.messages[0], expected, expert)
        check(f'carrier: {what}: errors of the script', lua_errors(p), [])
    check('the column of a datagram', columns('carriers.pcap')[0],
          'Send QN 0 MSN 1 MO 0, 29 bytes, datagram of 5 bytes from 0x123456 to 0x654321')
    ask = bytes.fromhex('00000001' + CARRIER + OFFER.format(1))
    packets = [packet([data_chunk(1, CONTROL, ask)], ports=TO_CARRIERS),
               packet([data_chunk(2, SEGMENT, datagram_segment(datagram(5)))]),
               packet([data_chunk(3, CONTROL, b'\0\0\0\2' + bytes.fromhex(CARRIER))])]
    asked, elsewhere, accept = (p.messages[0] for p in dissect('carrier.pcap', packets))
    compare('the begin of a carrier', asked, names(carrier=1, private=bytes.fromhex(CARRIER), offer__tag=7))
    compare('a Send to another port', elsewhere, none)
    compare('an Accept', accept, names(carrier=None, private=bytes.fromhex(CARRIER)))
    check('the column of its begin', columns('carrier.pcap')[0],
          'DDP Stream Session Initiate, window 1048576, receives 9, carrier of datagrams, version 1')
    (p,) = dissect('port.pcap', [packet([data_chunk(1, SEGMENT, datagram_segment(datagram(5)))], ports=(1, 777))],
                   '-o', 'ddp_sctp.datagram_port:777')
    compare('the port of the preference', p.messages[0], head(5))


# ---- other protocols --------------------------------------------------------------------------

RPC_OVER_RDMA = struct.pack('>IIIIIIII', 7, 1, 32, 0, 0, 0, 0, 7) + struct.pack('>IIIIIIIIII', 0, 2, 100003, 4, 0, 0, 0,
                                                                               0, 0, 0)


def tcp(seq, body, flags=0x18, answer=False):
    ports = (20049, 700) if answer else (700, 20049)
    return ip(6, struct.pack('>HHIIBBHHH', *ports, seq, 1, 0x50, flags, 65535, 0, 0) + body, (2, 1) if answer else (1, 2))


def fpdu(segment):
    body = padded(struct.pack('>H', len(segment)) + segment)
    return body + crc32c(body)


def others():
    """RPC over RDMA is still recognized in TCP, and not in SCTP, in any order of packets."""
    send = bytes.fromhex(HEAD[:26] + '0100000000') + RPC_OVER_RDMA
    mpa = [tcp(1, b'MPA ID Req Frame' + struct.pack('>BBH', 0x40, 1, 0)),
           tcp(1, b'MPA ID Rep Frame' + struct.pack('>BBH', 0x40, 1, 0), answer=True)]
    over_tcp, over_sctp = fpdu(send), [data_chunk(i, SEGMENT, bytes(2) + send) for i in range(3)]
    packets = [*mpa, tcp(21, over_tcp), packet(over_sctp[:1]), tcp(21 + len(over_tcp), over_tcp), packet(over_sctp[1:2]),
               packet(over_sctp[2:]), tcp(21 + 2 * len(over_tcp), over_tcp)]
    path = write_capture('others.pcap', packets)
    done = subprocess.run(pdml.command(LUA, path, '-T', 'fields', '-e', 'rpcordma.xid', '-e', 'ddp_sctp.ssn'),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    rpc, ddp = ['0x00000007', ''], ['', '0']
    check('RPC over RDMA', [line.split('\t') for line in done.stdout.splitlines()],
          [['', ''], ['', ''], rpc, ddp, rpc, ddp, ddp, rpc])


def main():
    messages = single_messages()
    for part in bundles, fragments, associations, no_checksum, sends, anything, carriers, others:
        part()
    for f in failures:
        print(f'FAILED: {f}')
    if not failures:
        print(f'{messages} messages over UDP, over IP and over another UDP port; bundles, fragments, INIT, datagrams, RPC over RDMA')
    return bool(failures)


sys.exit(main())
