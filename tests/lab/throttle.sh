#!/bin/sh
# throttle.sh [short|RATE...] - cost of a slow link, and cures: two hosts of a lab (lab.sh) train a small model at
# 100 Mbit/s, at 1 Gbit/s and without a limit, with several options. The table compares each measured step with the
# prediction of "werkbank plan" from runs at another rate. Also writes throttle.json here. A benchmark, not a test: it needs
# an idle machine with a core for each host (LAB_PIN). On a busy one put the shell into its own group with many shares
# (mkdir /sys/fs/cgroup/cpu/bench; echo 262144 >.../cpu.shares; echo $$ >.../cgroup.procs); not chrt, as the thread that
# reduces never interrupts a rank that computes at the same real-time priority, so nothing overlaps.
# STEPS (default 40) of each run count, after 5 for warm-up; WAYS: names of the options to try (default: all).
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wbthrottle-XXXXXX")
export ws="$tmp/ws"
LAB_PIN=${LAB_PIN-yes}
out=$PWD/throttle.json
steps=${STEPS:-40}
unset WERKBANK_HOME WERKBANK_RUN
. "$(dirname "$0")/../helpers.sh"
. "$(dirname "$0")/lab.sh"
. "$(dirname "$0")/lab_runs.sh"
# shellcheck disable=SC2317 # the trap calls it
finish() {
	lab_down
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
runs_need || exit 77

rates="100mbit 1gbit none"
case ${1:-} in
'') ;;
short) steps=10 ;;
*) rates=$* ;;
esac

# The gradient has 4.6 MB as fp32: 0.37 s at 100 Mbit/s; a micro-batch takes some 30 ms of a core.
cat >"$tmp/small.ini" <<END
[data]
corpus = small
demo_pairs = 6000
merges = 1500
[model]
d_model = 128
d_ff = 512
heads = 4
encoder_layers = 2
decoder_layers = 2
[train]
steps = $((steps + 5))
batch_tokens = 512
micro_batches = 2
eval_every = 1000000
save_every = 1000000
threads = 1
log_every = 1
telemetry_every = 1
END

# mean RUN FIELD, mean_of KIND RUN FIELD : mean over its records (train, or KIND) after the first five steps
mean() { mean_of train "$@"; }
mean_of() { records "$2" "$1" step "$3" | awk '$1 > 5 && $2 != "-" { sum += $2; n++ } END { if (n) print sum / n; else print "-" }'; }
median() {
	records "$1" train step "$2" | awk '$1 > 5 && $2 != "-" { print $2 }' | sort -g |
		awk '{ a[NR] = $1 } END { if (!NR) print "-"; else print NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'
}
sent() { lab_bytes h1 | cut -d ' ' -f 2; }
number=0

# way NAME OPTION... : train with these options at the current rate; prints one row
way() {
	name=$1
	shift
	case " ${WAYS:-$name} " in *" $name "*) ;; *) return ;; esac
	number=$((number + 1))
	run=r$number
	before=$(sent)
	if ! wb train "$tmp/small.ini" --run $run --hosts h1,h2 --no-preflight --network 10.98.0.0/24 --quiet "$@" >"$tmp/out" 2>&1; then
		not_ok "$rate $name" "$(tail -n 3 "$tmp/out")"
		return
	fi
	observed=$((($(sent) - before) / (steps + 5)))
	network=$(records $run verdict network | sort | uniq -c | sort -n | awk 'END { print NR ? $2 : "-" }')
	predicted=$(mean_of verdict $run predicted_bytes)
	seen=$(mean_of verdict $run observed_bytes)
	step=$(median $run step_s)
	tokens=$(mean $run target_tps)
	exposed=$(mean $run exposed_s)
	planned=$(plan "$@")
	echo "$rate $name $step $(mean $run compute_s) $exposed $(mean $run sent_bytes) $observed $predicted $seen $network $tokens $planned" >>"$tmp/rows"
	tail -n 1 "$tmp/rows" | show
}

show() {
	awk '{
		share = ($3 > 0 && $5 != "-") ? sprintf("%.0f%%", 100 * $5 / $3) : "-"
		off = ($12 > 0) ? sprintf("%+.0f%%", 100 * ($12 / $3 - 1)) : "-"
		printf "%-8s %-14s %8.1f %8s %8s %6s %9s %9s %9s %-10s %8.0f %8s %6s\n", $1, $2, 1000 * $3, $4 == "-" ? "-" : sprintf("%.1f", 1000 * $4),
			$5 == "-" ? "-" : sprintf("%.1f", 1000 * $5), share, mb($8), mb($9), mb($7), $10, $11, $12 == "-" ? "-" : sprintf("%.1f", 1000 * $12), off
	}
	function mb(x) { return x == "-" ? "-" : sprintf("%.3f", x / 1e6) }'
}

# plan OPTION... : predicted seconds of a step on the link as just measured, from the run "base" (no limit, no overlap)
plan() {
	wb plan --run base --hosts-count 2 --json "$@" 2>"$tmp/plan.err" | sed 's/.*"rows":\[//; s/},{.*//' |
		sed -n 's/.*"step_s":\([0-9.e+-]*\).*/\1/p' | grep . || echo -
}

lab_up 2 || exit 1
wb prep "$tmp/small.ini" -q || exit 1
rate=none
printf '%-8s %-14s %8s %8s %8s %6s %9s %9s %9s %-10s %8s %8s %6s\n' RATE WAY STEP-ms COMPUTE EXPOSED SHARE PREDICTED OBSERVED NIC-MB VERDICT TOKENS/s PLAN-ms OFF
wb train "$tmp/small.ini" --run base --hosts h1,h2 --no-preflight --network 10.98.0.0/24 --no-overlap-reduce --quiet >"$tmp/out" 2>&1 || { cat "$tmp/out"; exit 1; }
for rate in $rates; do
	for host in $LAB_HOSTS; do
		lab_rate "$host" "$rate" || exit 1
	done
	# verdicts and plans use the measured link
	wb hosts bandwidth h1,h2 >"$tmp/bandwidth" 2>&1 || cat "$tmp/bandwidth"
	way plain --no-overlap-reduce
	way overlap --overlap-reduce
	way bf16 --wire bf16 --overlap-reduce
	way 2bit --wire 2bit --wire-warmup 0 --overlap-reduce
	way int8 --wire int8 --overlap-reduce
	way 1bit --wire 1bit --wire-warmup 0 --overlap-reduce
	way micro_batches-8 --micro-batches 8 --overlap-reduce
	way local-8 --local-steps 8 --overlap-reduce
	way sharded --shard-optimizer --overlap-reduce
	[ "$rate" != 100mbit ] || way all --wire 2bit --wire-warmup 0 --micro-batches 8 --overlap-reduce
done
awk 'BEGIN { print "[" } {
	if (NR > 1) print ","
	n = split("rate way step_s compute_s exposed_s sent_bytes nic_bytes predicted_bytes observed_bytes verdict target_tps plan_step_s", name, " ")
	printf "{"
	for (i = 1; i <= n; i++)
		printf("%s\"%s\":%s", (i > 1 ? "," : ""), name[i], ($i == "-" ? "null" : (i < 3 || i == 10) ? "\"" $i "\"" : $i))
	printf "}"
} END { print "\n]" }' "$tmp/rows" >"$out"
echo "written: $out"
tally
