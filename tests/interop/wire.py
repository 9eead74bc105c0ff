# SPDX-License-Identifier: BSD-2-Clause
"""SCTP packets (RFC 9260 section 3) as bytes and back, for scripts that are written in the words of the RFC.

A chunk is a name and a dictionary of fields. TSNs are numbers from 1: those of a packet are relative to the initial TSN
of its sender, which the caller gives."""
import struct

TYPES = {'DATA': 0, 'INIT': 1, 'INIT ACK': 2, 'SACK': 3, 'HEARTBEAT': 4, 'HEARTBEAT ACK': 5, 'ABORT': 6, 'SHUTDOWN': 7,
         'SHUTDOWN ACK': 8, 'ERROR': 9, 'COOKIE ECHO': 10, 'COOKIE ACK': 11, 'ECNE': 12, 'CWR': 13,
         'SHUTDOWN COMPLETE': 14, 'PAD': 0x84}
NAMES = {number: name for name, number in TYPES.items()}
COOKIE, UNRECOGNIZED, ADAPTATION, IPV4, HOST_NAME = 7, 8, 0xc006, 5, 11
MASK = 0xffffffff


def _table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        yield byte


TABLE = list(_table())


def crc32c(data):
    crc = MASK
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ MASK


def tlv(kind, value):
    """A parameter or an error cause, with padding."""
    return struct.pack('!HH', kind, 4 + len(value)) + value + bytes(-len(value) % 4)


def raw_chunk(kind, flags, value, length=None):
    return struct.pack('!BBH', kind, flags, 4 + len(value) if length is None else length) + value + bytes(-len(value) % 4)


def packet(source, destination, tag, chunks, spoiled=False):
    head = struct.pack('!HHI', source, destination, tag)
    crc = crc32c(head + bytes(4) + chunks) ^ spoiled
    return head + struct.pack('<I', crc) + chunks


# ---- making chunks ----------------------------------------------------------------------------


def _numbers(text):
    return [int(n) for n in text.split('/')] if text else []


def _ranges(text):
    """2-3/5-5 as pairs."""
    return [tuple(int(n) for n in part.split('-')) for part in text.split('/')] if text else []


def _init(f, ctx, name):
    params = b'' if f.get('adaptation') == 'none' else tlv(ADAPTATION, struct.pack('!I', 1))
    for kind in f.get('unknown', '').split('/') if 'unknown' in f else []:
        params += tlv(int(kind, 16), b'what')
    if 'address' in f:
        params += tlv(IPV4, bytes(int(n) for n in f['address'].split('.')))
    if 'host' in f:
        params += tlv(HOST_NAME, b'a.example\0')
    if name == 'INIT ACK' and f.get('cookie') != 'none':
        params += tlv(COOKIE, b'a state cookie  ')
    tag = int(f['tag'], 0) if 'tag' in f else ctx.own_tag
    value = struct.pack('!IIHHI', tag, int(f.get('rwnd', 100000)), int(f.get('out', 10)), int(f.get('in', 10)), ctx.own_tsn)
    return value + params


def _flags(text):
    return int(text, 16) if text.startswith('0x') else sum({'U': 4, 'B': 2, 'E': 1, 'I': 8}[c] for c in text)


def _data(f, ctx):
    flags = _flags(f.get('flags', 'UBE'))
    tsn = ctx.own_tsn + int(f.get('tsn', 1)) - 1 & MASK
    value = struct.pack('!IHHI', tsn, int(f.get('sid', 0)), int(f.get('ssn', 0)), 16) + bytes(int(f.get('len', 4)))
    return flags, value


def _sack(f, ctx):
    gaps, dups = _ranges(f.get('gaps')), _numbers(f.get('dups'))
    cum = int(f['cum'])
    value = struct.pack('!IIHH', ctx.peer_tsn + cum - 1 & MASK, int(f.get('rwnd', 100000)), len(gaps), len(dups))
    for first, last in gaps: # TSNs in the script, offsets on the wire
        value += struct.pack('!HH', first - cum, last - cum)
    return value + b''.join(struct.pack('!I', ctx.peer_tsn + d - 1 & MASK) for d in dups)


def _causes(f):
    value = b''
    for cause in _numbers(f.get('cause')):
        value += tlv(cause, {3: bytes(4), 12: b'why', 14: bytes(4)}.get(cause, b''))
    return value


