#!/bin/sh
# cli.sh - what users meet: exit statuses, messages, help, man page, completion, pipes, the launcher.
# Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-cli-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
wb=$top/werkbank
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"

for program in werkbank werkbank-data werkbank-launch werkbank-train werkbank-eval; do
	[ -x "$top/$program" ] || { echo "$program is not here: run this in a build folder"; exit 1; }
done

# says STATUS WORDS COMMAND... : the exit status, and the words (an extended regular expression) on standard error; this one
# replaces that of helpers.sh.
says() {
	want=$1 words=$2
	shift 2
	name=$(printf '%s ' "$@" | sed "s|$top/||g; s|$tmp/||g")
	got=0
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
	if [ "$got" -ne "$want" ]; then
		not_ok "$name" "exit status $got, not $want; it said: $(head -c 300 "$tmp/err")"
	elif [ -n "$words" ] && ! grep -qE -- "$words" "$tmp/err"; then
		not_ok "$name" "nothing like '$words' in: $(head -c 300 "$tmp/err")"
	elif [ "$want" -ne 0 ] && [ "$(wc -l <"$tmp/err")" -ne 1 ]; then
		not_ok "$name" "more than one line of error: $(head -c 300 "$tmp/err")"
	else
		ok "$name"
	fi
}


# ---- the face -------------------------------------------------------------
"$wb" </dev/null >"$tmp/help" 2>&1
holds "alone in a pipe: help" '^Usage: werkbank' "$tmp/help"
"$wb" --help >"$tmp/help2"
if cmp -s "$tmp/help" "$tmp/help2"; then ok "--help is the same"; else not_ok "--help is the same" "it differs"; fi
"$wb" --version >"$tmp/version"
holds "--version" '^werkbank [0-9]+\.[0-9]+' "$tmp/version"
holds "--version says what was built in" '^(built with|without): ' "$tmp/version"
if NO_COLOR=1 "$wb" --help | grep -q "$(printf '\033')"; then
	not_ok "NO_COLOR" "escape codes in the help"
else
	ok "NO_COLOR"
fi

for command in $(sed -n 's/^CMD("\([a-z][^"]*\)".*/\1/p' "$srcdir/share/conf/commands.def"); do
	"$wb" "$command" --help >"$tmp/out"
	if awk 'length > 80 { exit 1 }' "$tmp/out" && grep -q '^Examples:' "$tmp/out" &&
	    ! grep -q '[0-9]e+[0-9]' "$tmp/out"; then
		ok "$command --help: 80 columns, with examples, numbers without exponents"
	else
		not_ok "$command --help" "$(awk 'length > 80' "$tmp/out" | head -n 1)"
	fi
done

says 64 "'trian' \(did you mean train\?\)" "$wb" trian demo
says 64 "no command is called 'xyzzyplugh'" "$wb" xyzzyplugh
for command in status runs 'data list' samples report; do
	# shellcheck disable=SC2086 # two words
	says 66 'there is no workspace /nonexistent: name another folder with -C' "$wb" $command -C /nonexistent
done
# words of other programs, and missing words: each answer says what to type
says 64 "no command is called 'foo'; werkbank --help" "$wb" help foo
says 64 "'server': werkbank serve" "$wb" server
says 64 "'filter': clean drops bad pairs" "$wb" filter
says 64 'no model given: add --run NAME or --model DIR' "$wb" score
says 64 'train needs RECIPE: a file such as my.ini, or one of demo, medium, multi30k' "$wb" train
for command in train eval translate report status logs stop evaluate watch average export import compare job plan; do
	"$wb" $command --help 2>&1 | grep -q -e '--run' || continue
	says 64 '--run has an empty value: give NAME' "$wb" $command --run ''
