/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * abi       prints the layouts that separately built programs share: client and daemon (ipc),
 *           program and library (ddp.h). check.sh compares them with abi.golden.
 * abi ctl   prints the layouts of the records between daemon and ddpctl, with the members that
 *           ddpctl prints. check.sh compares them with ctl.golden.
 */
#include <ddp/ddp_easy.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ctl/field/field.h"
#include "ipc/agent.h"
#include "ipc/local_protocol.h"
#include "ipc/msg.h"
#include "ipc/ring.h"
#include "ipc/packet_ring.h"
#include "ipc/shadow.h"
#include "ipc/wqe.h"
#include "tests/abi/values.h"

struct member {
	const char *name;
	size_t offset, size;
};

#define M(s, m)                                                                                    \
	{                                                                                          \
#m, offsetof(struct s, m), sizeof(((struct s *)0)->m)                              \
	}

static const struct member m_ring_shared[] = {M(ring_shared, tail), M(ring_shared, blocked),
					      M(ring_shared, head), M(ring_shared, sleeping),
					      M(ring_shared, done)};
static const struct member m_bell_page[] = {M(bell_page, summary), M(bell_page, word),
					    M(bell_page, sleeping)};
static const struct member m_wqe_sge[] = {M(wqe_sge, addr), M(wqe_sge, len), M(wqe_sge, lkey)};
static const struct member m_wqe_send[] = {M(wqe_send, wr_id),
					   M(wqe_send, opcode),
					   M(wqe_send, flags),
					   M(wqe_send, num_sge),
					   M(wqe_send, fetch),
					   M(wqe_send, inline_len),
					   M(wqe_send, remote_addr),
					   M(wqe_send, rkey),
					   M(wqe_send, inv_rkey),
					   M(wqe_send, imm),
					   M(wqe_send, atomic),
					   M(wqe_send, atomic.data),
					   M(wqe_send, atomic.mask),
					   M(wqe_send, atomic.compare),
					   M(wqe_send, atomic.compare_mask),
					   M(wqe_send, bind),
					   M(wqe_send, bind.region),
					   M(wqe_send, bind.access),
					   M(wqe_send, bind.length),
					   M(wqe_send, raw),
					   M(wqe_send, raw.rsvd),
					   M(wqe_send, raw.qn),
					   M(wqe_send, operand),
					   M(wqe_send, sge),
					   M(wqe_send, data)};
static const struct member m_wqe_recv[] = {M(wqe_recv, wr_id), M(wqe_recv, num_sge),
					   M(wqe_recv, pad), M(wqe_recv, qn), M(wqe_recv, sge)};
static const struct member m_wqe_cqe[] = {
	M(wqe_cqe, wr_id),    M(wqe_cqe, qp_num),   M(wqe_cqe, status),   M(wqe_cqe, opcode),
	M(wqe_cqe, flags),    M(wqe_cqe, pad),      M(wqe_cqe, imm),      M(wqe_cqe, byte_len),
	M(wqe_cqe, inv_rkey), M(wqe_cqe, err_perr), M(wqe_cqe, err_term), M(wqe_cqe, err_stag),
	M(wqe_cqe, err_to),   M(wqe_cqe, err_len),  M(wqe_cqe, qn),       M(wqe_cqe, index),
	M(wqe_cqe, pad2)};
static const struct member m_msg_hdr[] = {M(msg_hdr, op), M(msg_hdr, seq)};
static const struct member m_msg_error[] = {M(msg_error, hdr), M(msg_error, err),
					    M(msg_error, fatal), M(msg_error, reason)};
static const struct member m_msg_hello[] = {M(msg_hello, hdr), M(msg_hello, major),
					    M(msg_hello, minor), M(msg_hello, pad),
					    M(msg_hello, comm)};
static const struct member m_msg_hello_reply[] = {
	M(msg_hello_reply, hdr),    M(msg_hello_reply, major),   M(msg_hello_reply, minor),
	M(msg_hello_reply, client), M(msg_hello_reply, poll_us), M(msg_hello_reply, pad)};
static const struct member m_msg_caps[] = {
	M(msg_caps, hdr),         M(msg_caps, max_qp),       M(msg_caps, max_cq),
	M(msg_caps, max_mr),      M(msg_caps, max_pd),       M(msg_caps, max_qp_wr),
	M(msg_caps, max_cqe),     M(msg_caps, max_sge),      M(msg_caps, max_inline),
	M(msg_caps, max_ird),     M(msg_caps, max_ord),      M(msg_caps, max_private),
	M(msg_caps, poll_us),     M(msg_caps, max_mr_bytes), M(msg_caps, retransmits),
	M(msg_caps, transport),   M(msg_caps, version),      M(msg_caps, max_srq),
	M(msg_caps, max_mw),      M(msg_caps, features),     M(msg_caps, max_raw_queues),
	M(msg_caps, cpu_user_us), M(msg_caps, cpu_system_us)};
