#!/bin/sh
# stops.sh - stops that something disturbs, of live runs on this host: a suspended rank or mpirun; Ctrl-Z; a terminal that
# hangs up; a full disk and a run folder without permission while the stop saves. Each ends in time, with a state, a status
# and a message that are true, and without losing what was saved before. Last line: the tally.
set -u
top=$PWD
srcdir=${srcdir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-stops-XXXXXX") || exit 1
. "$srcdir/tests/helpers.sh"
. "$srcdir/tests/launch/live_runs.sh"

has_mpi=
if command -v mpirun >/dev/null 2>&1 && "$top/werkbank-train" --version | grep -q 'with MPI'; then has_mpi=1; fi
says "the corpus" 0 '' "$wb" prep -C "$w" -q "$tmp/tiny.ini"

# ended WHAT SECONDS STATE EXIT : run r ended within SECONDS since $began with this state and exit status
ended() {
	within "$2" is_over r
	took=$(($(date +%s) - began))
	if [ $took -le "$2" ] && [ "$(state r) $(field r exit)" = "$3 $4" ]; then
		ok "$1: ended after $took s"
	else
		not_ok "$1" "after $took s: $(run_details r)"
	fi
}
# foreground [OPTION...] : train run r without a terminal, by $user and with the file size $limit; $pid: the supervisor
limit='' user=''
foreground() {
	trained=$(starts r)
	(
		# shellcheck disable=SC3045 # dash and bash have ulimit -S
		[ -z "$limit" ] || ulimit -S -f $limit
		# shellcheck disable=SC2086 # a list of words
		exec $user "$wb" train -C "$w" --run r "$tmp/tiny.ini" --steps 100000 "$@" >"$tmp/console" 2>&1
	) &
	pid=$!
	holds "it trains" started r $((${trained:-0} + 1))
	holds "it trains on" is_at r $(($(step r | grep . || echo 0) + 5))
}
# leaves STATUS WHAT : the supervisor of foreground() ends with this status
leaves() {
	wait $pid
	same "$2: status" $? "$1"
}
mpirun_pid() { ours '^[^ ]*mpirun ' | head -n 1; }

# ---- suspended ranks ----------------------------------------------------------------------------------------------

for n_ranks in 1 3; do
	[ $n_ranks = 1 ] || [ -n "$has_mpi" ] || { skip "several ranks" "no Open MPI"; continue; }
	what="$n_ranks ranks, one suspended"
	[ $n_ranks = 1 ] || what="$what, and mpirun"
	suspend_rank() {
		kill -STOP "$(ours "$ranks" | tail -n 1)"
		[ $n_ranks = 1 ] || kill -STOP "$(mpirun_pid)"
	}
	is_suspended() { grep -q '^State:.T' "/proc/$(ours "$ranks" | tail -n 1)/status"; }
	foreground --micro-batches 3 --ranks $n_ranks
	suspend_rank
	began=$(date +%s)
	says "$what: stop --now" 0 'r is stopped' timeout 30 "$wb" stop --now -C "$w" r
	ended "$what: stop --now" 30 stopped 75
	leaves 75 "$what: stop --now"
	foreground --micro-batches 3 --ranks $n_ranks
	hold_stopped "$(ours "$ranks" | tail -n 1)" &
	holder=$!
	within 5 is_suspended
	began=$(date +%s)
	kill -INT $pid
	sleep 1.2
	kill -INT $pid
	ended "$what: Ctrl-C twice" 30 stopped 75
	leaves 75 "$what: Ctrl-C twice"
	says "$what: the second one ended it" 0 'was ended at once on request' cat "$w/runs/r/state.json"
	wait $holder
	nobody_left "$what: Ctrl-C twice"
	# the request continues what it finds suspended
	foreground --micro-batches 3 --ranks $n_ranks
	suspend_rank
	began=$(date +%s)
	says "$what: stop" 0 'r is stopped' timeout 30 "$wb" stop -C "$w" r
	ended "$what: stop" 20 stopped 75
	leaves 75 "$what: stop"
	holds "$what: it has saved" says_journal r '"kind":"stop".*"reason":"asked"'
	nobody_left "$what: stop"
	rm -rf "$w/runs/r"
done

# ---- a terminal ---------------------------------------------------------------------------------------------------

foreground
kill -TSTP $pid
holds "Ctrl-Z: the training goes on" is_at r $(($(step r) + 20))
same "Ctrl-Z: its state" "$(state r)" running
began=$(date +%s)
says "Ctrl-Z, then stop" 0 'r is stopped' timeout 20 "$wb" stop -C "$w" r
ended "Ctrl-Z, then stop" 20 stopped 75
leaves 75 "Ctrl-Z, then stop"

foreground
began=$(date +%s)
kill -TERM $pid
kill -HUP $pid
ended "the terminal hangs up while the run stops" 20 stopped 75
leaves 75 "the terminal hangs up while the run stops"

# on a terminal the display is a process of its own
display() { ours '^[^ ]*werkbank-launch train .*--run r ' | grep -vx "$(field r pid)"; }
if command -v script >/dev/null 2>&1; then
	trained=$(starts r)
	script -qc "'$wb' train -C '$w' --run r '$tmp/tiny.ini' --steps 100000" /dev/null >"$tmp/console" 2>&1 </dev/null &
	terminal=$!
	holds "on a terminal: it trains" started r $((trained + 1))
	holds "on a terminal: it trains on" is_at r $(($(step r) + 5))
	shown=$(display)
	kill -STOP "$shown" # as by Ctrl-Z, which has no effect without a shell there
	holds "on a terminal, Ctrl-Z: the training goes on" is_at r $(($(step r) + 20))
	began=$(date +%s)
	kill -INT "$shown" # pending until it continues, like the hang-up
	kill -9 $terminal
	kill -CONT "$shown"
	ended "on a terminal, it hangs up while the run stops" 20 stopped 75
	holds "on a terminal: it has saved" test "$(starts r)" = "$(grep -c '"kind":"stop".*"reason":"asked"' "$w/runs/r/journal.jsonl")"
	wait $terminal 2>/dev/null
else
	skip "on a terminal" "no script (package bsdutils)"
fi
nobody_left "a terminal"

# ---- a checkpoint that cannot be written --------------------------------------------------------------------------

newest() { find "$w/runs/r/checkpoints" -mindepth 1 -maxdepth 1 -type d -name '[0-9]*' | sed 's|.*/||' | sort -n | tail -n 1; }
sums() { (cd "$w/runs/r/checkpoints/$(newest)" && sha256sum -c --quiet SHA256SUMS); }
# kept WHAT : the newest checkpoint is that of before, whole, and the run goes on from there
kept() {
	same "$1: the newest checkpoint" "$(newest)" "$before"
	says "$1: it is whole" 0 '' sums
	holds "$1: the journal tells" says_journal r '"kind":"stop".*"reason":"failed".*"exit":74'
	same "$1: nothing is left of the failed one" "$(find "$w/runs/r/checkpoints" -name '*.tmp')" ""
	says "$1, cured: train again" 0 '' train r --detach --quiet --save-every 1000000
	trained=$((trained + 1))
	holds "$1, cured: it begins" started r $((trained + 1))
	holds "$1, cured: it resumes" says_journal r "resumed from the checkpoint of step $before"
	says "$1, cured: stop" 0 'r is stopped' "$wb" stop -C "$w" r
}
what="a limit of the file size"
before=$(newest)
limit=60 # 30 KiB: less than a checkpoint, more than the other files
foreground --save-every 1000000
limit=
began=$(date +%s)
kill -TERM $pid
ended "$what" 20 failed 74
leaves 74 "$what"
says "$what: the message" 0 "cannot save the checkpoint of step .*the newest is of step $before\\).*File too large" cat "$tmp/console"
kept "$what"
nobody_left "$what"

what="a run folder without permission"
if [ "$(id -u)" != 0 ]; then
	ok "$what: a user"
elif setpriv --reuid=65534 --clear-groups "$wb" --version >"$tmp/out" 2>&1; then
	user="setpriv --reuid=65534 --clear-groups" # permissions do not hold for root
	chown -R 65534 "$tmp"
else
	user=none
fi
if [ "$user" = none ]; then
	skip "$what" "no other user can run the programs"
else
	before=$(newest)
	foreground --save-every 1000000
	chmod a-w "$w/runs/r" "$w/runs/r/checkpoints"
	began=$(date +%s)
	kill -TERM $pid
	ended "$what" 20 running null # its state cannot be written
	leaves 74 "$what"
	says "$what: the message of the supervisor" 0 'state.json: cannot be written: Permission denied' cat "$tmp/console"
	says "$what: that of the ranks" 0 "cannot save the checkpoint of step .*the newest is of step $before\\).*Permission denied" cat "$tmp/console"
	says "$what: status" 0 'lost' "$wb" status -C "$w" r
	says "$what: status tells" 0 'the launcher ended without writing the final state' "$wb" status -C "$w" r
	chmod u+w "$w/runs/r" "$w/runs/r/checkpoints"
	kept "$what"
	nobody_left "$what"
fi

tally
