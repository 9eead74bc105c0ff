-- SPDX-License-Identifier: BSD-2-Clause
-- DDP over SCTP (RFC 5043) for Wireshark and tshark. A user message with payload protocol 16 is a DDP-SSN and
-- a DDP segment, which Wireshark's own dissector knows; one with 17 is session control, with the words of RFC 6581.
-- One with 0x44445063 is a credit, of ddpsctpd alone (docs/choices.md), and so are datagrams between daemons (docs/datagrams.md).
-- README.md, beside this file, says how to install and use it.

set_plugin_info({
	version = "1.0",
	author = "ddpsctpd",
	description = "DDP over SCTP (RFC 5043)",
})

local SSN_LEN, CONTROL_LEN, ENHANCED_LEN = 2, 4, 4
local TAGGED_LEN, UNTAGGED_LEN = 14, 18
local PRIVATE_MAX = 512
local INITIATE, ACCEPT, TERMINATE, E_INITIATE, E_ACCEPT, E_REJECT = 1, 2, 4, 5, 6, 7
local KEY_MARK, KEY_LEN = "\x8bDDPkey\x01", 16
local OFFER_MARK, OFFER_LEN, CREDIT_LEN = "\x8bDDPcrd", 20, 16
local CARRIER_MARK, CARRIER_LEN = "ddpdgm\0", 8
local DATAGRAM_HEAD, DATAGRAM_MAX, DATAGRAM_VERSION, DATAGRAM_IMMEDIATE = 24, 4096, 1, 2
local EXPERIMENTS = 0xffff
local UNCHANGED = 0x3fff
local SEND = 3
local READ_REQUEST, RDMAP_TERMINATE, IMMEDIATE, IMMEDIATE_SE, ATOMIC_REQUEST, ATOMIC_RESPONSE = 1, 7, 8, 9, 10, 11

local functions = {
	[INITIATE] = "Initiate", [ACCEPT] = "Accept", [3] = "Reject", [TERMINATE] = "Terminate",
	[E_INITIATE] = "Enhanced Initiate", [E_ACCEPT] = "Enhanced Accept", [E_REJECT] = "Enhanced Reject",
	[EXPERIMENTS] = "reserved for experiments",
}

-- RFC 5040 and RFC 7306, with the only valid length after the DDP header.
local opcodes = {
	[0] = { "RDMA Write" }, [READ_REQUEST] = { "RDMA Read Request", 28 }, [2] = { "RDMA Read Response" },
	[SEND] = { "Send" }, [4] = { "Send with Invalidate" }, [5] = { "Send with Solicited Event" },
	[6] = { "Send with Solicited Event and Invalidate" }, [RDMAP_TERMINATE] = { "Terminate" },
	[IMMEDIATE] = { "Immediate Data", 8 }, [IMMEDIATE_SE] = { "Immediate Data with Solicited Event", 8 },
	[ATOMIC_REQUEST] = { "Atomic Request", 52 }, [ATOMIC_RESPONSE] = { "Atomic Response", 12 },
}

-- ---- fields for filters ---------------------------------------------------------------------

local ddp = Proto("ddp_sctp", "DDP over SCTP")

