/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two ends of a connection of librpma. The server offers memory in the private data of its answer;
 * the client writes to it, flushes, reads it back and compares.
 *
 *   rpma_pair ADDRESS PORT [client]
 */
#include <librpma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 20 };

struct offer {
	uint8_t length;
	uint8_t descriptor[27];
};

static struct rpma_peer *peer;
static struct rpma_mr_local *mr;
static uint8_t *memory;

static void must(int r, const char *what)
{
	if (r) {
		fprintf(stderr, "%s: %s\n", what, rpma_err_2str(r));
		exit(1);
	}
}

#define MUST(call) must(call, #call)

static void open_peer(const char *addr, enum rpma_util_ibv_context_type type, int usage)
{
	struct ibv_context *verbs;

	MUST(rpma_utils_get_ibv_context(addr, type, &verbs));
	MUST(rpma_peer_new(verbs, &peer));
	memory = aligned_alloc(4096, 2 * SIZE);
	memset(memory, 0, 2 * SIZE);
	MUST(rpma_mr_reg(peer, memory, 2 * SIZE, usage, &mr));
}

static void expect(struct rpma_conn *conn, enum rpma_conn_event wanted)
{
	enum rpma_conn_event event;

	MUST(rpma_conn_next_event(conn, &event));
	if (event != wanted) {
		fprintf(stderr, "event: %s\n", rpma_utils_conn_event_2str(event));
		exit(1);
	}
}

static void serve(const char *addr, const char *port)
{
	struct rpma_ep *ep;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct offer offer = {0};
	struct rpma_conn_private_data data = {&offer, sizeof(offer)};
	size_t length;

	open_peer(addr, RPMA_UTIL_IBV_CONTEXT_LOCAL,
		  RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST |
			  RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	MUST(rpma_mr_get_descriptor_size(mr, &length));
	if (length > sizeof(offer.descriptor))
		exit(1);
	offer.length = (uint8_t)length;
	MUST(rpma_mr_get_descriptor(mr, offer.descriptor));
	MUST(rpma_ep_listen(peer, addr, port, &ep));
	MUST(rpma_ep_next_conn_req(ep, NULL, &req));
	MUST(rpma_conn_req_connect(&req, &data, &conn));
	expect(conn, RPMA_CONN_ESTABLISHED);
	expect(conn, RPMA_CONN_CLOSED);
	for (size_t i = 0; i < SIZE; i++)
		if (memory[i] != (uint8_t)(i * 7 + 1)) {
			fprintf(stderr, "byte %zu is wrong\n", i);
			exit(1);
		}
	MUST(rpma_conn_disconnect(conn));
	MUST(rpma_conn_delete(&conn));
	MUST(rpma_ep_shutdown(&ep));
}

static void wait_for(struct rpma_conn *conn, enum ibv_wc_opcode wanted)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;

	MUST(rpma_conn_get_cq(conn, &cq));
	MUST(rpma_cq_wait(cq));
	MUST(rpma_cq_get_wc(cq, 1, &wc, NULL));
	if (wc.status != IBV_WC_SUCCESS || wc.opcode != wanted) {
		fprintf(stderr, "completion: %s, opcode %d\n", ibv_wc_status_str(wc.status),
			(int)wc.opcode);
		exit(1);
	}
}

static void use(const char *addr, const char *port)
{
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_conn_private_data data;
	struct rpma_mr_remote *remote;
	const struct offer *offer;

	open_peer(addr, RPMA_UTIL_IBV_CONTEXT_REMOTE,
		  RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_READ_DST);
	for (size_t i = 0; i < SIZE; i++)
		memory[i] = (uint8_t)(i * 7 + 1);
	MUST(rpma_conn_req_new(peer, addr, port, NULL, &req));
	MUST(rpma_conn_req_connect(&req, NULL, &conn));
	expect(conn, RPMA_CONN_ESTABLISHED);
	MUST(rpma_conn_get_private_data(conn, &data));
	offer = data.ptr;
	MUST(rpma_mr_remote_from_descriptor(offer->descriptor, offer->length, &remote));
	MUST(rpma_write(conn, remote, 0, mr, 0, SIZE, RPMA_F_COMPLETION_ON_ERROR, NULL));
	MUST(rpma_flush(conn, remote, 0, SIZE, RPMA_FLUSH_TYPE_VISIBILITY, RPMA_F_COMPLETION_ALWAYS,
			NULL));
	wait_for(conn, IBV_WC_RDMA_READ);
	MUST(rpma_read(conn, mr, SIZE, remote, 0, SIZE, RPMA_F_COMPLETION_ALWAYS, NULL));
	wait_for(conn, IBV_WC_RDMA_READ);
	if (memcmp(memory, memory + SIZE, SIZE) != 0) {
		fprintf(stderr, "the Read brings other bytes\n");
		exit(1);
	}
	MUST(rpma_conn_disconnect(conn));
	expect(conn, RPMA_CONN_CLOSED);
	MUST(rpma_mr_remote_delete(&remote));
	MUST(rpma_conn_delete(&conn));
	puts("compared");
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (argc > 3)
		use(argv[1], argv[2]);
	else
		serve(argv[1], argv[2]);
	MUST(rpma_mr_dereg(&mr));
	MUST(rpma_peer_delete(&peer));
	free(memory);
	return 0;
}
