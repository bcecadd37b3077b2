#!/bin/sh
# terminal.sh - the workbench on a real terminal, which tmux plays: it starts, hears keys, follows the size of the
# window and a growing run, and gives the terminal back however it ends.
set -eu
srcdir=${srcdir:-.}
command -v tmux >/dev/null || { echo "no tmux here"; exit 77; }
grep -q "define HAVE_CURSES 1" config.h || { echo "this build has no curses"; exit 77; }
here=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-terminal-XXXXXX")
tmux="tmux -f /dev/null -S $here/socket"
trap '$tmux kill-server 2>/dev/null || :; rm -rf "$here"' EXIT
LC_ALL=C.UTF-8 XDG_STATE_HOME=$here/state; export LC_ALL XDG_STATE_HOME
# without the hints of the tour, which --dump does not show
mkdir -p "$here/state/werkbank"
echo "tour.seen = home data run hosts compare samples translate log" >"$here/state/werkbank/workbench"
unset WERKBANK_HOME WERKBANK_GLYPHS TMUX NO_COLOR

fail() {
	echo "$1; the screen was:"
	$tmux capture-pane -p 2>&1 || :
	exit 1
}

# until_shown WORDS : wait at most ten seconds for them.
until_shown() {
	n=0
	until $tmux capture-pane -p | grep -qF -- "$1"; do
		n=$((n + 1))
		test $n -lt 100 || fail "\"$1\" did not appear"
		sleep 0.1
	done
}
until_gone() {
	n=0
	while $tmux capture-pane -p | grep -qF -- "$1"; do
		n=$((n + 1))
		test $n -lt 100 || fail "\"$1\" did not go away"
		sleep 0.1
	done
}

# The modes of the terminal and the text before must be there again.
before_and_after() {
	until_shown "shell again $1"
	until_shown "shell before"
	until_gone "next pane"
	$tmux display -p '#{alternate_on} #{cursor_flag}' >"$here/flags"
	echo "0 1" | cmp -s - "$here/flags" || fail "alternate screen and cursor are $(cat "$here/flags") after $1"
	cmp -s "$here/modes.before" "$here/modes.after" || fail "the modes of the terminal differ after $1"
}

mkdir -p "$here/w/runs/demo"
cp "$srcdir"/tests/golden/run/* "$here/w/runs/demo/"
chmod u+w "$here/w/runs/demo"/*
sed '$d' "$srcdir/tests/golden/run/journal.jsonl" >"$here/w/runs/demo/journal.jsonl"

# A shell that opens the workbench once for each way to end it.
cat >"$here/shell" <<END
set -m; ulimit -c 0; echo "shell before"
for name in q TERM HUP SEGV; do
	stty -a >"$here/modes.before"
	sh -c 'echo \$\$ >"$here/pid"; exec ./werkbank watch -C "$here/w" --color never'
	code=\$?
	# 128 + SIGTSTP, with job control as at a prompt
	if test \$code = 148; then echo "stopped \$name"; read -r go; fg >/dev/null; code=\$?; fi
	echo "status \$code"
	stty -a >"$here/modes.after"
	echo "shell again \$name"
	read -r go
done
clear
./werkbank -C "$here/w" --color never
END
$tmux new-session -d -x 80 -y 24 "sh '$here/shell' 2>'$here/stderr'" || { echo "tmux cannot start here"; exit 77; }

# starts, hears keys, follows the size, follows the file
until_shown "BLEU, dev"
$tmux capture-pane -p >"$here/terminal"
./werkbank watch -C "$here/w" --dump 24x80 | sed 's/ *$//' >"$here/dump"
TERM=screen diff -u "$here/dump" "$here/terminal" || fail "the terminal shows something else than --dump"
$tmux send-keys '?'
until_shown "run: plots"
$tmux send-keys Escape
until_gone "run: plots"
$tmux resize-window -x 120 -y 40
until_shown "gradient norm"
$tmux resize-window -x 40 -y 10
until_shown "this terminal has 40 x"
$tmux resize-window -x 80 -y 24
until_shown "BLEU, dev"
$tmux send-keys z
until_gone "BLEU, dev"
$tmux send-keys z
until_shown "BLEU, dev"
printf '{"v":1,"kind":"event","t":1750000300,"level":"warning","text":"freshly written"}\n' \
	>>"$here/w/runs/demo/journal.jsonl"
until_shown "freshly written"

# stopped (the shell's screen shows) and continued
$tmux send-keys C-z
until_shown "stopped q"
until_gone "next pane"
$tmux send-keys Enter
until_shown "freshly written"

$tmux send-keys q
before_and_after q
until_shown "status 0"
for signal in TERM HUP SEGV; do
	$tmux send-keys Enter
	until_shown "next pane"
	kill -s $signal "$(cat "$here/pid")"
	before_and_after $signal
done
until_shown "status 139"
until_shown "status 143"

# without a command it begins at home, whatever view was left last
printf 'view = log\nworkspace = %s\n' "$(realpath "$here/w")" >>"$here/state/werkbank/workbench"
$tmux send-keys Enter
until_shown "─ runs ─"
until_shown "Prepare another corpus"
$tmux send-keys q
