#!/bin/sh
# lab.sh - a lab: several hosts on one machine, for tests that need several hosts. Source this file, or run
#
#	tests/lab/lab.sh up N [COMMAND...]      build a lab of N hosts, run COMMAND (a shell) on the first, remove it
#	LAB=DIR tests/lab/lab.sh on|rate|cut|heal|... ARGUMENTS    call a function below for a lab of another shell
#
# A host is a process with namespaces of its own: network, host name, mounts, processes, IPC. So it has its
# own addresses, /etc/hosts, home, /run, temporary files, boot id and sshd on port 22. The hosts share the
# rest of the file system, unless lab_private or lab_replace separates it. Hosts are called h1, h2, ...
# with the addresses 10.98.0.1, 10.98.0.2, ... and are joined by veth pairs to a bridge that has a namespace too:
# nothing is visible outside, and several labs can run at the same time. The lab ends with the shell that
# called lab_up, even after SIGKILL (then only the folder $LAB remains).
# LAB_PIN=yes pins each host to its own core, if there are enough cores. LAB_FAMILY=6 gives the hosts IPv6 addresses only
# (fd98::1, fd98::2, ...).
# As on real machines, interfaces have different names, and each host has a docker0 with the same address.
#
#	lab_need              return 1 and print what is missing for a lab
#	lab_up N              build it; sets LAB (its folder) and LAB_HOSTS (names). Not in a subshell
#	lab_down              remove the lab, if there is one
#	lab_on HOST COMMAND...      run COMMAND on HOST, as from its console
#	lab_rate HOST RATE    shape its link in both directions: 100mbit, 1gbit, none
#	lab_delay HOST MS [LOSS [JITTER]]     each packet from or to it takes MS milliseconds more, and up to JITTER, until its next
#	                      boot; LOSS percent are dropped; lab_rate after it. Needs a compiler
#	lab_cut HOST          pull its cable: packets are dropped silently;  lab_heal HOST: plug it in again
#	lab_link HOST up|down       ip link set on its interface: with down, sending fails at once
#	lab_gone HOST         power off: cut the cable and end all its processes
#	lab_boot HOST         start it again: new boot id, empty /run, same home
#	lab_private HOST DIR  give it its own DIR, empty at first, instead of the shared one
#	lab_small HOST DIR SIZE     make DIR a tmpfs of SIZE (4m) there, to test a full disk
#	lab_replace HOST FILE OTHER      show OTHER in the place of FILE there (a program of another version, or none)
#	lab_undo HOST PATH    undo the last of these three commands for PATH
#	lab_firewall HOST     block all ports but that of sshd;  lab_firewall HOST off: unblock them
#	lab_skew HOST SECONDS new sessions of its sshd see a clock that is ahead
#	lab_sshd HOST [LINE...]     restart its sshd with these lines of sshd_config; "off": only stop it
#	lab_environment HOST NAME=VALUE...    restart its sshd with these variables for its sessions
#	lab_pids HOST NAME    pids there of programs with this name (at most 15 characters)
#	lab_kill HOST SIGNAL NAME   kill -SIGNAL to all of these
#	lab_left HOST         its processes besides those of the lab, one "PID COMMAND" a line
#	lab_bytes HOST        bytes that its interface received and sent

lab_prefix=10.98.0
lab_self=$(cd "$(dirname "$0")" && pwd)/lab.sh	# sourced by a script beside it, or run

lab_missing() {
	[ "$(id -u)" -eq 0 ] || { echo "root"; return; }
	for lab_tool in ip:iproute2 tc:iproute2 unshare:util-linux nsenter:util-linux setpriv:util-linux \
	    ssh:openssh-client ssh-keygen:openssh-client /usr/sbin/sshd:openssh-server; do
		command -v "${lab_tool%:*}" >/dev/null 2>&1 || echo "${lab_tool%:*} (package ${lab_tool#*:})"
	done
	unshare --net --mount --uts --ipc --pid --fork sh -c '
		mount -t proc proc /proc && mount -t sysfs sysfs /sys && ip link add name b type bridge &&
		ip link add name v type veth peer name w' >/dev/null 2>&1 || echo "the right to make namespaces, bridges and veth pairs"
}

