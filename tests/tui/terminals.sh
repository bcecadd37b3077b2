#!/bin/sh
# terminals.sh - the workbench on several kinds of terminal, which tmux plays: what it shows, a storm of sizes, stopping,
# pasting, the mouse, the clipboard, and what it remembers.
set -eu
srcdir=${srcdir:-.}
command -v tmux >/dev/null || { echo "no tmux here"; exit 77; }
grep -q "define HAVE_CURSES 1" config.h || { echo "this build has no curses"; exit 77; }
here=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-terminals-XXXXXX")
tmux="tmux -f /dev/null -S $here/socket"
trap '$tmux kill-server 2>/dev/null || :; rm -rf "$here"' EXIT
LC_ALL=C.UTF-8; export LC_ALL
XDG_CONFIG_HOME=$here/config; XDG_STATE_HOME=$here/state; export XDG_CONFIG_HOME XDG_STATE_HOME
# without the hints of the tour
mkdir -p "$here/state/werkbank"
echo "tour.seen = home data run hosts compare samples translate log" >"$here/state/werkbank/workbench"
unset WERKBANK_HOME WERKBANK_GLYPHS TMUX STY NO_COLOR
passed=0

fail() {
	echo "FAILED   $1; the screen was:"
	$tmux capture-pane -p 2>&1 || :
	exit 1
}
pass() { echo "ok       $1"; passed=$((passed + 1)); }

# waiting WORD COMMAND... : until the command succeeds, at most twenty seconds.
waiting() {
	words=$1; shift
	n=0
	until "$@"; do
		n=$((n + 1))
		test $n -lt 200 || fail "$words"
		sleep 0.1
	done
}
shows() { $tmux capture-pane -p | grep -qF -- "$1"; }
shell_has_terminal() { test "$($tmux display -p '#{pane_current_command}')" = sh; }
hides() { ! shows "$1"; }
until_shown() { waiting "\"$1\" did not appear" shows "$1"; }
until_gone() { waiting "\"$1\" did not go away" hides "$1"; }
keys() { $tmux send-keys "$@"; }
bytes() { $tmux send-keys -l "$(printf '%b' "$1")"; }

