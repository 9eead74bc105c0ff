/* SPDX-License-Identifier: BSD-2-Clause */
/* The server lends 4096 bytes; "easy ADDRESS" reads and changes them, and says so. Without an
 * address it is the server. */
#include <ddp/ddp_easy.h>
#include <stdio.h>

#define OK(e, call)                                                                                \
	do {                                                                                       \
		if ((call) < 0)                                                                    \
			return fprintf(stderr, "%s\n", ddp_easy_error(e)), 1;                      \
	} while (0)

int main(int argc, char **argv)
{
	struct ddp_easy *e, *peer;
	char text[64] = "";
	void *mem;

	OK(NULL, ddp_easy_open(NULL, &e)); /* the daemon of this host */
	OK(e, ddp_easy_alloc(e, 4096, &mem));
	if (argc > 1) {
		OK(e, ddp_easy_connect(e, argv[1], 5044, 30000));
		OK(e, ddp_easy_read(e, 0, mem, 4096, 30000)); /* from the server's memory */
		printf("The server has: %s\n", (char *)mem);
		snprintf(mem, 4096, "Hello from the client");
		OK(e, ddp_easy_write(e, 100, mem, 22, 30000)); /* to byte 100 of it */
		OK(e, ddp_easy_send(e, "changed", 7, 30000));
	} else {
		snprintf(mem, 4096, "Hello from the server");
		OK(e,
		   ddp_easy_offer(e, mem, 4096, DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_WRITE));
		OK(e, ddp_easy_listen(e, NULL, 5044));
		OK(e, ddp_easy_accept(e, &peer, -1));
		OK(peer, ddp_easy_recv(peer, text, sizeof(text) - 1, -1));
		printf("%s: %s\n", text, (char *)mem + 100);
		OK(NULL, ddp_easy_close(peer, 30000));
	}
	OK(NULL, ddp_easy_close(e, 30000));
	return 0;
}