done
says 64 '-C has an empty value|--workspace has an empty value' "$wb" status -C ''
says 64 '--model has an empty value' "$wb" translate --model ''
says 64 'takes no option --batch-size: --batch-tokens' "$wb" train my.ini --batch-size 64
says 64 'takes no option --epochs: a run ends by --steps' "$wb" train my.ini --epochs 10
says 64 'takes no option --device: --backend' "$wb" train my.ini --device cuda
says 64 "takes no option --amp: --precision chooses the number format: auto" "$wb" train my.ini --amp yes
says 64 "'fp16' is not one of fp32, bf16, auto$" "$wb" train my.ini --precision fp16
says 64 "'fp16' is not one of fp32, bf16, int8, auto$" "$wb" translate --precision fp16
says 64 'translate takes no option --json: --serve answers requests with JSON' "$wb" translate --json
says 64 'takes no option --port: --serve reads requests from standard input' "$wb" translate --serve --port 8080
says 64 "does not take the argument 'my'; to name a run: --run my" "$wb" eval my
says 64 'an ssh:// address must hold no password' "$wb" watch --plain "ssh://user:s3cret@nowhere.invalid/tmp"
if grep -q s3cret "$tmp/err"; then not_ok "a password in an address: not repeated" "$(cat "$tmp/err")"; fi
# outputs never replace what a command reads, nor a file of a run, corpus or model
mkdir -p "$tmp/ow/runs" && cp -r "$srcdir/tests/golden/release/run" "$tmp/ow/runs/a" && mkdir -p "$tmp/ow/corpora" &&
	cp -r "$srcdir/tests/golden/release/corpus" "$tmp/ow/corpora/c" && chmod -R u+w "$tmp/ow"
cp -r "$tmp/ow/corpora/c" "$tmp/ow/corpora/d" && mv "$tmp/ow/corpora/d/dev.en" "$tmp/ow/corpora/d/held.en" &&
	sed 's/"dev\.en"/"held.en"/' "$tmp/ow/corpora/c/manifest.json" >"$tmp/ow/corpora/d/manifest.json"
