/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of values, and rates: for programs that are linked with this library alone. */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *name_of(const char *const *names, unsigned n, unsigned value)
{
	return value < n && names[value] ? names[value] : "unknown";
}

const char *ibv_node_type_str(enum ibv_node_type type)
{
	static const char *const names[] = {
		[IBV_NODE_CA] = "channel adapter",
		[IBV_NODE_SWITCH] = "switch",
		[IBV_NODE_ROUTER] = "router",
		[IBV_NODE_RNIC] = "iWARP NIC",
	};

	return name_of(names, COUNT(names), (unsigned)type);
}

const char *ibv_port_state_str(enum ibv_port_state state)
{
	static const char *const names[] = {
		[IBV_PORT_NOP] = "NOP",       [IBV_PORT_DOWN] = "DOWN",
		[IBV_PORT_INIT] = "INIT",     [IBV_PORT_ARMED] = "ARMED",
		[IBV_PORT_ACTIVE] = "ACTIVE", [IBV_PORT_ACTIVE_DEFER] = "ACTIVE_DEFER",
	};

	return name_of(names, COUNT(names), (unsigned)state);
}

const char *ibv_event_type_str(enum ibv_event_type event)
{
	static const char *const names[] = {
		[IBV_EVENT_CQ_ERR] = "error of a completion queue",
		[IBV_EVENT_QP_FATAL] = "fatal error of a queue pair",
		[IBV_EVENT_QP_REQ_ERR] = "invalid request",
		[IBV_EVENT_QP_ACCESS_ERR] = "access violation",
		[IBV_EVENT_COMM_EST] = "communication established",
		[IBV_EVENT_SQ_DRAINED] = "send queue drained",
		[IBV_EVENT_PATH_MIG] = "path migrated",
		[IBV_EVENT_PATH_MIG_ERR] = "path did not migrate",
		[IBV_EVENT_DEVICE_FATAL] = "fatal error of the device",
		[IBV_EVENT_PORT_ACTIVE] = "port active",
		[IBV_EVENT_PORT_ERR] = "port down",
		[IBV_EVENT_LID_CHANGE] = "other LID",
		[IBV_EVENT_PKEY_CHANGE] = "other partition keys",
		[IBV_EVENT_SM_CHANGE] = "other subnet manager",
		[IBV_EVENT_SRQ_ERR] = "error of a shared receive queue",
		[IBV_EVENT_SRQ_LIMIT_REACHED] = "limit of a shared receive queue",
		[IBV_EVENT_QP_LAST_WQE_REACHED] = "last receive taken",
		[IBV_EVENT_CLIENT_REREGISTER] = "registration requested",
		[IBV_EVENT_GID_CHANGE] = "other GIDs",
		[IBV_EVENT_WQ_FATAL] = "fatal error of a work queue",
	};

	return name_of(names, COUNT(names), (unsigned)event);
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	static const char *const names[] = {
		[IBV_WC_SUCCESS] = "success",
		[IBV_WC_LOC_LEN_ERR] = "local length error",
		[IBV_WC_LOC_QP_OP_ERR] = "local operation error",
		[IBV_WC_LOC_EEC_OP_ERR] = "local EE operation error",
		[IBV_WC_LOC_PROT_ERR] = "local protection error",
		[IBV_WC_WR_FLUSH_ERR] = "flushed",
		[IBV_WC_MW_BIND_ERR] = "window bind error",
		[IBV_WC_BAD_RESP_ERR] = "bad response",
		[IBV_WC_LOC_ACCESS_ERR] = "local access error",
		[IBV_WC_REM_INV_REQ_ERR] = "invalid request at the peer",
		[IBV_WC_REM_ACCESS_ERR] = "access error at the peer",
		[IBV_WC_REM_OP_ERR] = "operation error at the peer",
		[IBV_WC_RETRY_EXC_ERR] = "too many retries",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "no receive at the peer",
		[IBV_WC_LOC_RDD_VIOL_ERR] = "local RDD violation",
		[IBV_WC_REM_INV_RD_REQ_ERR] = "invalid RD request at the peer",
		[IBV_WC_REM_ABORT_ERR] = "aborted by the peer",
		[IBV_WC_INV_EECN_ERR] = "invalid EE number",
		[IBV_WC_INV_EEC_STATE_ERR] = "invalid EE state",
		[IBV_WC_FATAL_ERR] = "fatal error",
		[IBV_WC_RESP_TIMEOUT_ERR] = "response timed out",
		[IBV_WC_GENERAL_ERR] = "other error",
		[IBV_WC_TM_ERR] = "tag matching error",
		[IBV_WC_TM_RNDV_INCOMPLETE] = "rendezvous incomplete",
	};

	return name_of(names, COUNT(names), (unsigned)status);
}

