#!/bin/sh
# elastic.sh [long] - --elastic on three fake hosts (live_runs.sh): one is cut off and given back, twice; "long": four
# times, and also with options that leave no rank the whole state. After each change the run must continue with the
# hosts that answer, and its checkpoints must have the bits of a run without faults that uses the same numbers of ranks
# from the same steps. A table shows seconds and steps lost. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
srcdir=${srcdir:-.}
how=${1:-short}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-elastic-XXXXXX") || exit 1
. "$srcdir/tests/helpers.sh"
. "$srcdir/tests/launch/live_runs.sh"

if ! command -v mpirun >/dev/null 2>&1 || ! "$top/werkbank-train" --version | grep -q 'with MPI'; then
	skip "lost and returning hosts" "no Open MPI"
	tally
	exit
fi
fake_hosts
if [ -n "$no_fake_ranks" ]; then
	skip "lost and returning hosts" "$no_fake_ranks"
	tally
	exit
fi
WERKBANK_RETURN=1 # second from the loss of a host to the first look
export WERKBANK_RETURN
says "the corpus" 0 '' "$wb" prep -C "$w" -q "$tmp/tiny.ini"
save=20 # steps between two checkpoints

# elastic RUN OPTION... : 3 micro-batches a step, a record for each step, and all checkpoints stay
elastic() { train "$@" --micro-batches 3 --log-every 1 --save-every $save --keep 1000 --bpe-dropout 0.1 --quiet; }
weights() { sha256sum "$w/runs/$1/checkpoints/$2/model.safetensors" "$w/runs/$1/checkpoints/$2/optimizer.safetensors" | cut -c 1-64; }
cut_off() {
	touch "$tmp/gone-nodec"
	for p in $(ours "$all"); do
		if grep -qzx "TMPDIR=$tmp/nodec" "/proc/$p/environ"; then kill -9 "$p"; fi
	done
}
give_back() { rm "$tmp/gone-nodec"; }
# has_ranks RUN N COUNT : start number COUNT of the run has N ranks, and a step is done
has_ranks() {
	says_state "$1" "\"state\":\"running\".*\"attempt\":$3,\"ranks\":$2," && started "$1" "$3" &&
		awk -v count="$3" '/"kind":"start"/ { n++ } /"kind":"train"/ && n == count { found = 1 } END { exit !found }' \
			"$w/runs/$1/journal.jsonl"
}

# cut_and_give_back RUN TIMES OPTION... : train on three hosts, and lose nodec so many times
cut_and_give_back() {
	subject=$1 times=$2
	shift 2
	says "$subject: three hosts" 0 '' elastic "$subject" --ranks 3 --hosts nodea,nodeb,nodec --ssh "$fake_ssh" --no-preflight \
		$local_network --elastic --detach "$@"
	attempt=1 round=0
	while [ $round -lt "$times" ]; do
		round=$((round + 1))
		holds "$subject $round: three ranks" has_ranks "$subject" 3 $attempt
		holds "$subject $round: a checkpoint" is_at "$subject" $(($(step "$subject") + save + 5))
		cut_off
		holds "$subject $round: two ranks" has_ranks "$subject" 2 $((attempt + 1))
		give_back
		holds "$subject $round: it answers" grep -q 'nodec answers again: the training continues with it after the next checkpoint' \
			"$w/runs/$subject/console.log"
		attempt=$((attempt + 2))
		holds "$subject $round: it is taken back" started "$subject" $attempt
	done
	holds "$subject: three ranks at the end" has_ranks "$subject" 3 $attempt
	says "$subject: stop" 0 "$subject is stopped" "$wb" stop -C "$w" "$subject"
	nobody_left "$subject"
	same "$subject: each loss is an event" "$(grep -c '"text":"going on without nodec: 2 of 3 hosts"' "$w/runs/$subject/journal.jsonl")" "$times"
	same "$subject: each return is an event" "$(grep -c '"text":"all 3 hosts answer again"' "$w/runs/$subject/journal.jsonl")" "$times"
	same "$subject: a return is no restart after a failure" "$(field "$subject" restarts)" "$times"
}

# list_starts RUN : of each start: its step, its ranks, seconds without a new step before it, steps that were repeated
list_starts() {
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
		}' "$w/runs/$1/journal.jsonl" >"$tmp/starts"
	awk 'BEGIN { print "FROM STEP  RANKS  SECONDS LOST  STEPS LOST" } { printf "%9d  %5d  %12.1f  %10d\n", $1, $2, $3, $4 }' "$tmp/starts"
}

# same_bits RUN OPTION... : as a run without faults, by the stages of list_starts
same_bits() {
	subject=$1
	shift
	last=$(find "$w/runs/$subject/checkpoints" -mindepth 1 -name '[0-9]*' -printf '%f\n' | sort -n | tail -n 1)
	ranks=3
	awk -v last="$last" 'NR > 1 { print $1, $2 } END { print last, 0 }' "$tmp/starts" >"$tmp/stages"
	while read -r to next; do
		says "$subject without faults: $ranks ranks until step $to" 0 '' elastic "calm-$subject" --ranks $ranks --steps "$to" "$@"
		same "$subject: the bits of step $to" "$(weights "$subject" "$to")" "$(weights "calm-$subject" "$to")"
		ranks=$next
	done <"$tmp/stages"
}

[ "$how" = long ] && times=4 || times=2 # the wait of a host that comes and goes doubles each time
cut_and_give_back plain $times
list_starts plain
same "no step is lost" "$(awk '$4' "$tmp/starts")" ""
# ... because the first rank saved alone, unless all ranks had just saved this step
awk -v save=$save '$2 == 2 && $1 % save { print $1 }' "$tmp/starts" >"$tmp/rescued"
while read -r at; do
	grep -q '"kind":"save".*"step":'"$at"',.*"alone":true' "$w/runs/plain/journal.jsonl" || echo "$at"
done <"$tmp/rescued" >"$tmp/missed"
same "the first rank saved alone" "$(cat "$tmp/missed")" ""
same_bits plain

if [ "$how" = long ]; then
	cut_and_give_back shards 2 --shard-optimizer --wire bf16
	list_starts shards
	same "a return loses no step" "$(awk 'NR > 1 && $2 == 3 && $4' "$tmp/starts")" ""
	same "a loss costs the steps since the last checkpoint" "$(awk -v save=$save '$4 > save' "$tmp/starts")" ""
	same_bits shards --shard-optimizer --wire bf16
fi

tally