static const struct member m_msg_handle[] = {M(msg_handle, hdr), M(msg_handle, handle),
					     M(msg_handle, pad)};
static const struct member m_msg_reg_mr[] = {M(msg_reg_mr, hdr),    M(msg_reg_mr, pd),
					     M(msg_reg_mr, access), M(msg_reg_mr, offset),
					     M(msg_reg_mr, len),    M(msg_reg_mr, iova)};
static const struct member m_msg_reg_own_mr[] = {M(msg_reg_own_mr, reg), M(msg_reg_own_mr, rung),
						 M(msg_reg_own_mr, reason)};
static const struct member m_msg_agent[] = {M(msg_agent, hdr), M(msg_agent, bytes),
					    M(msg_agent, offset)};
static const struct member m_msg_capture[] = {M(msg_capture, hdr), M(msg_capture, size)};
static const struct member m_packet_ring_page[] = {
	M(packet_ring_page, head), M(packet_ring_page, lost), M(packet_ring_page, tail)};
static const struct member m_packet_head[] = {
	M(packet_head, kept), M(packet_head, len), M(packet_head, time_ns), M(packet_head, lost),
	M(packet_head, out),  M(packet_head, pad), M(packet_head, local),   M(packet_head, remote)};
static const struct member m_agent_request[] = {
	M(agent_request, op),      M(agent_request, stag),        M(agent_request, offset),
	M(agent_request, len),     M(agent_request, data),        M(agent_request, mask),
	M(agent_request, compare), M(agent_request, compare_mask)};
static const struct member m_agent_answer[] = {M(agent_answer, result), M(agent_answer, pad),
					       M(agent_answer, old)};
static const struct member m_agent_slot[] = {M(agent_slot, request), M(agent_slot, asked),
					     M(agent_slot, answer), M(agent_slot, answered)};
static const struct member m_agent_area[] = {M(agent_area, work), M(agent_area, placed),
					     M(agent_area, slot)};
static const struct member m_msg_bind_mr[] = {M(msg_bind_mr, hdr), M(msg_bind_mr, mr),
					      M(msg_bind_mr, qp)};
static const struct member m_msg_notify_mr[] = {M(msg_notify_mr, hdr), M(msg_notify_mr, mr),
						M(msg_notify_mr, cq), M(msg_notify_mr, wr_id)};
static const struct member m_msg_mr[] = {M(msg_mr, hdr), M(msg_mr, handle), M(msg_mr, stag)};
static const struct member m_msg_rereg_mr[] = {M(msg_rereg_mr, hdr),    M(msg_rereg_mr, mr),
					       M(msg_rereg_mr, what),   M(msg_rereg_mr, pd),
					       M(msg_rereg_mr, access), M(msg_rereg_mr, offset),
					       M(msg_rereg_mr, len),    M(msg_rereg_mr, iova)};
static const struct member m_msg_pd_state[] = {M(msg_pd_state, hdr), M(msg_pd_state, mrs),
					       M(msg_pd_state, mws), M(msg_pd_state, qps),
					       M(msg_pd_state, srqs)};
static const struct member m_msg_mr_state[] = {
	M(msg_mr_state, hdr),    M(msg_mr_state, stag),  M(msg_mr_state, access),
	M(msg_mr_state, iova),   M(msg_mr_state, len),   M(msg_mr_state, pd),
	M(msg_mr_state, qp_num), M(msg_mr_state, valid), M(msg_mr_state, windows)};
static const struct member m_msg_alloc_mw[] = {M(msg_alloc_mw, hdr), M(msg_alloc_mw, pd),
					       M(msg_alloc_mw, type)};
static const struct member m_msg_bind_mw[] = {
	M(msg_bind_mw, hdr), M(msg_bind_mw, mw),   M(msg_bind_mw, mr), M(msg_bind_mw, access),
	M(msg_bind_mw, pad), M(msg_bind_mw, addr), M(msg_bind_mw, len)};
static const struct member m_msg_mw_state[] = {
	M(msg_mw_state, hdr),   M(msg_mw_state, type),    M(msg_mw_state, stag),
	M(msg_mw_state, valid), M(msg_mw_state, access),  M(msg_mw_state, addr),
	M(msg_mw_state, len),   M(msg_mw_state, mr_stag), M(msg_mw_state, qp_num),
	M(msg_mw_state, pd),    M(msg_mw_state, pad)};
static const struct member m_msg_create_cq[] = {M(msg_create_cq, hdr), M(msg_create_cq, entries),
						M(msg_create_cq, pad)};
static const struct member m_msg_resize_cq[] = {M(msg_resize_cq, hdr), M(msg_resize_cq, cq),
						M(msg_resize_cq, entries)};
static const struct member m_msg_cq[] = {M(msg_cq, hdr), M(msg_cq, handle), M(msg_cq, entries),
					 M(msg_cq, bytes), M(msg_cq, offset)};