#define EVENT(event) [event] = #event

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		EVENT(RDMA_CM_EVENT_ADDR_RESOLVED),   EVENT(RDMA_CM_EVENT_ADDR_ERROR),
		EVENT(RDMA_CM_EVENT_ROUTE_RESOLVED),  EVENT(RDMA_CM_EVENT_ROUTE_ERROR),
		EVENT(RDMA_CM_EVENT_CONNECT_REQUEST), EVENT(RDMA_CM_EVENT_CONNECT_RESPONSE),
		EVENT(RDMA_CM_EVENT_CONNECT_ERROR),   EVENT(RDMA_CM_EVENT_UNREACHABLE),
		EVENT(RDMA_CM_EVENT_REJECTED),        EVENT(RDMA_CM_EVENT_ESTABLISHED),
		EVENT(RDMA_CM_EVENT_DISCONNECTED),    EVENT(RDMA_CM_EVENT_DEVICE_REMOVAL),
		EVENT(RDMA_CM_EVENT_MULTICAST_JOIN),  EVENT(RDMA_CM_EVENT_MULTICAST_ERROR),
		EVENT(RDMA_CM_EVENT_ADDR_CHANGE),     EVENT(RDMA_CM_EVENT_TIMEWAIT_EXIT),
	};

	return name_of(names, COUNT(names), (unsigned)event);
}

/* ---- rates ---- */

static const struct {
	enum ibv_rate rate;
	int mult; /* of 2.5 Gbit/s; 0: none */
	int mbps;
} rates[] = {
	{IBV_RATE_2_5_GBPS, 1, 2500},    {IBV_RATE_5_GBPS, 2, 5000},
	{IBV_RATE_10_GBPS, 4, 10000},    {IBV_RATE_20_GBPS, 8, 20000},
	{IBV_RATE_30_GBPS, 12, 30000},   {IBV_RATE_40_GBPS, 16, 40000},
	{IBV_RATE_60_GBPS, 24, 60000},   {IBV_RATE_80_GBPS, 32, 80000},
	{IBV_RATE_120_GBPS, 48, 120000}, {IBV_RATE_14_GBPS, 0, 14062},
	{IBV_RATE_56_GBPS, 0, 56250},    {IBV_RATE_112_GBPS, 0, 112500},
	{IBV_RATE_168_GBPS, 0, 168750},  {IBV_RATE_25_GBPS, 0, 25781},
	{IBV_RATE_100_GBPS, 0, 103125},  {IBV_RATE_200_GBPS, 0, 206250},
	{IBV_RATE_300_GBPS, 0, 309375},  {IBV_RATE_28_GBPS, 0, 28125},
	{IBV_RATE_50_GBPS, 0, 53125},    {IBV_RATE_400_GBPS, 0, 425000},
	{IBV_RATE_600_GBPS, 0, 637500},
};

int ibv_rate_to_mult(enum ibv_rate rate)
{
	for (unsigned i = 0; i < COUNT(rates); i++)
		if (rates[i].rate == rate && rates[i].mult)
			return rates[i].mult;
	return -1;
}

enum ibv_rate mult_to_ibv_rate(int mult)
{
	for (unsigned i = 0; i < COUNT(rates); i++)
		if (rates[i].mult && rates[i].mult == mult)
			return rates[i].rate;
	return IBV_RATE_MAX;
}

int ibv_rate_to_mbps(enum ibv_rate rate)
{
	for (unsigned i = 0; i < COUNT(rates); i++)
		if (rates[i].rate == rate)
			return rates[i].mbps;
	return -1;
}

enum ibv_rate mbps_to_ibv_rate(int mbps)
{
	for (unsigned i = 0; i < COUNT(rates); i++)
		if (rates[i].mbps == mbps)
			return rates[i].rate;
	return IBV_RATE_MAX;
}
