#!/bin/sh
# elastic.sh [long] - --elastic on three fake hosts (live_runs.sh): one is cut off and given back, twice; "long": ten
# times. After each change the run must continue with the hosts that answer, and its checkpoints must have the bits of a
# run without faults that uses the same numbers of ranks from the same steps. A table shows seconds and steps lost.
# Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
srcdir=${srcdir:-.}
[ "${1:-short}" = long ] && times=10 || times=2
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-elastic-XXXXXX") || exit 1
. "$srcdir/tests/helpers.sh"
. "$srcdir/tests/launch/live_runs.sh"

if ! command -v mpirun >/dev/null 2>&1 || ! "$top/werkbank-train" --version | grep -q 'with MPI'; then
	skip "lost and returning hosts" "no Open MPI"
	tally
	exit
fi
fake_hosts
WERKBANK_RETURN=1 # second from the loss of a host to the first look
export WERKBANK_RETURN
says "the corpus" 0 '' "$wb" prep -C "$w" -q "$tmp/tiny.ini"

# elastic RUN OPTION... : 3 micro-batches a step, a record for each step, and all checkpoints stay
elastic() { train "$@" --micro-batches 3 --log-every 1 --save-every 40 --keep 1000 --bpe-dropout 0.1 --quiet; }
weights() { sha256sum "$w/runs/$1/checkpoints/$2/model.safetensors" "$w/runs/$1/checkpoints/$2/optimizer.safetensors" | cut -c 1-64; }
now() { date +%s.%N; }
cut_off() {
	touch "$tmp/gone-nodec"
	for p in $(ours "$all"); do
		if grep -qzx "TMPDIR=$tmp/nodec" "/proc/$p/environ"; then kill -9 "$p"; fi
	done
}
give_back() { rm "$tmp/gone-nodec"; }
# has_ranks N COUNT : start number COUNT of the run has N ranks, and a step is done
has_ranks() {
	says_state x "\"state\":\"running\".*\"attempt\":$2,\"ranks\":$1," && started x "$2" &&
		sed -n '/"kind":"start"/,$p' "$w/runs/x/journal.jsonl" |
		awk -v count="$2" '/"kind":"start"/ { n++ } /"kind":"train"/ && n == count { found = 1 } END { exit !found }'
}

says "three hosts" 0 '' elastic x --ranks 3 --hosts nodea,nodeb,nodec --ssh "$tmp/ssh" --no-preflight \
	--network 127.0.0.0/8 --elastic --detach
attempt=1 i=0
while [ $i -lt $times ]; do
	i=$((i + 1))
	holds "round $i: three ranks" has_ranks 3 $attempt
	holds "round $i: a checkpoint" is_at x $(($(step x) + 50))
	cut_off
	holds "round $i: two ranks" has_ranks 2 $((attempt + 1))
	give_back
	holds "round $i: it answers" grep -q 'nodec answers again: the training continues with it after the next checkpoint' "$w/runs/x/console.log"
	attempt=$((attempt + 2))
	holds "round $i: it is taken back" started x $attempt
done
holds "three ranks at the end" has_ranks 3 $attempt
holds "they train" is_at x $(($(step x) + 10))
says "stop" 0 'x is stopped' "$wb" stop -C "$w" x
nobody_left "lost and returning hosts"
same "each loss is an event" "$(grep -c '"text":"going on without nodec: 2 of 3 hosts"' "$w/runs/x/journal.jsonl")" $times
same "each return is an event" "$(grep -c '"text":"all 3 hosts answer again"' "$w/runs/x/journal.jsonl")" $times
same "no restart counts as a failure for a return" "$(field x restarts)" $times

# ---- seconds and steps lost -----------------------------------------------------------------------------------------

# of each start: its step, its ranks, seconds without a new step before it, steps that were repeated
awk '
	function number(name, at) {
		at = index($0, "\"" name "\":")
		return at ? substr($0, at + length(name) + 3) + 0 : -1
	}
	/"kind":"start"/ { from = number("step"); ranks = number("ranks"); new = 1 }
	/"kind":"train"/ {
		if (new) printf "%d %d %.1f %d\n", from, ranks, last ? number("t") - last : 0, last ? highest - from : 0
		new = 0
		last = number("t")
		highest = number("step")
	}' "$w/runs/x/journal.jsonl" >"$tmp/starts"
awk 'BEGIN { print "FROM STEP  RANKS  SECONDS LOST  STEPS LOST" } { printf "%9d  %5d  %12.1f  %10d\n", $1, $2, $3, $4 }' "$tmp/starts"
same "starts" "$(wc -l <"$tmp/starts")" $((2 * times + 1))
same "a return loses no step" "$(awk 'NR > 1 && $2 == 3 && $4' "$tmp/starts")" ""
same "a loss costs at most the steps since the last checkpoint" "$(awk '$4 > 40' "$tmp/starts")" ""

# ---- the bits of a run without faults -------------------------------------------------------------------------------

last=$(step x)
[ -d "$w/runs/x/checkpoints/$last" ] || last=$(find "$w/runs/x/checkpoints" -mindepth 1 -name '[0-9]*' -printf '%f\n' | sort -n | tail -n 1)
ranks=3
awk 'NR > 1 { print $1, $2 } END { print "'"$last"'", 0 }' "$tmp/starts" >"$tmp/stages"
while read -r to next; do
	says "without faults, $ranks ranks until step $to" 0 '' elastic calm --ranks $ranks --steps "$to"
	same "the bits of step $to" "$(weights x "$to")" "$(weights calm "$to")"
	ranks=$next
done <"$tmp/stages"

tally
