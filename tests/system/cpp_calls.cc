/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpp_calls SOCKET-A SOCKET-B ADDRESS-OF-B
 *
 * What ddp_cpp(7) promises, between two daemons. Prints the first promise that is broken.
 */
#include <cstdlib>
#include <cstring>
#include <ddp/ddp.hpp>
#include <ddp/ddp.hpp> /* twice */
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <poll.h>
#include <type_traits>

namespace
{

constexpr ddp::milliseconds soon(120000); /* only a failure takes that long */

template <class... T>
constexpr bool only_move = (... &&
			    (std::is_nothrow_move_constructible_v<T> &&
			     std::is_nothrow_move_assignable_v<T> &&
			     std::is_nothrow_destructible_v<T> &&
			     !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>));
static_assert(only_move<ddp::domain, ddp::region, ddp::completion_queue, ddp::shared_receives,
			ddp::listener, ddp::session>);
static_assert(std::is_nothrow_move_constructible_v<ddp::context>);
static_assert(!std::is_copy_constructible_v<ddp::context>);
static_assert(std::is_nothrow_move_constructible_v<ddp::event>);
static_assert(!std::is_copy_constructible_v<ddp::event>);

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			std::cerr << "line " << __LINE__ << ": " << #condition << '\n';            \
			std::exit(1);                                                              \
		}                                                                                  \
	} while (0)

template <class Exception, class Call> Exception thrown(Call call)
{
	try {
		call();
	} catch (const Exception &e) {
		return e;
	}
	std::cerr << "no exception\n";
	std::exit(1);
}

struct rnic {
	explicit rnic(const char *socket) : ctx(socket), pd(ctx), cq(ctx)
	{
	}
	ddp::context ctx;
	ddp::domain pd;
	ddp::completion_queue cq;
};

/* Two ends of a session, with 4096 bytes each. */
struct pair {
	pair(const rnic &a, const rnic &b, const char *address, ddp::session_options options = {},
	     const ddp::shared_receives *receives = nullptr)
	    : at_a(a.ctx, a.pd, a.cq, options), ours(a.pd, 4096, DDP_ACCESS_LOCAL_WRITE),
	      theirs(b.pd, 4096,
		     DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_ATOMIC)
	{
		const ddp::listener listener(b.ctx);

		at_a.connect(address, listener.port(), "who");
		const ddp::event request = b.ctx.expect(DDP_CM_CONNECT_REQUEST, soon);
		EXPECT(request.private_data() == "who" && request.listener() == listener.get());
		at_b.emplace(b.ctx, request, b.pd, b.cq, options, receives);
		at_b->accept("me");
		EXPECT(a.ctx.expect(DDP_CM_ESTABLISHED, soon).private_data() == "me");
		const ddp::event there = b.ctx.expect(DDP_CM_ESTABLISHED, soon);
		EXPECT(there.id() == at_b->id());
	}
	ddp::session at_a;
	std::optional<ddp::session> at_b;
	ddp::region ours, theirs;
};

void test_failures(const rnic &a, const char *address)
{
	const auto absent =
		thrown<std::system_error>([] { ddp::context("/nonexistent/ddp.sock"); });
	EXPECT(absent.code() == std::errc::no_such_file_or_directory);
	EXPECT(absent.code().category() == ddp::category());
	EXPECT(std::strstr(absent.what(), "/nonexistent/ddp.sock"));

	const ddp::session session(a.ctx, a.pd, a.cq);
	std::uint16_t unused = ddp::listener(a.ctx).port();
	session.connect(address, unused);
	const auto refused = thrown<ddp::error>([&] { a.ctx.expect(DDP_CM_ESTABLISHED, soon); });
	EXPECT(refused.code() == std::errc::connection_refused);

	EXPECT(!a.ctx.get_event(ddp::milliseconds(0)));
	EXPECT(thrown<ddp::error>([&] { a.ctx.reopen(); }).code() == std::errc::already_connected);
	EXPECT(thrown<ddp::error>([&] { a.cq.next(ddp::milliseconds(1)); }).code() ==
	       std::errc::timed_out);
	EXPECT(thrown<ddp::error>([&] { ddp::listener(a.ctx, 0, "localhost"); }).code() ==
	       std::errc::invalid_argument);
	EXPECT(thrown<ddp::error>([&] { ddp::region(a.pd, 0); }).code() ==
	       std::errc::invalid_argument);
}

void test_work(const rnic &a, const rnic &b, const char *address)
{
	pair p(a, b, address);

	p.at_b->receive(p.theirs.sge(1024, 100), 7);
	std::strcpy(&p.ours.as<char>(), "message");
	p.at_a.send(p.ours.sge(0, 8), 1);
	EXPECT(a.cq.next(soon).wr_id == 1);
	const ddp::completion received = b.cq.next(soon);
	EXPECT(received.wr_id == 7 && received.byte_len == 8 && received.ok());
	EXPECT(received.qp_num == p.at_b->number());
	EXPECT(std::strcmp(&p.theirs.as<char>(1024), "message") == 0);

	p.at_a.write(p.ours.sge(0, 8), p.theirs.remote().at(2000));
	a.cq.next(soon);
	p.at_a.read(p.ours.sge(500, 8), p.theirs.remote().at(2000));
	EXPECT(a.cq.next(soon).opcode == DDP_WC_RDMA_READ);
	EXPECT(std::strcmp(&p.ours.as<char>(500), "message") == 0);

	p.at_a.fetch_add(p.theirs.remote(), 5);
	EXPECT(a.cq.next(soon).imm_data == 0);
	p.at_a.compare_swap(p.theirs.remote(), 5, 9);
	EXPECT(a.cq.next(soon).imm_data == 5);
	EXPECT(p.theirs.as<std::uint64_t>() == 9);

	p.at_b->receive(8);
	p.at_a.immediate(0x1122334455667788);
	a.cq.next(soon);
	EXPECT(b.cq.next(soon).imm_data == 0x1122334455667788);
}

