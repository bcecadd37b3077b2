#!/bin/sh
# plan.sh - werkbank plan: given numbers, a run's journal with known answers, what is refused.
# Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-plan-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_STEPS
wb=$top/werkbank
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"

# refused STATUS WORDS ARGUMENT...
refused() {
	want=$1 words=$2
	shift 2
	says "refused: $*" "$want" "$words" "$wb" plan -C "$tmp/w" "$@"
}

# near NAME VALUE WANT : within 3 %.
near() {
	if awk -v a="$2" -v b="$3" 'BEGIN { exit !(a != "" && a - b <= 0.03 * b && b - a <= 0.03 * b) }'; then
		ok "$1"
	else
		not_ok "$1" "$2, not $3"
	fi
}

# of KEY N : the number of that name in the Nth row.
of() { sed 's/.*"rows":\[//; s/},{/}\n{/g' "$tmp/json" | sed -n "$2s/.*\"$1\":\"*\([0-9a-z.e+-]*\).*/\1/p"; }

plan_json() { "$wb" plan -C "$tmp/w" --json "$@" >"$tmp/json" 2>"$tmp/err" || not_ok "plan $*" "$(cat "$tmp/err")"; }

mkdir -p "$tmp/w/runs/two" "$tmp/w/runs/new"
given="--parameters 25000000 --compute-s 0.9"

refused 64 'give --run NAME .*or --parameters N and --compute-s'
refused 64 'give --run NAME' --parameters 25000000
refused 64 'has no unit' $given --link 10
refused 64 'has an unknown unit' $given --link 10gbits
refused 64 'not a network speed' $given --link fast
refused 64 'above 0' $given --link 0mbit
refused 64 '"0" is not a number of hosts' $given --hosts-count 0
refused 64 '"2.5" is not a number of hosts' $given --hosts-count 1,2.5
refused 64 'give at least one number' $given --hosts-count ,
refused 64 'did you mean wire' $given --vary wier=fp32
refused 64 'not one of fp32, bf16' $given --vary wire=fp16
refused 64 'give at least one value' $given --vary micro-batches=
refused 64 'expected NAME=VALUE' $given --vary micro-batches
refused 66 "has no run 'nobody'" --run nobody
refused 64 'starts with a dot|may not|run' --run ../two

# What was given: 94 MB/s of payload, fp32, no overlap: 100 MB of gradients over 2 hosts in 1.064 s.
plan_json $given --link 100MB/s --hosts-count 1,2 --no-overlap-reduce --target-tokens 1000 --steps 3600 --price 2
near "one host computes alone" "$(of step_s 1)" 0.9
near "two hosts and their link" "$(of step_s 2)" 1.966
near "tokens a second" "$(of target_tps 2)" 1017
near "hours of as many tokens" "$(of hours 2)" 0.983
near "their price" "$(of cost 2)" 3.93
near "bytes a host sends" "$(of sent_bytes 2)" 100000000
hours=$(of hours 2)
plan_json $given --link 100MB/s --hosts-count 1,2 --no-overlap-reduce --target-tokens 1000 --steps 3600 --wire 1bit --wire-warmup 3600
near "1bit that never begins lasts as long" "$(of hours 2)" "$hours"

# A run: three micro-batches of 0.4 s on two hosts, 0.25 s of waiting that 100 MB in one piece explain at 400 MB/s.
cat >"$tmp/w/runs/two/recipe.ini" <<-END
	[model]
	size = tiny
	[train]
	micro_batches = 3
	steps = 1000
	bucket_mb = 1000
	overlap_reduce = no
END
cp "$tmp/w/runs/two/recipe.ini" "$tmp/w/runs/new"
{
	echo '{"v":1,"kind":"start","t":1,"step":0,"ranks":1,"parameters":1}'
	echo '{"v":1,"kind":"train","t":1,"step":1,"step_s":77,"compute_s":70}'
	echo '{"v":1,"kind":"start","t":1,"step":0,"ranks":2,"parameters":25000000,"vocabulary":100}'
	echo '{"v":1,"kind":"train","t":1,"step":1,"step_s":9,"compute_s":8,"exposed_s":1,"wait_s":0}'
	for step in 2 3 4; do
		echo '{"v":1,"kind":"train","t":1,"step":'$step',"step_s":1.2,"compute_s":0.8,"exposed_s":0.25,' \
			'"wait_s":0,"update_s":0.1,"input_s":0.02,"target_tps":2500}'
		for rank in 0 1; do
			echo '{"v":1,"kind":"rank","t":1,"step":'$step',"rank":'$rank',"host":"h'$rank'",' \
				'"compute_s":0.'$((8 - 4 * rank))'}'
		done
	done
	echo '{"v":1,"kind":"tra'
} >"$tmp/w/runs/two/journal.jsonl"
plan_json --run two --hosts-count 1,2,3
near "the run's own step comes back" "$(of step_s 2)" 1.2
near "its link is found" "$(of link_bytes_s 2)" 400000000
near "alone: three micro-batches" "$(of step_s 1)" "$(awk 'BEGIN { print 3 * 0.41 + 0.1 + 0.03 }')"
near "three hosts: one each" "$(of compute_s 3)" 0.41
near "efficiency" "$(of efficiency 2)" "$(awk 'BEGIN { print 1.36 / 1.2 / 2 }')"