lab_need() {
	lab_missing=$(lab_missing | paste -s -d ';' | sed 's/;/, /g')
	[ -z "$lab_missing" ] || echo "no lab of hosts here; missing: $lab_missing"
	[ -z "$lab_missing" ]
}

# lab_interface NUMBER : names differ from host to host
lab_interface() {
	case $(($1 % 4)) in
	1) echo eth0 ;;
	2) echo ens5 ;;
	3) echo enp3s0 ;;
	*) echo eth1 ;;
	esac
}
# lab_address NUMBER
lab_address() {
	if [ "${LAB_FAMILY:-4}" = 6 ]; then echo "fd98::$1"; else echo "$lab_prefix.$1"; fi
}
lab_of() { echo "${1#h}"; }
lab_switch() { nsenter --target "$(cat "$LAB/switch.pid")" --net "$@"; }

# lab_enter HOST COMMAND... : run in its namespaces with the current environment
lab_enter() {
	lab_pid=$(cat "$LAB/$1/pid") || return 1
	lab_core=
	[ -z "${LAB_PIN:-}" ] || lab_core="taskset -c $((($(lab_of "$1") - 1) % $(getconf _NPROCESSORS_ONLN)))"
	shift
	# shellcheck disable=SC2086 # words
	nsenter --target "$lab_pid" --net --mount --uts --ipc --pid="/proc/$lab_pid/ns/pid_for_children" -- $lab_core "$@"
}

lab_on() {
	lab_name=$1
	shift
	lab_enter "$lab_name" env -u SSH_CONNECTION -u SSH_CLIENT -u SSH_TTY -u SSH_AUTH_SOCK HOME="$LAB/home" XDG_RUNTIME_DIR=/run/user \
		TMPDIR=/run/tmp WERKBANK_RUNTIME=/run/werkbank "$@"
}