mkdir -p "$tmp/ow/archives/x" && : >"$tmp/ow/archives/x/lock"
for file in in.en in.de pieces.vocab archives/x/a.tgz; do echo text >"$tmp/ow/$file"; done
printf '[data]\ntrain_source = in.en\ntrain_target = in.de\n' >"$tmp/ow/in.ini"
{ cat "$tmp/ow/in.ini"; printf '[train]\nprometheus = %s\n' "$tmp/ow/in.de"; } >"$tmp/ow/metrics.ini"
(cd "$tmp/ow" && find . -type f -exec cksum {} + | sort) >"$tmp/ow.before"
printf '[data]\ndemo_pairs = 10\n' >"$tmp/own.ini"
printf 'a b\n' >"$tmp/text" && ln -f "$tmp/text" "$tmp/text.link"
model=$tmp/ow/runs/a/checkpoints/12
says 64 'journal.jsonl is a file of the run' "$wb" report -C "$tmp/ow" a -o "$tmp/ow/runs/a/journal.jsonl"
says 64 'journal.jsonl is a file of the run' "$wb" export -C "$tmp/ow" --run a --format jsonl -o "$tmp/ow/runs/a/journal.jsonl"
says 64 'model.safetensors is a file of the model' "$wb" translate -m "$model" -o "$model/model.safetensors" "$tmp/text"
says 64 'train.shard is a file of the corpus' "$wb" export -C "$tmp/ow" --run a --format prometheus -o "$tmp/ow/corpora/c/train.shard"
says 64 'train.shard is a file of the corpus' "$wb" train "$tmp/own.ini" -C "$tmp/ow" --prometheus "$tmp/ow/corpora/c/train.shard"
says 64 'the command reads .*own.ini' "$wb" job slurm "$tmp/own.ini" -C "$tmp/ow" -o "$tmp/own.ini"
says 64 'the command reads .*text, which .*text.link would replace' "$wb" tokenize "$tmp/text" -o "$tmp/text.link"
says 64 'OUT-SOURCE: the command reads' "$wb" clean "$tmp/text" "$tmp/own.ini" "$tmp/text" "$tmp/out2"
says 64 '--output: the command reads' "$wb" translate -m "$model" --terms "$tmp/text" -o "$tmp/text" "$tmp/own.ini"
says 64 'dev.en is a file of the corpus' "$wb" demo-corpus "$tmp/ow/corpora/c/dev.en" "$tmp/out2"
says 64 '--prometheus: the command reads .*in.de' "$wb" train "$tmp/ow/metrics.ini" -C "$tmp/ow"
says 64 '--output: the command reads .*in.en' "$wb" job slurm "$tmp/ow/in.ini" --walltime 10 -C "$tmp/ow" -o "$tmp/ow/in.en"
says 64 'the command reads .*pieces.vocab' "$wb" sp-learn "$tmp/ow/pieces.vocab" -o "$tmp/ow/pieces"
says 64 'a.tgz is a file of the downloaded archives in' "$wb" tokenize "$tmp/text" -o "$tmp/ow/archives/x/a.tgz"
says 64 'held.en is a file of the corpus' "$wb" tokenize "$tmp/text" -o "$tmp/ow/corpora/d/held.en"
(cd "$tmp/ow" && find . -type f -exec cksum {} + | sort) >"$tmp/ow.after"
if cmp -s "$tmp/ow.before" "$tmp/ow.after"; then ok "no file of run, corpus and model is changed"; else not_ok "no file is changed" "$(diff "$tmp/ow.before" "$tmp/ow.after" | head -3)"; fi
says 0 '' "$wb" report -C "$tmp/ow" a -o "$tmp/ow/runs/a/my-report.md"
says 0 '' "$wb" report -C "$tmp/ow" a -o "$tmp/ow/runs/a/my-report.md"
# environment variables: a misspelt one is named once; the table has all that the sources read
mkdir -p "$tmp/none"
says 0 'WERKBANK_BAEM is ignored: .* did you mean WERKBANK_BEAM\?' env WERKBANK_BAEM=3 "$wb" status -C "$tmp/none"
says 0 '' env WERKBANK_BAEM=3 "$wb" status -q -C "$tmp/none"
if [ -s "$tmp/err" ]; then not_ok "no warning with -q" "$(cat "$tmp/err")"; else ok "no warning with -q"; fi
for name in $(cd "$srcdir" && grep -rhoE '(getenv|env_seconds)\("WERKBANK_[A-Z_]+"' share kernels data train eval tui | sed 's/.*WERKBANK_//; s/"//' | sort -u); do
	option=$(echo "$name" | tr '[:upper:]' '[:lower:]')
	if grep -q "^VARIABLE(\"$name\"," "$srcdir/share/conf/variables.def" ||
	    grep -qE "^OPT_[A-Z]+ *\([a-z]+, $option," "$srcdir/share/conf/options.def"; then
		ok "WERKBANK_$name is in a table"
	else
		not_ok "WERKBANK_$name is in a table" "neither variables.def nor options.def has it"
	fi
done
says 64 'command comes first' "$wb" -- train
says 64 'train takes no option --color' "$wb" --color never train
says 66 "has no run 'nothing'" "$wb" -C "$tmp" --json status nothing
says 64 'takes no option --beem \(did you mean --beam\?\)' "$wb" translate --beem 3
says 64 'status takes no option --beam' "$wb" status --beam 3
says 64 "no command is called 'trian' \(did you mean train\?\)" "$wb" help trian
says 66 "has no run 'nothing'" "$wb" status -C "$tmp" nothing
says 64 "'csh' is not one of bash" "$wb" _completion csh
says 0 "" "$wb" status -C "$tmp/none"
: >"$tmp/plain"
for command in runs status logs samples stop save 'watch --plain' 'prep demo' 'train demo'; do
	says 66 'plain is not a folder: name a folder with -C' "$wb" $command -C "$tmp/plain"
done

# ---- what the workbench shows, as commands ---------------------------------
mkdir -p "$tmp/ws/runs"
cp -r "$srcdir/tests/golden/run" "$tmp/ws/runs/one" && chmod -R u+w "$tmp/ws"
cp -r "$tmp/ws/runs/one" "$tmp/ws/runs/two" && echo 'beam = 9' >"$tmp/ws/two.ini"
{ echo '[decode]'; cat "$tmp/ws/two.ini"; } >"$tmp/ws/runs/two/recipe.ini"
"$wb" watch --plain -C "$tmp/ws" one >"$tmp/out" 2>&1
holds "watch --plain: the run" '^one: finished' "$tmp/out"
holds "watch --plain: how far" '^\[#+\] 100 %  step 2,000' "$tmp/out"
if [ "$(wc -l <"$tmp/out")" -le 24 ] && [ "$(awk 'length > 100' "$tmp/out" | wc -l)" = 0 ]; then
	ok "watch --plain: one screen"