local not_negotiated = { [UNCHANGED] = "not negotiated" }
local f = {
	ssn = ProtoField.uint16("ddp_sctp.ssn", "DDP-SSN"),
	length = ProtoField.uint32("ddp_sctp.length", "Length of the DDP segment"),
	payload_length = ProtoField.uint32("ddp_sctp.payload_length", "Length after the DDP header"),
	immediate = ProtoField.uint64("ddp_sctp.immediate", "Immediate Data", base.HEX),
	term = ProtoField.uint16("ddp_sctp.term", "Layer, type and code of the error", base.HEX),
	term_length = ProtoField.uint16("ddp_sctp.term.segment_length", "Length of the segment that was refused"),
	term_header = ProtoField.bytes("ddp_sctp.term.ddp_header", "Its DDP header"),
	term_read = ProtoField.bytes("ddp_sctp.term.read_request", "Its Read Request"),
	func = ProtoField.uint16("ddp_sctp.function", "Function", base.DEC, functions),
	words = ProtoField.uint32("ddp_sctp.enhanced", "Enhanced session establishment (RFC 6581)", base.HEX),
	p2p = ProtoField.bool("ddp_sctp.p2p", "A: from peer to peer", 32, nil, 0x80000000),
	rtr_send = ProtoField.bool("ddp_sctp.rtr.send", "B: a Send may be first", 32, nil, 0x40000000),
	ird = ProtoField.uint32("ddp_sctp.ird", "IRD", base.DEC, not_negotiated, 0x3fff0000),
	rtr_write = ProtoField.bool("ddp_sctp.rtr.write", "C: an RDMA Write may be first", 32, nil, 0x00008000),
	rtr_read = ProtoField.bool("ddp_sctp.rtr.read", "D: an RDMA Read may be first", 32, nil, 0x00004000),
	ord = ProtoField.uint32("ddp_sctp.ord", "ORD", base.DEC, not_negotiated, 0x00003fff),
	private = ProtoField.bytes("ddp_sctp.private", "Private data"),
	service_key = ProtoField.uint64("ddp_sctp.service_key", "Service key", base.HEX),
	offer_tag = ProtoField.uint32("ddp_sctp.offer.tag", "Offer of credits: tag", base.HEX),
	offer_window = ProtoField.uint32("ddp_sctp.offer.window", "Offer of credits: window in bytes"),
	offer_receives = ProtoField.uint32("ddp_sctp.offer.receives", "Offer of credits: receives"),
	credit_tag = ProtoField.uint32("ddp_sctp.credit.tag", "Tag", base.HEX),
	credit_limit = ProtoField.uint32("ddp_sctp.credit.limit", "Receives up to message"),
	credit_position = ProtoField.uint64("ddp_sctp.credit.position", "Delivered up to position"),
	carrier = ProtoField.uint8("ddp_sctp.carrier", "Carrier of datagrams: version"),
	datagram_version = ProtoField.uint8("ddp_sctp.datagram.version", "Datagram: version"),
	datagram_solicited = ProtoField.bool("ddp_sctp.datagram.solicited", "Solicited event", 8, nil, 1),
	datagram_with_immediate = ProtoField.bool("ddp_sctp.datagram.with_immediate", "With immediate data", 8, nil, 2),
	datagram_length = ProtoField.uint16("ddp_sctp.datagram.length", "Length of the datagram"),
	datagram_from = ProtoField.uint32("ddp_sctp.datagram.from", "From queue pair", base.HEX),
	datagram_to = ProtoField.uint32("ddp_sctp.datagram.to", "To queue pair", base.HEX),
	datagram_qkey = ProtoField.uint32("ddp_sctp.datagram.qkey", "Q_Key", base.HEX),
	datagram_immediate = ProtoField.uint64("ddp_sctp.datagram.immediate", "Immediate data", base.HEX),
	private_length = ProtoField.uint16("ddp_sctp.private_length", "Length of the private data"),
	adaptation = ProtoField.uint32("ddp_sctp.adaptation", "Adaptation indication", base.HEX, { [1] = "DDP" }),
}
ddp.fields = f

local function malformed(name, text)
	return ProtoExpert.new("ddp_sctp." .. name, text, expert.group.MALFORMED, expert.severity.ERROR)
end
local function protocol(name, text, severity)
	return ProtoExpert.new("ddp_sctp." .. name, text, expert.group.PROTOCOL, severity)