void test_bounds(const rnic &a, const rnic &b, const char *address)
{
	const pair p(a, b, address);
	using std::out_of_range;

	thrown<out_of_range>([&] { p.ours.sge(4097); });
	thrown<out_of_range>([&] { p.ours.sge(4000, 97); });
	thrown<out_of_range>([&] { p.ours.as<std::uint64_t>(4089); });
	thrown<out_of_range>([&] { p.theirs.remote().at(4097); });
	thrown<out_of_range>([&] { p.at_a.write(p.ours.sge(), p.theirs.remote().at(1)); });
	EXPECT(p.ours.sge(4096).length == 0 && p.ours.sge(96).length == 4000);

	/* What the peer refuses: a right that the memory lacks. */
	p.at_b->read(p.theirs.sge(0, 8), p.ours.remote());
	const auto refused = thrown<ddp::error>([&] { b.cq.next(soon); });
	EXPECT(refused.code() == std::errc::permission_denied);
}

/* One thread, by descriptors. */
void test_event_loop(const rnic &a, const rnic &b, const char *address)
{
	const ddp::shared_receives receives(b.pd, 16);
	const pair p(a, b, address, {}, &receives);
	ddp::completion wc[4];
	std::size_t n = 0;

	for (std::uint64_t i = 0; i < 16; i++)
		receives.post(p.theirs.sge(i * 16, 16), i);
	for (int i = 0; i < 10; i++)
		p.at_a.send(p.ours.sge(0, 1), 0, 0);
	while (n < 10) {
		const std::size_t taken = b.cq.poll(wc, 4);
		pollfd ready = {b.cq.fd(), POLLIN, 0};

		for (std::size_t i = 0; i < taken; i++)
			EXPECT(wc[i].checked().wr_id == n++);
		if (taken == 0 && b.cq.arm())
			EXPECT(poll(&ready, 1, static_cast<int>(soon.count())) == 1);
	}
	p.at_a.disconnect();
	pollfd ready = {b.ctx.fd(), POLLIN, 0};
	EXPECT(poll(&ready, 1, static_cast<int>(soon.count())) == 1);
	EXPECT(b.ctx.get_event(soon)->type() == DDP_CM_DISCONNECTED);
	a.ctx.expect(DDP_CM_DISCONNECTED, soon);
}

/* Each context has some, which end with it. */
std::ptrdiff_t count_descriptors()
{
	return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
			     std::filesystem::directory_iterator());
}

/* Objects end in the wrong order, and while an event of theirs is held. */
void test_lifetimes(const char *socket_a, const char *socket_b, const char *address)
{
	std::optional<rnic> a(std::in_place, socket_a), b(std::in_place, socket_b);
	std::optional<pair> p(std::in_place, *a, *b, address);

	b->ctx = ddp::context(socket_b);
	b->pd = ddp::domain(b->ctx);
	a.reset();
	b.reset();
	p->at_a.write(p->ours.sge(), p->theirs.remote());
	p.reset();

	a.emplace(socket_a);
	b.emplace(socket_b);
	p.emplace(*a, *b, address);
	p->at_b->disconnect();
	std::optional<ddp::event> ended = a->ctx.expect(DDP_CM_DISCONNECTED, soon);
	p.reset();
	a.reset();
	EXPECT((*ended)->err == 0);
	ended.reset();

	ddp::region moved(b->pd, 64);
	ddp::region other(std::move(moved));
	EXPECT(!moved && other && other.size() == 64);
	moved = std::move(other);
	EXPECT(moved.size() == 64);
}

void test_reject(const rnic &a, const rnic &b, const char *address)
{
	const ddp::listener listener(b.ctx);
	std::map<ddp_id *, ddp::session> sessions;

	for (int i = 0; i < 2; i++) {
		ddp::session s(a.ctx, a.pd, a.cq);

		s.connect(address, listener.port());
		sessions.emplace(s.id(), std::move(s));
		const ddp::event request = b.ctx.expect(DDP_CM_CONNECT_REQUEST, soon);
		if (i == 0)
			ddp::reject(b.ctx, request, "no room");
		else /* not accepted */
			ddp::session(b.ctx, request, b.pd, b.cq);
	}
	for (int i = 0; i < 2; i++) {
		const auto ev = a.ctx.get_event(soon);

		EXPECT(ev && ev->type() == DDP_CM_REJECTED && sessions.erase(ev->id()) == 1);
		EXPECT(ev->private_data() == (i == 0 ? "no room" : ""));
	}
}

} // namespace

int main(int argc, char **argv)
try {
	if (argc != 4)
		return 2;
	{
		const rnic a(argv[1]), b(argv[2]);

		test_failures(a, argv[3]);
		test_work(a, b, argv[3]);
	}
	test_bounds(rnic(argv[1]), rnic(argv[2]), argv[3]);
	test_event_loop(rnic(argv[1]), rnic(argv[2]), argv[3]);
	test_reject(rnic(argv[1]), rnic(argv[2]), argv[3]);
	const std::ptrdiff_t before = count_descriptors();
	test_lifetimes(argv[1], argv[2], argv[3]);
	EXPECT(count_descriptors() == before);
	std::cout << "all well\n";
	return 0;
} catch (const std::exception &e) {
	std::cerr << e.what() << '\n';
	return 1;
}
