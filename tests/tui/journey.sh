#!/bin/sh
# journey.sh - a person who has never seen Werkbank: from an empty folder, by keys alone, in a real terminal that tmux
# plays, through all tabs: a corpus is prepared, two models are trained, text is translated. Once at 80x24, once at
# 120x40. Options in the environment make the built-in corpus and the model small. KEEP=FOLDER keeps each key and the
# screen that it led to; FULL=1 trains the first model as the recipe says, which takes minutes.
set -eu
srcdir=${srcdir:-.}
command -v tmux >/dev/null || { echo "no tmux here"; exit 77; }
grep -q "define HAVE_CURSES 1" config.h || { echo "this build has no curses"; exit 77; }
here=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-journey-XXXXXX")
tmux="tmux -f /dev/null -S $here/socket"
wb=$PWD/werkbank
passed=0
end() {
	status=$?
	for ws in "$here"/ws-*; do "$wb" stop --now -C "$ws" >/dev/null 2>&1 || :; done
	$tmux kill-server 2>/dev/null || :
	# who was just ended may still write there
	rm -rf "$here" 2>/dev/null || { sleep 1; rm -rf "$here"; } || :
	exit $status
}
trap end EXIT
trap 'exit 1' HUP INT TERM
LC_ALL=C.UTF-8 HOME=$here XDG_CONFIG_HOME=$here/config XDG_STATE_HOME=$here/state
export LC_ALL HOME XDG_CONFIG_HOME XDG_STATE_HOME
# the hints of the tour, which any key hides, would cover what is looked for
mkdir -p "$here/state/werkbank"
echo "tour.seen = home data run hosts compare samples translate log" >"$here/state/werkbank/workbench"
unset WERKBANK_HOME WERKBANK_GLYPHS WERKBANK_NOW TMUX NO_COLOR
# small, but the same recipe, corpus and keys
if test -z "${FULL:-}"; then
	WERKBANK_DEMO_PAIRS=800 WERKBANK_MERGES=200 WERKBANK_D_MODEL=32 WERKBANK_D_FF=64 WERKBANK_HEADS=2
	WERKBANK_ENCODER_LAYERS=1 WERKBANK_DECODER_LAYERS=1 WERKBANK_STEPS=60 WERKBANK_EVAL_EVERY=30 WERKBANK_SAVE_EVERY=30
	WERKBANK_EVAL_SENTENCES=4 WERKBANK_BATCH_TOKENS=256 WERKBANK_WARMUP=20 WERKBANK_THREADS=1 WERKBANK_LOG_EVERY=5
	export WERKBANK_DEMO_PAIRS WERKBANK_MERGES WERKBANK_D_MODEL WERKBANK_D_FF WERKBANK_HEADS WERKBANK_ENCODER_LAYERS
	export WERKBANK_DECODER_LAYERS WERKBANK_STEPS WERKBANK_EVAL_EVERY WERKBANK_SAVE_EVERY WERKBANK_EVAL_SENTENCES
	export WERKBANK_BATCH_TOKENS WERKBANK_WARMUP WERKBANK_THREADS WERKBANK_LOG_EVERY
fi
patience=${PATIENCE:-60}
test -z "${FULL:-}" || patience=1200

