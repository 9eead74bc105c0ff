/* SPDX-License-Identifier: BSD-2-Clause */
/* The first part of ddp.hpp: failures, the context and events of sessions. Include ddp.hpp. */
#ifndef DDP_DDP_CONTEXT_HPP
#define DDP_DDP_CONTEXT_HPP

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ddp/ddp.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ddp
{

using milliseconds = std::chrono::milliseconds;

/* A time-out without end. */
inline constexpr milliseconds forever{-1};

/* ---- failures ---- */

/* The category of ddp::error: errno values. */
inline const std::error_category &category() noexcept
{
	struct errno_values : std::error_category {
		const char *name() const noexcept override
		{
			return "ddp";
		}
		std::string message(int value) const override
		{
			return std::generic_category().message(value);
		}
		std::error_condition default_error_condition(int value) const noexcept override
		{
			return {value, std::generic_category()};
		}
	};
	static const errno_values instance;

	return instance;
}

struct error : std::system_error {
	/* result: a negative errno value. */
	error(int result, const std::string &sentence)
	    : std::system_error(-result, category(), sentence)
	{
	}
};

/* Throws an error if the result of a call is negative, else returns it. */
inline int check(int result)
{
	if (result < 0)
		throw error(result, ddp_last_reason());
	return result;
}

/* ---- implementation ---- */

namespace detail
{

/* An attribute struct with struct_size set. */
template <class T> T sized()
{
	T attr = {};

	attr.struct_size = sizeof(T);
	return attr;
}

/* For calls with a time-out in milliseconds, which is negative for no limit. */
inline int count(milliseconds timeout)
{
	constexpr milliseconds most{INT32_MAX};

	return static_cast<int>(timeout < most ? timeout.count() : most.count());
}

/* The context of all objects. An id cannot be destroyed while a program holds one of its events,
 * so it waits here for the last one. */
class shared_context
{
      public:
	explicit shared_context(const ddp_open_attr &attr)
	{
		check(ddp_open(&attr, &ctx_));
	}
	shared_context(const shared_context &) = delete;
	shared_context &operator=(const shared_context &) = delete;
	~shared_context()
	{
		destroy_waiting();
		ddp_close(ctx_);
	}
	ddp_ctx *get() const noexcept
	{
		return ctx_;
	}
	void destroy(ddp_id *id) noexcept
	{
		if (ddp_destroy_id(id) != -EBUSY)
			return;
		const std::lock_guard<std::mutex> hold(lock_);
		waiting_.push_back(id);
	}
	void acknowledge(ddp_cm_event *event) noexcept
	{
		ddp_ack_cm_event(event);
		destroy_waiting();
	}

      private:
	void destroy_waiting() noexcept
	{
		const std::lock_guard<std::mutex> hold(lock_);
		std::size_t kept = 0;

		for (ddp_id *id : waiting_)
			if (ddp_destroy_id(id) == -EBUSY)
				waiting_[kept++] = id;
		waiting_.resize(kept);
	}

	ddp_ctx *ctx_ = nullptr;
	std::mutex lock_;
	std::vector<ddp_id *> waiting_;
};

/* Moves, but does not copy. */
template <class T> class owner
{
      public:
	owner() = default;
	owner(owner &&) noexcept = default;
	owner &operator=(owner &&) noexcept = default;
	owner(const owner &) = delete;
	owner &operator=(const owner &) = delete;

	/* The object of ddp.h; it stays the property of this one. NULL after a move. */
	T *get() const noexcept
	{
		return object_.get();
	}
	explicit operator bool() const noexcept
	{
		return static_cast<bool>(object_);
	}
	const std::shared_ptr<T> &shared() const noexcept
	{
		return object_;
	}

      protected:
	~owner() = default;

	std::shared_ptr<T> object_;
};

} // namespace detail

/* ---- events of sessions ---- */

/* An event, until it is destroyed. */
class event
{
      public:
	event(std::shared_ptr<detail::shared_context> ctx, ddp_cm_event *ev)
	    : event_(ev, [ctx = std::move(ctx)](ddp_cm_event *e) { ctx->acknowledge(e); })
	{
	}
	event(event &&) noexcept = default;
	event &operator=(event &&) noexcept = default;

	ddp_cm_event_type type() const noexcept
	{
		return event_->type;
	}
	/* As session::id(); of CONNECT_REQUEST a new one. */
	ddp_id *id() const noexcept
	{
		return event_->id;
	}
	/* CONNECT_REQUEST: as listener::get(). */
	ddp_id *listener() const noexcept
	{
		return event_->listener;
	}
	std::string_view reason() const noexcept
	{
		return event_->reason;
	}
	std::string_view private_data() const noexcept
	{
		return {static_cast<const char *>(event_->private_data), event_->private_len};
	}
	/* All members. */
	const ddp_cm_event &operator*() const noexcept
	{
		return *event_;
	}
	const ddp_cm_event *operator->() const noexcept
	{
		return event_.get();
	}

      private:
	std::shared_ptr<ddp_cm_event> event_;
};

/* ---- context ---- */

/* A connection to the daemon. */
class context
{
      public:
	/* socket NULL: $DDP_SOCKET, or that of the service. */
	explicit context(const char *socket = nullptr, milliseconds timeout = milliseconds(30000))
	{
		ddp_open_attr attr = detail::sized<ddp_open_attr>();

		attr.socket = socket;
		attr.timeout_ms = detail::count(timeout);
		shared_ = std::make_shared<detail::shared_context>(attr);
	}
	context(context &&) noexcept = default;
	context &operator=(context &&) noexcept = default;

	/* Goes on with the next daemon after the end of one, ddp_reopen(3). */
	void reopen(milliseconds timeout = forever) const
	{
		check(ddp_reopen(get(), detail::count(timeout)));
	}
	ddp_caps query() const
	{
		ddp_caps caps = detail::sized<ddp_caps>();

		check(ddp_query(get(), &caps));
		return caps;
	}
	/* Readable while an event is queued. */
	int fd() const
	{
		return check(ddp_fd(get()));
	}
	/* The next event; none after the time-out. */
	std::optional<event> get_event(milliseconds timeout = forever) const
	{
		ddp_cm_event *ev = nullptr;
		const int result = ddp_get_cm_event(get(), &ev, detail::count(timeout));

		if (result == -EAGAIN)
			return std::nullopt;
		check(result);
		return event(shared_, ev);
	}
	/* The next event, except those about paths, if it is of this type. Else throws an error
	 * with the errno value and the reason of the event. For programs with one session at a
	 * time. */
	event expect(ddp_cm_event_type type, milliseconds timeout = forever) const
	{
		for (;;) {
			std::optional<event> ev = get_event(timeout);

			if (!ev)
				throw error(-ETIMEDOUT, "no event in time");
			if (ev->type() == type)
				return std::move(*ev);
			if (ev->type() != DDP_CM_PATH)
				throw error((*ev)->err ? (*ev)->err : -ECONNABORTED,
					    ddp_event_str(ev->type()) + std::string(": ") +
						    std::string(ev->reason()));
		}
	}
	ddp_ctx *get() const noexcept
	{
		return shared_->get();
	}
	const std::shared_ptr<detail::shared_context> &shared() const noexcept
	{
		return shared_;
	}

      private:
	std::shared_ptr<detail::shared_context> shared_;
};

} // namespace ddp

#endif
