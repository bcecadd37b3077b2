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
	[ "$2" -le "$longest" ] || longest=$2
	if [ "$2" -gt 10 ]; then
		not_ok "$1" "the stop took $2 s, status $3: $(run_details e)"
	elif [ "$3" = 143 ] && [ "$(field e attempt)" != "$4" ]; then
		ok "$1: before the launcher began"
	elif [ "$(state e) $(field e exit) $3" = "stopped 75 75" ]; then
		ok "$1"
	else
		not_ok "$1" "status $3: $(run_details e)"
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
	within 20 is_program $pid
	sleep "$1"
	began=$(date +%s)
	kill -TERM $pid
	wait $pid
	got=$?
	took=$(($(date +%s) - began))
	stopped_early "$what, foreground" $took $got $attempt
}

longest=0
times="0 0.4 1.1"
[ "$how" = short ] || times=$(awk 'BEGIN { for (i = 0; i <= 50; i++) printf "%.1f ", i / 10 }')
turn=0
for t in $times; do
	for n_ranks in 1 3; do
		[ $n_ranks = 1 ] || [ -n "$has_mpi" ] || continue
		turn=$((turn + 1))
		# the short test takes turns; the long one does both
		if [ "$how" != short ] || [ $((turn % 2)) = 0 ]; then early "$t" $n_ranks fresh; fi
		if [ "$how" != short ] || [ $((turn % 2)) = 1 ]; then early "$t" $n_ranks resumed; fi
	done
done
nobody_left "early stops"
echo "the longest early stop took $longest s"

# ---- steps that are longer than the grace period ------------------------------------------------------------------

# weights RUN STEP : their checksum
weights() { sha256sum "$w/runs/$1/checkpoints/$2/model.safetensors" "$w/runs/$1/checkpoints/$2/optimizer.safetensors" | cut -c 1-64; }
# broadcast SIGNAL : to every process of the run at once, as Slurm does
broadcast() {
	# shellcheck disable=SC2046 # a list of numbers
	kill -s "$1" $(ours "$all") 2>/dev/null
}
# so many micro-batches that a step takes about 4 s here and now
micro_s=$(sed -n 's/.*"kind":"train".*"step_s":\([0-9.e-]*\).*/\1/p' "$w/runs/base/journal.jsonl" | tail -n 1)
steps=2 micro=$(awk -v s="${micro_s:-0.03}" 'BEGIN { n = int(4 / s); print 3 * (n < 30 ? 30 : n > 1500 ? 1500 : n) }')
long_steps() { train "$@" --steps $steps --micro-batches $micro --save-every 1 --bpe-dropout 0.1 --quiet; }
for n_ranks in 1 3; do
	[ $n_ranks = 1 ] || [ -n "$has_mpi" ] || continue
	what="long steps, $n_ranks ranks"
	began=$(date +%s)
	says "$what: undisturbed" 0 '' long_steps "whole$n_ranks" --ranks $n_ranks
	echo "a step takes $((($(date +%s) - began) / steps)) s"
	says "$what: they begin" 0 '' long_steps "cut$n_ranks" --ranks $n_ranks --detach
	holds "$what: in the second step" test -d "$w/runs/cut$n_ranks/checkpoints/1"
	sleep 0.3
	broadcast TERM
	began=$(date +%s)
	sleep 0.5
	broadcast TERM # the trap of a job script sends another one
	if within 3 is_over "cut$n_ranks"; then
		ok "$what: SIGTERM to everybody, twice: ended within 3 s"
	else
		not_ok "$what: SIGTERM to everybody, twice" "$(ours "$all") still run after 3 s"
		within 30 is_over "cut$n_ranks"
	fi
	same "$what: stopped" "$(state "cut$n_ranks") $(field "cut$n_ranks" exit)" "stopped 75"
	holds "$what: in the middle of the second step" says_journal "cut$n_ranks" '"kind":"stop".*"step":1,.*"reason":"asked"'
	nobody_left "$what"
	says "$what: resumed" 0 '' long_steps "cut$n_ranks" --ranks $n_ranks
	same "$what: the bits of an undisturbed run" "$(weights "cut$n_ranks" $steps)" "$(weights "whole$n_ranks" $steps)"
done

# ---- a supervisor that is killed or suspended ---------------------------------------------------------------------

