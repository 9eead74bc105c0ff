/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts for messages to users. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <stdio.h>
#include <string.h>

#include "util/perr_table.h"

static const char *explain(struct ddp_wc wc)
{
	static char buf[256];
	int n = ddp_explain(&wc, buf, sizeof(buf));

	cr_assert_eq((size_t)n, strlen(buf));
	return buf;
}

Test(strings, a_refusal_names_key_offset_length_and_cause)
{
	cr_assert_str_eq(explain((struct ddp_wc){.status = DDP_WC_REM_ACCESS_ERR,
						 .opcode = DDP_WC_RDMA_WRITE,
						 .term = 0x1101,
						 .err_stag = 0x1a2b3c4d,
						 .err_to = 8190,
						 .err_len = 16}),
			 "RDMA Write refused by the peer: STag 0x1a2b3c4d: offset 8190 + 16 bytes "
			 "is outside the region (layer 1, type 1, code 01)");
}

Test(strings, addresses_are_hexadecimal)
{
	cr_assert(strstr(explain((struct ddp_wc){.status = DDP_WC_REM_ACCESS_ERR,
						 .opcode = DDP_WC_RDMA_READ,
						 .term = 0x0101,
						 .err_to = 0x7f0012345678,
						 .err_len = 1}),
			 "offset 0x7f0012345678 + 1 bytes"));
}

Test(strings, faults_of_this_side_name_the_lkey)
{
	cr_assert_str_eq(explain((struct ddp_wc){.status = DDP_WC_LOC_KEY_ERR,
						 .opcode = DDP_WC_SEND,
						 .err_stag = 0xff}),
			 "Send failed on this side: lkey 0x000000ff does not name a region");
	cr_assert_str_eq(explain((struct ddp_wc){.status = DDP_WC_LOC_SGE_ERR}),
			 "Send failed on this side: num_sge is out of range");
}

Test(strings, a_flushed_request_is_not_a_failure)
{
	cr_assert_str_eq(
		explain((struct ddp_wc){.status = DDP_WC_FLUSH_ERR, .opcode = DDP_WC_RECV}),
		"receive was not done: the session ended first");
	cr_assert_str_eq(explain((struct ddp_wc){.status = DDP_WC_FLUSH_ERR, .term = 0x1101}),
			 "Send was not done: the session ended first (layer 1, type 1, code 01)");
}

Test(strings, success_reports_length_and_stag)
{
	cr_assert_str_eq(explain((struct ddp_wc){.opcode = DDP_WC_RECV,
						 .byte_len = 42,
						 .wc_flags = DDP_WC_WITH_INV,
						 .invalidated_rkey = 1}),
			 "receive completed: 42 bytes; STag 0x00000001 was invalidated");
	cr_assert_str_eq(explain((struct ddp_wc){.opcode = DDP_WC_RDMA_WRITE}),
			 "RDMA Write completed");
}

Test(strings, success_reports_the_immediate_data)
{
	cr_assert_str_eq(explain((struct ddp_wc){.opcode = DDP_WC_RECV,
						 .wc_flags = DDP_WC_WITH_IMM,
						 .imm_data = 0x102030405060708}),
			 "receive completed: Immediate Data 0x0102030405060708");
	cr_assert_str_eq(explain((struct ddp_wc){.opcode = DDP_WC_FETCH_ADD, .imm_data = 41}),
			 "FetchAdd completed: the old value was 41");
	cr_assert_str_eq(explain((struct ddp_wc){
				 .opcode = DDP_WC_RECV_TAGGED, .byte_len = 9, .stag = 0x1a2b3c4d}),
			 "tagged notice completed: 9 bytes to STag 0x1a2b3c4d");
	cr_assert_str_eq(explain((struct ddp_wc){
				 .opcode = DDP_WC_WRITE_NOTICE, .imm_data = 3, .stag = 0x1a2b3c4d}),
			 "notice of Writes completed: 3 to STag 0x1a2b3c4d");
}