else
	not_ok "watch --plain: one screen" "$(wc -l <"$tmp/out") lines"
fi
"$wb" watch --plain -C "$tmp/ws" >"$tmp/out" 2>&1
holds "watch --plain of a workspace" '^run two: finished, step 2,000' "$tmp/out"
"$wb" watch --plain -C "$tmp/nothing" >"$tmp/out" 2>&1
holds "watch --plain: nothing yet" '^next: werkbank prep demo$' "$tmp/out"
says 64 '.nowhere. is not one of home, data' "$wb" watch -C "$tmp/ws" --dump 24x80 --view nowhere
says 64 'theme: no theme is called "pink"' "$wb" watch -C "$tmp/ws" --dump 24x80 --theme pink
says 66 "has no run 'three'" "$wb" watch --plain -C "$tmp/ws" three
"$wb" runs -C "$tmp/ws" one two >"$tmp/out" 2>&1
holds "runs: options that differ" '^beam +[0-9]+ +9$' "$tmp/out"
"$wb" runs -C "$tmp/ws" --json one two >"$tmp/out" 2>&1
holds "runs --json" '"option":"beam","values":\["[0-9]+","9"\]' "$tmp/out"
says 66 "has no run 'three'" "$wb" runs -C "$tmp/ws" one three
"$wb" samples -C "$tmp/ws" one 0 >"$tmp/out" 2>&1
holds "samples: new words are marked" '^0 +750  \{Der\}' "$tmp/out"
"$wb" samples -C "$tmp/ws" one 0 --json >"$tmp/out" 2>&1
holds "samples --json" '"checkpoints":\[\{"step":250,"hypothesis":"[^"]*","new_words":\[\]' "$tmp/out"
says 64 "N must be the number" "$wb" samples -C "$tmp/ws" one x
says 66 'the run one has no sample 99' "$wb" samples -C "$tmp/ws" one 99

# 20,000 runs: the time grows with their number, not with its square
mkdir -p "$tmp/many/runs"
seq 20000 | sed "s,^,$tmp/many/runs/r," >"$tmp/many/list"
xargs mkdir <"$tmp/many/list"
echo '{"v":1,"state":"finished"}' >"$tmp/many/state.json"
echo '{"v":1,"kind":"start","t":1}' >"$tmp/many/journal.jsonl"
for file in state.json journal.jsonl; do
	sed "s,\$,/$file," "$tmp/many/list" | xargs -n 1000 sh -c 'from=$1; shift; tee "$@" <"$from" >/dev/null' sh "$tmp/many/$file"
done
says 0 '' sh -c "ulimit -t 20; exec '$wb' runs -C '$tmp/many'"
holds "runs: the latest ones" '^state +finished +finished' "$tmp/out"
says 0 '' sh -c "ulimit -t 20; exec '$wb' status -C '$tmp/many'"
same "status: all runs" "$(grep -c '^r[0-9]*: finished' "$tmp/out")" 20000
rm -rf "$tmp/many"

# ---- every command: --help on standard output, from the face and from the program itself ----
sed -n 's/^CMD("\([^"]*\)", *\([a-z]*\),.*/\1 \2/p' "$srcdir/share/conf/commands.def" >"$tmp/commands"
while read -r command program; do
	sister=$top/werkbank-$program
	[ "$program" != tui ] || sister=$wb
	for by in "$wb" "$sister"; do
		name="$(basename "$by") $command --help"
		if ! "$by" "$command" --help >"$tmp/out" 2>"$tmp/err"; then
			not_ok "$name" "it failed: $(head -c 200 "$tmp/err")"
		elif [ -s "$tmp/err" ] || ! grep -q "^Usage: werkbank $command " "$tmp/out"; then
			not_ok "$name" "no usage on standard output"
		else
			ok "$name"
		fi
	done
	says 64 'takes no option --no-such-option' "$wb" "$command" --no-such-option