end
local wrong = {
	no_ssn = malformed("no_ssn", "Too short for a DDP-SSN"),
	no_function = malformed("no_function", "Too short for a function code"),
	no_words = malformed("no_words", "Too short for the words of RFC 6581"),
	short_header = malformed("short_header", "Too short for the DDP header that T announces"),
	body_length = protocol("body_length", "Not the length that this RDMAP opcode has", expert.severity.WARN),
	short_terminate = protocol("short_terminate", "Too short for the headers that it announces", expert.severity.WARN),
	credit_length = malformed("credit_length", "A credit has 16 bytes"),
	datagram = malformed("no_datagram", "Not a datagram between daemons"),
	func = malformed("unknown_function", "Unknown function code"),
	experiment = protocol("experiment", "Function code for experiments", expert.severity.NOTE),
	long = malformed("long_private", "More than 512 bytes of private data"),
	terminate = malformed("terminate_private", "A Terminate has no private data"),
	flags = protocol("flags", "B, C or D without A", expert.severity.WARN),
	ordered = protocol("ordered", "An ordered message: DDP has unordered ones only", expert.severity.WARN),
	fragment = protocol("fragment", "A message in several chunks: DDP has one for each", expert.severity.WARN),
	place = protocol("misplaced_adaptation", "An adaptation indication belongs into INIT and INIT ACK",
		expert.severity.WARN),
}
ddp.experts = wrong
ddp.prefs.datagram_port = Pref.uint("Port for datagrams", 5042, "session.datagram_port of the daemons; 0: none")

-- Further protocols only because each has one dissector; their fields are those of ddp_sctp.
local control = Proto("ddp_sctp_control", "DDP Stream Session Control")
local credit = Proto("ddp_sctp_credit", "Credit of DDP over SCTP")
local association = Proto("ddp_sctp_association", "Association for DDP over SCTP")

-- ---- the chunk around a message -------------------------------------------------------------

local chunk = {
	ppid = Field.new("sctp.data_payload_proto_id"), stream = Field.new("sctp.data_sid"),
	u = Field.new("sctp.data_u_bit"), b = Field.new("sctp.data_b_bit"), e = Field.new("sctp.data_e_bit"),
}

