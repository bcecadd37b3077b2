#!/bin/sh
# interop.sh - exports of a run's records, and an imported log: formats, messages, exit statuses.
# Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
here=$(cd "${srcdir:-.}" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-interop-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_RUN
WERKBANK_HOME=$tmp/w
export WERKBANK_HOME
wb=$top/werkbank
passed=0 failed=0

# says STATUS WORDS ARGUMENTS... : the exit status of werkbank, and the words in what it said.
says() {
	want=$1 words=$2 got=0
	shift 2
	"$wb" "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
	if [ "$got" -eq "$want" ] &&
	    { [ -z "$words" ] || cat "$tmp/out" "$tmp/err" | grep -qE -- "$words"; }; then
		passed=$((passed + 1)); echo "ok       $*"
	else
		failed=$((failed + 1))
		echo "FAILED   $*: status $got, not $want, or nothing like '$words' in:"
		head -c 600 "$tmp/out" "$tmp/err"
	fi
}

# has FILE N WORDS : line N of the file is like the extended regular expression.
has() {
	if sed -n "${2}p" "$1" | grep -qE -- "$3"; then
		passed=$((passed + 1)); echo "ok       line $2: $3"
	else
		failed=$((failed + 1)); echo "FAILED   line $2 of $1: $3, but: $(sed -n "${2}p" "$1")"
	fi
}
# lacks FILE PATTERN : no line of the file has it
lacks() {
	if grep -q "$2" "$1"; then failed=$((failed + 1)); echo "FAILED   $(basename "$1") has $2"; else passed=$((passed + 1)); fi
}

log=$here/tests/fuzz/corpus/nohup/log
says 0 'run old: 3 training records up to step 96, 2 evaluations' import "$log" --run old
says 73 'a run called old already exists' import "$log" --run old
says 64 'give --run' import "$log"
says 64 'does not hold weights' import "$log" -o "$tmp/none"
says 66 'cannot read' import "$tmp/nothing" --run x
says 65 'not a log of OpenSeq2Seq' import "$here/tests/eval/interop.sh" --run x
says 64 'is neither a file nor a folder with model.bin' import "$tmp" --run x
corpus=$here/tests/fuzz/corpus
says 65 'has no embedding table' import "$corpus/npz/pickle" -o "$tmp/none"
mkdir "$tmp/npz" && cp "$corpus/npz/marian" "$tmp/npz/model.npz"
says 66 'has 0 vocabularies' import "$tmp/npz" -o "$tmp/none"
says 64 'either --run NAME .*or --output' import "$corpus/weights/ct2-int8"
says 66 'the token of each row is unknown' import "$corpus/weights/ct2-int8" -o "$tmp/none"
printf '<pad>\n</s>\n<s>\n<unk>\na\nb\nc\nd\n' >"$tmp/tokens"
printf '#version: 0.2\n' >"$tmp/codes"
says 66 'has no bpe.codes, which splits words' import "$corpus/weights/ct2-int8" --vocabulary "$tmp/tokens" -o "$tmp/none"
for one in ct2-int8 ct2-float16 pytorch; do
	says 0 'd_model 4, d_ff [46], 2 heads, 1 and 1 layers, 8 tokens' import "$corpus/weights/$one" \
	    --vocabulary "$tmp/tokens" --codes "$tmp/codes" -o "$tmp/$one"
	echo 'a b' >"$tmp/in"
	says 0 '' translate -m "$tmp/$one" --backend ref "$tmp/in"
done
says 73 'already exists' import "$corpus/weights/pytorch" --vocabulary "$tmp/tokens" --codes "$tmp/codes" -o "$tmp/pytorch"
mkdir -p "$tmp/w/corpora/c"
printf 'a b\nc\nd a\n' >"$tmp/w/corpora/c/test.en"
printf 'b a\nc d\na\n' >"$tmp/w/corpora/c/test.de"
says 0 '' import "$corpus/weights/pytorch" --vocabulary "$tmp/tokens" --codes "$tmp/codes" --corpus c --run taken
says 0 '' import "$corpus/weights/ct2-int8" --vocabulary "$tmp/tokens" --codes "$tmp/codes" --corpus c --run other
says 0 '' compare --run taken other taken:last :0 --set test --metric chrf --backend ref --resamples 20
has "$tmp/out" 4 '^other  .*  (better|worse|no significant difference|no difference)$'
has "$tmp/out" 5 '^taken:last  .*  no difference$'
has "$tmp/out" 6 '^taken:0  .*  no difference$'
says 64 'runs are compared on the references of their held-out set' compare --run taken other -r "$tmp/in"
says 64 'compare needs .BASELINE. SYSTEM' compare --run taken
says 66 "has no run 'none'; it has: old, other, taken" compare --run taken none --set test --backend ref
lacks "$tmp/err" 'translates the set'	# all systems are looked for before the first one translates
says 0 '' compare --run taken other --set test --backend ref --resamples 20
lacks "$tmp/err" "$(printf '[\r\033]')"	# no control sequences in a pipe
says 66 'the corpus has no held-out set valid for en; it has: test' eval --run taken --set valid --backend ref
says 66 "has no run 'tkaen' .did you mean taken" translate --run tkaen "$tmp/in"
printf 'b a\nc d\nb\n' >"$tmp/w/corpora/c/test2.de"
cp "$tmp/w/corpora/c/test.en" "$tmp/w/corpora/c/test2.en"
says 0 '' import "$corpus/weights/pytorch" --vocabulary "$tmp/tokens" --codes "$tmp/codes" --corpus d --run elsewhere
mkdir -p "$tmp/w/corpora/d"
cp "$tmp/w/corpora/c/test.en" "$tmp/w/corpora/d/test.en"
cp "$tmp/w/corpora/c/test2.de" "$tmp/w/corpora/d/test.de"
says 65 'have different references in the set test' compare --run taken elsewhere --set test --backend ref
says 0 'Report of the run taken' report taken --format text
says 0 '^No problem$' report taken --format text
says 0 'How big is a checkpoint' report taken all --format text
says 0 '^# Report of the run ' report
says 64 "no question 'nix'; its questions are: .*, or all" report taken nix
says 64 'not one of md, text, html, json' report taken --format txt
says 0 'taken: finished' status taken
says 0 '' translate --run taken "$tmp/in"
says 0 'old: finished' status old
says 0 'too early to judge' report old --format md
says 0 'old' watch old --dump 24x80

mkdir -p "$tmp/w/runs/r"
cat >"$tmp/w/runs/r/journal.jsonl" <<'END'
{"v":1,"kind":"start","t":1700000000,"step":0,"options":{"steps":"30"}}
{"v":1,"kind":"train","t":1700000001,"step":10,"loss":5.5}
{"v":1,"kind":"train","t":1700000002,"step":20,"loss":9}
{"v":1,"kind":"host","t":1700000002,"step":20,"host":"a,b/../\"c","cpu":0.5}
broken
{"v":1,"kind":"start","t":1700000003,"step":10,"options":{"steps":"30"}}
{"v":1,"kind":"train","t":1700000004,"step":20,"loss":4.25,"nll":null,"nonfinite":"nll"}
{"v":1,"kind":"host","t":1700000004,"step":20,"host":"a,b/../\"c","cpu":0.75}
{"v":1,"kind":"eval","t":1700000005,"step":20,"bleu":12.5}
END
says 0 '' export --run r --format csv
has "$tmp/out" 1 '^step,wall_time,train/loss,"hosts/a,b/../""c/cpu",dev/bleu$'
has "$tmp/out" 2 '^10,1700000001,5.5,,$'
has "$tmp/out" 3 '^20,1700000005,4.25,0.75,12.5$'
says 0 '' export --run r --format csv -o "$tmp/tags"
has "$tmp/tags/train/loss.csv" 1 '^Wall time,Step,Value$'
has "$tmp/tags/train/loss.csv" 3 '^1700000004,20,4.25$'
has "$tmp/tags/hosts/a%2Cb/%2E./%22c/cpu.csv" 2 '^1700000004,20,0.75$'
says 73 'already exists' export --run r --format csv -o "$tmp/tags"
says 0 '' export --run r --format jsonl -o "$tmp/r.jsonl"
has "$tmp/r.jsonl" 2 '^\{"run":"r","t":1700000004,"step":20,"tag":"train/loss","value":4.25\}$'
says 0 '^werkbank_attempts_total\{run="r"\} 2$' export --run r --format prometheus
says 0 '^werkbank_host_cpu_ratio\{run="r",host="a,b/../\\"c"\} 0.75$' export --run r --format prometheus
says 0 '' export --run r --format tensorboard -o "$tmp/tb"
says 0 '' export --run r --format prometheus -o "$tmp/r.prom"
has "$tmp/r.prom" 2 '^# TYPE werkbank_attempts_total counter$'
says 0 '^<svg xmlns=' export --run r --format svg
has "$tmp/out" 1 '^<\?xml version="1.0"'
# a picture of a whole run; UPDATE=1 rewrites it: look at it before you keep it
mkdir -p "$tmp/w/runs/curves"
cp "$here/tests/golden/run/journal.jsonl" "$tmp/w/runs/curves/"
says 0 '' export --run curves --format svg -o "$tmp/curves.svg"
test -z "${UPDATE:-}" || cp "$tmp/curves.svg" "$here/tests/golden/export/curves.svg"
diff -u "$here/tests/golden/export/curves.svg" "$tmp/curves.svg" || { failed=$((failed + 1)); echo "FAILED   curves.svg"; }
! command -v xmllint >/dev/null || xmllint --noout "$tmp/curves.svg" || { failed=$((failed + 1)); echo "FAILED   curves.svg is no XML"; }
says 64 'give --output' export --run r --format tensorboard
says 64 'not xml' export --run r --format xml
says 64 'give --run' export --format csv
says 66 'no run "none"' export --run none --format csv
[ "$(find "$tmp/tb" -name 'events.out.tfevents.*' | wc -l)" -eq 2 ] || { failed=$((failed + 1)); echo "FAILED   two event files"; }

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