done <"$tmp/commands"

# ---- values, files, pipes ---------------------------------------------------
says 64 "'12abc' is not a whole number from 1 to 64" "$wb" translate --beam 12abc
says 64 "'65' is not a whole number from 1 to 64" "$wb" translate -b 65
says 64 "is not one of auto, 13a, none, intl, char" "$wb" bleu -r x --tokenizer 13b
says 64 '--reference needs a value' "$wb" bleu -r
says 64 'clean needs SOURCE TARGET' "$wb" clean one
says 64 '--min-words 5 is more than --max-words 2' "$wb" clean --min-words 5 --max-words 2 \
	"$srcdir/COPYING" "$srcdir/COPYING" "$tmp/clean.a" "$tmp/clean.b"
says 66 'corpora/nothing: there is no prepared corpus' "$wb" shortlist -C "$tmp" nothing
says 66 'COPYING is a file; a model is a folder' "$wb" translate -m "$srcdir/COPYING"
says 64 "'b' follows -i FILE" "$wb" bleu ref -i a b
says 66 'no-such-file' "$wb" tokenize "$tmp/no-such-file"
says 66 'no-such-file' "$wb" bleu -r "$tmp/no-such-file" "$srcdir/COPYING"
says 66 "no recipe is called 'dmeo' \(did you mean demo\?\)" "$wb" prep -C "$tmp" dmeo
printf '[train]\nstep = 3\n' >"$tmp/bad.ini"
says 66 "for a file of your own write \./tests\.txt$" sh -c 'cd "$1" && : >tests.txt && "$2" prep tests.txt' sh "$tmp" "$wb"
says 78 "bad.ini:2: no option is called 'step' \(did you mean steps\?\)" "$wb" train -C "$tmp" "$tmp/bad.ini"
says 78 "WERKBANK_BEAM: 'lots'" env WERKBANK_BEAM=lots "$wb" translate --run x

# a reader that leaves early ends the writer without a word
yes 'Good morning, Mr. Smith!' | head -n 200000 >"$tmp/long"
for command in tokenize normalize; do
	("$wb" $command "$tmp/long" 2>"$tmp/err"; echo $? >"$tmp/rc") | head -n 1 >"$tmp/out"
	if [ -s "$tmp/err" ] || [ ! -s "$tmp/out" ]; then
		not_ok "$command | head -1" "it said: $(head -c 200 "$tmp/err")"
	else
		ok "$command | head -1"
	fi
done
if [ -w /dev/full ]; then
	for words in --help --version 'train --help' 'bleu --help' 'model --help' 'tokenize --help' doctor; do
		# shellcheck disable=SC2086 # words
		says 74 'standard output cannot be written' sh -c '"$@" >/dev/full' sh "$wb" $words
	done
	"$wb" tokenize "$tmp/long" >/dev/full 2>"$tmp/err"
	got=$?
	if [ $got -eq 74 ] && [ -s "$tmp/err" ]; then ok "full disk"; else not_ok "full disk" "exit status $got"; fi
fi

# what is typed slowly comes out at once: the answer is read before the next line is written
mkfifo "$tmp/questions" "$tmp/answers"
timeout 20 "$wb" tokenize <"$tmp/questions" >"$tmp/answers" &
exec 8>"$tmp/questions" 9<"$tmp/answers"
for n in 1 2; do
	echo "Line $n, please." >&8
	read -r answer <&9
	if [ "$answer" = "Line $n , please ." ]; then ok "answer $n comes at once"; else not_ok "answer $n" "$answer"; fi
done
exec 8>&- 9<&-
wait $!
"$wb" tokenize --threads 1 "$tmp/long" | cksum >"$tmp/one"
"$wb" tokenize --threads 3 "$tmp/long" | cksum >"$tmp/three"
if cmp -s "$tmp/one" "$tmp/three"; then ok "threads change nothing"; else not_ok "threads" "other bytes"; fi