static const struct member m_msg_cq_state[] = {
	M(msg_cq_state, hdr),      M(msg_cq_state, entries), M(msg_cq_state, waiting),
	M(msg_cq_state, reserved), M(msg_cq_state, qps),     M(msg_cq_state, completions),
	M(msg_cq_state, bells)};
static const struct member m_msg_create_srq[] = {
	M(msg_create_srq, hdr),     M(msg_create_srq, pd),    M(msg_create_srq, entries),
	M(msg_create_srq, max_sge), M(msg_create_srq, limit), M(msg_create_srq, per_qp),
	M(msg_create_srq, cookie)};
static const struct member m_msg_srq[] = {M(msg_srq, hdr), M(msg_srq, handle), M(msg_srq, entry),
					  M(msg_srq, bytes), M(msg_srq, offset)};
static const struct member m_msg_modify_srq[] = {M(msg_modify_srq, hdr), M(msg_modify_srq, srq),
						 M(msg_modify_srq, what), M(msg_modify_srq, limit),
						 M(msg_modify_srq, per_qp)};
static const struct member m_msg_srq_state[] = {
	M(msg_srq_state, hdr),   M(msg_srq_state, entries), M(msg_srq_state, max_sge),
	M(msg_srq_state, limit), M(msg_srq_state, per_qp),  M(msg_srq_state, posted),
	M(msg_srq_state, held),  M(msg_srq_state, qps),     M(msg_srq_state, pd),
	M(msg_srq_state, taken)};
static const struct member m_msg_create_qp[] = {
	M(msg_create_qp, hdr),          M(msg_create_qp, pd),
	M(msg_create_qp, send_cq),      M(msg_create_qp, recv_cq),
	M(msg_create_qp, sq_entries),   M(msg_create_qp, rq_entries),
	M(msg_create_qp, max_send_sge), M(msg_create_qp, max_recv_sge),
	M(msg_create_qp, max_inline),   M(msg_create_qp, ord),
	M(msg_create_qp, ird),          M(msg_create_qp, sq_sig_all),
	M(msg_create_qp, type),         M(msg_create_qp, srq),
	M(msg_create_qp, raw_queues),   M(msg_create_qp, raw_notify),
	M(msg_create_qp, scope_of)};
static const struct member m_msg_qp[] = {
	M(msg_qp, hdr),      M(msg_qp, handle),   M(msg_qp, qp_num), M(msg_qp, slot),
	M(msg_qp, sq_entry), M(msg_qp, rq_entry), M(msg_qp, pad),    M(msg_qp, rq_offset),
	M(msg_qp, bytes),    M(msg_qp, offset)};
static const struct member m_msg_qp_state[] = {
	M(msg_qp_state, hdr),          M(msg_qp_state, state),      M(msg_qp_state, max_tagged),
	M(msg_qp_state, max_untagged), M(msg_qp_state, ord),        M(msg_qp_state, ird),
	M(msg_qp_state, stream),       M(msg_qp_state, max_ord),    M(msg_qp_state, assoc),
	M(msg_qp_state, local),        M(msg_qp_state, remote),     M(msg_qp_state, max_ird),
	M(msg_qp_state, peer_ird),     M(msg_qp_state, peer_ord),   M(msg_qp_state, type),
	M(msg_qp_state, sq_entries),   M(msg_qp_state, rq_entries), M(msg_qp_state, max_send_sge),
	M(msg_qp_state, max_recv_sge), M(msg_qp_state, max_inline), M(msg_qp_state, srq_held),
	M(msg_qp_state, srq_taken),    M(msg_qp_state, qkey),       M(msg_qp_state, pad),
	M(msg_qp_state, tx_dropped),   M(msg_qp_state, rx_dropped)};
static const struct member m_msg_addr[] = {M(msg_addr, family), M(msg_addr, port),
					   M(msg_addr, scope), M(msg_addr, bytes)};
static const struct member m_msg_path[] = {
	M(msg_path, remote), M(msg_path, state), M(msg_path, primary), M(msg_path, srtt_us),
	M(msg_path, rto_ms), M(msg_path, cwnd),  M(msg_path, mtu)};
static const struct member m_msg_options[] = {M(msg_options, hdr),     M(msg_options, handle),
					      M(msg_options, what),    M(msg_options, hold_bytes),
					      M(msg_options, hold_ms), M(msg_options, flags),
					      M(msg_options, access)};
static const struct member m_msg_qp_rnr[] = {M(msg_qp_rnr, hdr), M(msg_qp_rnr, handle),
					     M(msg_qp_rnr, retry), M(msg_qp_rnr, timer_ms)};
static const struct member m_msg_qp_qkey[] = {M(msg_qp_qkey, hdr), M(msg_qp_qkey, handle),
					      M(msg_qp_qkey, qkey)};
static const struct member m_msg_qp_number[] = {M(msg_qp_number, hdr), M(msg_qp_number, handle),
						M(msg_qp_number, from)};