def make(name, f, ctx):
    """The bytes of a chunk. ctx: own_tag, own_tsn, peer_tsn, cookie, info of the conversation."""
    flags = int(f.get('T', 0))
    if name.startswith('0x'):
        kind, value = int(name, 16), b'what'
    else:
        kind = TYPES[name]
        if name in ('INIT', 'INIT ACK'):
            value = _init(f, ctx, name)
        elif name == 'DATA':
            flags, value = _data(f, ctx)
        elif name == 'SACK':
            value = _sack(f, ctx)
        elif name == 'HEARTBEAT':
            value = tlv(1, b'heartbeat information')
        elif name == 'HEARTBEAT ACK':
            value = ctx.info
        elif name in ('ABORT', 'ERROR'):
            value = _causes(f)
        elif name == 'SHUTDOWN':
            first = ctx.old_tsn if f.get('of') == 'old' else ctx.peer_tsn  # of the association before
            value = struct.pack('!I', first + int(f.get('cum', 0)) - 1 & MASK)
        elif name == 'COOKIE ECHO':
            value = {'first': ctx.cookies[:1], 'forged': [bytes([c ^ 1 for c in ctx.cookies[-1]]) if ctx.cookies else b'cookie']}.get(
                f.get('cookie'), ctx.cookies[-1:])[0]
        elif name in ('ECNE', 'CWR'):
            value = struct.pack('!I', ctx.peer_tsn)
        else:
            value = b''
    if 'flags' in f and name != 'DATA':
        flags = int(f['flags'], 0)
    return raw_chunk(kind, flags, value, int(f['length']) if 'length' in f else None)


# ---- reading ----------------------------------------------------------------------------------


def tlvs(data):
    at = 0
    while at + 4 <= len(data):
        kind, length = struct.unpack_from('!HH', data, at)
        if length < 4:
            return
        yield kind, data[at + 4:at + length]
        at += length + 3 & ~3


def _read_init(value, f):
    f['tag'], f['rwnd'], f['out'], f['in'], f['tsn'] = struct.unpack_from('!IIHHI', value)
    params = list(tlvs(value[16:]))
    f['cookies'] = [v for kind, v in params if kind == COOKIE]
    unknown = [f'{struct.unpack_from("!H", v)[0]:#06x}' for kind, v in params if kind == UNRECOGNIZED and len(v) >= 4]
    if unknown:
        f['unrecognized'] = '/'.join(unknown)


def _read_sack(value, f, ctx):
    cum, f['rwnd'], ngaps, ndups = struct.unpack_from('!IIHH', value)
    f['cum'] = relative(cum, ctx.own_tsn)
    words = struct.unpack_from(f'!{2 * ngaps}H', value, 12)
    gaps = [f'{f["cum"] + first}-{f["cum"] + last}' for first, last in zip(words[::2], words[1::2])]
    dups = [str(relative(t, ctx.own_tsn)) for t in struct.unpack_from(f'!{ndups}I', value, 12 + 4 * ngaps)]
    f['gaps'], f['dups'] = '/'.join(gaps), '/'.join(dups)


def relative(tsn, first):
    """A TSN as a number from 1; what comes before is 0, -1, ..."""
    return (tsn - first + 1 + (1 << 31) & MASK) - (1 << 31)


def read(kind, flags, value, ctx):
    """The name and the fields of a chunk that the stack has sent."""
    name, f = NAMES.get(kind, f'{kind:#04x}'), {}
    if name in ('INIT', 'INIT ACK'):
        _read_init(value, f)
    elif name == 'DATA':
        tsn, f['sid'], f['ssn'], f['ppid'] = struct.unpack_from('!IHHI', value)
        f['tsn'], f['len'] = relative(tsn, ctx.peer_tsn), len(value) - 12
    elif name == 'SACK':
        _read_sack(value, f, ctx)
    elif name in ('HEARTBEAT', 'HEARTBEAT ACK'):
        f['info'] = value
    elif name in ('ABORT', 'ERROR'):
        f['T'] = flags & 1
        causes = list(tlvs(value))
        f['cause'] = '/'.join(str(cause) for cause, _ in causes) or 'none'
    elif name == 'SHUTDOWN':
        f['cum'] = relative(struct.unpack('!I', value)[0], ctx.own_tsn)
    elif name == 'SHUTDOWN COMPLETE':
        f['T'] = flags & 1
    return name, f


def chunks(data, ctx):
    """The chunks of a packet without its common header; AssertionError if it is malformed."""
    at, found = 12, []
    while at < len(data):
        kind, flags, length = struct.unpack_from('!BBH', data, at)
        assert 4 <= length <= len(data) - at, 'a chunk has a wrong length'
        found.append(read(kind, flags, data[at + 4:at + length], ctx))
        at += length + 3 & ~3
    return found