# ---- documents ---------------------------------------------------------------
"$wb" _man >"$tmp/werkbank.1"
if command -v groff >/dev/null 2>&1; then
	groff -man -ww -Tutf8 -P-c "$tmp/werkbank.1" >"$tmp/man.txt" 2>"$tmp/err"
	if [ -s "$tmp/err" ]; then not_ok "man page" "$(head -n 1 "$tmp/err")"; else ok "man page without a warning"; fi
	holds "man page lists the options" 'of linear warm' "$tmp/man.txt"
else
	skip "man page" "no groff"
fi
if command -v bash >/dev/null 2>&1; then
	"$wb" _completion bash >"$tmp/completion"
	cat >"$tmp/complete.sh" <<-'END'
	. "$1"
	COMP_WORDS=(werkbank tra) COMP_CWORD=1; _werkbank; printf '%s ' "${COMPREPLY[@]}"
	COMP_WORDS=(werkbank train --warm) COMP_CWORD=2; _werkbank; printf '%s ' "${COMPREPLY[@]}"
	COMP_WORDS=(werkbank train --precision '') COMP_CWORD=3; _werkbank; printf '%s ' "${COMPREPLY[@]}"
	for option in format language view theme; do
		COMP_WORDS=(werkbank x --$option '') COMP_CWORD=3; _werkbank; echo; printf '%s ' $option "${COMPREPLY[@]}"
	done
	COMP_WORDS=("$2" train -C "$3" --start-from fir) COMP_CWORD=5; _werkbank; echo; printf '%s ' start-from "${COMPREPLY[@]}"
	END
	mkdir -p "$tmp/named/runs/first"
	bash "$tmp/complete.sh" "$tmp/completion" "$wb" "$tmp/named" >"$tmp/out" 2>&1
	holds "bash completion" '^train translate --warmup fp32 bf16 int8 auto $' "$tmp/out"
	holds "bash completion of --format" '^format md text html json ctranslate2 .*prometheus svg $' "$tmp/out"
	holds "bash completion of --language" '^language en de $' "$tmp/out"
	holds "bash completion of --view" '^view home data .* log settings $' "$tmp/out"
	holds "bash completion of --theme" '^theme auto dark light warm cool contrast safe mono $' "$tmp/out"
	holds "bash completion of --start-from" '^start-from first $' "$tmp/out"
else
	skip "bash completion" "no bash"
fi
for shell in zsh fish; do
	"$wb" _completion $shell >"$tmp/completion"
	if ! command -v $shell >/dev/null 2>&1; then
		skip "$shell completion" "no $shell"
	elif $shell -n "$tmp/completion" 2>"$tmp/err"; then
		ok "$shell completion"
	else
		not_ok "$shell completion" "$(head -n 1 "$tmp/err")"
	fi
done

# ---- the launcher, with a fake trainer: only its journal says that a run began or finished ----
mkdir -p "$tmp/bin" "$tmp/w/corpora/my" "$tmp/w/corpora/done" "$tmp/w/corpora/failed/work"
echo '{}' >"$tmp/w/corpora/done/manifest.json"
cp "$top/werkbank-launch" "$tmp/bin/"
cat >"$tmp/bin/werkbank-train" <<'END'
#!/bin/sh
journal=$3/runs/$5/journal.jsonl	# _rank -C WORKSPACE --run NAME
echo '{"v":1,"kind":"start","t":1,"step":0}' >>"$journal"
echo "trainer: $*" >&2
printf '\rstep 1 of 9\033[K\rstep 2\033[K\r\n' >&2
trap 'echo saving >&2; echo "{\"v\":1,\"kind\":\"stop\",\"t\":2,\"step\":2,\"reason\":\"asked\",\"exit\":75}" >>"$journal"; exit 75' USR1
i=0
while [ $i -lt "${TICKS:-1}" ]; do sleep 0.1; i=$((i + 1)); done
[ "${STATUS:-0}" != 0 ] || echo '{"v":1,"kind":"stop","t":2,"step":9,"reason":"finished","exit":0}' >>"$journal"
exit "${STATUS:-0}"
END
chmod +x "$tmp/bin/werkbank-train"
printf '[train]\nsteps = 50\n' >"$tmp/my.ini"
launch=$tmp/bin/werkbank-launch
run=$tmp/w/runs/my