static const struct member m_msg_create_ah[] = {M(msg_create_ah, hdr), M(msg_create_ah, pd),
						M(msg_create_ah, pad), M(msg_create_ah, remote),
						M(msg_create_ah, local)};
static const struct member m_msg_options_state[] = {
	M(msg_options_state, hdr),        M(msg_options_state, hold_bytes),
	M(msg_options_state, hold_ms),    M(msg_options_state, flags),
	M(msg_options_state, held_bytes), M(msg_options_state, held_msgs),
	M(msg_options_state, access),     M(msg_options_state, pad)};
static const struct member m_msg_paths[] = {M(msg_paths, hdr), M(msg_paths, n), M(msg_paths, total),
					    M(msg_paths, path)};
static const struct member m_msg_set_primary[] = {M(msg_set_primary, hdr), M(msg_set_primary, qp),
						  M(msg_set_primary, assoc),
						  M(msg_set_primary, remote)};
static const struct member m_msg_listen[] = {
	M(msg_listen, hdr),    M(msg_listen, backlog), M(msg_listen, cookie), M(msg_listen, port),
	M(msg_listen, naddrs), M(msg_listen, flags),   M(msg_listen, addrs)};
static const struct member m_msg_listen_key[] = {M(msg_listen_key, listen), M(msg_listen_key, key)};
static const struct member m_msg_request_state[] = {
	M(msg_request_state, hdr),   M(msg_request_state, local),  M(msg_request_state, remote),
	M(msg_request_state, assoc), M(msg_request_state, stream), M(msg_request_state, pad),
	M(msg_request_state, peer)};
static const struct member m_msg_peer_facts[] = {
	M(msg_peer_facts, security), M(msg_peer_facts, proven), M(msg_peer_facts, has_fingerprint),
	M(msg_peer_facts, fingerprint), M(msg_peer_facts, name)};
static const struct member m_msg_peer[] = {M(msg_peer, hdr), M(msg_peer, peer)};
static const struct member m_msg_addrs[] = {M(msg_addrs, hdr),      M(msg_addrs, n),
					    M(msg_addrs, pad),      M(msg_addrs, addrs),
					    M(msg_addrs, num_more), M(msg_addrs, more)};
static const struct member m_msg_listener[] = {M(msg_listener, hdr), M(msg_listener, handle),
					       M(msg_listener, port)};
static const struct member m_msg_connect[] = {
	M(msg_connect, hdr),         M(msg_connect, qp),          M(msg_connect, cookie),
	M(msg_connect, timeout_ms),  M(msg_connect, private_len), M(msg_connect, flags),
	M(msg_connect, ird),         M(msg_connect, ord),         M(msg_connect, npeers),
	M(msg_connect, nlocals),     M(msg_connect, peers),       M(msg_connect, locals),
	M(msg_connect, private_data)};
static const struct member m_msg_accept[] = {
	M(msg_accept, hdr),    M(msg_accept, request),     M(msg_accept, qp),
	M(msg_accept, cookie), M(msg_accept, private_len), M(msg_accept, flags),
	M(msg_accept, ird),    M(msg_accept, ord),         M(msg_accept, private_data)};
static const struct member m_msg_reject[] = {M(msg_reject, hdr),         M(msg_reject, request),
					     M(msg_reject, private_len), M(msg_reject, flags),
					     M(msg_reject, ird),         M(msg_reject, ord),
					     M(msg_reject, private_data)};
static const struct member m_msg_event[] = {
	M(msg_event, hdr),      M(msg_event, type),        M(msg_event, cookie),
	M(msg_event, request),  M(msg_event, qp),          M(msg_event, err),
	M(msg_event, term),     M(msg_event, private_len), M(msg_event, assoc),
	M(msg_event, stream),   M(msg_event, flags),       M(msg_event, peer_ird),
	M(msg_event, peer_ord), M(msg_event, seg_len),     M(msg_event, header_len),
	M(msg_event, peer),     M(msg_event, reason),      M(msg_event, header),
	M(msg_event, pad),      M(msg_event, private_data)};
static const struct member m_ddp_easy_attr[] = {
	M(ddp_easy_attr, struct_size), M(ddp_easy_attr, socket), M(ddp_easy_attr, message_bytes),
	M(ddp_easy_attr, messages), M(ddp_easy_attr, listen_flags)};
static const struct member m_ddp_open_attr[] = {
	M(ddp_open_attr, struct_size), M(ddp_open_attr, socket), M(ddp_open_attr, timeout_ms)};
