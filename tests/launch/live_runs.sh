# live_runs.sh - functions for tests with live runs on this host, after helpers.sh: . "$srcdir/tests/launch/live_runs.sh"
# shellcheck shell=sh disable=SC2034,SC2154 # variables that only the scripts use, or that they set: tmp, top
# It sets the workspace $w, the program $wb and the recipe $tmp/tiny.ini, and ends the test's processes when the
# script ends.

unset WERKBANK_HOME WERKBANK_RUN WERKBANK_STEPS WERKBANK_SSH WERKBANK_HOSTS WERKBANK_NETWORK WERKBANK_TERMINAL
WERKBANK_BACKOFF=0.3 WERKBANK_PATIENCE=30 WERKBANK_RUNTIME=$tmp/runtime
OMPI_MCA_mpi_yield_when_idle=1
export WERKBANK_BACKOFF WERKBANK_PATIENCE WERKBANK_RUNTIME OMPI_MCA_mpi_yield_when_idle
# mpirun cannot run programs in a folder with a blank or a colon in its path, nor does ours() find them
copied_programs=
case $top in
*[[:blank:]:]*)
	copied_programs=$(mktemp -d /tmp/werkbank-bin-XXXXXX) && cp "$top/werkbank" "$top"/werkbank-* "$copied_programs/"
	top=$copied_programs
	;;
esac
w=$tmp/w wb=$top/werkbank

# ours WORDS : pids of this test's runs whose command line matches WORDS; ranks: all but mpirun
ours() {
	for p in /proc/[0-9]*; do
		grep -qz "^WERKBANK_RUNTIME=$tmp/runtime$" "$p/environ" 2>/dev/null || continue
		tr '\0' ' ' <"$p/cmdline" 2>/dev/null | grep -qE -- "$1" && echo "${p#/proc/}"
	done
}
all='^[^ ]*(werkbank-train|werkbank-launch|mpirun|prterun|orted|prted) '
ranks='^[^ ]*werkbank-train _rank'
# suspend_process PID : return when the process is suspended; the signal itself acts only when the kernel runs the process
suspend_process() {
	kill -STOP "$1"
	within 10 grep -q '^State:.T' "/proc/$1/status" || not_ok "SIGSTOP" "process $1 still runs"
}
# kill_process PID : return when the process is gone: a busy machine may take a while
kill_process() {
	kill -9 "$1"
	within 10 process_is_gone "$1" || not_ok "SIGKILL" "process $1 still runs"
}
process_is_gone() { ! grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null; }
# hold_stopped PID : suspend the process again and again, until it has ended
hold_stopped() { while kill -STOP "$1" 2>/dev/null; do :; done; }
# end WORDS [COUNT] : send them SIGKILL
end() {
	for p in $(ours "$1" | head -n "${2:-99}"); do kill -9 "$p"; done
}
finish() {
	end "$all" 2>/dev/null
	rm -rf "$tmp" ${copied_programs:+"$copied_programs"}
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

# within SECONDS COMMAND... : until it succeeds
within() {
	n=$(($1 * 20))
	shift
	until "$@"; do
		n=$((n - 1))
		[ $n -gt 0 ] || return 1
		sleep 0.05
	done
}
# holds NAME COMMAND... : it succeeds within a minute
holds() {
	name=$1
	shift
	if within 60 "$@"; then ok "$name"; else not_ok "$name" "not so: $*; $(ls -t "$w"/runs/*/console.log | head -n 1 | xargs tail -n 3)"; fi
}
state() { sed -n 's/.*"state":"\([a-z]*\)".*/\1/p' "$w/runs/$1/state.json" 2>/dev/null; }
field() { sed -n 's/.*"'"$2"'":"\{0,1\}\([^",]*\).*/\1/p' "$w/runs/$1/state.json" 2>/dev/null; }
step() { grep '"kind":"train"' "$w/runs/$1/journal.jsonl" 2>/dev/null | tail -n 1 | sed -n 's/.*"step":\([0-9]*\).*/\1/p'; }
is_at() { [ "$(step "$1" | grep . || echo 0)" -ge "$2" ]; }
is_over() { flock -n "$w/runs/$1/lock" true; }
starts() { grep -c '"kind":"start"' "$w/runs/$1/journal.jsonl" 2>/dev/null; }
started() { [ "$(starts "$1" | grep . || echo 0)" -ge "$2" ]; }
says_journal() { grep -qE -- "$2" "$w/runs/$1/journal.jsonl" 2>/dev/null; }
is_state() { [ "$(state "$1")" = "$2" ]; }
says_state() { grep -qE -- "$2" "$w/runs/$1/state.json"; }
nobody() { [ -z "$(ours "$all")" ]; }
nobody_left() {
	if within 20 nobody; then
		ok "$1: nobody is left"
	else
		not_ok "$1: nobody is left" "$(ours "$all" | while read -r p; do tr '\0' ' ' <"/proc/$p/cmdline"; done)"
	fi
}
# run_details RUN : state.json and the ends of console.log and journal.jsonl, for messages
run_details() {
	printf '\n%s\n' "$(cat "$w/runs/$1/state.json" 2>/dev/null)"
	tail -n 5 "$w/runs/$1/console.log" 2>/dev/null
	tail -n 3 "$w/runs/$1/journal.jsonl" 2>/dev/null | cut -c 1-300
}
# is_program PID : has this child of the shell begun its program? Before, it is a copy of the shell, with the handlers
# of its traps: it would swallow a signal, and the program would run on.
is_program() { [ "$(readlink "/proc/$1/exe")" != "$(readlink "/proc/$$/exe")" ]; }
train() {
	run=$1
	shift
	"$wb" train -C "$w" --run "$run" "$tmp/tiny.ini" "$@"
}

tiny_recipe "$tmp/tiny.ini" 800 200 steps=100000 warmup=400 batch_tokens=256 micro_batches=2 eval_every=1000000 \
	save_every=50 eval_sentences=2 samples=1 threads=1 log_every=5
# fake_hosts : $fake_ssh, for --ssh: every host is this one, and away while there is a file $tmp/gone-HOST. $no_fake_ranks:
# why no ranks can train on such hosts; "": they can. tests/lab has hosts with addresses of their own.
fake_hosts() {
	local_network='--network 127.0.0.0/8' no_fake_ranks='' fake_ssh="'$tmp/ssh'"
	case $(mpirun --version 2>/dev/null | sed -n '1s/.* //p') in
	[5-9]*) local_network='' no_fake_ranks="ranks of Open MPI 5 on two hosts with the same address do not connect" ;;
	esac
	cat >"$tmp/ssh" <<-'END'
		#!/bin/sh
		while :; do case $1 in -o | -p | -i) shift 2 ;; -*) shift ;; *) break ;; esac; done
		host=$1
		shift
		[ ! -e "${0%/*}/gone-$host" ] || exit 255
		echo "$host" >>"${0%/*}/reached"
		# a host has its own: two daemons of Open MPI that share one fall over each other at times
		TMPDIR=${0%/*}/$host
		mkdir -p "$TMPDIR"
		export TMPDIR
		exec sh -c "$*" </dev/null
	END
	chmod +x "$tmp/ssh"
}
# daemon_of HOST : the pid of Open MPI's daemon there, which got its TMPDIR from the ssh of fake_hosts
daemon_of() {
	for p in $(ours '^[^ ]*(orted|prted) '); do
		if grep -qzx "TMPDIR=$tmp/$1" "/proc/$p/environ"; then echo "$p"; fi
	done
}
