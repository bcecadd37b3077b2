#!/bin/sh
# random_faults.sh [COUNT [SEED [MODE [OPTION...]]]] - random faults at random steps of trainings on two or three hosts of a lab (lab.sh).
# Whoever stops or loses a run trains it again. Each run must finish with the bits of one without a fault on as many hosts,
# leave no process behind, and name the host of a crash. The same SEED gives the same faults; without one it is the time.
# "together": as rescue, with options of train that spread the state over the ranks (--shard-optimizer, --ema 0.99, --wire 2bit,
# ...); so faults in which every rank lives.
# "mixed": as private, on machines of different kind: h1 has all cores and vector units, h2 one core and AVX2, h3 one core, no
# vector units and a link of 20 Mbit/s; h2 and h3 have workspaces of their own. The bits must be those of equal machines.
# "private": as rescue, but only h1 has the run's folder; a start collects what ranks of other hosts have saved there.
# "rescue": without checkpoints, and with faults of the first host, too. Whoever lives must save: at most one step may be made
# twice. A table shows the steps made twice, and the seconds until the end of the run.
# Skipped without root, Open MPI and sshd. Last line: the tally.
# shellcheck disable=SC2154 # variables of the sourced files
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wbrandom-XXXXXX")
export ws="$tmp/ws"
# shellcheck disable=SC2317 # the trap calls it
finish() {
	lab_down
	[ -n "${KEEP:-}" ] || rm -rf "$tmp"
}
unset WERKBANK_HOME WERKBANK_RUN
. "$(dirname "$0")/../helpers.sh"
. "$(dirname "$0")/lab.sh"
. "$(dirname "$0")/lab_runs.sh"
trap finish EXIT
trap 'exit 1' INT TERM HUP
runs_need || exit 77

count=${1:-40} seed=${2:-$(date +%s)} mode=${3:-}
steps=200 save=25 table=$tmp/table
faults="rank mpirun daemon launcher suspended pause link cable power sshd stop now terminated broadcast twice"
if [ "$mode" ]; then
	steps=120 save=100000
	faults="first rank mpirun mpirun daemon launcher suspended link cable power off0 off2 sshd terminated both"