static const struct member m_ddp_caps[] = {
	M(ddp_caps, struct_size), M(ddp_caps, max_qp),       M(ddp_caps, max_cq),
	M(ddp_caps, max_mr),      M(ddp_caps, max_pd),       M(ddp_caps, max_qp_wr),
	M(ddp_caps, max_cqe),     M(ddp_caps, max_sge),      M(ddp_caps, max_inline),
	M(ddp_caps, max_ird),     M(ddp_caps, max_ord),      M(ddp_caps, max_private),
	M(ddp_caps, poll_us),     M(ddp_caps, max_mr_bytes), M(ddp_caps, retransmits),
	M(ddp_caps, transport),   M(ddp_caps, version),      M(ddp_caps, max_srq),
	M(ddp_caps, max_mw),      M(ddp_caps, features),     M(ddp_caps, max_raw_queues),
	M(ddp_caps, cpu_user_us), M(ddp_caps, cpu_system_us)};
static const struct member m_ddp_pd_attr[] = {M(ddp_pd_attr, struct_size), M(ddp_pd_attr, mrs),
					      M(ddp_pd_attr, mws), M(ddp_pd_attr, qps),
					      M(ddp_pd_attr, srqs)};
static const struct member m_ddp_mr[] = {M(ddp_mr, addr), M(ddp_mr, length), M(ddp_mr, iova),
					 M(ddp_mr, lkey), M(ddp_mr, rkey),   M(ddp_mr, pd),
					 M(ddp_mr, memfd)};
static const struct member m_ddp_rereg_attr[] = {
	M(ddp_rereg_attr, struct_size), M(ddp_rereg_attr, fd),    M(ddp_rereg_attr, offset),
	M(ddp_rereg_attr, length),      M(ddp_rereg_attr, addr),  M(ddp_rereg_attr, iova),
	M(ddp_rereg_attr, pd),          M(ddp_rereg_attr, access)};
static const struct member m_ddp_reg_attr[] = {M(ddp_reg_attr, struct_size), M(ddp_reg_attr, flags),
					       M(ddp_reg_attr, iova)};
static const struct member m_ddp_mr_attr[] = {M(ddp_mr_attr, struct_size), M(ddp_mr_attr, rkey),
					      M(ddp_mr_attr, access),      M(ddp_mr_attr, iova),
					      M(ddp_mr_attr, length),      M(ddp_mr_attr, qp_num),
					      M(ddp_mr_attr, windows),     M(ddp_mr_attr, valid),
					      M(ddp_mr_attr, rung),        M(ddp_mr_attr, reason)};
static const struct member m_ddp_mw[] = {M(ddp_mw, rkey), M(ddp_mw, type), M(ddp_mw, pd)};
static const struct member m_ddp_mw_attr[] = {M(ddp_mw_attr, struct_size), M(ddp_mw_attr, rkey),
					      M(ddp_mw_attr, bound),       M(ddp_mw_attr, access),
					      M(ddp_mw_attr, addr),        M(ddp_mw_attr, length),
					      M(ddp_mw_attr, mr_rkey),     M(ddp_mw_attr, qp_num)};
static const struct member m_ddp_cq_attr[] = {M(ddp_cq_attr, struct_size), M(ddp_cq_attr, entries),
					      M(ddp_cq_attr, spin_us), M(ddp_cq_attr, keep_events)};
static const struct member m_ddp_wc[] = {M(ddp_wc, wr_id),
					 M(ddp_wc, status),
					 M(ddp_wc, opcode),
					 M(ddp_wc, byte_len),
					 M(ddp_wc, qp_num),
					 M(ddp_wc, wc_flags),
					 M(ddp_wc, invalidated_rkey),
					 M(ddp_wc, src_qp),
					 M(ddp_wc, term),
					 M(ddp_wc, err_kind),
					 M(ddp_wc, err_stag),
					 M(ddp_wc, err_to),
					 M(ddp_wc, err_len),
					 M(ddp_wc, imm_data),
					 M(ddp_wc, qn),
					 M(ddp_wc, stag)};
static const struct member m_ddp_cq_state[] = {
	M(ddp_cq_state, struct_size), M(ddp_cq_state, entries), M(ddp_cq_state, waiting),
	M(ddp_cq_state, reserved),    M(ddp_cq_state, qps),     M(ddp_cq_state, completions)};
static const struct member m_ddp_srq_attr[] = {
	M(ddp_srq_attr, struct_size), M(ddp_srq_attr, max_wr),     M(ddp_srq_attr, max_sge),
	M(ddp_srq_attr, limit),       M(ddp_srq_attr, max_per_qp), M(ddp_srq_attr, user),
	M(ddp_srq_attr, hold_bytes),  M(ddp_srq_attr, hold_ms)};
static const struct member m_ddp_srq_state[] = {
	M(ddp_srq_state, struct_size), M(ddp_srq_state, max_wr),     M(ddp_srq_state, max_sge),
	M(ddp_srq_state, limit),       M(ddp_srq_state, max_per_qp), M(ddp_srq_state, posted),
	M(ddp_srq_state, held),        M(ddp_srq_state, qps),        M(ddp_srq_state, taken),
	M(ddp_srq_state, hold_bytes),  M(ddp_srq_state, hold_ms),    M(ddp_srq_state, held_bytes),
	M(ddp_srq_state, held_msgs)};
