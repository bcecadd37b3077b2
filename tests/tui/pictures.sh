#!/bin/sh
# pictures.sh - plots as pictures: only after the terminal has answered that it can show them, removed when something
# lies over them, never sent twice, and no key is lost. The terminal is tests/picture_terminal.
set -eu
srcdir=${srcdir:-.}
grep -q "define HAVE_CURSES 1" config.h || { echo "this build has no curses"; exit 77; }
here=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-pictures-XXXXXX")
trap 'rm -rf "$here"' EXIT
LC_ALL=C.UTF-8 XDG_CONFIG_HOME=$here XDG_STATE_HOME=$here TERM=xterm-256color
export LC_ALL XDG_CONFIG_HOME XDG_STATE_HOME TERM
unset COLORFGBG WERKBANK_HOME WERKBANK_GLYPHS WERKBANK_NOW NO_COLOR COLORTERM TMUX STY
mkdir -p "$here/w/runs/demo" "$here/werkbank"
cp "$srcdir"/tests/golden/run/* "$here/w/runs/demo/"
chmod u+w "$here/w/runs/demo"/*
echo "tour.seen = home data run hosts compare samples translate log" >"$here/werkbank/workbench"
passed=0 failed=0

# terminal ANSWERS KEYS OPTION: play them; what was sent is in $here/raw, the counts in $here/counts.
terminal() {
	tests/picture_terminal "$1" "$2" "$here/raw" ./werkbank watch -C "$here/w" demo --no-mouse $3 >"$here/counts"
}
# expect NAME COMMAND...
expect() {
	name=$1; shift
	if "$@"; then
		echo "ok       $name"; passed=$((passed + 1))
	else
		echo "FAILED   $name"; failed=$((failed + 1)); cat "$here/counts"
	fi
}
# counts KEY KITTY REMOVED SIXEL: what followed a key (^: the start).
counts() { grep -q "^$1 [0-9]* kitty $2 removed $3 sixel $4\$" "$here/counts"; }
says() { grep -aq "$1" "$here/raw"; }

# ---- the theme suits the background: selected rows are 16 on 153 (light), 231 on 24 (dark), 33 if it is unknown ----
colours() { grep -aq "$(printf '\033')\[[0-9;]*$1m" "$here/raw"; }
COLORFGBG='15;0' terminal light '1' ''
expect "a light background, whatever COLORFGBG says" colours '48;5;153'
terminal dark '1' ''
expect "a dark background" colours '48;5;24'
if colours '48;5;153'; then expect "... not light" false; fi
terminal none '1' ''
if colours '48;5;24' || colours '48;5;153'; then expect "no answer: medium tones" false; else expect "no answer: medium tones" true; fi
COLORFGBG='0;default;15' terminal none '1' ''
expect "COLORFGBG" colours '48;5;153'
terminal light '1' '--theme dark'
expect "a theme that was chosen stays" colours '48;5;24'
if says '\]11;?'; then expect "... and nobody is asked" false; fi

terminal none '?' ''
expect "nobody is asked" counts '^' 0 0 0
if says '_Gi=31'; then expect "no request" false; fi

# the run view has two plots; the key ! comes between question and answer and opens the help
terminal kitty '!?33z' --pictures
expect "kitty: not before the key's overlay is gone" counts '^' 0 0 0
expect "kitty: two plots" counts 3 2 0 0
expect "kitty: an idle screen sends nothing" grep -q '^3 0 kitty 0' "$here/counts"
expect "kitty: zoom replaces both" counts z 1 2 0
expect "kitty says so" says 'shown by the kitty graphics protocol'
terminal kitty '?' --pictures
expect "kitty: removed below the help" counts '?' 0 2 0
expect "kitty: at the start" counts '^' 2 0 0
terminal sixel '?3z' --pictures
expect "sixel: two plots" counts '^' 0 0 2
expect "sixel: again after the help" counts 3 0 0 2
expect "sixel: zoom" counts z 0 0 1
expect "sixel: as many colours as the terminal has" awk 'BEGIN { RS = "\033" }
	/^P0;1q/ { n++; if ($0 ~ /#64;2/) bad = 1 } END { exit bad || n != 5 }' "$here/raw"
for answers in none garbage; do
	terminal $answers '?3' --pictures
	expect "$answers: no picture" counts '^' 0 0 0
	expect "$answers says so" says 'this terminal answers that it cannot'
done
# the help is open after the key that came before the answer
for answers in silent late; do
	terminal $answers '!?3' --pictures
	expect "$answers: no picture" counts 3 0 0 0
	expect "$answers says so" says 'does not answer'
	expect "$answers: no key is lost" awk '/^3/ { exit !($2 > 3000) }' "$here/counts" # the help was open
done
# pictures that do not arrive end pictures
terminal stuck '33333333' --pictures
expect "stuck: removed" awk '{ n += $6 } END { exit n != 2 }' "$here/counts"
expect "stuck says so" says 'the line to this terminal is too slow'
TMUX=x
export TMUX
terminal kitty '3' --pictures
expect "tmux: not asked" counts '^' 0 0 0
if says '_Gi=31'; then expect "tmux: no request" false; fi
echo "$passed passed, $failed failed, 0 skipped"
test $failed = 0
