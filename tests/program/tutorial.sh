#!/bin/sh
# tutorial.sh - every command of share/doc/tutorial.md, with a smaller corpus and model and fewer steps: each succeeds,
# and says something where the page shows something. Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-tutorial-XXXXXX")
trap 'cd /; "$top/werkbank" stop --now -C "$tmp/w/werkbank.d" first >/dev/null 2>&1; rm -rf "$tmp"' EXIT
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_RUN
WERKBANK_SHARE=$(cd "$srcdir/share" && pwd); export WERKBANK_SHARE
PATH=$top:$PATH; export PATH
# what makes it short: the environment stands above the recipe
export WERKBANK_DEMO_PAIRS=1200 WERKBANK_MERGES=200 WERKBANK_D_MODEL=32 WERKBANK_D_FF=64 WERKBANK_HEADS=2 \
	WERKBANK_ENCODER_LAYERS=1 WERKBANK_DECODER_LAYERS=1 WERKBANK_STEPS=36 WERKBANK_EVAL_EVERY=12 \
	WERKBANK_EVAL_SENTENCES=8 WERKBANK_THREADS=1 WERKBANK_MAX_LENGTH_FACTOR=1 WERKBANK_MAX_LENGTH_EXTRA=2

# commands: "command N SHOWS" before each, SHOWS being 1 where output follows it on the page
awk -v folder="$tmp" '
	/^```console$/ { inside = 1; next }
	/^```$/ { inside = 0; shown = 0; next }
	!inside { next }
	/^\$ / { n++; file = sprintf("%s/command.%03d", folder, n); print substr($0, 3) >file; more = 1; next }
	/^> / && more { print substr($0, 3) >file; next }
	{ if (more) print "" >(file ".shows"); more = 0 }
' "$srcdir/share/doc/tutorial.md"
mkdir "$tmp/w" && cd "$tmp/w" || exit 1
grep -q "define HAVE_CURSES 1" "$top/config.h" && curses=yes || curses=no
for file in "$tmp"/command.[0-9][0-9][0-9]; do
	name=$(head -n 1 "$file")
	case $name in *" watch "*) [ $curses = yes ] || { skip "$name" "no curses"; continue; } ;; esac
	says "$name" 0 '' timeout 120 sh -e "$file"
	if [ -e "$file.shows" ] && [ ! -s "$tmp/out" ] && [ ! -s "$tmp/err" ]; then
		not_ok "$name" "it said nothing"
	fi
done
same "commands on the page: more than 20" "$(ls "$tmp"/command.[0-9][0-9][0-9] | wc -l | awk '{ print ($1 > 20) }')" 1
tally
