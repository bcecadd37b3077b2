#!/bin/sh
# console.sh - the translate console on a real terminal, which tmux plays: typing, pasting, and a translator
# that is killed, stopped or gone while a sentence is with it. The screen must go on.
set -eu
srcdir=${srcdir:-.}
command -v tmux >/dev/null || { echo "no tmux here"; exit 77; }
grep -q "define HAVE_CURSES 1" config.h || { echo "this build has no curses"; exit 77; }
here=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-console-XXXXXX")
tmux="tmux -f /dev/null -S $here/socket"
trap '$tmux kill-server 2>/dev/null || :; rm -rf "$here"' EXIT
LC_ALL=C.UTF-8 XDG_CONFIG_HOME=$here XDG_STATE_HOME=$here WERKBANK_RUNTIME=$here
export LC_ALL XDG_CONFIG_HOME XDG_STATE_HOME WERKBANK_RUNTIME
# without the hints of the tour
mkdir -p "$here/werkbank"
echo "tour.seen = home data run hosts compare samples translate log" >"$here/werkbank/workbench"
unset WERKBANK_HOME WERKBANK_GLYPHS WERKBANK_NOW TMUX NO_COLOR

fail() {
	echo "FAILED   $1; the screen was:"
	$tmux capture-pane -p 2>&1 || :
	exit 1
}

# until_shown WORDS : wait at most ten seconds for them.
until_shown() {
	n=0
	until $tmux capture-pane -p | grep -qF -- "$1"; do
		n=$((n + 1))
		test $n -lt 200 || fail "\"$1\" did not appear"
		sleep 0.05
	done
}

# child : the process id of the translator; the fake notes it.
child() {
	n=0
	until test -s "$here/pid"; do
		n=$((n + 1))
		test $n -lt 200 || fail "no translator was started"
		sleep 0.05
	done
	cat "$here/pid"
}