lab_up() {
	LAB=$(mktemp -d "${TMPDIR:-/tmp}/wblab-XXXXXX") || return 1
	LAB_HOSTS=
	mkdir "$LAB/home"
	ssh-keygen -q -t ed25519 -N '' -C lab -f "$LAB/key" || return 1
	# The hosts have a copy of /etc: a mount on a file of /etc ends when a package that is installed now replaces the file.
	cp -a /etc "$LAB/etc" 2>/dev/null # such a package may remove a file meanwhile
	rm -f "$LAB/etc/passwd" "$LAB/etc/hosts" "$LAB/etc/nsswitch.conf"
	# each host has its own home of root, for sshd and ssh
	awk -F : -v OFS=: -v home="$LAB/home" '$3 == 0 { $6 = home; $7 = "/bin/sh" } { print }' /etc/passwd >"$LAB/etc/passwd"
	echo "hosts: files" >"$LAB/etc/nsswitch.conf"
	echo "127.0.0.1 localhost" >"$LAB/etc/hosts"
	: >"$LAB/known_hosts"
	lab_i=0
	while [ $lab_i -lt "$1" ]; do
		lab_i=$((lab_i + 1))
		LAB_HOSTS="$LAB_HOSTS h$lab_i"
		mkdir -p "$LAB/h$lab_i/home/.ssh"
		ssh-keygen -q -t ed25519 -N '' -C "h$lab_i" -f "$LAB/h$lab_i/host_key" || return 1
		echo "$(lab_address $lab_i) h$lab_i" >>"$LAB/etc/hosts"
		echo "h$lab_i,$(lab_address $lab_i) $(cut -d ' ' -f 1,2 "$LAB/h$lab_i/host_key.pub")" >>"$LAB/known_hosts"
	done
	LAB_HOSTS=${LAB_HOSTS# }
	# shellcheck disable=SC2016 # for the shell there
	setpriv --pdeathsig KILL unshare --net sh -c 'echo $$ >"$1" && exec sleep 1000000' sh "$LAB/switch.pid" &
	lab_wait "the switch" test -s "$LAB/switch.pid" || return 1
	lab_switch ip link add name br0 type bridge && lab_switch ip link set br0 up || return 1
	for lab_name in $LAB_HOSTS; do
		cp "$LAB/key" "$LAB/$lab_name/home/.ssh/id_ed25519"
		cp "$LAB/key.pub" "$LAB/$lab_name/home/.ssh/authorized_keys"
		cp "$LAB/known_hosts" "$LAB/$lab_name/home/.ssh/known_hosts"
		lab_boot "$lab_name" || return 1
	done
}

# lab_wait WHAT COMMAND... : wait until COMMAND succeeds, at most 10 seconds
lab_wait() {
	lab_what=$1 lab_tries=0
	shift
	until "$@" >/dev/null 2>&1; do
		lab_tries=$((lab_tries + 1))
		[ $lab_tries -lt 200 ] || { echo "lab: $lab_what did not come up" >&2; return 1; }
		sleep 0.05
	done
}

lab_boot() {
	lab_n=$(lab_of "$1") lab_if=$(lab_interface "$(lab_of "$1")")
	lab_halt "$1"
	rm -f "$LAB/$1/ready"
	cat /proc/sys/kernel/random/uuid >"$LAB/$1/boot_id"
	setpriv --pdeathsig KILL unshare --net --mount --uts --ipc --pid --fork --kill-child \
		sh "$lab_self" _host "$LAB" "$1" >"$LAB/$1/console" 2>&1 </dev/null &
	echo $! >"$LAB/$1/pid"
	lab_wait "host $1" test -e "$LAB/$1/ready" || { cat "$LAB/$1/console" >&2; return 1; }
	lab_switch ip link add name "v$lab_n" type veth peer name "$lab_if" address "02:57:42:00:00:$(printf %02x "$lab_n")" netns "$(cat "$LAB/$1/pid")" || return 1
	lab_switch ip link set "v$lab_n" master br0 up
	lab_address_on "$1"
	lab_enter "$1" ip link add name docker0 type bridge
	lab_enter "$1" ip addr add 172.17.0.1/16 dev docker0
	lab_enter "$1" ip link set docker0 up
	lab_sshd "$1"
}

# Give the interface of a host its address.
lab_address_on() {
	lab_n=$(lab_of "$1") lab_if=$(lab_interface "$(lab_of "$1")")
	if [ "${LAB_FAMILY:-4}" = 6 ]; then
		lab_enter "$1" ip addr add "$(lab_address "$lab_n")/64" dev "$lab_if" nodad
	else
		lab_enter "$1" ip addr add "$(lab_address "$lab_n")/24" dev "$lab_if"
	fi
	lab_enter "$1" ip link set "$lab_if" up
}

# The first process of a host: mount its own files, then only wait for orphans.
lab_host() {
	LAB=$1
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t tmpfs -o mode=755 tmpfs /run
	mkdir -m 700 /run/sshd /run/user /run/tmp /run/werkbank
	mount -t tmpfs -o mode=1777 tmpfs /dev/shm
	mount --bind "$LAB/etc" /etc
	mount --bind "$LAB/$2/home" "$LAB/home"
	mount --bind "$LAB/$2/boot_id" /proc/sys/kernel/random/boot_id
	hostname "$2" 2>/dev/null || echo "$2" >/proc/sys/kernel/hostname
	ip link set lo up
	: >"$LAB/$2/ready"
	while :; do
		sleep 1000000 &
		wait
	done
}

lab_halt() {
	[ -s "$LAB/$1/pid" ] || return 0
	kill -9 "$(cat "$LAB/$1/pid")" 2>/dev/null
	[ ! -s "$LAB/$1/delay.pid" ] || kill -9 "$(cat "$LAB/$1/delay.pid")" 2>/dev/null
	rm -f "$LAB/$1/pid" "$LAB/$1/sshd.pid" "$LAB/$1/delay.pid"
	lab_switch ip link del "v$(lab_of "$1")" 2>/dev/null
	return 0
}

lab_down() {
	[ -n "${LAB:-}" ] || return 0
	for lab_name in $LAB_HOSTS; do
		lab_halt "$lab_name" 2>/dev/null
	done
	[ ! -s "$LAB/switch.pid" ] || kill -9 "$(cat "$LAB/switch.pid")" 2>/dev/null
	# the shell would report each of them as killed
	wait 2>/dev/null
	rm -rf "$LAB"
	LAB='' LAB_HOSTS=''
}

lab_sshd() {
	lab_name=$1
	shift
	[ ! -s "$LAB/$lab_name/sshd.pid" ] ||
		lab_enter "$lab_name" sh -c 'kill "$(cat /run/sshd/pid)" 2>/dev/null; while [ -e /run/sshd/pid ]; do sleep 0.02; done'
	rm -f "$LAB/$lab_name/sshd.pid"
	[ "${1:-}" != off ] || return 0
	cat >"$LAB/$lab_name/sshd_config" <<-END
	HostKey $LAB/$lab_name/host_key
	PidFile /run/sshd/pid
	UsePAM no
	StrictModes no
	PermitRootLogin prohibit-password
	PasswordAuthentication no
	MaxStartups 200
	UseDNS no
	SetEnv XDG_RUNTIME_DIR=/run/user TMPDIR=/run/tmp WERKBANK_RUNTIME=/run/werkbank $(cat "$LAB/$lab_name/environment" 2>/dev/null)
	END
	[ $# -eq 0 ] || printf '%s\n' "$@" | cat - "$LAB/$lab_name/sshd_config" >"$LAB/$lab_name/sshd_config.new"
	[ $# -eq 0 ] || mv "$LAB/$lab_name/sshd_config.new" "$LAB/$lab_name/sshd_config"
	lab_enter "$lab_name" /usr/sbin/sshd -f "$LAB/$lab_name/sshd_config" -E "$LAB/$lab_name/sshd.log" || return 1
	lab_wait "sshd on $lab_name" lab_enter "$lab_name" test -s /run/sshd/pid
	echo running >"$LAB/$lab_name/sshd.pid"
}

lab_environment() {
	lab_name=$1
	shift
	echo "$@" >"$LAB/$lab_name/environment"
	lab_sshd "$lab_name"
}

lab_rate() {
	lab_n=$(lab_of "$1") lab_if=$(lab_interface "$(lab_of "$1")") lab_tbf="rate $2 burst 64kb latency 30ms"
	lab_switch tc qdisc del dev "v$lab_n" root 2>/dev/null
	lab_enter "$1" tc qdisc del dev "$lab_if" root 2>/dev/null
	[ "$2" != none ] || return 0
	# shellcheck disable=SC2086 # words
	lab_switch tc qdisc add dev "v$lab_n" root tbf $lab_tbf && lab_enter "$1" tc qdisc add dev "$lab_if" root tbf $lab_tbf
}

# Not every kernel has tc's netem: a relay between two tap devices takes the place of the veth pair.
lab_delay() {
	cat >"$LAB/delay.c" <<-'END'
	#define _GNU_SOURCE
	#include <fcntl.h>
	#include <linux/if_tun.h>
	#include <net/if.h>
	#include <poll.h>
	#include <sched.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/ioctl.h>
	#include <time.h>
	#include <unistd.h>
	#define FRAMES 16384
	static struct line {
		struct frame { double due; long n; char bytes[2048]; } ring[FRAMES];
		unsigned long in, out;
	} lines[2];
	static double now(void)
	{
		struct timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
	}
	static int tap(const char *name)
	{
		struct ifreq r = { .ifr_flags = IFF_TAP | IFF_NO_PI };
		int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
		strncpy(r.ifr_name, name, IFNAMSIZ - 1);
		return fd < 0 || ioctl(fd, TUNSETIFF, &r) ? -1 : fd;
	}
	/* delay NAME NAME SECONDS LOSS JITTER: the second name in the network namespace of file descriptor 9 */
	int main(int argc, char **argv)
	{
		int fd[2] = { argc == 6 ? tap(argv[1]) : -1, -1 };
		double last[2] = { 0, 0 }; /* packets stay in order, also with jitter */
		fd[1] = setns(9, CLONE_NEWNET) ? -1 : tap(argv[2]);
		if (fd[0] < 0 || fd[1] < 0)
			return 1;
		for (;;) {
			struct pollfd p[2] = { { fd[0], POLLIN, 0 }, { fd[1], POLLIN, 0 } };
			double wait = 1;
			for (int i = 0; i < 2; i++) {
				struct line *l = &lines[i];
				while (l->in - l->out < FRAMES) {
					struct frame *f = &l->ring[l->in % FRAMES];
					f->n = read(fd[i], f->bytes, sizeof(f->bytes));
					if (f->n <= 0)
						break;
					if (drand48() < atof(argv[4]))
						continue;
					f->due = now() + atof(argv[3]) + drand48() * atof(argv[5]);
					f->due = last[i] = f->due > last[i] ? f->due : last[i];
					l->in++;
				}
				for (; l->out != l->in && l->ring[l->out % FRAMES].due <= now(); l->out++)
					if (write(fd[!i], l->ring[l->out % FRAMES].bytes, (size_t)l->ring[l->out % FRAMES].n) < 0)
						continue; /* a frame is lost, as on a full link */
				if (l->out != l->in && l->ring[l->out % FRAMES].due - now() < wait)
					wait = l->ring[l->out % FRAMES].due - now();
			}
			if (wait > 0)
				ppoll(p, 2, &(struct timespec){ (time_t)wait, (long)(1e9 * (wait - (double)(time_t)wait)) }, NULL);
		}
	}
	END
	"${CC:-cc}" -O1 -o "$LAB/delay" "$LAB/delay.c" 2>"$LAB/delay.log" || return 1
	lab_n=$(lab_of "$1") lab_if=$(lab_interface "$(lab_of "$1")")
	lab_switch ip link del "v$lab_n"
	# a relay that waits for a processor would be a slow link of its own
	lab_first=$(chrt -f 10 echo "chrt -f 10" 2>/dev/null)
	# shellcheck disable=SC2086,SC2094 # words; two namespaces
	setpriv --pdeathsig KILL $lab_first nsenter --target "$(cat "$LAB/$1/pid")" --net "$LAB/delay" "$lab_if" "v$lab_n" \
		"$(awk -v ms="$2" 'BEGIN { print ms / 1000 }')" "$(awk -v p="${3:-0}" 'BEGIN { print p / 100 }')" \
		"$(awk -v ms="${4:-0}" 'BEGIN { print ms / 1000 }')" \
		9<"/proc/$(cat "$LAB/switch.pid")/ns/net" &
	echo $! >"$LAB/$1/delay.pid"
	lab_wait "the delay of $1" lab_switch ip link show "v$lab_n" || return 1
	lab_switch ip link set "v$lab_n" master br0 up
	lab_address_on "$1"
}

lab_cut() { lab_switch ip link set "v$(lab_of "$1")" nomaster; }
lab_heal() { lab_switch ip link set "v$(lab_of "$1")" master br0; }
lab_link() { lab_enter "$1" ip link set "$(lab_interface "$(lab_of "$1")")" "$2"; }
lab_gone() { lab_cut "$1"; lab_halt "$1"; }

lab_private() {
	mkdir -p "$2" "$LAB/$1/private$2"
	lab_enter "$1" mount --bind "$LAB/$1/private$2" "$2"
}
lab_small() { lab_enter "$1" mount -t tmpfs -o "size=$3" tmpfs "$2"; }
lab_replace() { lab_enter "$1" mount --bind "$3" "$2"; }
lab_undo() { lab_enter "$1" umount "$2"; }

lab_firewall() {
	# shellcheck disable=SC2016 # for the shell there
	lab_enter "$1" sh -c '
		if command -v nft; then
			nft list table inet lab && nft delete table inet lab
			[ "$1" != off ] || exit 0
			nft add table inet lab && nft add chain inet lab in "{ type filter hook input priority 0; policy drop; }" &&
			nft add rule inet lab in iif lo accept && nft add rule inet lab in ct state established,related accept &&
			nft add rule inet lab in tcp dport 22 accept
		elif command -v iptables; then
			iptables -F INPUT
			[ "$1" != off ] || exit 0
			iptables -A INPUT -i lo -j ACCEPT && iptables -A INPUT -m state --state ESTABLISHED,RELATED -j ACCEPT &&
			iptables -A INPUT -p tcp --dport 22 -j ACCEPT && iptables -A INPUT -j DROP
		else
			echo "neither iptables nor nft"; exit 1
		fi' sh "${2:-on}" >"$LAB/firewall.log" 2>&1
}

# A preloaded library that shifts the wall clock; needs a compiler.
lab_skew() {
	cat >"$LAB/skew.c" <<-'END'
	#define _GNU_SOURCE
	#include <stdlib.h>
	#include <sys/syscall.h>
	#include <sys/time.h>
	#include <time.h>
	#include <unistd.h>
	static long ahead(void)
	{
		const char *text = getenv("LAB_SKEW");
		return text ? strtol(text, NULL, 10) : 0;
	}
	int clock_gettime(clockid_t which, struct timespec *t)
	{
		long rc = syscall(SYS_clock_gettime, which, t);
		if (!rc && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
			t->tv_sec += ahead();
		return (int)rc;
	}
	int gettimeofday(struct timeval *t, void *zone)
	{
		struct timespec now;
		(void)zone;
		clock_gettime(CLOCK_REALTIME, &now);
		t->tv_sec = now.tv_sec;
		t->tv_usec = now.tv_nsec / 1000;
		return 0;
	}
	time_t time(time_t *out)
	{
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		if (out)
			*out = now.tv_sec;
		return now.tv_sec;
	}
	END
	"${CC:-cc}" -shared -fPIC -o "$LAB/skew.so" "$LAB/skew.c" 2>"$LAB/skew.log" || return 1
	lab_environment "$1" "LD_PRELOAD=$LAB/skew.so" "LAB_SKEW=$2"
}

lab_pids() {
	# shellcheck disable=SC2016 # for the shell there
	lab_enter "$1" sh -c '
		for lab_p in /proc/[0-9]*; do
			read -r lab_comm 2>/dev/null <"$lab_p/comm" || continue
			case $(cut -d ")" -f 2 "$lab_p/stat" 2>/dev/null) in " Z"* | "") continue ;; esac
			[ "$lab_comm" != "$1" ] || echo "${lab_p#/proc/}"
		done' sh "$2"
}

lab_kill() {
	lab_victims=$(lab_pids "$1" "$3")
	[ -n "$lab_victims" ] || { echo "lab: no $3 on $1" >&2; return 1; }
	# shellcheck disable=SC2086 # words
	lab_enter "$1" kill "-$2" $lab_victims
}

lab_left() {
	# shellcheck disable=SC2016 # for the shell there
	lab_enter "$1" sh -c '
		sshd=$(cat /run/sshd/pid 2>/dev/null)
		for p in /proc/[0-9]*; do
			pid=${p#/proc/}
			read -r stat 2>/dev/null <"$p/stat" || continue
			rest=${stat##*) }
			state=${rest%% *} parent=${rest#* } parent=${parent%% *}
			[ "$state" != Z ] && [ "$pid" != 1 ] && [ "$pid" != $$ ] && [ "$parent" != $$ ] && [ "$pid" != "$sshd" ] || continue
			command=$(tr "\0" " " 2>/dev/null <"$p/cmdline")
			[ "$parent $command" != "1 sleep 1000000 " ] && [ -n "$command" ] || continue
			echo "$pid $command"
		done'
}

lab_bytes() {
	lab_enter "$1" awk -F '[: ]+' -v i="$(lab_interface "$(lab_of "$1")")" '$2 == i { print $3, $11 } $1 == i { print $2, $10 }' /proc/net/dev
}

# ---- as a program ------------------------------------------------------------
lab_main() {
	command=$1
	shift
	case $command in
	_host) lab_host "$@" ;;
	up)
		lab_need || exit 77
		trap lab_down EXIT
		trap 'exit 1' INT TERM HUP
		lab_up "${1:-2}" || exit 1
		[ $# -eq 0 ] || shift
		echo "LAB=$LAB: $LAB_HOSTS; this is h1, and \"ssh h2\" works" >&2
		[ $# -gt 0 ] || set -- "${SHELL:-/bin/sh}"
		lab_on h1 "$@"
		exit ;;
	on | rate | delay | cut | heal | link | gone | boot | private | small | replace | undo | firewall | skew | sshd | environment | pids | kill | left | bytes)
		[ -d "${LAB:-}" ] || { echo "lab.sh: which lab? Set LAB to its folder" >&2; exit 64; }
		"lab_$command" "$@" ;;
	*) sed -n '2,/^$/s/^#\{0,1\} \{0,1\}//p' "$lab_self"; exit 64 ;;
	esac
}
case $0 in
lab.sh | */lab.sh) lab_main "${@:-help}" ;;
esac