# The latency that the ranks of a run measured; what is on the command line goes before.
mkdir "$tmp/w/runs/far"
cp "$tmp/w/runs/two/recipe.ini" "$tmp/w/runs/far"
{ sed '$d' "$tmp/w/runs/two/journal.jsonl"; echo '{"v":1,"kind":"verdict","t":1,"step":4,"network":"latency","latency_s":0.02}'; } >"$tmp/w/runs/far/journal.jsonl"
says "the run's latency" 0 '; latency 20000 us' "$wb" plan -C "$tmp/w" --run far --hosts-count 2
says "another latency" 0 '; latency 300 us' "$wb" plan -C "$tmp/w" --run far --hosts-count 2 --latency-us 300
# A few bytes in one bucket: two messages after each other, and the sums of the loss run beside them.
plan_json --parameters 25 --compute-s 0.9 --link 100MB/s --hosts-count 2 --latency-us 20000 --no-overlap-reduce
near "two messages" "$(of exposed_s 1)" 0.040
plan_json --parameters 25 --compute-s 0.9 --link 100MB/s --hosts-count 8 --latency-us 20000 --no-overlap-reduce
near "the sums of eight hosts" "$(of exposed_s 1)" 0.120

# What hosts bandwidth measured goes before, and options before the run.
echo '{"v":1,"t":1,"hosts":["a","b"],"link_bytes_s":200e6,"latency_s":1e-4}' >"$tmp/w/network.json"
plan_json --run two --hosts-count 2
near "the measured link" "$(of exposed_s 1)" 0.5
# So do our own reductions of about this size: 0.3 s for 100 MB; of bf16 nothing is known but the link.
echo '{"v":1,"t":1,"hosts":["a","b"],"link_bytes_s":200e6,"latency_s":1e-4,"allreduce":[{"bytes":1e6,"seconds":0.003},{"bytes":1e8,"seconds":0.3}]}' >"$tmp/w/network.json"
plan_json --run two --hosts-count 2 --vary overlap-reduce=no
near "the measured reductions" "$(of exposed_s 1)" 0.3
plan_json --run two --hosts-count 2 --wire bf16 --vary overlap-reduce=no
near "not measured in this form" "$(of exposed_s 1)" 0.31062
plan_json --run two --hosts-count 2 --link 1.6gbit --vary overlap-reduce=no
near "not measured on this link" "$(of exposed_s 1)" 0.53
echo '{"v":1,"t":1,"hosts":["a","b"],"link_bytes_s":200e6,"latency_s":1e-4}' >"$tmp/w/network.json"
plan_json --run two --hosts-count 2 --wire bf16 --micro-batches 8 --vary local-steps=1,4
near "bf16 sends half" "$(of sent_bytes 1)" 50000000
near "micro-batches on each rank" "$(of compute_s 1)" 1.64
near "local steps wait less" "$(of exposed_s 2)" 0.233
"$wb" plan -C "$tmp/w" --run two --hosts-count 2,4 --link 100mbit >"$tmp/text" 2>"$tmp/err"
if grep -q '^With 4 hosts on 100 Mbit/s use --overlap-reduce --wire bf16: [1-9.]*x faster; or ' "$tmp/text"; then
	ok "advice"
else
	not_ok "advice" "$(tail -n 3 "$tmp/text")"
fi
if [ "$(grep -c '^ *[24]  100 Mbit/s' "$tmp/text")" -eq 2 ]; then ok "table"; else not_ok "table" "$(cat "$tmp/text")"; fi

# A resumed run that trains no further step keeps what its former attempt measured.
head -n 3 "$tmp/w/runs/two/journal.jsonl" >"$tmp/w/runs/new/journal.jsonl"
plan_json --run new --hosts-count 1
near "an attempt without a step" "$(of step_s 1)" 70
head -n 2 "$tmp/w/runs/two/journal.jsonl" >"$tmp/w/runs/new/journal.jsonl"
"$wb" plan -C "$tmp/w" --run new --hosts-count 1 >"$tmp/text" 2>"$tmp/err"
if grep -q '^run new: 1 rank on 1 host, 77 s a step (median of 1 record)' "$tmp/text"; then
	ok "one of each in the singular"
else
	not_ok "one of each in the singular" "$(head -n 1 "$tmp/text" "$tmp/err")"
fi
head -n 1 "$tmp/w/runs/two/journal.jsonl" >"$tmp/w/runs/new/journal.jsonl"
refused 65 'has no record of a step yet' --run new
echo '{' >"$tmp/w/network.json"
refused 65 'network.json' $given

tally
