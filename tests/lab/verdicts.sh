#!/bin/sh
# verdicts.sh [NUMBER...] - what the verdict of a training says in 21 networks (or in those with these numbers) between two
# hosts of a lab (lab.sh), before "hosts bandwidth" was ever called: a limited link, latency, loss of packets, or none of them.
# A setting changes both hosts, so a packet passes it twice: 5 ms on each host are 10 ms one way. Prints a table; fails if
# a confident verdict is wrong or fewer than 19 of 21 are right. It takes about 15 minutes. "straggler" says nothing about the
# network: other programs slowed a rank down. It counts like "not enough data".
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wbverdicts-XXXXXX")
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

# A gradient of 0.14 MB; one of 0.7 MB for the settings that limit the link; one of 4 MB for the one that compresses it well.
recipe "$tmp/tiny.ini"
sed 's/^d_model = .*/d_model = 96/; s/^d_ff = .*/d_ff = 192/; s/^micro_batches = .*/micro_batches = 2/' "$tmp/tiny.ini" >"$tmp/small.ini"

sed 's/^d_model = .*/d_model = 256/; s/^d_ff = .*/d_ff = 512/' "$tmp/small.ini" >"$tmp/wide.ini"

wanted=" $* "
number=0
right=0 tried=0
# setting NAME MODEL EXPECTED MS LOSS JITTER RATE OPTION...     EXPECTED: answers separated by |; unknown always counts as "not
# enough data", and is right where nothing else is expected
setting() {
	number=$((number + 1))
	case $wanted in "  " | *" $number "*) ;; *) return ;; esac
	name=$1 model=$2 expected=$3 ms=$4 loss=$5 jitter=$6 rate=$7
	shift 7
	for host in $LAB_HOSTS; do
		lab_boot "$host" || exit 1
		[ "$ms$loss$jitter" = 000 ] || lab_delay "$host" "$ms" "$loss" "$jitter" || { skip "verdicts" "no relay"; tally; exit; }
		[ "$rate" = none ] || lab_rate "$host" "$rate"
	done
	run=r$number
	began=$(date +%s)
	wb train "$tmp/$model.ini" --run $run --hosts h1,h2 --steps 60 --max-minutes 0.5 --telemetry-every 4 --quiet "$@" >"$tmp/out" 2>&1 ||
		{ not_ok "$name" "$(tail -n 3 "$tmp/out")"; return; }
	# the verdict of most reports after the first, which has the start of TCP in it
	said=$(records $run verdict network | tail -n +2 | sort | uniq -c | sort -n | awk 'END { print NR ? $2 : "-" }')
	[ "$said" != - ] || said=$(records $run verdict network | tail -n 1)
	text=$(records $run verdict network text | awk -v s="$said" '$1 == s { t = $2 } END { print t }' | tr '_' ' ')
	tried=$((tried + 1))
	case "|$expected|" in
	*"|$said|"*) mark=right right=$((right + 1)) ;;
	*) case $said in unknown) mark="not enough data" ;; straggler) mark="busy host" ;; *) mark=WRONG ;; esac ;;
	esac
	printf '%2d | %-22s | %-24s | %-9s | %-15s | %s | %d s | %.130s\n' $number "$name" "$expected" "$said" "$mark" \
		"$(records $run link latency_s link_bytes_s lost seconds | tail -n 1 | tr ' ' ';')" $(($(date +%s) - began)) "$text" | tee -a "$tmp/table"
	if [ "$mark" = WRONG ]; then not_ok "$name" "expected $expected, the verdict is $said: $text"; else ok "$name: $mark"; fi
}

lab_up 2 || exit 1
wb prep "$tmp/tiny.ini" -q || exit 1
setting "100 Mbit/s" small link 0 0 0 100mbit
setting "20 Mbit/s" small link 0 0 0 20mbit
setting "5 Mbit/s" small link 0 0 0 5mbit
setting "2 Mbit/s" small link 0 0 0 2mbit
setting "20 Mbit/s, 2bit" wide "link|no|slightly" 0 0 0 20mbit --wire 2bit --wire-warmup 0
setting "20 Mbit/s, bf16" small link 0 0 0 20mbit --wire bf16
setting "5 Mbit/s, local-steps 4" small link 0 0 0 5mbit --local-steps 4
setting "5 ms, 20 Mbit/s" small link 5 0 0 20mbit
setting "20 ms, 5 Mbit/s" small link 20 0 0 5mbit
setting "1 ms" tiny latency 1 0 0 none
setting "5 ms" tiny latency 5 0 0 none
setting "20 ms" tiny latency 20 0 0 none
setting "75 ms" tiny latency 75 0 0 none
setting "jitter 5 ms" tiny latency 1 0 5 none
setting "75 ms, 2 %, 10 Mbit/s" tiny "latency|loss" 75 2 0 10mbit
setting "150 ms (RTT 600 ms)" tiny latency 150 0 0 none
setting "2 %" tiny loss 0.01 2 0 none
setting "2 %, 5 ms" tiny "loss|latency" 5 2 0 none
setting "free" tiny "no|slightly|straggler|unknown" 0 0 0 none
# on an idle machine, a step of some milliseconds waits a third of its time for this link, and a fifth for a free one
setting "1 Gbit/s" tiny "link|no|slightly|straggler|unknown" 0 0 0 1gbit
# on an idle machine the delay of 0.01 ms, which takes 0.2 to 0.3 ms a message, costs as much without the loss
setting "0.5 %" tiny "loss|latency|no|slightly|straggler|unknown" 0.01 0.5 0 none
echo "$right of $tried right; processes that run or wait now: $(cut -d ' ' -f 4 /proc/loadavg), load $(cut -d ' ' -f 1 /proc/loadavg)"
if [ "$wanted" != "  " ] || [ $right -ge 19 ]; then ok "right verdicts: $right of $tried"; else not_ok "right verdicts" "$right of $tried"; fi
tally
