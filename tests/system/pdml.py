# SPDX-License-Identifier: BSD-2-Clause
"""Packets as tshark dissects them with etc/wireshark/ddp_sctp.lua: the command and its results."""
import subprocess
import xml.etree.ElementTree as ET

LAYERS = 'ip udp sctp ddp_sctp iwarp_ddp_rdmap rpcordma _ws.malformed text'  # text: Lua errors
OCTETS = {'ddp_sctp.private', 'ddp_sctp.term.ddp_header', 'ddp_sctp.term.read_request', 'iwarp_ddp.rsvdulp'}
ERROR = 0x800000  # severity


def command(lua, capture, *options):
    # Segments come in any order, so reassembly is off and each chunk is dissected alone.
    return ['tshark', '-Q', '-n', '-r', capture, '-X', f'lua_script:{lua}', '-o', 'sctp.reassembly:FALSE',
            '-o', 'iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:FALSE', '-o', 'sctp.checksum:CRC 32c', *options]


class Fields:
    """Numbers and octets by the name of their field; a repeated name has its first value."""

    def __init__(self, *elements):
        self.shown = {}
        for e in elements:
            self.add(e)

    def add(self, element):
        for f in element.iter('field'):
            name = f.get('name')
            if name and name not in self.shown:
                self.shown[name] = f.get('value') if name in OCTETS else f.get('show')

    def __contains__(self, name):
        return name in self.shown

    def __getitem__(self, name):
        text = self.shown[name]
        return bytes.fromhex(text) if name in OCTETS else int(text, 0)

    def get(self, name, default=None):
        return self[name] if name in self.shown else default


class Message(Fields):
    """A DATA chunk and the user message in it."""

    def __init__(self, packet, chunk):
        super().__init__(chunk)
        self.frame, self.path = packet.frame, packet.path
        self.tsn, self.sid = self['sctp.data_tsn_raw'], self['sctp.data_sid']
        self.layers, self.experts = [], []

    def add_layer(self, proto):
        self.layers.append(proto.get('name'))
        self.add(proto)
        self.experts += experts_of(proto)

    def __str__(self):
        return f'frame {self.frame}, stream {self.sid}'


class Packet:
    def __init__(self, element):
        self.experts = [e for p in element for e in experts_of(p)]
        self.malformed = any(p.get('name') == '_ws.malformed' for p in element)
        self.adaptation = None  # as ddp_sctp.lua sees it
        self.path, self.types, self.indications, self.messages = None, [], [], []
        for proto in element:
            name = proto.get('name')
            if name == 'geninfo':
                self.frame = int(proto.find("field[@name='num']").get('show'))
            elif name == 'ip':
                hosts = [proto.find(f"field[@name='ip.{e}']").get('show') for e in ('src', 'dst')]
            elif name == 'sctp':
                self.read_sctp(proto, hosts)
            elif name == 'ddp_sctp' and proto.find("field[@name='ddp_sctp.adaptation']") is not None:
                self.adaptation = Fields(proto)['ddp_sctp.adaptation']
            elif name in ('ddp_sctp', 'iwarp_ddp_rdmap', 'rpcordma') and self.messages:
                self.messages[-1].add_layer(proto)

    def read_sctp(self, proto, hosts):
        """The header and chunks up to the first message; a message is followed by another one, of the next chunks."""
        if not self.path:
            head = Fields(proto)
            self.path = tuple(zip(hosts, (head['sctp.srcport'], head['sctp.dstport'])))
            self.checksum, self.checksum_status = head['sctp.checksum'], head['sctp.checksum.status']
        for f in proto.iter('field'):
            if f.get('name') == 'sctp.chunk_type':
                self.types.append(int(f.get('show')))
            elif f.get('name') == 'sctp.adaptation_layer_indication':
                self.indications.append(int(f.get('show'), 0))
        self.messages += [Message(self, c) for c in proto if c.find("field[@name='sctp.data_tsn_raw']") is not None]

    def new_messages(self, seen):
        """Those whose TSN is not in the set seen, to which it is added: retransmissions are dissected once."""
        new = [m for m in self.messages if (m.path, m.tsn) not in seen]
        seen.update((m.path, m.tsn) for m in new)
        return new


def experts_of(element):
    """(severity, text) of each; ddp_sctp's texts come with the name of their field, as all do."""
    found = []
    for e in element.iter('field'):
        if e.get('name') == '_ws.expert':
            severity = next(int(f.get('show')) for f in e if f.get('name') == '_ws.expert.severity')
            text = next(f.get('show') for f in e if f.get('name') == '_ws.expert.message')
            names = [f.get('name') for f in e if not f.get('name').startswith('_ws.')]
            found.append((severity, names[0] if names else '', text))
    return found


def read_packets(lua, capture, log, *options):
    """All packets with SCTP in them; the messages of tshark go to the file log."""
    with open(log, 'a', encoding='utf-8') as errors:
        with subprocess.Popen(command(lua, capture, '-Y', 'sctp', '-T', 'pdml', '-J', LAYERS, *options),
                              stdout=subprocess.PIPE, stderr=errors) as tshark:
            for _, element in ET.iterparse(tshark.stdout):
                if element.tag == 'packet':
                    yield Packet(element)
                    element.clear()
    if tshark.returncode:
        raise SystemExit(f'FAILED: tshark: exit status {tshark.returncode}')
    with open(log, encoding='utf-8') as errors:
        if 'Lua' in (text := errors.read()):
            raise SystemExit(f'FAILED: ddp_sctp.lua was not loaded:\n{text}')