static const struct member m_ddp_path[] = {
	M(ddp_path, remote), M(ddp_path, state), M(ddp_path, primary), M(ddp_path, srtt_us),
	M(ddp_path, rto_ms), M(ddp_path, cwnd),  M(ddp_path, mtu)};
static const struct member m_msg_async[] = {M(msg_async, hdr),    M(msg_async, type),
					    M(msg_async, handle), M(msg_async, err),
					    M(msg_async, term),   M(msg_async, pad)};
static const struct member m_ddp_async_event[] = {
	M(ddp_async_event, type), M(ddp_async_event, err), M(ddp_async_event, term),
	M(ddp_async_event, qp),   M(ddp_async_event, cq),  M(ddp_async_event, srq)};
static const struct member m_ddp_cm_event[] = {
	M(ddp_cm_event, type),       M(ddp_cm_event, id),           M(ddp_cm_event, listener),
	M(ddp_cm_event, err),        M(ddp_cm_event, term),         M(ddp_cm_event, stream),
	M(ddp_cm_event, assoc),      M(ddp_cm_event, private_data), M(ddp_cm_event, private_len),
	M(ddp_cm_event, peer),       M(ddp_cm_event, reason),       M(ddp_cm_event, conn_flags),
	M(ddp_cm_event, peer_ird),   M(ddp_cm_event, peer_ord),     M(ddp_cm_event, header),
	M(ddp_cm_event, header_len), M(ddp_cm_event, segment_len),  M(ddp_cm_event, srq_user),
	M(ddp_cm_event, path)};
static const struct member m_ddp_conn_param[] = {M(ddp_conn_param, struct_size),
						 M(ddp_conn_param, private_data),
						 M(ddp_conn_param, private_len),
						 M(ddp_conn_param, timeout_ms),
						 M(ddp_conn_param, flags),
						 M(ddp_conn_param, ird),
						 M(ddp_conn_param, ord),
						 M(ddp_conn_param, peer_addrs),
						 M(ddp_conn_param, num_peer_addrs),
						 M(ddp_conn_param, local_addrs),
						 M(ddp_conn_param, num_local_addrs),
						 M(ddp_conn_param, service_key)};
static const struct member m_ddp_listen_attr[] = {
	M(ddp_listen_attr, struct_size), M(ddp_listen_attr, addrs),
	M(ddp_listen_attr, num_addrs),   M(ddp_listen_attr, port),
	M(ddp_listen_attr, backlog),     M(ddp_listen_attr, service_key),
	M(ddp_listen_attr, flags)};
static const struct member m_ddp_id_attr[] = {
	M(ddp_id_attr, struct_size), M(ddp_id_attr, local),
	M(ddp_id_attr, remote),      M(ddp_id_attr, port),
	M(ddp_id_attr, stream),      M(ddp_id_attr, assoc),
	M(ddp_id_attr, service_key), M(ddp_id_attr, security),
	M(ddp_id_attr, proven),      M(ddp_id_attr, has_fingerprint),
	M(ddp_id_attr, fingerprint), M(ddp_id_attr, peer_name)};
static const struct member m_ddp_qp_init[] = {
	M(ddp_qp_init, struct_size),   M(ddp_qp_init, send_cq),     M(ddp_qp_init, recv_cq),
	M(ddp_qp_init, max_send_wr),   M(ddp_qp_init, max_recv_wr), M(ddp_qp_init, max_send_sge),
	M(ddp_qp_init, max_recv_sge),  M(ddp_qp_init, max_inline),  M(ddp_qp_init, max_ord),
	M(ddp_qp_init, max_ird),       M(ddp_qp_init, sq_sig_all),  M(ddp_qp_init, srq),
	M(ddp_qp_init, qp_type),       M(ddp_qp_init, raw_queues),  M(ddp_qp_init, raw_notify),
	M(ddp_qp_init, hold_bytes),    M(ddp_qp_init, hold_ms),     M(ddp_qp_init, options),
	M(ddp_qp_init, remote_access), M(ddp_qp_init, qkey),        M(ddp_qp_init, scope_of)};