says "a run" 0 '' train o --detach --quiet
holds "it trains" is_at o 5
suspend_process "$(field o pid)"
says "stop of a suspended supervisor" 0 'process [0-9]+, was suspended and continues' timeout 20 "$wb" stop -C "$w" o
same "it is stopped" "$(state o) $(field o exit)" "stopped 75"
says "a run" 0 '' train o --detach --quiet
holds "it trains" started o 2
rank=$(ours "$ranks")
suspend_process "$rank" # so that it does not save
hold_stopped "$rank" & # the kernel continues the processes of an orphaned group
kill_process "$(field o pid)"
says "stop of a run without a supervisor" 75 'has died; its ranks still run' \
	env WERKBANK_PATIENCE=1 "$wb" stop -C "$w" o
says "stop --now ends its rank" 69 'the supervisor of the run o ended without a final state' \
	timeout 20 "$wb" stop --now -C "$w" o
nobody_left "a killed supervisor"
says "it can be resumed" 0 '' train o --detach --quiet
holds "it trains" started o 3
saves() { grep -c '"kind":"stop".*"reason":"asked"' "$w/runs/o/journal.jsonl"; }
before=$(saves)
kill_process "$(field o pid)"
holds "the ranks of a killed supervisor end" is_over o
same "they saved and said so" "$(saves)" $((before + 1))

# ---- signals to one rank ------------------------------------------------------------------------------------------

# rank_of RUN NUMBER : its pid, by its record
rank_of() {
	sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$tmp/runtime/$1.$2."* 2>/dev/null | head -n 1
}
says "one rank" 0 '' train s --detach --quiet
holds "it trains" is_at s 5
kill -TERM "$(rank_of s 0)"
holds "SIGTERM to the only rank: it ends" is_over s
same "it is stopped" "$(state s) $(field s exit)" "stopped 75"
holds "the state tells why" says_state s '"event":"the training saved and stopped: rank 0 got SIGTERM'

if [ -n "$has_mpi" ]; then fake_hosts; fi
if [ -z "$has_mpi" ]; then
	skip "signals to one of several ranks" "no Open MPI"
elif [ -n "$no_fake_ranks" ]; then
	skip "signals to one of several ranks" "$no_fake_ranks"
else
	# two_hosts RUN OPTION... : detached
	two_hosts() { train "$@" --ranks 2 --hosts nodea,nodeb --ssh "$fake_ssh" --no-preflight $local_network --detach --quiet; }
	says "two hosts" 0 '' two_hosts h
	holds "they train" is_at h 5
	kill -TERM "$(rank_of h 1)"
	holds "SIGTERM to the rank of nodeb: it ends" is_over h
	same "it is stopped" "$(state h) $(field h exit)" "stopped 75"
	holds "the journal names host and rank" says_journal h '"kind":"event".*rank 1 on nodeb got SIGTERM'
	says "two hosts, elastic" 0 '' two_hosts h --elastic
	holds "they train" started h 2
	holds "they train" is_at h $(($(step h) + 10))
	kill -TERM "$(rank_of h 1)"
	holds "--elastic goes on without nodeb" says_journal h 'going on without nodeb: 1 of 2 hosts'
	holds "with one rank" says_state h '"state":"running".*"ranks":1,.*"hosts":\[\{"host":"nodea","slots":1\}\]'
	says "stop" 0 'h is stopped' "$wb" stop -C "$w" h
	# the daemons of Open MPI hold SIGTERM, too: everybody on a host that shuts down gets it
	says "two hosts" 0 '' two_hosts d --restarts 1
	holds "they train" is_at d 5
	kill -TERM "$(daemon_of nodeb)"
	kill -TERM "$(rank_of d 1)"
	holds "SIGTERM to daemon and rank: it ends" is_over d
	same "it has saved" "$(state d) $(field d exit)" "stopped 75"
	says "two hosts" 0 '' two_hosts d --restarts 0
	holds "they train" started d 2
	holds "they train" is_at d $(($(step d) + 5))
	kill -9 "$(rank_of d 1)"
	holds "kill -9 of a rank: it ends" is_over d
	holds "the journal names rank and host" says_journal d 'was ended by signal 9 \(Killed\) of rank 1 on nodeb'
	says "two hosts" 0 '' two_hosts d --restarts 0
	holds "they train" started d 3
	holds "they train" is_at d $(($(step d) + 5))
	kill -9 "$(daemon_of nodeb)"
	holds "kill -9 of a daemon: it ends" is_over d
	same "its status" "$(state d) $(field d exit)" "failed 68"
	holds "the journal names the host" says_journal d 'lost the connection to host nodeb|the process that started rank [0-9]+ on'
	nobody_left "signals to one rank"
fi

tally
