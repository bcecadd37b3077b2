#!/bin/sh
# signals.sh [long] - what signals do to live runs on this host: early stops; SIGTERM to every process of a job, as
# batch systems send it; steps longer than the grace period; a killed or suspended supervisor; a rank that gets
# SIGTERM alone. "long": early stops at all times from 0 to 5 s. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
srcdir=${srcdir:-.}
how=${1:-short}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-signals-XXXXXX") || exit 1
. "$srcdir/tests/helpers.sh"
. "$srcdir/tests/launch/live_runs.sh"

has_mpi=
if command -v mpirun >/dev/null 2>&1 && "$top/werkbank-train" --version | grep -q 'with MPI'; then has_mpi=1; fi
says "the corpus" 0 '' "$wb" prep -C "$w" -q "$tmp/tiny.ini"
# a run to resume
says "a run of 20 steps" 0 '' train base --steps 20 --micro-batches 3 --quiet

# ---- early stops --------------------------------------------------------------------------------------------------

# new_run NAME fresh|resumed : the folder of a run that a training then creates or resumes
new_run() {
	rm -rf "$w/runs/$1"
	[ "$2" = fresh ] || cp -r "$w/runs/base" "$w/runs/$1"
}
# stopped_early WHAT SECONDS STATUS ATTEMPT : run e ended within 10 s, can be resumed, and nobody calls it finished
stopped_early() {
	if [ "$2" -gt 10 ]; then
		not_ok "$1" "the stop took $2 s"
	elif [ "$3" = 143 ] && [ "$(field e attempt)" != "$4" ]; then
		ok "$1: before the launcher began"
	elif [ "$(state e) $(field e exit) $3" = "stopped 75 75" ]; then
		ok "$1"
	else
		not_ok "$1" "state $(state e), exit $(field e exit), status $3: $(tail -n 2 "$w/runs/e/console.log")"
	fi
}
# early SECONDS RANKS fresh|resumed : stop a detached run, then one in the foreground
early() {
	what="stop after $1 s, $2 ranks, $3"
	new_run e "$3"
	train e --steps 3000 --micro-batches 3 --ranks "$2" --detach --quiet 2>"$tmp/err" || not_ok "$what" "$(cat "$tmp/err")"
	sleep "$1"
	began=$(date +%s)
	timeout 30 "$wb" stop -q -C "$w" e 2>"$tmp/err"
	got=$?
	took=$(($(date +%s) - began))
	within 20 is_over e
	[ $got = 0 ] || cat "$tmp/err"
	[ "$3" = fresh ] && attempt=1 || attempt=2
	stopped_early "$what, detached" $took 75 $attempt
	new_run e "$3"
	"$wb" train -C "$w" --run e "$tmp/tiny.ini" --steps 3000 --micro-batches 3 --ranks "$2" >"$tmp/out" 2>&1 &
	pid=$!
	sleep "$1"
	began=$(date +%s)
	kill -TERM $pid
	wait $pid
	got=$?
	took=$(($(date +%s) - began))
	stopped_early "$what, foreground" $took $got $attempt
}

times="0 0.4 1.1"
[ "$how" = short ] || times=$(awk 'BEGIN { for (i = 0; i <= 50; i++) printf "%.1f ", i / 10 }')
turn=0
for t in $times; do
	for ranks in 1 3; do
		[ $ranks = 1 ] || [ -n "$has_mpi" ] || continue
		turn=$((turn + 1))
		# the short test takes turns; the long one does both
		if [ "$how" != short ] || [ $((turn % 2)) = 0 ]; then early "$t" $ranks fresh; fi
		if [ "$how" != short ] || [ $((turn % 2)) = 1 ]; then early "$t" $ranks resumed; fi
	done
done
nobody_left "early stops"

tally