static const struct member m_ddp_qp_attr[] = {
	M(ddp_qp_attr, struct_size),  M(ddp_qp_attr, state),         M(ddp_qp_attr, qp_num),
	M(ddp_qp_attr, max_tagged),   M(ddp_qp_attr, max_untagged),  M(ddp_qp_attr, ord),
	M(ddp_qp_attr, ird),          M(ddp_qp_attr, stream),        M(ddp_qp_attr, assoc),
	M(ddp_qp_attr, local),        M(ddp_qp_attr, remote),        M(ddp_qp_attr, max_ord),
	M(ddp_qp_attr, max_ird),      M(ddp_qp_attr, peer_ird),      M(ddp_qp_attr, peer_ord),
	M(ddp_qp_attr, qp_type),      M(ddp_qp_attr, max_send_wr),   M(ddp_qp_attr, max_recv_wr),
	M(ddp_qp_attr, max_send_sge), M(ddp_qp_attr, max_recv_sge),  M(ddp_qp_attr, max_inline),
	M(ddp_qp_attr, srq_held),     M(ddp_qp_attr, srq_taken),     M(ddp_qp_attr, hold_bytes),
	M(ddp_qp_attr, hold_ms),      M(ddp_qp_attr, options),       M(ddp_qp_attr, held_bytes),
	M(ddp_qp_attr, held_msgs),    M(ddp_qp_attr, remote_access), M(ddp_qp_attr, qkey),
	M(ddp_qp_attr, tx_dropped),   M(ddp_qp_attr, rx_dropped)};
static const struct member m_ddp_sge[] = {M(ddp_sge, addr), M(ddp_sge, length), M(ddp_sge, lkey)};
static const struct member m_ddp_raw_wr[] = {M(ddp_raw_wr, qn), M(ddp_raw_wr, rsvd)};
static const struct member m_ddp_datagram_wr[] = {
	M(ddp_datagram_wr, ah), M(ddp_datagram_wr, remote_qp), M(ddp_datagram_wr, remote_qkey)};
static const struct member m_ddp_send_wr[] = {M(ddp_send_wr, wr_id),
					      M(ddp_send_wr, next),
					      M(ddp_send_wr, sg_list),
					      M(ddp_send_wr, num_sge),
					      M(ddp_send_wr, opcode),
					      M(ddp_send_wr, send_flags),
					      M(ddp_send_wr, invalidate_rkey),
					      M(ddp_send_wr, rdma),
					      M(ddp_send_wr, rdma.remote_addr),
					      M(ddp_send_wr, rdma.rkey),
					      M(ddp_send_wr, imm_data),
					      M(ddp_send_wr, atomic),
					      M(ddp_send_wr, atomic.compare_add),
					      M(ddp_send_wr, atomic.swap),
					      M(ddp_send_wr, atomic.add_mask),
					      M(ddp_send_wr, atomic.compare_mask),
					      M(ddp_send_wr, atomic.swap_mask),
					      M(ddp_send_wr, bind),
					      M(ddp_send_wr, bind.mw),
					      M(ddp_send_wr, bind.rkey),
					      M(ddp_send_wr, bind.mr),
					      M(ddp_send_wr, bind.addr),
					      M(ddp_send_wr, bind.length),
					      M(ddp_send_wr, bind.access),
					      M(ddp_send_wr, raw),
					      M(ddp_send_wr, raw.qn),
					      M(ddp_send_wr, raw.rsvd),
					      M(ddp_send_wr, ud)};
static const struct member m_ddp_recv_wr[] = {M(ddp_recv_wr, wr_id), M(ddp_recv_wr, next),
					      M(ddp_recv_wr, sg_list), M(ddp_recv_wr, num_sge),
					      M(ddp_recv_wr, qn)};

#define S(s)                                                                                       \
	{                                                                                          \
#s, sizeof(struct s), alignof(struct s), m_##s, sizeof(m_##s) / sizeof(m_##s[0])   \
	}

static const struct {
	const char *name;
	size_t size, align;
	const struct member *members;
	size_t count;
} structs[] = {S(ring_shared),
	       S(bell_page),
	       S(wqe_sge),
	       S(wqe_send),
	       S(wqe_recv),
	       S(wqe_cqe),
	       S(msg_hdr),
	       S(msg_error),
	       S(msg_hello),
	       S(msg_hello_reply),
	       S(msg_caps),
	       S(msg_handle),
	       S(msg_reg_mr),
	       S(msg_bind_mr),
	       S(msg_notify_mr),
	       S(msg_mr),
	       S(msg_agent),
	       S(msg_capture),
	       S(packet_ring_page),
	       S(packet_head),
	       S(agent_request),
	       S(agent_answer),
	       S(agent_slot),
	       S(agent_area),
	       S(msg_rereg_mr),
	       S(msg_pd_state),
	       S(msg_mr_state),
	       S(msg_alloc_mw),
	       S(msg_bind_mw),
	       S(msg_mw_state),
	       S(msg_create_cq),
	       S(msg_cq),
	       S(msg_cq_state),
	       S(msg_create_srq),
	       S(msg_srq),
	       S(msg_modify_srq),
	       S(msg_srq_state),
	       S(msg_create_qp),
	       S(msg_qp),
	       S(msg_qp_state),
	       S(msg_listen),
	       S(msg_addr),
	       S(msg_path),
	       S(msg_paths),
	       S(msg_set_primary),
	       S(msg_listener),
	       S(msg_connect),
	       S(msg_accept),
	       S(msg_reject),
	       S(msg_event),
	       S(ddp_easy_attr),
	       S(ddp_open_attr),
	       S(ddp_caps),
	       S(ddp_pd_attr),
	       S(ddp_mr),
	       S(ddp_rereg_attr),
	       S(ddp_mr_attr),
	       S(ddp_mw),
	       S(ddp_mw_attr),
	       S(ddp_cq_attr),
	       S(ddp_wc),
	       S(ddp_cq_state),
	       S(ddp_srq_attr),
	       S(ddp_srq_state),
	       S(ddp_cm_event),
	       S(ddp_path),
	       S(ddp_conn_param),
	       S(ddp_qp_init),
	       S(ddp_qp_attr),
	       S(ddp_sge),
	       S(ddp_raw_wr),
	       S(ddp_datagram_wr),
	       S(ddp_send_wr),
	       S(ddp_recv_wr),
	       S(msg_listen_key),
	       S(msg_request_state),
	       S(msg_peer_facts),
	       S(msg_peer),
	       S(msg_addrs),
	       S(ddp_listen_attr),
	       S(ddp_id_attr),
	       S(msg_options),
	       S(msg_options_state),
	       S(msg_qp_rnr),
	       S(msg_qp_qkey),
	       S(msg_qp_number),
	       S(msg_create_ah),
	       S(msg_resize_cq),
	       S(msg_reg_own_mr),
	       S(ddp_reg_attr),
	       S(msg_async),
	       S(ddp_async_event)};

