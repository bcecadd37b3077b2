#!/bin/sh
# journey.sh - a person who has never seen Werkbank: from an empty folder, by keys alone, in a real terminal that tmux
# plays, to a prepared corpus, a trained model and the Translate tab. Options in the environment make the built-in
# corpus and the model small. KEEP=FOLDER keeps each key and the screen that it led to; FULL=1 trains the demo as it is,
# which takes minutes.
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
	"$wb" stop --now -C "$here/ws" >/dev/null 2>&1 || :
	$tmux kill-server 2>/dev/null || :
	# who was just ended may still write there
	rm -rf "$here" 2>/dev/null || { sleep 1; rm -rf "$here"; } || :
	exit $status
}
trap end EXIT
trap 'exit 1' HUP INT TERM
LC_ALL=C.UTF-8 HOME=$here XDG_CONFIG_HOME=$here/config XDG_STATE_HOME=$here/state
export LC_ALL HOME XDG_CONFIG_HOME XDG_STATE_HOME
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
patience=60
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
	echo "FAILED   $1; the screen was:"
	$tmux capture-pane -p 2>&1 || :
	exit 1
}
# shows WORDS WHAT : wait for them, at most a minute (FULL: twenty).
shows() {
	i=0
	until $tmux capture-pane -p | grep -qE -- "$1"; do
		i=$((i + 1))
		test $i -lt $((patience * 10)) || fail "$2: \"$1\" did not appear"
		sleep 0.1
	done
	keep "${key:-(start)}" "$2"
	echo "ok       $2"; passed=$((passed + 1))
}
press() { key=$*; $tmux send-keys "$@"; }
write() { key=$1; $tmux send-keys -l "$1"; }

mkdir "$here/start"
$tmux new-session -d -x 100 -y 30 "cd '$here/start' && WERKBANK_HOME='$here/ws' '$wb' 2>'$here/stderr'; echo ended \$?; sleep 60" ||
	{ echo "tmux cannot start here"; exit 77; }

shows '> Prepare the built-in corpus' 'an empty workspace: the first step is chosen'
press Enter
shows 'werkbank prep .*demo' 'its command is shown before anything happens'
press y
shows 'demo +en to de' 'the corpus is there'
shows '> Train a model on demo' 'the next step is to train'
press 2
shows '✓ ledger' 'the data view: every stage is done'
press Tab
shows 'all rules' 'dropped pairs'
press Tab
shows 'pieces' 'vocabulary'
press Tab
shows 'a sentence of the source' 'splitting'
write 'The old teacher reads.'
shows 'merges of word' 'pieces of a typed sentence, merge by merge'
press Escape
press 1
shows '> Train a model on demo' 'home again'
press Enter
shows 'werkbank train .*--detach' 'the command of the training'
press y
shows '> (Watch|Translate with) demo' 'training is running'
press 3
shows 'step [1-9][0-9,]* / ' 'the run view: the first steps are there'
press 1
shows '> Translate with demo' 'it is trained: the next step is to translate'
press 6
shows 'reference' 'samples of its checkpoints'
press 5
shows 'training NLL by steps' 'compare'
press 1
shows '> Translate with demo' 'home'
press Enter
shows '7 translate' 'the translate view'
write 'The teacher reads a book.'
shows 'demo step [0-9,]+ +ready' 'a sentence is typed and translated'
press Escape
sleep 1
press F10
shows 'ended 0' 'left'
test ! -s "$here/stderr" || fail "it said: $(cat "$here/stderr")"
"$wb" status -C "$here/ws" | grep -q '^demo: finished' || fail "the run is not finished"
echo "$((passed + 1)) passed, 0 failed, 0 skipped"
