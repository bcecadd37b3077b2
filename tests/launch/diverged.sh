#!/bin/sh
# diverged.sh - trainings that diverge, with --stop-on diverged: one rank, two ranks, detached, resumed. Each ends
# with status 79 after one attempt. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
srcdir=${srcdir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-diverged-XXXXXX") || exit 1
. "$srcdir/tests/helpers.sh"
. "$srcdir/tests/launch/live_runs.sh"

message='training diverged; saved at step [0-9]+: lower noam_factor or lengthen warmup'
# sick RUN OPTION... : a learning rate that is far too large
sick() { train "$@" --steps 600 --noam-factor 40 --warmup 40 --clip 0 --stop-on diverged; }
# count RUN WORDS : records of its journal with these words
count() { grep -c -- "$2" "$w/runs/$1/journal.jsonl"; }
# ended RUN ATTEMPTS : its state and its records after so many attempts, each a command of its own
ended() {
	same "$1: state" "$(state "$1") $(field "$1" exit) $(field "$1" restarts)" "stopped 79 0"
	same "$1: attempts" "$(starts "$1") $(count "$1" '"kind":"stop".*"why":"diverged"')" "$2 $2"
	same "$1: one warning" "$(count "$1" '"sign":"diverged"')" 1
	present "$1: saved" "$w/runs/$1/checkpoints/$(step "$1")"
	nobody_left "$1"
}

says "the corpus" 0 '' "$wb" prep -C "$w" -q "$tmp/tiny.ini"
says "one rank" 79 "$message" sick one
ended one 1
says "status" 0 '^one: stopped: diverged at step [0-9]+' "$wb" status -C "$w" one
says "status --json" 0 '"state":"stopped".*"exit":79,"end":"diverged at step [0-9]+".*"warning":"Training has diverged' "$wb" status -C "$w" --json one
says "a resume ends in the same way" 79 "$message" sick one
ended one 2
says "seen at the last planned step" 79 "$message" train short --steps "$(step one)" --noam-factor 40 --warmup 40 --clip 0 \
	--stop-on diverged
ended short 1
says "detached" 0 '' sick apart --detach
holds "it ends" is_over apart
ended apart 1
if command -v script >/dev/null 2>&1 && script --version 2>/dev/null | grep -q util-linux; then
	cat >"$tmp/sick" <<-END
		#!/bin/sh
		exec '$wb' train -C '$w' --run apart '$tmp/tiny.ini' --steps 600 --stop-on diverged
	END
	chmod +x "$tmp/sick"
	script -qec "sh '$tmp/sick'" /dev/null >"$tmp/terminal" 2>&1 </dev/null
	same "on a terminal: status" $? 79
	same "on a terminal: it is printed once" "$(grep -c 'ended with status 79' "$tmp/terminal")" 1
else
	skip "on a terminal" "no script(1)"
fi
# the user decides
says "a resume without --stop-on goes on" 0 '' train one --stop-on none --steps $(($(step one) + 20)) --quiet
same "finished" "$(state one) $(field one exit)" "finished 0"

if command -v mpirun >/dev/null 2>&1 && "$top/werkbank-train" --version | grep -q 'with MPI'; then
	says "two ranks" 79 "$message" sick two --ranks 2
	ended two 1
	says "two ranks, a resume" 79 "$message" sick two --ranks 2
	ended two 2
else
	skip "two ranks" "no Open MPI"
fi

tally
