#!/bin/sh
# slow_line.sh - the workbench over a line of 9,600 and of 56,000 bit/s: each key is answered within a second, on the
# faster line with the whole screen. For a machine that does nothing else: the first byte is timed.
set -eu
srcdir=${srcdir:-.}
grep -q "define HAVE_CURSES 1" config.h || { echo "this build has no curses"; exit 77; }
here=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-line-XXXXXX")
trap 'rm -rf "$here"' EXIT
LC_ALL=C.UTF-8 XDG_CONFIG_HOME=$here XDG_STATE_HOME=$here TERM=xterm-256color
export LC_ALL XDG_CONFIG_HOME XDG_STATE_HOME TERM
unset WERKBANK_HOME WERKBANK_GLYPHS WERKBANK_NOW NO_COLOR COLORTERM
mkdir -p "$here/w/runs/demo" "$here/werkbank"
cp "$srcdir"/tests/golden/run/* "$here/w/runs/demo/"
chmod u+w "$here/w/runs/demo"/*
echo "tour.seen = home data run hosts compare samples translate log" >"$here/werkbank/workbench"
passed=0 failed=0

# line BITS BYTES NAME KEYS : the first byte of each answer within a second, and none longer than BYTES.
line() {
	tests/slow_line "$1" 24 80 "$4" ./werkbank watch -C "$here/w" demo --no-mouse >"$here/times"
	if awk -v most="$2" '$2 > 1000 || $4 > most { print "too slow: " $0; bad = 1 }
	    { n += $4 > 0 } END { exit bad || n < 7 }' "$here/times"; then
		echo "ok       $3"; passed=$((passed + 1))
	else
		echo "FAILED   $3"; failed=$((failed + 1)); cat "$here/times"
	fi
}
# the first screen is 6.2 kB; a second of 56,000 bit/s is 5.6 kB
line 56000 6500 "56,000 bit/s" "3 Tab z z + Right 1 j k 2 5 6 j d 8 j / a b Esc 9 j ? Esc : e v Esc 3"
line 9600 6500 "9,600 bit/s" "Right 1 j 2 / 9 j 3"
# without colours and with ASCII a screen is half as long
WERKBANK_GLYPHS=ascii NO_COLOR=1
export WERKBANK_GLYPHS NO_COLOR
line 56000 3600 "56,000 bit/s, ASCII" "z Right 1 j 2 5 6 8 : e Esc 3"
echo "$passed passed, $failed failed, 0 skipped"
test $failed = 0