-- A field's last value, which is that of the chunk that is being dissected, and how many there are.
local function last(field)
	local all = { field() }
	return all[#all] and all[#all].value, #all
end

-- The names of all messages of a packet, in order.
local function say(pinfo, text)
	local _, nth = last(chunk.ppid)
	pinfo.cols.protocol:set("DDP/SCTP")
	pinfo.cols.info:set((nth > 1 and " | " or "") .. text)
end

local function add_item(tvb, tree, title)
	local t = tree:add(ddp, tvb(), title)
	if last(chunk.u) == false then t:add_proto_expert_info(wrong.ordered) end
	if last(chunk.b) == false or last(chunk.e) == false then t:add_proto_expert_info(wrong.fragment) end
	return t
end

-- The item of a message, and its DDP-SSN if it has one.
local function add_message(tvb, tree, title)
	local t = add_item(tvb, tree, title)
	if tvb:len() < SSN_LEN then
		t:add_proto_expert_info(wrong.no_ssn)
		return t
	end
	local ssn = tvb(0, SSN_LEN)
	t:add(f.ssn, ssn)
	t:append_text(", DDP-SSN " .. ssn:uint())
	return t, ssn:uint()
end

local function bytes(n) return n == 1 and "1 byte" or n .. " bytes" end

-- ---- payload protocol 16: segments ----------------------------------------------------------

local iwarp = Dissector.get("iwarp_ddp_rdmap")
local data = Dissector.get("data")

-- Takes the payload of a segment while Wireshark's dissector runs: otherwise the heuristics of RPC over RDMA would
-- take any short payload. Segments of other dissectors are not affected.
local taker

local function take(tvb, pinfo, tree)
	if not taker then return false end
	taker(tvb, pinfo, tree)
	return true
end

-- Wireshark first asks the heuristic that was last to take a payload. Makes it this one: asks all of them about a
-- payload that no other one takes, because Wireshark's dissector has not described it yet.
local function be_first(tvb, pinfo, tree)
	taker = function() end
	pcall(DissectorTable.try_heuristics, "iwarp_ddp_rdmap", tvb, pinfo, tree)
	taker = nil
end

-- Hands a segment to Wireshark's dissector, which joins the segments of Sends by addresses and ports: for it, each
-- stream and direction has ports of its own. It reports malformed segments itself.
local function dissect_segment(tvb, pinfo, tree)
	local from, to, stream = pinfo.src_port, pinfo.dst_port, last(chunk.stream) or 0
	be_first(tvb, pinfo, tree)
	pinfo.src_port = from * 0x8000 + stream % 0x8000
	pinfo.dst_port = to + (stream < 0x8000 and 0 or 0x10000)
	taker = function(payload) data:call(payload, pinfo, tree) end
	pcall(iwarp.call, iwarp, tvb, pinfo, tree)
	taker = nil
	pinfo.src_port, pinfo.dst_port = from, to
end

-- Where a segment goes, by its header.
local function place(tvb, tagged)
	if tagged then return string.format("STag 0x%08x TO 0x%s", tvb(2, 4):uint(), tostring(tvb(6, 8):bytes())) end
	return string.format("QN %d MSN %d MO %d", tvb(6, 4):uint(), tvb(10, 4):uint(), tvb(14, 4):uint())
end

-- RDMAP's name for a segment and the length that its body must have; nil if it does not
-- look like RDMAP: programs may run protocols of their own on DDP.
local function rdmap(tvb)
	local byte = tvb(1, 1):uint()
	local op = byte < 0x80 and opcodes[byte % 16]
	if op then return op[1], op[2], byte % 16 end
	return nil
end

-- RFC 5040 4.8; returns text for the column. Wireshark takes each error of type 1 for one of a tagged segment; here
-- the copied header decides.
local function add_terminate(t, body)
	local at = 4
	local function part(field, len)
		if at + len > body:len() then
			t:add_proto_expert_info(wrong.short_terminate)
			at = body:len() + 1
			return
		end
		t:add(field, body(at, len))
		at = at + len
	end
	if body:len() < at then
		t:add_proto_expert_info(wrong.short_terminate)
		return ""
	end
	t:add(f.term, body(0, 2))
	local m, d, r = body(2, 1):bitfield(0) == 1, body(2, 1):bitfield(1) == 1, body(2, 1):bitfield(2) == 1
	if m or d then part(f.term_length, 2) end
	if d then part(f.term_header, at < body:len() and body(at, 1):uint() >= 0x80 and TAGGED_LEN or UNTAGGED_LEN) end
	if r then part(f.term_read, 28) end
	return string.format(" %d/%d/%02x", body(0, 1):bitfield(0, 4), body(0, 1):bitfield(4, 4), body(1, 1):uint())
end

-- The header of a datagram; nil if it is none. body: its first segment.
local function add_datagram(t, body, complete)
	if body:len() < DATAGRAM_HEAD then return nil end
	local length, from, to = body(2, 2):uint(), body(4, 4):uint(), body(8, 4):uint()
	if body(0, 1):uint() ~= DATAGRAM_VERSION or body(1, 1):uint() > 3 or length > DATAGRAM_MAX or from >= 2 ^ 24 or
		to >= 2 ^ 24 or (complete and body:reported_len() ~= DATAGRAM_HEAD + length) then return nil end
	t:add(f.datagram_version, body(0, 1))
	t:add(f.datagram_solicited, body(1, 1))
	t:add(f.datagram_with_immediate, body(1, 1))
	t:add(f.datagram_length, body(2, 2))
	t:add(f.datagram_from, body(4, 4))
	t:add(f.datagram_to, body(8, 4))
	t:add(f.datagram_qkey, body(12, 4))
	if body(1, 1):uint() >= DATAGRAM_IMMEDIATE then t:add(f.datagram_immediate, body(16, 8)) end
	return string.format(", datagram of %s from 0x%06x to 0x%06x", bytes(length), from, to)
end

-- A Send to the port for datagrams; returns text for the column.
local function add_carried(t, segment, pinfo)
	if pinfo.dst_port ~= ddp.prefs.datagram_port or segment(14, 4):uint() ~= 0 then return "" end
	local text = segment:len() > UNTAGGED_LEN and
		add_datagram(t, segment(UNTAGGED_LEN):tvb(), segment(0, 1):uint() % 0x80 >= 0x40)
	if not text then t:add_proto_expert_info(wrong.datagram) end
	return text or ", not a datagram"
end

function ddp.dissector(tvb, pinfo, tree)
	local t, ssn = add_message(tvb, tree, "DDP over SCTP")
	if not ssn then return say(pinfo, "DDP segment without a DDP-SSN") end
	local len = tvb:reported_len() - SSN_LEN
	local tagged = tvb:len() > SSN_LEN and tvb(SSN_LEN, 1):uint() >= 0x80
	local head = tagged and TAGGED_LEN or UNTAGGED_LEN
	t:add(f.length, tvb(0, 0), len):set_generated()
	if tvb:len() < SSN_LEN + head then
		t:add_proto_expert_info(wrong.short_header)
		return say(pinfo, "DDP segment of " .. bytes(len))
	end
	local segment, body = tvb(SSN_LEN):tvb(), len - head
	local name, must, op = rdmap(segment)
	t:add(f.payload_length, tvb(0, 0), body):set_generated()
	t:append_text(", " .. (name or "segment") .. ", " .. bytes(body))
	if must and body ~= must then
		t:add_proto_expert_info(wrong.body_length)
	elseif (op == IMMEDIATE or op == IMMEDIATE_SE) and segment:len() >= head + 8 then
		t:add(f.immediate, segment(head, 8))
	elseif op == RDMAP_TERMINATE and segment:len() > head then
		name = name .. add_terminate(t, segment(head):tvb())
	end
	local carried = op == SEND and add_carried(t, segment, pinfo) or ""
	dissect_segment(segment, pinfo, tree)
	say(pinfo, string.format("%s %s, %s%s%s", name or "DDP segment", place(segment, tagged), bytes(body),
		segment(0, 1):uint() % 0x80 < 0x40 and ", more follow" or "", carried))
end

-- ---- payload protocol 17: session control ---------------------------------------------------

local function depth(value) return value == UNCHANGED and "not negotiated" or tostring(value) end

-- The parameters of RFC 6581 9; returns text for the column.
local function add_words(t, range)
	local words = t:add(f.words, range)
	for _, field in ipairs({ f.p2p, f.rtr_send, f.ird, f.rtr_write, f.rtr_read, f.ord }) do words:add(field, range) end
	local first = {}
	if range:bitfield(1) == 1 then first[#first + 1] = "Send" end
	if range:bitfield(16) == 1 then first[#first + 1] = "Write" end
	if range:bitfield(17) == 1 then first[#first + 1] = "Read" end
	local text = string.format(", IRD %s ORD %s", depth(range:bitfield(2, 14)), depth(range:bitfield(18, 14)))
	if range:bitfield(0) == 1 then
		return text .. ", peer to peer, first message: " .. (#first > 0 and table.concat(first, ", ") or "none")
	end
	if #first > 0 then words:add_proto_expert_info(wrong.flags) end
	return text
end

-- The service key at the start of the private data of an Initiate (docs/choices.md); its length.
local function add_key(t, range)
	if range:len() < KEY_LEN or range(0, #KEY_MARK):raw() ~= KEY_MARK then return 0, "" end
	local key = range(#KEY_MARK, 8)
	local digits = key:uint64():tohex():lower():gsub("^0+", "")
	t:add(f.service_key, key)
	return KEY_LEN, ", service key 0x" .. (digits == "" and "0" or digits)
end

-- The offer of credits at the end of private data: kind 1 of an Initiate, 2 of an Accept (docs/choices.md); its length.
local function add_offer(t, range, func)
	local kinds = { [INITIATE] = 1, [E_INITIATE] = 1, [ACCEPT] = 2, [E_ACCEPT] = 2 }
	if range:len() < OFFER_LEN then return 0, "" end
	local offer = range(range:len() - OFFER_LEN, OFFER_LEN)
	if offer(0, 7):raw() ~= OFFER_MARK or offer(7, 1):uint() ~= kinds[func] then return 0, "" end
	t:add(f.offer_tag, offer(8, 4))
	t:add(f.offer_window, offer(12, 4))
	t:add(f.offer_receives, offer(16, 4))
	return OFFER_LEN, string.format(", window %u, receives %u", offer(12, 4):uint(), offer(16, 4):uint())
end

-- The private data of a session for datagrams between daemons (docs/datagrams.md); nil if they are others.
local function add_carrier(t, range, func)
	if (func ~= INITIATE and func ~= E_INITIATE) or range:len() ~= CARRIER_LEN or
		range(0, #CARRIER_MARK):raw() ~= CARRIER_MARK then return nil end
	local version = range(#CARRIER_MARK, 1)
	t:add(f.carrier, version)
	return ", carrier of datagrams, version " .. version:uint()
end

-- The bytes after the function code; returns text for the column.
local function add_private(t, tvb, func)
	local at, text, len = CONTROL_LEN, "", tvb:reported_len() - CONTROL_LEN
	if len > PRIVATE_MAX then t:add_proto_expert_info(wrong.long) end
	if func == TERMINATE and len > 0 then t:add_proto_expert_info(wrong.terminate) end
	if func >= E_INITIATE and func <= E_REJECT then
		if tvb:len() >= CONTROL_LEN + ENHANCED_LEN then
			text = add_words(t, tvb(at, ENHANCED_LEN))
			at, len = at + ENHANCED_LEN, len - ENHANCED_LEN
		elseif func ~= E_REJECT then -- only these must have them
			t:add_proto_expert_info(wrong.no_words)
		end
	end
	t:add(f.private_length, tvb(0, 0), len):set_generated()
	if tvb:len() == at then return text end
	if func == INITIATE or func == E_INITIATE then
		local key, words = add_key(t, tvb(at))
		at, len, text = at + key, len - key, text .. words
	end
	if tvb:len() == at then return text end
	local offer, offered = add_offer(t, tvb(at), func)
	len, text = len - offer, text .. offered
	if tvb:len() == at + offer then return text end
	local private = tvb(at, tvb:len() - at - offer)
	t:add(f.private, private)
	return text .. (add_carrier(t, private, func) or ", " .. bytes(len) .. " of private data")
end

function control.dissector(tvb, pinfo, tree)
	local t, ssn = add_message(tvb, tree, "DDP Stream Session Control")
	if not ssn then return say(pinfo, "DDP Stream Session control message without a DDP-SSN") end
	if tvb:len() < CONTROL_LEN then
		t:add_proto_expert_info(wrong.no_function)
		return say(pinfo, "DDP Stream Session control message without a function")
	end
	local code = tvb(SSN_LEN, 2)
	local func = code:uint()
	local item = t:add(f.func, code)
	if func == EXPERIMENTS then
		item:add_proto_expert_info(wrong.experiment)
	elseif not functions[func] then
		item:add_proto_expert_info(wrong.func)
	end
	local name = functions[func] or "function " .. func
	t:append_text(", " .. name)
	say(pinfo, "DDP Stream Session " .. name .. add_private(t, tvb, func))
end

-- ---- a credit -------------------------------------------------------------------------------

function credit.dissector(tvb, pinfo, tree)
	local t = add_item(tvb, tree, "Credit of DDP over SCTP")
	if tvb:len() ~= CREDIT_LEN then
		t:add_proto_expert_info(wrong.credit_length)
		return say(pinfo, "Credit of another length")
	end
	t:add(f.credit_tag, tvb(0, 4))
	t:add(f.credit_limit, tvb(4, 4))
	t:add(f.credit_position, tvb(8, 8))
	say(pinfo, "Credit, delivered up to " .. tostring(tvb(8, 8):uint64()) .. ", receives up to message " ..
		tvb(4, 4):uint())
end

-- ---- the association ------------------------------------------------------------------------

local indication, chunk_type = Field.new("sctp.adaptation_layer_indication"), Field.new("sctp.chunk_type")
local INIT, INIT_ACK, DDP = 1, 2, 1

-- INIT and INIT ACK are alone in their packets.
function association.dissector(_, pinfo, tree)
	local found, kind = indication(), chunk_type()
	if not found or found.value ~= DDP then return end
	local t = tree:add(ddp, found.range, "DDP over SCTP, association for DDP")
	t:add(f.adaptation, found.range)
	if kind.value ~= INIT and kind.value ~= INIT_ACK then t:add_proto_expert_info(wrong.place) end
	pinfo.cols.info:append(" (adaptation: DDP)")
end

ddp:register_heuristic("iwarp_ddp_rdmap", take)
register_postdissector(association)
local ppi = DissectorTable.get("sctp.ppi")
ppi:add(16, ddp)
ppi:add(17, control)
ppi:add(0x44445063, credit)