mkdir -p "$here/w/runs/demo" "$here/config/werkbank"
cp "$srcdir"/tests/golden/run/* "$here/w/runs/demo/"
chmod u+w "$here/w/runs/demo"/*
$tmux new-session -d -x 80 -y 24 "sh -c 'cd \"$PWD\"; PS1=ready-; export PS1; exec sh -i'" ||
	{ echo "tmux cannot start here"; exit 77; }
$tmux set -g set-clipboard on
until_shown "ready-"

# workbench TERM OPTIONS : begin it.
workbench() {
	term=$1; shift
	keys "clear; TERM=$term ./werkbank watch -C '$here/w' $* ; echo gone-\$?" Enter
}
leave() {
	keys q
	until_shown "gone-0"
}
# The terminal must show what --dump gives.
is_as_dumped() {
	$tmux capture-pane -p | sed 's/ *$//' >"$here/terminal"
	cmp -s "$here/dump" "$here/terminal"
}

# ---- kinds of terminal; --dump draws no areas under curves
printf 'area = default\n' >"$here/config/werkbank/flat.theme"
for term in xterm-256color putty linux vt100 screen-256color tmux-256color xterm; do
	infocmp "$term" >/dev/null 2>&1 || { echo "skipped  $term: not described here"; continue; }
	TERM=$term ./werkbank watch -C "$here/w" --dump 24x80 | sed 's/ *$//' >"$here/dump"
	workbench $term --theme flat
	until_shown "BLEU, dev"
	waiting "$term shows something else than --dump" is_as_dumped
	# a terminal without colours must not get any
	if test $term = vt100 && $tmux capture-pane -pe | grep -q "$(printf '\033')\[[0-9;]*3[0-7]m"; then
		fail "colours on $term"
	fi
	keys Down Up Tab '?'
	until_shown "run: plots"
	keys Escape
	until_shown "BLEU, dev"
	leave
	pass "$term"
done

# ---- themes: without colours when told so, and others than usual
for options in "--theme mono" "--color never"; do
	workbench xterm-256color "$options"
	until_shown "BLEU, dev"
	if $tmux capture-pane -pe | grep -q "$(printf '\033')\[[0-9;]*3[0-8]"; then fail "colours with $options"; fi
	leave
done
printf 'base = light\nnormal = 94\n' >"$here/config/werkbank/mine.theme"
workbench xterm-256color --theme mine
until_shown "BLEU, dev"
$tmux capture-pane -pe | grep -qF "38;5;94" || fail "the colours of a theme file do not show"
leave
if infocmp xterm-direct256 >/dev/null 2>&1; then
	workbench "xterm-256color COLORTERM=truecolor" --theme dark
	until_shown "BLEU, dev"
	$tmux capture-pane -pe | grep -qE '38[;:]2[;:]' || fail "an area in true colour does not show"
	leave
fi
pass "themes"

# ---- title; progress and a message at the end of a run, when asked for; quiet without focus
if command -v flock >/dev/null; then
	live=$here/w/runs/live
	mkdir -p "$live"
	head -17 "$srcdir/tests/golden/run/journal.jsonl" >"$live/journal.jsonl"
	cp "$srcdir/tests/golden/run/recipe.ini" "$live/"
	printf '{"v":1,"state":"running","pid":4711,"attempt":1,"host":"bench"}' >"$live/state.json"
	: >"$live/lock"
	flock -x "$live/lock" sh -c "touch '$here/locked'; while test -e '$here/locked'; do sleep 0.1; done" &
	waiting "no lock" test -e "$here/locked"
	$tmux pipe-pane -o "cat >'$here/raw'"
	keys "clear; TERM=xterm-256color ./werkbank watch -C '$here/w' live --notify osc777; echo gone-\$?" Enter
	until_shown "BLEU, dev"
	waiting "the title is missing" sh -c "$tmux display -p '#{pane_title}' | grep -q 'live .* % - werkbank'"
	waiting "progress is missing" grep -q ']9;4;1;' "$here/raw"
	# without focus the clock stands for some seconds, a key draws at once
	bytes '\033[O'
	keys '?'
	until_shown "run: plots"
	keys Escape
	until_shown "BLEU, dev"
	bytes '\033[I'
	printf '{"v":1,"kind":"stop","t":1750000043,"step":425,"reason":"asked"}\n' >>"$live/journal.jsonl"
	printf '{"v":1,"state":"stopped","attempt":1}' >"$live/state.json"
	rm "$here/locked"
	wait
	waiting "no message at the end" grep -q ']777;notify;live;stopped' "$here/raw"
	waiting "progress stays" sh -c "tail -c 3000 '$here/raw' | grep -q ']9;4;0'"
	leave
	$tmux pipe-pane
	grep -q '\[23;2t' "$here/raw" || fail "the title is not restored"
	rm -r "$live"
	pass "notices"
fi

# ---- a storm of sizes, and what is left of it
./werkbank watch -C "$here/w" --dump 24x80 | sed 's/ *$//' >"$here/dump"
TERM=xterm-256color ./werkbank watch -C "$here/w" --dump 24x80 | sed 's/ *$//' >"$here/dump"
workbench xterm-256color --color never # as --dump: without areas under curves
until_shown "BLEU, dev"
i=0
while test $i -lt 60; do
	$tmux resize-window -x $((2 + i * 37 % 199)) -y $((2 + i * 23 % 61))
	i=$((i + 1))
done
$tmux resize-window -x 80 -y 24
waiting "after a storm of sizes it shows something else than --dump" is_as_dumped
pass "a storm of sizes"

# ---- stopped in the middle of things, by the shell and from outside
pid=$(pgrep -f -n "werkbank watch -C $here/w")
keys C-z
until_gone "BLEU, dev"
waiting "the shell does not have the terminal" shell_has_terminal
keys "fg" Enter
waiting "after fg it shows something else" is_as_dumped
kill -STOP "$pid"
$tmux resize-window -x 100 -y 30
$tmux resize-window -x 80 -y 24
# The shell has the terminal again, with our modes, so C-j ends the line. Its prompt may be wrapped at the edge of the screen.
waiting "the shell did not notice SIGSTOP" shell_has_terminal
keys "fg" C-j
waiting "after SIGSTOP and SIGCONT it shows something else" is_as_dumped
keys C-z
until_gone "BLEU, dev"
waiting "the shell does not have the terminal" shell_has_terminal
$tmux resize-window -x 90 -y 30
keys "fg" Enter
until_shown "BLEU, dev"
$tmux resize-window -x 80 -y 24
waiting "after a change of size while it was stopped it shows something else" is_as_dumped
pass "stopped and continued"

# ---- the mouse: a click on a tab
bytes '\033[<0;9;1M\033[<0;9;1m'
until_gone "BLEU, dev"
keys 3
until_shown "BLEU, dev"
pass "the mouse"

# ---- a drag of the border between two plots makes the left one wider, as long as the terminal has this size
border() { $tmux capture-pane -p | sed -n 's/^\(.*╭\)─ BLEU, dev.*/\1/p'; }
before=$(border)
bytes '\033[<0;40;8M\033[<32;50;8M\033[<0;50;8m'
moved() { [ "${#before}" -gt 0 ] && [ "$(border)" != "$before" ]; }
waiting "the border does not follow the mouse" moved
bytes '\033[<0;50;8M\033[<32;40;8M\033[<0;40;8m'
back() { [ "$(border)" = "$before" ]; }
waiting "the border does not move back" back
pass "a border between panes"

