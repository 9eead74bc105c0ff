-- SPDX-License-Identifier: BSD-2-Clause
-- DDP over SCTP (RFC 5043) for tshark and Wireshark: SCTP user messages with payload protocol 16 are a
-- DDP-SSN and a DDP segment, which Wireshark's own dissector knows; those with 17 are session control.
--   tshark -X lua_script:ddp_sctp.lua -r FILE
-- Turn the heuristic of RPC over RDMA off (--disable-heuristic rpcrdma_iwarp): it claims short payloads.

local segment = Proto("ddp_sctp", "DDP over SCTP")
local control = Proto("ddp_session", "DDP stream session control")

local functions = {
	[1] = "Initiate", [2] = "Accept", [3] = "Reject", [4] = "Terminate",
	[5] = "Enhanced Initiate", [6] = "Enhanced Accept", [7] = "Enhanced Reject",
}

local segment_ssn = ProtoField.uint16("ddp_sctp.ssn", "DDP-SSN")
local segment_octets = ProtoField.bytes("ddp_sctp.octets", "DDP header and what follows, 70 octets at most")
local segment_len = ProtoField.uint32("ddp_sctp.len", "Length of the segment")
segment.fields = { segment_ssn, segment_octets, segment_len }

local control_ssn = ProtoField.uint16("ddp_session.ssn", "DDP-SSN")
local control_func = ProtoField.uint16("ddp_session.function", "Function", base.DEC, functions)
local control_private = ProtoField.bytes("ddp_session.private", "Private data")
local control_words = ProtoField.uint32("ddp_session.words", "Depths and first message (RFC 6581)", base.HEX)
local control_a = ProtoField.bool("ddp_session.a", "A: from peer to peer", 32, nil, 0x80000000)
local control_b = ProtoField.bool("ddp_session.b", "B: Send", 32, nil, 0x40000000)
local control_ird = ProtoField.uint32("ddp_session.ird", "IRD", base.DEC, nil, 0x3fff0000)
local control_c = ProtoField.bool("ddp_session.c", "C: Write", 32, nil, 0x00008000)
local control_d = ProtoField.bool("ddp_session.d", "D: Read", 32, nil, 0x00004000)
local control_ord = ProtoField.uint32("ddp_session.ord", "ORD", base.DEC, nil, 0x00003fff)
control.fields = {
	control_ssn, control_func, control_private, control_words, control_a, control_b, control_ird, control_c,
	control_d, control_ord,
}

local wrong = ProtoExpert.new("ddp_session.wrong", "Not as RFC 5043 has it", expert.group.MALFORMED,
	expert.severity.ERROR)
control.experts = { wrong }

local iwarp = Dissector.get("iwarp_ddp_rdmap")

function segment.dissector(tvb, pinfo, tree)
	local t = tree:add(segment, tvb(0, 2))
	t:add(segment_ssn, tvb(0, 2))
	t:add(segment_octets, tvb(2, math.min(tvb:len() - 2, 70)))
	t:add(segment_len, tvb(2), tvb:len() - 2):set_generated()
	iwarp:call(tvb(2):tvb(), pinfo, tree)
end

function control.dissector(tvb, pinfo, tree)
	local t = tree:add(control, tvb())
	if tvb:len() < 4 then
		t:add_proto_expert_info(wrong, "shorter than 4 bytes")
		return
	end
	t:add(control_ssn, tvb(0, 2))
	t:add(control_func, tvb(2, 2))
	local func = tvb(2, 2):uint()
	if not functions[func] then t:add_proto_expert_info(wrong, "unknown function") end
	if func >= 5 and func <= 7 and tvb:len() >= 8 then
		local words = t:add(control_words, tvb(4, 4))
		for _, f in ipairs({ control_a, control_b, control_ird, control_c, control_d, control_ord }) do
			words:add(f, tvb(4, 4))
		end
	elseif func == 5 or func == 6 then
		t:add_proto_expert_info(wrong, "without the words of RFC 6581")
	end
	if tvb:len() > 4 then
		t:add(control_private, tvb(4))
		if func == 4 then t:add_proto_expert_info(wrong, "Terminate with private data") end
		if tvb:len() > 4 + 512 then t:add_proto_expert_info(wrong, "more than 512 bytes") end
	end
	pinfo.cols.protocol = "DDP session"
	pinfo.cols.info:append(" " .. (functions[func] or "?"))
end

local ppi = DissectorTable.get("sctp.ppi")
ppi:add(16, segment)
ppi:add(17, control)
