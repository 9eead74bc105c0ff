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
segment.fields = { segment_ssn }

local control_ssn = ProtoField.uint16("ddp_session.ssn", "DDP-SSN")
local control_func = ProtoField.uint16("ddp_session.function", "Function", base.DEC, functions)
local control_private = ProtoField.bytes("ddp_session.private", "Private data")
control.fields = { control_ssn, control_func, control_private }

local wrong = ProtoExpert.new("ddp_session.wrong", "Not as RFC 5043 has it", expert.group.MALFORMED,
	expert.severity.ERROR)
control.experts = { wrong }

local iwarp = Dissector.get("iwarp_ddp_rdmap")

function segment.dissector(tvb, pinfo, tree)
	local t = tree:add(segment, tvb(0, 2))
	t:add(segment_ssn, tvb(0, 2))
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