says 66 'names no text, and .* has no corpus nothing: type: werkbank prep .* --corpus nothing --train-source FILE' "$launch" train -C "$tmp/w" --corpus nothing "$tmp/my.ini"
says 66 'the preparation of the corpus my in .* did not end: type: .* --corpus NAME .*; or name another --corpus: done$' "$launch" train -C "$tmp/w" "$tmp/my.ini"
says 66 'the corpus demo is not prepared in .*: type: werkbank prep -C [^ ]* demo;' "$launch" train -C "$tmp/w" demo
says 66 'type: werkbank prep -C [^ ]* demo --corpus other;' "$launch" train -C "$tmp/w" demo --corpus other
echo '{}' >"$tmp/w/corpora/my/manifest.json"
says 66 'corpora/my/recipe.ini: cannot be read' "$launch" train -C "$tmp/w" "$tmp/my.ini"
: >"$tmp/w/corpora/my/recipe.ini"
says 0 'trainer: _rank -C .*/w --run my' "$launch" train -C "$tmp/w" --steps 77 "$tmp/my.ini"
holds "state: finished" '"state":"finished".*"attempt":1,.*"exit":0' "$run/state.json"
holds "recipe.ini notes the command line" '^steps = 77 +# command line' "$run/recipe.ini"
holds "console.log" '^trainer: _rank' "$run/console.log"
holds "console.log: of a redrawn line the last state" '^step 2$' "$run/console.log"
echo '{"v":1,"kind":"train","t":1,"step":1,"loss":9}' >>"$run/journal.jsonl"
says 0 '' "$launch" train -C "$tmp/w" "$tmp/my.ini"
holds "a resumed run keeps what was given by hand" '^steps = 77 +# command line' "$run/recipe.ini"
says 78 "began with --size 'tiny' and cannot continue with 'big'" "$launch" train -C "$tmp/w" --size big "$tmp/my.ini"
says 78 '--d-model' "$launch" train -C "$tmp/w" --d-model 64 "$tmp/my.ini"
says 0 '' "$launch" train -C "$tmp/w" --steps 99 "$tmp/my.ini"
holds "steps may change" '^steps = 99 ' "$run/recipe.ini"
STATUS=65 "$launch" train -C "$tmp/w" "$tmp/my.ini" 2>"$tmp/err"
got=$?
if [ $got -eq 65 ]; then ok "the trainer's status is ours"; else not_ok "the trainer's status is ours" "it is $got"; fi
holds "state: failed" '"state":"failed".*"exit":65' "$run/state.json"

: >"$tmp/live.err"
TICKS=600 "$launch" train -C "$tmp/w" "$tmp/my.ini" 2>"$tmp/live.err" &
pid=$!
i=0
while ! grep -q trainer: "$tmp/live.err" && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done
holds "state: running" "\"state\":\"running\",\"pid\":$pid,.*\"exit\":null" "$run/state.json"
says 75 "being trained already, by process $pid" "$launch" train -C "$tmp/w" "$tmp/my.ini"
"$wb" status -C "$tmp/w" my >"$tmp/out"
holds "status of a live run" "^my: running \(pid $pid\)" "$tmp/out"
kill -TERM $pid
wait $pid
got=$?
if [ $got -eq 75 ]; then ok "SIGTERM: saved and stopped"; else not_ok "SIGTERM: saved and stopped" "status $got"; fi
holds "the trainer was asked, not killed" '^saving' "$run/console.log"
holds "state: stopped" '"state":"stopped".*"exit":75' "$run/state.json"

: >"$tmp/live.err"
TICKS=600 "$launch" train -C "$tmp/w" "$tmp/my.ini" 2>"$tmp/live.err" &
pid=$!
i=0
while ! grep -q trainer: "$tmp/live.err" && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done
kill -KILL $pid
wait $pid 2>/dev/null
i=0
while ! "$wb" status -C "$tmp/w" my | grep -q '^my: lost' && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done
"$wb" status -C "$tmp/w" my >"$tmp/out"
holds "a killed launcher: its trainer ends too, the run is lost" '^my: lost' "$tmp/out"
says 0 '' "$launch" train -C "$tmp/w" "$tmp/my.ini"

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