n=0
keep() {
	test -n "${KEEP:-}" || return 0
	mkdir -p "$KEEP"
	n=$((n + 1))
	printf '%02d  %-24s  %s\n' $n "$1" "$2" >>"$KEEP/keys.log"
	$tmux capture-pane -p >"$KEEP/$(printf '%02d' $n).screen"
}
fail() {
	echo "FAILED   $size: $1; the screen was:"
	$tmux capture-pane -p 2>&1 || :
	exit 1
}
# shows WORDS WHAT : wait for them (an extended regular expression), at most a minute (FULL: twenty).
# gone WORDS WHAT : wait until they leave the screen.
# lacks WORDS WHAT : they are not there now; call it after shows has waited for the screen.
await() {
	i=0
	until { $tmux capture-pane -p | grep -qE -- "$2"; test $? -eq "$1"; }; do
		i=$((i + 1))
		test $i -lt $((patience * 20)) || return 1
		sleep 0.05
	done
}
held() { keep "${key:-(start)}" "$1"; echo "ok       $size: $1"; passed=$((passed + 1)); }
shows() { await 0 "$1" || fail "$2: \"$1\" did not appear"; held "$2"; }
gone() { await 1 "$1" || fail "$2: \"$1\" did not go away"; held "$2"; }
lacks() {
	if $tmux capture-pane -p | grep -qE -- "$1"; then fail "$2: \"$1\" is there"; fi
	held "$2"
}
press() { key=$*; $tmux send-keys "$@"; }
count() { press "$@"; n_keys=$((n_keys + $#)); }
write() { key=$1; $tmux send-keys -l "$1"; }

prepare_and_look() {
	shows '> Prepare the built-in corpus' 'an empty workspace: the first step is chosen'
	press Enter
	shows 'werkbank prep .*demo' 'its command is shown before anything happens'
	press y
	shows 'demo +en to de' 'the corpus is there'
	shows '> Train a model on demo' 'the next step is to train'
	press 2
	shows '✓ ledger' 'the data view: every stage is done'
	press Tab
	shows 'source words' 'histograms of the pairs'
	press Tab
	shows 'max-words' 'limits to try'
	press Tab
	shows 'all rules' 'dropped pairs'
	press Tab
	shows 'that were there before' 'repeats'
	press Tab
	shows 'pieces' 'vocabulary'
	press Tab
	shows 'a sentence of the source' 'splitting'
	write 'The old teacher quit 9 jobs.'
	shows 'merges of word' 'pieces of a typed sentence, merge by merge'
	shows '│The old teacher quit 9 jobs\.' 'q and digits are text there'
	press Escape
	gone 'typing: Esc ends it' 'Esc ends typing'
}

train() {
	press 3
	shows 'home view .(1.) runs these commands' 'an empty run view names the tab that starts trainings'
	press 1
	shows '> Train a model on demo' 'home again'
	press Enter
	shows 'werkbank train .*--detach|--detach' 'the command of the training'
	press y
	shows '> (Watch|Translate with) demo' 'training is running'
	press 3
	shows 'step [1-9][0-9,]* / ' 'the run view: the first steps are there'
	shows '✓ finished' 'it is trained'
	shows 'step .*100 %' 'all of its steps are done'
	shows 'dev [0-9.]+ .*train ~?[0-9.]+' 'the NLL of training stands beside that of the development set'
	shows 'z zoom +w panes' 'the run view names its keys'
}

look_at_the_run() {
	press 6
	shows 'reference' 'samples of its checkpoints'
	lacks 'the first evaluation will show' 'nothing is still to come'
	press 5
	shows 'training NLL by steps' 'compare'
	shows '> \[x\]' 'the run is selected'
	press Space
	shows 'no run selected; Space selects one' 'an empty selection says so'
	press 4
	shows 'not the network' 'hosts: the bottleneck is not the network'
	lacks 'straggler' 'no straggler of one rank'
	press 8
	shows 'finished: step ' 'the log says why the run ended'
	lacks 'UTC' 'times since the start'
	press t
	shows 'time UTC' 'the clock names its zone'
	press 1
	shows '> Translate with demo' 'the next step is to translate'
	press '?'
	shows 'run the suggested step' 'keys of home'
	test "$($tmux capture-pane -p | grep -cE '^│ +C  ')" = 1 || fail "C must be listed once"
	test "$($tmux capture-pane -p | grep -c '^│.* Enter  ')" = 1 || fail "Enter must be listed once"
	press Escape
	shows '> Translate with demo' 'back'
}

# Typing ends with Esc only; then q and digits are keys again, and q does not leave this view.
translate() {
	press Enter
	shows 'typing: Esc ends it' 'the step opens typing'
	press Escape
	gone 'typing: Esc ends it' 'Esc ends it'
	press 1
	shows '> Translate with demo' 'home'
	press Enter
	shows 'typing: Esc ends it' 'the same step opens typing again'
	write 'A quick test 7 8 9 of q.'
	shows '│A quick test 7 8 9 of q\.' 'letters and digits are text'
	shows 'demo step [0-9,]+ +ready' 'it is translated'
	press Escape
	gone 'typing: Esc ends it' 'typing has ended'
	press q
	shows 'F10 leaves, i types' 'q does not leave'
	press 9
	shows 'options of demo' 'a digit is a tab again'
	press 7
	shows '│A quick test 7 8 9 of q\.' 'the text is still there'
	press i
	shows 'typing: Esc ends it' 'i types'
	write ' Quit?'
	shows 'q\. Quit\?' 'at the end of the text'
	press Escape
	gone 'typing: Esc ends it' 'ended again'
	press s
	shows 'second checkpoint' 'a second checkpoint is asked for'
	first=$($tmux capture-pane -p | sed -n 's/^ demo step \([0-9,]*\) .*/\1/p')
	press Enter
	shows 'translation,.* demo step [0-9]+' 'two translations'
	test "$($tmux capture-pane -p | grep -oE "translation,[^─]* demo step $first " | wc -l)" -le 1 ||
		fail "the second checkpoint is the first"
	test -n "${FULL:-}" ||
		shows "translation,.* demo step $(test "$first" = 30 && echo 60 || echo 30) " 'the second checkpoint is another one'
}

# A run of other options, which ends by its time.
train_again() {
	press 1
	shows '> Translate with demo' 'home'
	press t
	shows 'T: train a model' 'a lower case letter names the upper case one that acts'
	n_keys=0
	count T
	shows 'steps +60 +WERKBANK_STEPS; default 100000' 'the form shows the value in use, its origin and the default'
	lacks '--workspace' 'the folder is given once'
	count j j 9
	shows '╭▸ steps' 'a digit begins a new value'
	count 9 9 9 Enter
	shows 'steps += 9999 +command line' 'the value is changed'
	count . 1
	shows '╭▸ max-minutes' 'the next row follows'
	count Enter
	shows '[-]-max-minutes 0?\.1' 'the command has both'
	count L
	test $n_keys -le 12 || fail "a training with two changed options took $n_keys keys"
	shows 'demo-2 +finished ' 'it is trained'
	shows 'Go on training demo-2' 'it can go on'
	press Tab Tab Enter
	shows 'finished: 0\.1 minutes are over' 'the run view says why it ended'
	n_keys=0
	count : 3 0 Enter
	shows 'values? at step 30|at step 30|step 30 ' 'a step by its number'
	test $n_keys -le 5 || fail "a step took $n_keys keys"
	n_keys=0
	count 6 o
	shows '^│> +[0-9]+ +[0-9.]+ ' 'the worst sentence is chosen'
	$tmux capture-pane -p | grep -A1 'sentences by the worst chrF' | grep -q '^│>' || fail "the chosen sentence is not the worst"
	test $n_keys -le 2 || fail "the worst sentence took $n_keys keys"
	press 5
	shows '\] .*demo-2' 'compare has both runs'
	press 9
	shows 'options of demo-2' 'settings'
	press / b e a m Enter
	shows 'that contain: beam' 'the filter says what it looks for'
	lacks 'warmup|theme' 'other options are hidden'
}

journey() {
	size=$1x$2
	rm -rf "$here/start" && mkdir "$here/start"
	$tmux new-session -d -x "$1" -y "$2" "cd '$here/start' && WERKBANK_HOME='$here/ws-$1' '$wb' 2>'$here/stderr'; echo ended \$?; sleep 60" ||
		{ echo "tmux cannot start here"; exit 77; }
	prepare_and_look
	train
	look_at_the_run
	translate
	test -n "${FULL:-}" || train_again
	press F10
	shows 'ended 0' 'left'
	test "$($tmux capture-pane -p | grep .)" = 'ended 0' || fail "something else landed in the shell"
	test ! -s "$here/stderr" || fail "it said: $(cat "$here/stderr")"
	"$wb" status -C "$here/ws-$1" demo | grep -q '^demo: finished' || fail "the run is not finished"
	$tmux kill-session
}
# shortest : from an empty folder to a translated sentence in five keys and the sentence.
shortest() {
	size="shortest way" n_keys=0
	rm -rf "$here/start" && mkdir "$here/start"
	$tmux new-session -d -x 80 -y 24 "cd '$here/start' && WERKBANK_HOME='$here/ws-short' '$wb' 2>'$here/stderr'; sleep 60"
	shows '> Prepare the built-in corpus' 'an empty workspace'
	count Enter
	shows 'werkbank prep .*demo' 'the command that prepares'
	count y
	shows '> Train a model on demo' 'the corpus is there'
	count Enter
	shows '--detach' 'the command that trains'
	count y
	shows '> Translate with demo' 'the model is there'
	count Enter
	shows 'typing: Esc ends it' 'one types'
	write 'The old teacher'
	shows '✓ of this text' 'the sentence is translated'
	test $n_keys -eq 5 || fail "$n_keys keys"
	$tmux kill-session
}

journey 80 24
test -n "${FULL:-}" || shortest
test -n "${FULL:-}" || journey 120 40
echo "$passed passed, 0 failed, 0 skipped"