# ---- keys that the description of the terminal does not have, and sequences that nobody knows
bytes '\033[4~\033[1;9Q\033[?9999;3z\033Oy'
keys '?'
until_shown "run: plots"
keys Escape
until_shown "BLEU, dev"
pass "unknown sequences"

# ---- what is pasted is text, never keys
head -c 9990 /dev/zero | tr '\0' 'q' >"$here/long"
printf 'the-end-ab' >>"$here/long"
$tmux load-buffer "$here/long"
$tmux paste-buffer -p
until_shown "takes no pasted text"
keys 9 /
until_shown "options that contain"
$tmux paste-buffer -p
until_shown "the-end-ab"
keys Escape
until_gone "options that contain"
# from a terminal that does not say what is pasted, into a line: as if typed
keys /
until_shown "options that contain"
$tmux paste-buffer
until_shown "the-end-ab"
keys Escape
until_gone "options that contain"
pass "pastes of 10,000 characters"

# ---- the clipboard
keys End Enter
until_shown "Esc back"
keys c
until_shown "copied"
waiting "the clipboard is empty" sh -c "$tmux show-buffer 2>/dev/null | grep -q 'from: '"
keys Escape
until_gone "Esc back"
keys q
until_gone "differing"
waiting "the shell does not have the terminal" shell_has_terminal
keys 'echo gone-$?' Enter
until_shown "gone-0"
pass "the clipboard"

# ---- the key map of the user, what is remembered, looking only
echo 'workbench.quit = Q' >"$here/config/werkbank/keys"
keys "clear; TERM=xterm-256color ./werkbank -C '$here/w' --readonly; echo gone-\$?" Enter
until_shown "corpora"		# it begins at Home, whatever view was left
keys q
keys 3
until_shown "BLEU, dev"
keys Q
until_shown "gone-0"
echo 'workbench.fly = X' >"$here/config/werkbank/keys"
keys "clear; ./werkbank -C '$here/w'; echo gone-\$?" Enter
until_shown "gone-78"
until_shown "keys:1"
pass "key map, looking only, the first view"

echo "$passed passed, 0 failed, 0 skipped"
