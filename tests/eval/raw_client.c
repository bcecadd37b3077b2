/*
 * raw_client.c PORT [PAUSE_MS [CONNECTIONS]] - sends the bytes of standard input to 127.0.0.1:PORT as they are, prints what
 * comes back, and ends when the server closes the connection.
 *
 * raw_client listen FILE COMMAND... - runs the command as systemd does with a socket: descriptor 3 listens on a free port,
 * which FILE gets.
 *
 * With PAUSE_MS above 0 it pauses after each byte. With CONNECTIONS it opens so many more before, which stay idle.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Never returns: becomes the command. */
static void run_with_socket(const char *file, char **command)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(a);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	FILE *out = fopen(file, "w");
	char pid[30];

	snprintf(pid, sizeof(pid), "%ld", (long)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	if (fd < 0 || !out || bind(fd, (const struct sockaddr *)&a, n) || listen(fd, 64) ||
	    getsockname(fd, (struct sockaddr *)&a, &n) ||
	    fprintf(out, "%d\n", ntohs(a.sin_port)) < 0 || fclose(out) || dup2(fd, 3) < 0) {
		perror("raw_client");
		exit(1);
	}
	if (fd != 3)
		close(fd);
	execv(command[0], command);
	perror(command[0]);
	exit(1);
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

	if (argc > 3 && !strcmp(argv[1], "listen"))
		run_with_socket(argv[2], argv + 3);
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
