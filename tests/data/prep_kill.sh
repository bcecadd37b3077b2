#!/bin/sh
# prep_kill.sh [TIMES [SOURCE TARGET]] - preparation killed with SIGKILL at TIMES random moments (5); each time the next run must end
# with the same bytes. Last line: the tally, which tests/tally.sh counts.
#
# The text is SOURCE and TARGET, else made by the built-in grammar.
# Moments are drawn over the time that an undisturbed run takes, so all stages are hit; the seed of the moments is
# printed and may be given as SEED. Every other time the run that follows is killed as well.
set -u
times=${1:-5}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-kill-XXXXXX")
data=$top/werkbank-data
pid=
# shellcheck disable=SC2317 # the trap calls it
finish() {
	[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME
. "$(dirname "$0")/../helpers.sh"
seed=${SEED:-$(date +%s)}
pairs=${PAIRS:-60000}
echo "SEED=$seed PAIRS=$pairs"

now() { date +%s%N; }
"$data" demo-corpus --demo-pairs $((pairs + 200)) "$tmp/all.en" "$tmp/all.de" || exit 1
head -n "$pairs" "$tmp/all.en" >"$tmp/train.en"
head -n "$pairs" "$tmp/all.de" >"$tmp/train.de"
for l in en de; do
	tail -n 200 "$tmp/all.$l" | head -n 100 >"$tmp/dev.$l"
	tail -n 100 "$tmp/all.$l" >"$tmp/test.$l"
done
cat >"$tmp/small.ini" <<END
[data]
train_source = ${2:-$tmp/train.en}
train_target = ${3:-$tmp/train.de}
dev_source = $tmp/dev.en
dev_target = $tmp/dev.de
test_source = $tmp/test.en
test_target = $tmp/test.de
merges = 2000
max_words = 18
END
prep() { "$data" prep "$tmp/small.ini" -C "$1" -q; }
# sums FOLDER : everything that stays, but for the times in manifest.json
sums() {
	(cd "$1/corpora/small" && find . -maxdepth 1 -type f ! -name manifest.json ! -name lock -exec sha256sum {} + | sort -k 2
	 sed 's/"time":[^,]*,//;s/"seconds":[^,]*,"kept":[a-z]*,//g' manifest.json)
}

began=$(now)
prep "$tmp/whole" || not_ok "undisturbed" "it failed"
took=$(($(now) - began))
sums "$tmp/whole" >"$tmp/wanted"

# killed FOLDER FRACTION : start a run and kill it after this share of the whole time (in 1/1000)
killed() {
	# not a function in the background: that would be a shell, and killing it leaves the program
	"$data" prep "$tmp/small.ini" -C "$1" -q &
	pid=$!
	sleep "$(awk -v t="$took" -v f="$2" 'BEGIN { printf "%.3f", t * f / 1000 / 1e9 }')"
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	pid=
}

awk -v seed="$seed" -v n="$times" 'BEGIN { srand(seed); for (i = 0; i < n; i++) print int(rand() * 1000), int(rand() * 600) }' >"$tmp/moments"
number=0
while read -r first second; do
	number=$((number + 1))
	ws=$tmp/ws
	rm -rf "$ws"
	killed "$ws" "$first" 2>/dev/null
	[ $((number % 2)) -eq 1 ] || killed "$ws" "$second" 2>/dev/null
	done_before=$(find "$ws" -path '*/work/*.json' 2>/dev/null | wc -l)
	if ! prep "$ws" 2>"$tmp/err"; then
		not_ok "killed at $first" "the next run failed: $(cat "$tmp/err")"
	elif sums "$ws" >"$tmp/got" && cmp -s "$tmp/got" "$tmp/wanted"; then
		ok "killed at $first/1000 with $done_before stages done: the same bytes"
	else
		not_ok "killed at $first" "$(diff "$tmp/got" "$tmp/wanted" | head -n 3)"
	fi
	leftover=$(find "$ws/corpora" -name '*.tmp' -o -name 'bucket.*')
	[ -z "$leftover" ] || not_ok "killed at $first" "left over: $leftover"
done <"$tmp/moments"

tally
