#!/bin/sh
# report_runs.sh - the report's verdicts on recorded sick and healthy runs, tests/runs/expected.tsv.
# HALF=design, kept, fresh, second-design, second-kept, long or third restricts the test to runs of that name. Last line: the tally of tests/tally.sh.
set -u
top=$PWD
runs=$(cd "${srcdir:-..}/tests/runs" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-report-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN
w=$tmp/w
half=${HALF:-}
# shellcheck source=tests/helpers.sh
. "$runs/../helpers.sh"

# Creates the run and the manifest of its corpus; writes "RUN QUESTION VERDICT" lines to $tmp/verdicts.
report_of() {
	name=$1
	mkdir -p "$w/runs/$name" "$w/corpora/$name"
	cp "$runs/$name.jsonl" "$w/runs/$name/journal.jsonl"
	[ ! -e "$runs/$name.samples" ] || cp "$runs/$name.samples" "$w/runs/$name/samples.jsonl"
	printf '[data]\ncorpus = %s\n' "$name" >"$w/runs/$name/recipe.ini"
	awk -F '\t' -v name="$name" '$1 == name {
		printf "{\"pairs\":{\"train\":%d,\"dev\":%d},\"held_out_in_train\":{\"dev\":%d}}\n", $2, $3, $4
	}' "$runs/overlap.tsv" >"$w/corpora/$name/manifest.json"
	awk -F '\t' -v name="$name" '$1 == name && NF >= 10 {
		printf "{\"source\":{\"words\":%d,\"tokens\":%d},\"target\":{\"words\":%d,\"tokens\":%d},", $5, $6, $7, $8
		printf "\"texts\":[{\"source_bytes\":%d,\"target_bytes\":%d,\"source_words\":%d,\"target_words\":%d}]}\n", $9, $9, $10, $10
	}' "$runs/overlap.tsv" >"$w/corpora/$name/stats.json"
	"$top/werkbank-eval" report "$name" --format json -C "$w" >"$tmp/json" 2>"$tmp/err" ||
		not_ok "report of $name" "$(head -c 300 "$tmp/err")"
	tr '{' '\n' <"$tmp/json" |
		sed -n 's/.*"id":"\([^"]*\)".*"verdict":"\([^"]*\)","confidence":"\([^"]*\)".*/\1	\2	\3/p' |
		awk -v name="$name" '{ print name "\t" $0 }' >>"$tmp/verdicts"
	tr '{' '\n' <"$tmp/json" | check_health "$name" ||
		not_ok "$name: healthy contradicts the problems" "$(tr '{' '\n' <"$tmp/json" | grep '"id":"healthy"')"
}

# "no check found a problem" is said only if no answer is a problem; else the sentence names problems.
check_health() {
	awk '
		/"id":"healthy"/ { yes = /"verdict":"yes"/; none = /no check found a problem/; names = /problems?: / }
		/"problem":true/ { problems++ }
		END { exit yes && (problems ? none || !names : !none) }'
}

: >"$tmp/verdicts"
for name in $(awk -F '\t' -v half="$half" '!/^#/ && (half == "" || $2 == half) { print $1 }' \
	"$runs/expected.tsv" | sort -u); do
	report_of "$name"
done

# One line for each row of the table: ok, miss or wrong, then the row and the verdict.
awk -F '\t' -v half="$half" '
	NR == FNR { verdict[$1, $2] = $3; sure[$1, $2] = $4; next }
	/^#/ || half != "" && $2 != half { next }
	{
		got = verdict[$1, $3]
		wanted = $4 == "unknown" ? "not enough data" : $4
		good = wanted == "not-yes" ? got == "no" || got == "not enough data" : got == wanted
		print (good ? "ok" : $5 == "miss" ? "miss" : "wrong") "\t" $1 "\t" $2 "\t" $3 "\t" $4 "\t" got "\t" sure[$1, $3]
	}' "$tmp/verdicts" "$runs/expected.tsv" >"$tmp/rows"

tab=$(printf '\t')
while IFS=$tab read -r result name its_half question expected got sure; do
	case $result in
	ok) ok "$name: $question" ;;
	miss) echo "known    $name ($its_half): $question is '$got' ($sure), expected $expected" ;;
	*) not_ok "$name ($its_half)" "$question is '$got' ($sure), expected $expected" ;;
	esac
done <"$tmp/rows"

awk -F '\t' '
	{
		# the illness itself: a row that a healthy run does not have
		sick = $2 !~ /healthy/ && ($5 == "yes" || $5 == "no" && $4 != "diverged" && $4 != "stopped-early")
		if (sick) { n[$3]++; hit[$3] += $1 == "ok" }
		if ($2 ~ /healthy/) { alarms[$3] += $1 != "ok"; rows[$3]++ }
	}
	END {
		for (h in rows)
			printf "%s half: %d of %d verdicts on sick runs, %d false alarms in %d verdicts on healthy runs\n", h, hit[h], n[h], alarms[h], rows[h]
	}' "$tmp/rows"
tally