static void print_members(const struct member *m, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("\t%s: %zu, %zu\n", m[i].name, m[i].offset, m[i].size);
}

static void print_values(const struct value *v, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s %lld\n", v[i].name, v[i].value);
}

/* Frames have fixed sizes. Objects grow at their end, so their sizes are not printed. */
static int print_ctl(void)
{
	static const struct value numbers[] = {
		V(CTL_VERSION), V(CTL_STATUS), V(CTL_ASSOC),  V(CTL_SESSION),  V(CTL_QP),
		V(CTL_MR),      V(CTL_CQ),     V(CTL_CLIENT), V(CTL_LISTENER), V(CTL_SRQ),
		V(CTL_MW),      V(CTL_PD),     V(CTL_PATH),   V(CTL_EVENT),    V(CTL_CONFIG),
		V(CTL_LIMIT),   V(CTL_USER),   V(CTL_TURN),
	};
	static const struct member show[] = {M(ctl_show, hdr), M(ctl_show, object),
					     M(ctl_show, version)};
	static const struct member todo[] = {M(ctl_do, hdr), M(ctl_do, version), M(ctl_do, verb),
					     M(ctl_do, id), M(ctl_do, arg)};
	static const struct member set[] = {M(ctl_set, hdr), M(ctl_set, version), M(ctl_set, key),
					    M(ctl_set, value)};
	static const struct member capture[] = {M(ctl_capture, hdr), M(ctl_capture, version),
						M(ctl_capture, what), M(ctl_capture, id),
						M(ctl_capture, snap)};
	static const struct member end[] = {M(ctl_end, hdr), M(ctl_end, records),
					    M(ctl_end, hidden)};
	static const struct member record[] = {M(ctl_record, hdr), M(ctl_record, object),
					       M(ctl_record, len)};
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	print_values(numbers, sizeof(numbers) / sizeof(numbers[0]));
	printf("struct ctl_show: size %zu\n", sizeof(struct ctl_show));
	print_members(show, sizeof(show) / sizeof(show[0]));
	printf("struct ctl_do: size %zu\n", sizeof(struct ctl_do));
	print_members(todo, sizeof(todo) / sizeof(todo[0]));
	printf("struct ctl_set: size %zu\n", sizeof(struct ctl_set));
	print_members(set, sizeof(set) / sizeof(set[0]));
	printf("struct ctl_capture: size %zu\n", sizeof(struct ctl_capture));
	print_members(capture, sizeof(capture) / sizeof(capture[0]));
	printf("struct ctl_end: size %zu\n", sizeof(struct ctl_end));
	print_members(end, sizeof(end) / sizeof(end[0]));
	printf("struct ctl_record: objects at %zu\n", (size_t)CTL_HEAD);
	print_members(record, sizeof(record) / sizeof(record[0]));
	for (unsigned i = 0; i < n; i++) {
		printf("struct ctl_%s:\n", objs[i].name);
		for (unsigned k = 0; k < objs[i].nfields; k++)
			printf("\tctl_%s.%s: %u, %u\n", objs[i].name, objs[i].fields[k].key,
			       objs[i].fields[k].offset, objs[i].fields[k].size);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "ctl"))
		return print_ctl();
	print_values(values, sizeof(values) / sizeof(values[0]));
	for (size_t i = 0; i < sizeof(structs) / sizeof(structs[0]); i++) {
		printf("struct %s: size %zu, align %zu\n", structs[i].name, structs[i].size,
		       structs[i].align);
		print_members(structs[i].members, structs[i].count);
	}
	return 0;
}
