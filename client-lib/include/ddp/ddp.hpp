/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libddpclient for C++17: classes over the calls of ddp.h; headers alone. ddp_cpp(7) is the
 * manual, examples/hello.cc a program.
 *
 * Failures throw ddp::error, a std::system_error whose code compares with std::errc, and whose
 * what() has the sentence of ddp_last_reason().
 *
 * Ownership: objects can be moved, not copied. An object keeps alive what it was made from, so they
 * may be destroyed in any order: a region that outlives its domain keeps the domain until its end.
 * A destructor does not throw.
 *
 * Each class has get(), for the calls of ddp.h that have no method here.
 */
#ifndef DDP_DDP_HPP
#define DDP_DDP_HPP

#include <arpa/inet.h>
#include <cstddef>
#include <cstdint>
#include <ddp/ddp_context.hpp>
#include <memory>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace ddp
{

/* ---- memory ---- */

/* Memory of the peer; programs send it to each other as it is. */
struct remote_memory {
	std::uint64_t addr;
	std::uint64_t length;
	std::uint32_t rkey;

	/* The memory from this byte on. */
	remote_memory at(std::uint64_t offset) const
	{
		if (offset > length)
			throw std::out_of_range("ddp: beyond the memory of the peer");
		return {addr + offset, length - offset, rkey};
	}
};

/* A protection domain. */
class domain : public detail::owner<ddp_pd>
{
      public:
	explicit domain(const context &ctx)
	{
		ddp_pd *pd = nullptr;

		check(ddp_alloc_pd(ctx.get(), &pd));
		object_ = {pd, [keep = ctx.shared()](ddp_pd *p) { ddp_dealloc_pd(p); }};
	}
};

/* Registered memory. */
class region : public detail::owner<ddp_mr>
{
      public:
	/* New memory, zeroed. access: a set of DDP_ACCESS_. */
	region(const domain &pd, std::size_t length, unsigned access = DDP_ACCESS_LOCAL_WRITE)
	{
		ddp_mr *mr = nullptr;

		check(ddp_alloc_mr(pd.get(), length, access, &mr));
		own(pd, mr);
	}
	/* Memory of the program, which outlives the region: ddp_reg_mr(3). */
	region(const domain &pd, void *addr, std::size_t length,
	       unsigned access = DDP_ACCESS_LOCAL_WRITE, unsigned flags = 0)
	{
		ddp_reg_attr attr = detail::sized<ddp_reg_attr>();
		ddp_mr *mr = nullptr;

		attr.flags = flags;
		check(ddp_reg_mr(pd.get(), addr, length, access, &attr, &mr));
		own(pd, mr);
	}

	std::byte *data() const noexcept
	{
		return static_cast<std::byte *>(object_->addr);
	}
	std::size_t size() const noexcept
	{
		return object_->length;
	}
	/* An object in the memory. */
	template <class T> T &as(std::size_t offset = 0) const
	{
		sge(offset, sizeof(T));
		return *reinterpret_cast<T *>(data() + offset);
	}
	/* A part of the memory for a work request; without a length all that follows. */
	ddp_sge sge(std::size_t offset = 0, std::size_t length = SIZE_MAX) const
	{
		if (offset > size() || (length != SIZE_MAX && length > size() - offset))
			throw std::out_of_range("ddp: beyond the region");
		length = length == SIZE_MAX ? size() - offset : length;
		if (length > UINT32_MAX)
			throw std::length_error(
				"ddp: a part of a work request has less than 4 GiB");
		return {object_->iova + offset, static_cast<std::uint32_t>(length), object_->lkey};
	}
	/* For the peer. */
	remote_memory remote() const noexcept
	{
		return {object_->iova, object_->length, object_->rkey};
	}

      private:
	void own(const domain &pd, ddp_mr *mr)
	{
		object_ = {mr, [keep = pd.shared()](ddp_mr *p) { ddp_dereg_mr(p); }};
	}
};

/* ---- completions ---- */

/* A completion, with the members of struct ddp_wc. */
struct completion : ddp_wc {
	bool ok() const noexcept
	{
		return status == DDP_WC_SUCCESS;
	}
	/* A sentence. */
	std::string explain() const
	{
		char text[512];

		ddp_explain(this, text, sizeof(text));
		return text;
	}
	/* Throws an error if the request failed: ECANCELED if the session ended first, EACCES if
	 * the peer refused, else EIO. */
	const completion &checked() const
	{
		if (status == DDP_WC_FLUSH_ERR)
			throw error(-ECANCELED, explain());
		if (status == DDP_WC_REM_ACCESS_ERR)
			throw error(-EACCES, explain());
		if (!ok())
			throw error(-EIO, explain());
		return *this;
	}
};
static_assert(sizeof(completion) == sizeof(ddp_wc), "an array of one is an array of the other");

class completion_queue : public detail::owner<ddp_cq>
{
      public:
	/* spin_us: of wait(); -1: as the daemon recommends. */
	explicit completion_queue(const context &ctx, std::uint32_t entries = 256,
				  std::int32_t spin_us = -1)
	{
		ddp_cq_attr attr = detail::sized<ddp_cq_attr>();
		ddp_cq *cq = nullptr;

		attr.entries = entries;
		attr.spin_us = spin_us;
		check(ddp_create_cq(ctx.get(), &attr, &cq));
		object_ = {cq, [keep = ctx.shared()](ddp_cq *p) { ddp_destroy_cq(p); }};
	}

	/* Takes up to n completions, and returns their number. */
	std::size_t poll(completion *ret, std::size_t n) const
	{
		return static_cast<std::size_t>(
			check(ddp_poll_cq(get(), static_cast<int>(n), ret)));
	}
	/* Waits for the first one; 0 after the time-out. */
	std::size_t wait(completion *ret, std::size_t n, milliseconds timeout = forever) const
	{
		return static_cast<std::size_t>(check(
			ddp_wait_cq(get(), static_cast<int>(n), ret, detail::count(timeout))));
	}
	/* Waits for one, which has succeeded. */
	completion next(milliseconds timeout = forever) const
	{
		completion wc = {};

		if (wait(&wc, 1, timeout) == 0)
			throw error(-ETIMEDOUT, "no completion in time");
		return wc.checked();
	}
	/* For event loops. arm() makes the descriptor readable at the next completion; false:
	 * completions are waiting, poll them first. */
	int fd() const
	{
		return check(ddp_cq_fd(get()));
	}
	bool arm(bool solicited_only = false) const
	{
		return check(ddp_req_notify_cq(get(), solicited_only)) == 0;
	}
};

/* Receives for many sessions. */
class shared_receives : public detail::owner<ddp_srq>
{
      public:
	shared_receives(const domain &pd, std::uint32_t max_wr, std::uint32_t max_sge = 1)
	{
		ddp_srq_attr attr = detail::sized<ddp_srq_attr>();
		ddp_srq *srq = nullptr;

		attr.max_wr = max_wr;
		attr.max_sge = max_sge;
		check(ddp_create_srq(pd.get(), &attr, &srq));
		object_ = {srq, [keep = pd.shared()](ddp_srq *p) { ddp_destroy_srq(p); }};
	}

	void post(ddp_sge sge, std::uint64_t wr_id = 0) const
	{
		ddp_recv_wr wr = {};

		wr.wr_id = wr_id;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		check(ddp_post_srq_recv(get(), &wr, nullptr));
	}
};

/* ---- sessions ---- */

/* Listens at an address of the daemon, or at all. */
class listener : public detail::owner<ddp_id>
{
      public:
	/* port 0: a free one. address: numeric. backlog 0: the daemon's default. */
	explicit listener(const context &ctx, std::uint16_t port = 0, const char *address = nullptr,
			  int backlog = 0)
	{
		const sockaddr_storage addr = parsed(address);
		ddp_id *id = nullptr;

		check(ddp_create_id(ctx.get(), nullptr, &id));
		object_ = {id, [keep = ctx.shared()](ddp_id *p) { keep->destroy(p); }};
		check(ddp_listen(id, reinterpret_cast<const sockaddr *>(&addr), port, backlog));
	}

	std::uint16_t port() const
	{
		ddp_id_attr attr = detail::sized<ddp_id_attr>();

		check(ddp_query_id(get(), &attr));
		return attr.port;
	}

      private:
	static sockaddr_storage parsed(const char *address)
	{
		sockaddr_storage addr = {};

		if (!address)
			return addr;
		if (inet_pton(AF_INET, address,
			      &reinterpret_cast<sockaddr_in *>(&addr)->sin_addr) == 1)
			addr.ss_family = AF_INET;
		else if (inet_pton(AF_INET6, address,
				   &reinterpret_cast<sockaddr_in6 *>(&addr)->sin6_addr) == 1)
			addr.ss_family = AF_INET6;
		else
			throw error(-EINVAL, std::string("listener: '") + address +
						     "' is not a numeric address");
		return addr;
	}
};

/* The attributes of a session; qp has the defaults of this header, and may be changed. */
struct session_options {
	ddp_qp_init qp = defaults();

      private:
	static ddp_qp_init defaults()
	{
		ddp_qp_init init = detail::sized<ddp_qp_init>();

		init.max_send_wr = init.max_recv_wr = 64;
		init.max_send_sge = init.max_recv_sge = 4;
		return init;
	}
};

/* One end of a session: an id and its queue pair. */
class session : public detail::owner<ddp_qp>
{
      public:
	/* To connect. The completions of all requests go to cq, unless the options name others. */
	session(const context &ctx, const domain &pd, const completion_queue &cq,
		session_options options = {}, const shared_receives *receives = nullptr)
	{
		ddp_id *id = nullptr;

		check(ddp_create_id(ctx.get(), nullptr, &id));
		make(ctx, id, pd, cq, options, receives);
	}
	/* For a request, that is CONNECT_REQUEST, which accept() answers; the end of an object that
	 * has not accepted rejects it. */
	session(const context &ctx, const event &request, const domain &pd,
		const completion_queue &cq, session_options options = {},
		const shared_receives *receives = nullptr)
	{
		make(ctx, request.id(), pd, cq, options, receives);
	}

	/* Starts; an event follows. */
	void connect(const char *host, std::uint16_t port, std::string_view private_data = {}) const
	{
		const ddp_conn_param param = parameters(private_data);

		check(ddp_connect_name(id(), host, port, &param));
	}
	/* Answers the request; the event ESTABLISHED follows. Post receives before. */
	void accept(std::string_view private_data = {}) const
	{
		const ddp_conn_param param = parameters(private_data);

		check(ddp_accept(id(), &param));
	}
	/* Returns at once; the event DISCONNECTED follows. */
	void disconnect() const
	{
		check(ddp_disconnect(id()));
	}
	ddp_id *id() const noexcept
	{
		return id_.get();
	}
	/* As qp_num of completions. */
	std::uint32_t number() const noexcept
	{
		return ddp_qp_num(get());
	}
	ddp_qp_attr query() const
	{
		ddp_qp_attr attr = detail::sized<ddp_qp_attr>();

		check(ddp_query_qp(get(), &attr));
		return attr;
	}

	/* Posts a list of requests as it is. */
	void post(ddp_send_wr &wr) const
	{
		check(ddp_post_send(get(), &wr, nullptr));
	}
	/* A receive; without memory for Immediate Data. */
	void receive(ddp_sge sge, std::uint64_t wr_id = 0) const
	{
		post_receive(&sge, 1, wr_id);
	}
	void receive(std::uint64_t wr_id = 0) const
	{
		post_receive(nullptr, 0, wr_id);
	}
	void send(ddp_sge sge, std::uint64_t wr_id = 0, unsigned flags = DDP_SEND_SIGNALED) const
	{
		post_one(DDP_WR_SEND, &sge, wr_id, flags, {});
	}
	void write(ddp_sge from, remote_memory to, std::uint64_t wr_id = 0,
		   unsigned flags = DDP_SEND_SIGNALED) const
	{
		post_one(DDP_WR_RDMA_WRITE, &from, wr_id, flags, to);
	}
	void read(ddp_sge into, remote_memory from, std::uint64_t wr_id = 0,
		  unsigned flags = DDP_SEND_SIGNALED) const
	{
		post_one(DDP_WR_RDMA_READ, &into, wr_id, flags, from);
	}
	/* 8 bytes that arrive in a completion. */
	void immediate(std::uint64_t data, std::uint64_t wr_id = 0,
		       unsigned flags = DDP_SEND_SIGNALED) const
	{
		ddp_send_wr wr = request(DDP_WR_IMM_DATA, wr_id, flags, {});

		wr.imm_data = data;
		post(wr);
	}
	/* Atomics of 8 bytes of the peer. The completion has the old value in imm_data. */
	void fetch_add(remote_memory where, std::uint64_t add, std::uint64_t wr_id = 0,
		       unsigned flags = DDP_SEND_SIGNALED) const
	{
		ddp_send_wr wr = request(DDP_WR_ATOMIC_FETCH_AND_ADD, wr_id, flags, where);

		wr.atomic.compare_add = add;
		post(wr);
	}
	void compare_swap(remote_memory where, std::uint64_t compare, std::uint64_t swap,
			  std::uint64_t wr_id = 0, unsigned flags = DDP_SEND_SIGNALED) const
	{
		ddp_send_wr wr = request(DDP_WR_ATOMIC_CMP_AND_SWP, wr_id, flags, where);

		wr.atomic.compare_add = compare;
		wr.atomic.swap = swap;
		post(wr);
	}

      private:
	void make(const context &ctx, ddp_id *id, const domain &pd, const completion_queue &cq,
		  session_options &options, const shared_receives *receives)
	{
		ddp_qp *qp = nullptr;
		ddp_qp_init &init = options.qp;

		id_ = {id, [keep = ctx.shared()](ddp_id *p) { keep->destroy(p); }};
		init.send_cq = init.send_cq ? init.send_cq : cq.get();
		init.recv_cq = init.recv_cq ? init.recv_cq : cq.get();
		init.srq = receives ? receives->get() : init.srq;
		check(ddp_create_qp(id, pd.get(), &init, &qp));
		object_ = {qp, [pd = pd.shared(), cq = cq.shared(), id = id_,
				srq = receives ? receives->shared() : nullptr](ddp_qp *p) {
				   ddp_destroy_qp(p);
			   }};
	}
	static ddp_conn_param parameters(std::string_view private_data)
	{
		ddp_conn_param param = detail::sized<ddp_conn_param>();

		param.private_data = private_data.data();
		param.private_len = private_data.size();
		return param;
	}
	static ddp_send_wr request(ddp_wr_opcode opcode, std::uint64_t wr_id, unsigned flags,
				   remote_memory remote)
	{
		ddp_send_wr wr = {};

		wr.wr_id = wr_id;
		wr.opcode = opcode;
		wr.send_flags = flags;
		wr.rdma.remote_addr = remote.addr;
		wr.rdma.rkey = remote.rkey;
		return wr;
	}
	void post_one(ddp_wr_opcode opcode, ddp_sge *sge, std::uint64_t wr_id, unsigned flags,
		      remote_memory remote) const
	{
		ddp_send_wr wr = request(opcode, wr_id, flags, remote);

		if (opcode != DDP_WR_SEND && sge->length > remote.length)
			throw std::out_of_range("ddp: beyond the memory of the peer");
		wr.sg_list = sge;
		wr.num_sge = 1;
		post(wr);
	}
	void post_receive(ddp_sge *sge, int n, std::uint64_t wr_id) const
	{
		ddp_recv_wr wr = {};

		wr.wr_id = wr_id;
		wr.sg_list = sge;
		wr.num_sge = n;
		check(ddp_post_recv(get(), &wr, nullptr));
	}

	std::shared_ptr<ddp_id> id_;
};

/* Rejects a request, CONNECT_REQUEST, for which no session was made. */
inline void reject(const context &ctx, const event &request, std::string_view private_data = {})
{
	ddp_conn_param param = detail::sized<ddp_conn_param>();

	param.private_data = private_data.data();
	param.private_len = private_data.size();
	check(ddp_reject(request.id(), &param));
	ctx.shared()->destroy(request.id());
}

} // namespace ddp

#endif
