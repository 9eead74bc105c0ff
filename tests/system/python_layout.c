/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints what python/ddpclient/_library.py declares, as the compiler sees it in the header. */
#include <ddp/ddp_easy.h>
#include <stdio.h>

/* Stops the build if the call has another type. */
#define CALL(ret, name, args)                                                                      \
	do {                                                                                       \
		_Static_assert(_Generic(&(name), ret(*) args : 1, default : 0),                    \
			       "the header declares " #name " otherwise");                         \
		puts("call: " #ret "; " #name "; " #args);                                         \
	} while (0)
#define MEMBER(name)                                                                               \
	printf("member: %s %zu %zu\n", #name, offsetof(struct ddp_easy_attr, name),                \
	       sizeof(((struct ddp_easy_attr *)0)->name))

/* clang-format off */
int main(void)
{
	printf("sizeof: %zu\n", sizeof(struct ddp_easy_attr));
	MEMBER(struct_size);
	MEMBER(socket);
	MEMBER(message_bytes);
	MEMBER(messages);
	MEMBER(listen_flags);
	printf("value: REMOTE_WRITE %d\nvalue: REMOTE_READ %d\n", DDP_ACCESS_REMOTE_WRITE, DDP_ACCESS_REMOTE_READ);
	printf("value: LISTEN_ENCRYPTED %d\n", DDP_LISTEN_ENCRYPTED);
	CALL(int, ddp_easy_open, (const struct ddp_easy_attr *, struct ddp_easy **));
	CALL(int, ddp_easy_close, (struct ddp_easy *, int));
	CALL(const char *, ddp_easy_error, (const struct ddp_easy *));
	CALL(int, ddp_easy_alloc, (struct ddp_easy *, size_t, void **));
	CALL(int, ddp_easy_register, (struct ddp_easy *, void *, size_t, int));
	CALL(int, ddp_easy_free, (struct ddp_easy *, void *));
	CALL(int, ddp_easy_offer, (struct ddp_easy *, void *, size_t, unsigned));
	CALL(int, ddp_easy_offered, (struct ddp_easy *, uint64_t *, unsigned *));
	CALL(int, ddp_easy_connect, (struct ddp_easy *, const char *, uint16_t, int));
	CALL(int, ddp_easy_listen, (struct ddp_easy *, const char *, uint16_t));
	CALL(int, ddp_easy_accept, (struct ddp_easy *, struct ddp_easy **, int));
	CALL(int, ddp_easy_send, (struct ddp_easy *, const void *, size_t, int));
	CALL(ssize_t, ddp_easy_recv, (struct ddp_easy *, void *, size_t, int));
	CALL(int, ddp_easy_write, (struct ddp_easy *, uint64_t, const void *, size_t, int));
	CALL(int, ddp_easy_read, (struct ddp_easy *, uint64_t, void *, size_t, int));
	CALL(int, ddp_easy_wait, (struct ddp_easy *, int));
	CALL(int, ddp_easy_fd, (struct ddp_easy *));
	CALL(int, ddp_easy_arm, (struct ddp_easy *, uint64_t *));
	return 0;
}