mkdir -p "$here/bin" "$here/w/runs/demo/checkpoints/200"
cp ./werkbank "$here/bin/werkbank"
cp tests/fake_eval "$here/bin/fake"
# It notes its process id and each request, and is as slow as the file says when it starts.
cat >"$here/bin/werkbank-eval" <<END
#!/bin/sh
echo \$\$ >"$here/pid"
FAKE_LOG="$here/asked" FAKE_SLOW_MS=\$(cat "$here/slow_ms") exec "$here/bin/fake" "\$@"
END
echo 30000 >"$here/slow_ms"
chmod +x "$here/bin/werkbank-eval"
ln -s 200 "$here/w/runs/demo/checkpoints/last"
cp "$srcdir"/tests/golden/run/* "$here/w/runs/demo/"
chmod u+w "$here/w/runs/demo"/*

$tmux new-session -d -x 80 -y 24 "$here/bin/werkbank watch -C $here/w demo; echo shell again; sleep 100"
until_shown "run"
$tmux send-keys 7
until_shown "type a sentence"
until_shown "ready"

$tmux send-keys -l "two man"
until_shown "zwei Mann"
$tmux send-keys C-_
$tmux send-keys -l "dogs"
until_shown "zwei Hunde"
$tmux send-keys Enter
echo "ok       as you type, with undo"

# Wide characters and marks go in and out as they should.
$tmux send-keys C-e C-u
$tmux send-keys -l "日本 größe"
until_shown "日本 größe"
$tmux send-keys BSpace BSpace Left BSpace
$tmux send-keys -l "X"
until_shown "日本 gXö"
echo "ok       wide characters"

# The translator dies with the sentence.
$tmux send-keys C-e C-u
$tmux send-keys -l "slow two dogs"
until_shown "slow two dogs"
n=0
until grep -qs "slow" "$here/asked"; do
	n=$((n + 1))
	test $n -lt 400 || fail "the translator was not asked"
	sleep 0.05
done
dead=$(child)
echo 10 >"$here/slow_ms"
kill -KILL "$dead"
n=0
while test "$(cat "$here/pid")" = "$dead"; do
	n=$((n + 1))
	test $n -lt 200 || fail "no translator was started again"
	sleep 0.05
done
until_shown "slow zwei Hunde"
echo "ok       killed while it translates: asked again"

# It stops for good: the screen goes on, and it can be started again.
kill -STOP "$(child)"
$tmux send-keys C-e C-u
$tmux send-keys -l "a man reads the newspaper"
until_shown "a man reads the newspaper"
until_shown "…"
until_shown " s: Ctrl-R restarts the translator"
$tmux send-keys F1
until_shown "type; keys are text"
$tmux send-keys Escape
until_shown "a man reads"
$tmux send-keys C-r
until_shown "ein Mann liest dem Zeitung"
echo "ok       a translator that hangs, and Ctrl-R"

# 10,000 characters, pasted.
awk 'BEGIN { for (i = 0; i < 2000; i++) printf "dogs " }' >"$here/paste"
$tmux send-keys C-e C-u
$tmux load-buffer "$here/paste"
$tmux paste-buffer -p -d
until_shown "Hunde Hunde Hunde"
$tmux send-keys C-e C-u
$tmux send-keys -l "the house"
until_shown "dem Haus"
echo "ok       a paste of 10,000 characters"

# Another size, and the rest decoded again under another word.
$tmux resize-window -x 120 -y 40
until_shown "dem Haus"
$tmux send-keys Escape
until_shown "instead of"
$tmux send-keys Enter Down Enter
until_shown "starts with zwei"
echo "ok       another word"

# The mouse: a word of the translation, then an alternative, which is taken by a second press.
press() {
	$tmux send-keys -l "$(printf '\033[<0;%d;%dM\033[<0;%d;%dm' "$1" "$2" "$1" "$2")"
}
$tmux send-keys u
until_shown "dem Haus"
$tmux send-keys U
until_shown "starts with zwei"
$tmux send-keys d
until_shown "dem Haus"
press 7 13
until_shown "instead of Haus"
until_shown " viele"
row=$($tmux capture-pane -p | grep -n ' viele' | head -n 1 | cut -d: -f1)
press 100 "$row"
press 100 "$row"
until_shown "starts with dem viele"
press 10 4
$tmux send-keys -l "in "
until_shown "the housin e"
echo "ok       the mouse"
# a text of the history that was changed is remembered, also by Down
$tmux send-keys Up
until_shown "the house  "
$tmux send-keys -l " then"
until_shown "the house then"
$tmux send-keys Down

# Leaving takes the translator along.
pid=$(child)
$tmux send-keys F10
until_shown "shell again"
n=0
while kill -0 "$pid" 2>/dev/null; do
	n=$((n + 1))
	test $n -lt 100 || fail "the translator $pid lives on"
	sleep 0.05
done
echo "ok       no translator is left behind"

# What was typed is there again the next time, with and without Enter, and only its owner can read it. Texts of more than
# 4,000 bytes are not saved.
printf '%s\n' "two dogs" "日本 gXö" "slow two dogs" "a man reads the newspaper" "the house" "the housin e" "the house then" >"$here/typed"
cmp -s "$here/typed" "$here/werkbank/sentences" || fail "kept: $(cat "$here/werkbank/sentences")"
test "$(stat -c %a "$here/werkbank/sentences")" = 600 || fail "others can read the sentences"
$tmux respawn-pane -k "$here/bin/werkbank watch -C $here/w demo; echo shell again; sleep 100"
until_shown "2 data"
$tmux send-keys 7
until_shown "ready"
$tmux send-keys Up
until_shown "dem Haus then"
# a text that was not finished is there again too
$tmux send-keys Down
$tmux send-keys -l "the park"
until_shown "dem Park"
$tmux send-keys Up
until_shown "dem Haus then"
$tmux send-keys Down
until_shown "dem Park"
$tmux send-keys Up Up Up Up Up Up Up
until_shown "zwei Hunde"
echo "the park" >>"$here/typed"
echo "ok       sentences are kept"
$tmux send-keys F10
until_shown "shell again"

# Sentences stay out of files when the option says so, and when the settings do, also the next time.
secret() {
	$tmux respawn-pane -k "$here/bin/werkbank watch -C $here/w demo $1; echo shell again; sleep 100"
	until_shown "2 data"
	test -z "$2" || { $tmux send-keys 9; until_shown "sentences"; $tmux send-keys Home Down Down Down $2; until_shown "not saved"; }
	$tmux send-keys 7
	until_shown "ready"
	$tmux send-keys -l "the park"
	until_shown "Park"
	$tmux send-keys Enter Escape
	until_shown "instead of"
	$tmux send-keys o
	until_shown "> the park"
	$tmux send-keys F10
	until_shown "shell again"
	cmp -s "$here/typed" "$here/werkbank/sentences" || fail "$1 $2: saved: $(cat "$here/werkbank/sentences")"
}
secret --no-save-sentences ""
secret "" Enter
secret "" ""
echo "ok       sentences are not kept"

# A document: an empty translation is not stored, and leaving does not lose an edited sentence without a word.
printf 'the house\nthe park\n' >"$here/in.txt"
$tmux respawn-pane -k "$here/bin/werkbank watch -C $here/w demo; echo shell again; sleep 100"
until_shown "2 data"
$tmux send-keys 7
until_shown "ready"
$tmux send-keys Escape
until_shown "i type"
$tmux send-keys D
until_shown "file to translate sentence by sentence"
$tmux send-keys -l "$here/in.txt"
$tmux send-keys Enter
until_shown "write the translation to"
$tmux send-keys Enter
until_shown "sentence 1 of 2, 0 done"
until_shown "dem Haus"
$tmux send-keys e End C-u
until_shown "edited"
$tmux send-keys Enter A
until_shown "the translation is empty"
$tmux send-keys e
$tmux send-keys -l "ein Haus"
$tmux send-keys F10
until_shown "is not stored"
$tmux send-keys n
$tmux send-keys Enter
until_shown "instead of ein"
$tmux send-keys A
until_shown "sentence 2 of 2, 1 done"
$tmux send-keys F10
until_shown "shell again"
grep -q "^the house.ein Haus" "$here/in.txt"*.part || fail "stored: $(cat "$here/in.txt"*.part)"
echo "ok       no sentence of a document is lost"
echo "11 passed, 0 failed, 0 skipped"
