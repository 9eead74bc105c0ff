/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hello -s [PORT]
 * hello [ADDRESS [PORT]]
 *
 * With ddp.hpp: the server offers 256 bytes, and the client writes into them, reads them back, and
 * says that it has. The offer travels as private data; both sides have the same byte order.
 *
 *	c++ -std=c++17 hello.cc -lddpclient -o hello
 */
#include <cstdlib>
#include <cstring>
#include <ddp/ddp.hpp>
#include <iostream>
#include <string_view>

namespace
{

constexpr std::uint16_t port_default = 5043;
constexpr std::size_t offered = 256;

/* What both sides need. */
struct rnic {
	ddp::context ctx;
	ddp::domain pd{ctx};
	ddp::completion_queue cq{ctx};
};

void serve(std::uint16_t port)
{
	const rnic r;
	const ddp::region memory(r.pd, offered, DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ);
	const ddp::region message(r.pd, 64);
	const ddp::listener listener(r.ctx, port);
	const ddp::remote_memory offer = memory.remote();

	const ddp::session client(r.ctx, r.ctx.expect(DDP_CM_CONNECT_REQUEST), r.pd, r.cq);
	client.receive(message.sge());
	client.accept({reinterpret_cast<const char *>(&offer), sizeof(offer)});
	r.ctx.expect(DDP_CM_ESTABLISHED);

	const ddp::completion wc = r.cq.next(); /* its message arrives after its Write */
	std::cout << "the client says: " << std::string_view(&message.as<char>(), wc.byte_len)
		  << "\nthe client wrote: " << &memory.as<char>() << '\n';
	r.ctx.expect(DDP_CM_DISCONNECTED);
}

void greet(const char *address, std::uint16_t port)
{
	constexpr std::string_view hello = "Hello, memory of another program!", done = "done";
	const rnic r;
	const ddp::region memory(r.pd, offered);
	const ddp::session server(r.ctx, r.pd, r.cq);
	ddp::remote_memory remote;

	server.connect(address, port);
	{
		const ddp::event established = r.ctx.expect(DDP_CM_ESTABLISHED);

		if (established.private_data().size() != sizeof(remote))
			throw ddp::error(-EPROTO, "the peer is not this program");
		std::memcpy(&remote, established.private_data().data(), sizeof(remote));
	}
	std::memcpy(memory.data(), hello.data(), hello.size());
	server.write(memory.sge(0, hello.size()), remote);
	r.cq.next();
	server.read(memory.sge(128, hello.size()), remote);
	std::cout << r.cq.next().explain()
		  << "\nthe server has: " << std::string_view(&memory.as<char>(128), hello.size())
		  << '\n';
	std::memcpy(memory.data(), done.data(), done.size());
	server.send(memory.sge(0, done.size()));
	r.cq.next();
	server.disconnect();
	r.ctx.expect(DDP_CM_DISCONNECTED);
}

} // namespace

int main(int argc, char **argv)
try {
	const auto port = static_cast<std::uint16_t>(argc > 2 ? std::atoi(argv[2]) : port_default);

	if (argc > 1 && std::strcmp(argv[1], "-s") == 0)
		serve(port);
	else
		greet(argc > 1 ? argv[1] : "127.0.0.1", port);
	return 0;
} catch (const std::exception &e) {
	std::cerr << "hello: " << e.what() << '\n';
	return 1;
}