fi
case $mode in
private) faults="first mpirun rank daemon off0" ;;
mixed) faults="first mpirun rank daemon off0 power stop" ;;
together) faults="mpirun mpirun daemon launcher terminated" ;;
esac
[ $# -gt 3 ] || set -- "" "" ""
shift 3
options=$*
WERKBANK_LEASE=6 # seconds: of a host that lost its power
export WERKBANK_LEASE

# train RUN HOSTS OPTION... : a step takes long enough for a fault between two of them
train() {
	train_run=$1 train_hosts=$2
	shift 2
	# shellcheck disable=SC2086 # options: words
	wb train "$tmp/tiny.ini" --run "$train_run" --hosts "$train_hosts" --steps $steps --micro-batches 6 --save-every $save --log-every 1 \
		--late-after 2 --hang-after 6 --deadline 10 --bpe-dropout 0.1 --quiet $options "$@"
}
# furnish HOST : make it the machine of its kind, also after a boot
furnish() {
	case $mode/$1 in
	mixed/h2) set -- "$1" 0 ;;
	mixed/h3)
		set -- "$1" 1
		lab_rate "$1" 20mbit
		;;
	*) return ;;
	esac
	lab_private "$1" "$ws"
	lab_environment "$1" WERKBANK_CPU="$(level_of "$(lab_of "$1")")"
	# shellcheck disable=SC2016 # for the shell there
	lab_enter "$1" sh -c 'taskset -pc "$1" "$(cat /run/sshd/pid)"' sh "$2" >"$tmp/pin"
}
boot() { lab_boot "$1" && furnish "$1"; }
# level_of NUMBER : vector units that so many mixed hosts have in common
level_of() { if [ "$1" = 2 ]; then echo AVX2; else echo plain; fi; }
hosts_of() { if [ "$1" = 2 ]; then echo h1,h2; else echo h1,h2,h3; fi; }
bits() { cat "$ws/runs/$1/checkpoints/$steps/model.safetensors" "$ws/runs/$1/checkpoints/$steps/optimizer.safetensors" | sha256sum | cut -c 1-16; }
# everywhere SIGNAL : to all processes of trainings on all hosts
everywhere() {
	for h in $(hosts_of "$n" | tr , ' '); do
		for program in werkbank-launch werkbank-train $mpi_starter $mpi_daemon; do lab_kill "$h" "$1" $program; done
	done
}
# random : draws for fault number $turn its kind, the number of hosts, the host, the step and the seconds it takes
draw() {
	# shellcheck disable=SC2046 # words
	set -- $(awk -v steps=$steps -v seed="$seed" -v turn="$turn" -v faults="$faults" 'BEGIN {
		srand((seed * 1009 + turn * 7919) % 2147483647); for (i = 0; i < 5; i++) rand(); k = split(faults, f, " "); n = 2 + int(rand() * 2)
		print f[1 + int(rand() * k)], n, 1 + int(rand() * n), 5 + int(rand() * (0.85 * steps)), 1 + int(rand() * 9) }')
	kind=$1 n=$2 host=h$3 step=$4 seconds=$5
	case $kind in off0 | first | both) host=h1 ;; off2) n=3 ;; esac
	case $kind in # h1 has the supervisor: without it, its daemon is mpirun
	daemon | power | sshd) [ "$host" != h1 ] || host=h2 ;;
	esac
}
# Does the journal have to name $host? Not for a request to stop, nor for what the run may survive.
named=
strike() {
	named=
	case $kind in
	rank) named=1; lab_kill "$host" KILL werkbank-train ;;
	first) named=1; lab_kill h1 KILL werkbank-train ;;
	mpirun) lab_kill h1 KILL $mpi_starter ;;
	both) # of the first rank, and of the program that would notice
		lab_kill h1 KILL werkbank-train
		lab_kill h1 KILL $mpi_starter
		;;
	off0 | off2) # the supervisor goes, too
		[ "$kind" = off0 ] || lab_gone h2
		lab_gone h1
		sleep $((seconds + 6))
		[ "$kind" = off0 ] || boot h2
		boot h1
		;;
	daemon) named=1; lab_kill "$host" KILL $mpi_daemon ;;
	launcher) lab_kill h1 KILL werkbank-launch ;;
	suspended) named=1; lab_kill "$host" STOP werkbank-train ;;
	pause)
		lab_kill "$host" STOP werkbank-train
		sleep "$seconds"
		lab_kill "$host" CONT werkbank-train
		;;
	link)
		lab_link "$host" down
		sleep "$seconds"
		lab_link "$host" up
		;;
	cable)
		lab_cut "$host"
		sleep "$seconds"
		lab_heal "$host"
		;;
	power)
		named=1
		lab_gone "$host"
		sleep "$seconds"
		boot "$host"
		;;
	sshd)
		lab_sshd "$host" off
		lab_kill "$host" KILL werkbank-train
		sleep "$seconds"
		lab_sshd "$host"
		;;
	stop) wb stop -q "$run" ;;
	now) wb stop -q --now "$run" ;;
	terminated) named=1; lab_kill "$host" TERM werkbank-train ;;
	broadcast)
		everywhere TERM
		sleep 0.$seconds
		everywhere TERM
		;;
	twice)
		lab_kill "$host" KILL werkbank-train
		sleep "$seconds"
		lab_kill h1 KILL $mpi_starter
		;;
	esac >"$tmp/strike" 2>&1
}
try() {
	draw
	run=r$turn what="$turn (seed $seed): $kind, $host of $n, step $step, $seconds s"
	train "$run" "$(hosts_of "$n")" --detach >"$tmp/out" 2>&1 || { not_ok "$what" "it does not start: $(tail -n 3 "$tmp/out")"; return; }
	until_step "$run" "$step" 90 || { not_ok "$what" "it does not come to the step: $(tail -n 3 "$ws/runs/$run/console.log")"; return; }
	strike
	began=$(date +%s) again=0
	until_over "$run" 150 || { not_ok "$what" "it does not end: $(tail -n 5 "$ws/runs/$run/console.log")"; wb stop --now -q "$run"; }
	while [ "$(run_state "$run")" != finished ] && [ $again -lt 3 ]; do
		again=$((again + 1))
		train "$run" "$(hosts_of "$n")" >"$tmp/out" 2>&1 || sleep 1
	done
	if [ "$(run_state "$run")" = finished ] && [ "$(bits "$run")" = "$(bits "calm$n")" ]; then
		ok "$what: the same bits, $(($(date +%s) - began)) s later, $(records "$run" start run | wc -l) starts, trained again $again times"
	else
		not_ok "$what" "state $(run_state "$run"), bits $(bits "$run") and $(bits "calm$n"): $(tail -n 4 "$ws/runs/$run/console.log")"
	fi
	[ -z "$named" ] || holds_name
	[ -z "$mode" ] || saves_all
	nobody_left "$what"
	rm -rf "$ws/runs/$run"
}
made_twice() { records "$run" train step | sort -n | uniq -d | wc -l; }
saves_all() {
	row_twice=$(made_twice)
	printf '%3s %-10s %-4s %2s hosts, step %3s: %3s steps twice, %3s s, %s starts, %s saved alone\n' "$turn" "$kind" "$host" "$n" "$step" "$row_twice" \
		"$(($(date +%s) - began))" "$(records "$run" start run | wc -l)" "$(grep -c '"alone":true' "$ws/runs/$run/journal.jsonl")" | tee -a "$table"
	if [ "$row_twice" -le 1 ]; then ok "$what: at most one step twice"; else not_ok "$what: at most one step twice" "$row_twice steps; $(tail -n 12 "$ws/runs/$run/console.log")"; fi
}
# A rank that is lost between two hosts may be reported by the host that noticed it.
holds_name() {
	if grep -E '"kind":"(event|stop)"' "$ws/runs/$run/journal.jsonl" | grep -qE "$host([^0-9]|$)"; then
		ok "$what: it names $host"
	else
		not_ok "$what: it names $host" "$(grep -E '"kind":"(event|stop)"' "$ws/runs/$run/journal.jsonl" | tail -n 4)"
	fi
}

recipe "$tmp/tiny.ini"
lab_up 3 || exit 1
wb prep "$tmp/tiny.ini" -q || not_ok "the corpus" "it cannot be prepared"
if [ "$mode" = private ]; then
	mkdir -p "$ws/runs"
	for n in 2 3; do lab_private h$n "$ws/runs"; done
fi
for n in 2 3; do
	[ "$mode" != mixed ] || { WERKBANK_CPU=$(level_of $n) && export WERKBANK_CPU; }
	says "undisturbed, $n hosts" 0 '' train calm$n "$(hosts_of $n)"
done
unset WERKBANK_CPU
if [ "$mode" = mixed ]; then
	for n in 2 3; do furnish h$n; done
	says "the corpus for hosts without it" 0 '' wb hosts sync h1,h2,h3 --corpus tiny
	says "they differ" 0 'h3 computes with plain, h1 could with .*: all ranks take plain' wb hosts check h1,h2,h3 --corpus tiny
fi
turn=0
while [ $turn -lt "$count" ]; do
	turn=$((turn + 1))
	try
done
[ ! -s "$table" ] || cat "$table"
tally