Test(strings, errors_of_windows_name_the_stag)
{
	cr_assert_str_eq(explain((struct ddp_wc){.status = DDP_WC_MW_BIND_ERR,
						 .opcode = DDP_WC_BIND_MW,
						 .err_stag = 0x1a2b3c4d}),
			 "bind failed on this side: STag 0x1a2b3c4d cannot be bound: window, "
			 "region, rights or bounds do not fit");
	cr_assert_str_eq(explain((struct ddp_wc){.status = DDP_WC_LOC_PD_ERR,
						 .opcode = DDP_WC_LOCAL_INV,
						 .err_stag = 0x1a2b3c4d}),
			 "invalidation failed on this side: STag 0x1a2b3c4d does not belong to "
			 "this QP");
}

/* Every error with a Terminate; term 0 means no error. */
Test(strings, every_error_of_the_protocol_has_a_text)
{
	static const struct {
		const char *name;
		uint16_t term;
	} rows[] = {
#define X(name, layer, etype, code, text) {#name, (layer) << 12 | (etype) << 8 | (code)},
		PERR_TABLE(X)
#undef X
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ddp_wc wc = {.status = DDP_WC_REM_OP_ERR, .term = rows[i].term};

		if (rows[i].term)
			cr_assert_null(strstr(explain(wc), "by the peer ("), "%s", rows[i].name);
	}
}

Test(strings, unknown_terminates_are_reported)
{
	cr_assert_str_eq(explain((struct ddp_wc){.status = DDP_WC_REM_OP_ERR, .term = 0x3fee}),
			 "Send refused by the peer (layer 3, type 15, code ee)");
}

Test(strings, a_short_buffer_is_truncated_and_the_length_returned)
{
	struct ddp_wc wc = {.status = DDP_WC_REM_OP_ERR, .term = 0x1202};
	char buf[300];
	int n = ddp_explain(&wc, NULL, 0);

	for (int i = 1; i <= n + 1; i++) {
		memset(buf, 'x', sizeof(buf));
		cr_assert_eq(ddp_explain(&wc, buf, (size_t)i), n);
		cr_assert_eq(strlen(buf), (size_t)i - 1);
		cr_assert_eq(buf[i], 'x');
	}
}

Test(strings, every_value_has_a_string)
{
	for (int i = DDP_WC_SUCCESS; i <= DDP_WC_RNR_RETRY_EXC_ERR; i++)
		cr_assert_str_neq(ddp_wc_status_str((enum ddp_wc_status)i), "?");
	for (int i = DDP_WC_SEND; i <= DDP_WC_WRITE_NOTICE; i++)
		cr_assert_str_neq(ddp_wc_opcode_str((enum ddp_wc_opcode)i), "?");
	for (int i = DDP_CM_CONNECT_REQUEST; i <= DDP_CM_PATH; i++)
		cr_assert_str_neq(ddp_event_str((enum ddp_cm_event_type)i), "?");
	for (int i = DDP_PATH_UNCONFIRMED; i <= DDP_PATH_INACTIVE; i++)
		cr_assert_str_neq(ddp_path_state_str((enum ddp_path_state)i), "?");
	cr_assert_str_eq(ddp_path_state_str((enum ddp_path_state)99), "?");
	cr_assert_str_eq(ddp_wc_status_str((enum ddp_wc_status)99), "?");
	cr_assert_str_eq(ddp_wc_opcode_str((enum ddp_wc_opcode) - 1), "?");
	cr_assert_str_eq(ddp_event_str((enum ddp_cm_event_type)0), "?");
}

Test(strings, the_version_is_that_of_the_package)
{
	char version[32];

	snprintf(version, sizeof(version), "%u.%u.%u", ddp_version() >> 16,
		 ddp_version() >> 8 & 0xff, ddp_version() & 0xff);
	cr_assert_str_eq(version, PACKAGE_VERSION);
}
