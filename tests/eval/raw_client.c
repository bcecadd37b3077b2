/*
 * raw_client.c PORT [PAUSE_MS [CONNECTIONS]] - sends the bytes of standard input to 127.0.0.1:PORT as they are, prints what
 * comes back, and ends when the server closes the connection.
 *
 * With PAUSE_MS above 0 it pauses after each byte. With CONNECTIONS it opens so many more before, which stay idle.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int open_connection(long port)
{
	const struct sockaddr_in a = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof(a))) {
		perror("raw_client");
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	const long port = argc > 1 ? strtol(argv[1], NULL, 10) : 0,
		   pause_ms = argc > 2 ? strtol(argv[2], NULL, 10) : 0,
		   n_idle = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	const struct timespec pause = { pause_ms / 1000, pause_ms % 1000 * 1000000 };
	static char bytes[1 << 21];
	struct rlimit files;
	size_t n = fread(bytes, 1, sizeof(bytes), stdin), sent = 0;
	ssize_t got;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	for (long i = 0; i < n_idle; i++)
		open_connection(port);
	fd = open_connection(port);
	while (sent < n) {
		got = send(fd, bytes + sent, pause_ms ? 1 : n - sent, MSG_NOSIGNAL);
		if (got <= 0)
			break;
		sent += (size_t)got;
		if (pause_ms)
			nanosleep(&pause, NULL);
	}
	while ((got = read(fd, bytes, sizeof(bytes))) > 0)
		if (fwrite(bytes, 1, (size_t)got, stdout) != (size_t)got)
			return 1;
	return 0;
}
