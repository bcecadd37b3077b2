#!/bin/sh
# latency.sh - hosts that are 20 ms apart, in a lab (lab.sh): the check measures the latency, the verdict of a training names
# it as the cause, and the plan predicts the step within 15 %.
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wblatency-XXXXXX")
export ws="$tmp/ws"
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
recipe "$tmp/tiny.ini"

# between NAME VALUE LEAST MOST
between() {
	if awk -v x="$2" -v a="$3" -v b="$4" 'BEGIN { exit !(x != "" && x != "-" && x + 0 >= a && x + 0 <= b) }'; then
		ok "$1"
	else
		not_ok "$1" "'$2' is not from $3 to $4"
	fi
}
# middle RUN FIELD : median over the train records of a run, without the first five
middle() {
	records "$1" train step "$2" | awk '$1 > 5 { print $2 }' | sort -g | awk '{ a[NR] = $1 } END { print NR ? a[int((NR + 1) / 2)] : "-" }'
}
# train_and_plan RUN : train, plan the same training from its measurements, and set $planned: the planned step as a share
# of the measured one
train_and_plan() {
	says "$1: a training" 0 '' wb train "$tmp/tiny.ini" --run "$1" --steps 40 --hosts h1,h2 --telemetry-every 1 --quiet
	says "$1: a plan" 0 '"step_s"' wb plan --run "$1" --hosts-count 2 --json
	step=$(middle "$1" step_s)
	plan=$(sed 's/.*"rows":\[//' "$tmp/out" | sed -n 's/^[^}]*"step_s":\([0-9.e+-]*\).*/\1/p')
	planned=$(awk -v p="$plan" -v s="$step" 'BEGIN { printf "%s", (s > 0 ? p / s : "-") }')
	echo "$1: plan $plan s, measured $step s a step"
}

lab_up 2 || exit 1
lab_delay h2 20 || { skip "latency" "no relay: $(head -c 200 "$LAB/delay.log")"; tally; exit; }
says "corpus" 0 '' wb prep "$tmp/tiny.ini" -q
says "check: warns" 0 '^warning  latency: a message takes up to [0-9.]+ ms from host to host' wb hosts check h1,h2
between "check: the latency" "$(sed -n 's/^latency between the hosts: at most \([0-9.]*\) ms$/\1/p' "$tmp/out")" 20 36

# On a busy machine the relay takes longer, and a step may take longer than in the minutes before. So one of three
# trainings must measure the latency and agree with its plan; twice or half of the latency is wrong on any machine.
for run in far far2 far3; do
	train_and_plan $run
	measured=$(records $run verdict latency_s | tail -n 1)
	if awk -v x="$planned" -v l="$measured" 'BEGIN { exit !(x >= 0.85 && x <= 1.15 && l >= 0.020 && l <= 0.036) }'; then break; fi
done
between "the latency that ranks measure" "$measured" 0.020 0.036
records $run verdict network | tail -n +2 | sort | uniq -c | sort -n >"$tmp/verdicts"
same "the verdict names it" "$(awk 'END { print $2 }' "$tmp/verdicts")" latency
says "... in words" 0 'Latency is the bottleneck: [0-9]+ % of a step is waiting .*a message takes [23][0-9.]* ms' grep '"kind":"verdict"' "$ws/runs/$run/journal.jsonl"
more=$(records $run verdict text | tr '_' '\n' | awk '$0 == "%" && before + 0 > 100 { print before } { before = $0 }')
same "... no share above 100 %" "$more" ""
says "a plan" 0 'latency [23][0-9]{4} us' wb plan --run $run --hosts-count 2
between "the plan of the same step, as a share of it" "$planned" 0.85 1.15

# Three hosts, each pair 20 ms apart: the latency is that of a message, whatever the number of hosts.
lab_down
lab_up 3 || exit 1
for host in $LAB_HOSTS; do lab_delay "$host" 10; done
says "three hosts: a training" 0 '' wb train "$tmp/tiny.ini" --run three --steps 20 --hosts h1,h2,h3 --telemetry-every 1 --quiet
between "three hosts: the latency that ranks measure" "$(records three link latency_s)" 0.020 0.045
between "three hosts: the measurement takes some seconds at most" "$(records three link seconds)" 0.1 12
same "three hosts: the verdict has this latency" "$(records three verdict latency_s | tail -n 1)" "$(records three link latency_s)"
says "--no-measure" 0 '' wb train "$tmp/tiny.ini" --run unmeasured --steps 5 --hosts h1,h2,h3 --telemetry-every 1 --quiet --no-measure
between "--no-measure: the latency" "$(records unmeasured link latency_s)" 0.020 0.045
same "--no-measure: no speed, no loss" "$(records unmeasured link link_bytes_s lost)" "- -"
tally
