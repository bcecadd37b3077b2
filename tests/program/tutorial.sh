#!/bin/sh
# tutorial.sh [full] - every command of share/doc/tutorial.md: each succeeds and prints what the page shows. Without "full"
# corpus, model and steps are smaller, and every number may differ; with it only times, speeds, disk space and what
# the model learnt may. UPDATE=1 sh tests/program/tutorial.sh full writes the outputs into the page. Last line: the tally.
set -u
failed=0
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-tutorial-XXXXXX")
trap 'cd /; "$top/werkbank" stop --now -C "$tmp/w/werkbank.d" first >/dev/null 2>&1; rm -rf "$tmp"' EXIT
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_RUN
WERKBANK_SHARE=$(cd "$srcdir/share" && pwd); export WERKBANK_SHARE
page=$WERKBANK_SHARE/doc/tutorial.md
PATH=$top:$PATH; export PATH
mode=${1:-short}
# what makes it short: the environment stands above the recipe
[ "$mode" = full ] || export WERKBANK_DEMO_PAIRS=1200 WERKBANK_MERGES=200 WERKBANK_D_MODEL=32 WERKBANK_D_FF=64 WERKBANK_HEADS=2 \
	WERKBANK_ENCODER_LAYERS=1 WERKBANK_DECODER_LAYERS=1 WERKBANK_STEPS=36 \
	WERKBANK_WARMUP=30 WERKBANK_NOAM_FACTOR=1 WERKBANK_EVAL_EVERY=12 WERKBANK_EVAL_SENTENCES=8 WERKBANK_THREADS=1 WERKBANK_MAX_LENGTH_FACTOR=1 WERKBANK_MAX_LENGTH_EXTRA=2

# N.command, N.expected; the page with "@N@" where output belongs
awk -v folder="$tmp" -v page="$tmp/page" '
	function file(kind) { return sprintf("%s/%03d.%s", folder, n, kind) }
	/^```console$/ { inside = 1; print >page; next }
	/^```$/ { inside = more = 0; print >page; next }
	!inside { print >page; next }
	/^\$ / { n++; print substr($0, 3) >file("command"); print >page; more = 1; next }
	/^> / && more { print substr($0, 3) >file("command"); print >page; next }
	{ if (more) printf "@%03d@\n", n >page; more = 0; print >file("expected") }
' "$page"

# measured < TEXT : times, speeds and sizes of disk become 0 U; the numbers that a training changes, too
measured() {
	sed -E 's/[0-9][0-9,.]*(e[-+]?[0-9]+)? ?(min|ms|m|s|h|kB|MB|GB|TB|B)(\/s)?( left)?([^A-Za-z]|$)/0 U\5/g; s/process [0-9]+/process 0/'
}
# wild < TEXT : every number becomes 0, (clear) and (likely) are the same, so are all verdicts on the health of a run;
# blanks and bars are not counted
wild() {
	measured | sed -E 's/^( *health: ).*/\1a verdict/; s/-?[0-9][0-9,.]*(e[-+]?[0-9]+)?/0/g; s/\((clear|likely)\)/(likely)/g; s/[━╸ -]+/ /g; s/ $//'
}
# lines < TEXT : only how many there are
lines() { sed 's/.*/line/'; }

# comparison COMMAND : how its output is compared
comparison() {
	case $1 in
	*" watch "* | *translate*) echo lines ;;
	*" train "* | *attach* | *status* | *eval* | *bleu* | *chrf* | sed*) echo wild ;;
	*) if [ "$mode" = full ]; then echo measured; else echo wild; fi ;;
	esac
}

mkdir "$tmp/w" && cd "$tmp/w" || exit 1
grep -q "define HAVE_CURSES 1" "$top/config.h" && curses=yes || curses=no
for file in "$tmp"/[0-9][0-9][0-9].command; do
	name=$(head -n 1 "$file") base=${file%.command}
	case $name in *" watch "*) [ $curses = yes ] || { skip "$name" "no curses"; continue; } ;; esac
	if ! timeout 600 sh -e "$file" >"$base.got" 2>&1 </dev/null; then
		not_ok "$name" "it failed: $(tail -n 2 "$base.got" | head -c 600)"
		continue
	fi
	[ -e "$base.expected" ] || : >"$base.expected"
	how=$(comparison "$name")
	# data stats prints as many rows of lengths as the corpus has
	if [ "$mode" != full ]; then case $name in *"data stats"* | *"data show"* | *" attach "*) how=some ;; esac; fi
	# the advice of plan follows from the times that the run measured
	case $name in *" plan "*) how=some ;; esac
	if [ "$how" = some ]; then
		if [ -s "$base.got" ]; then ok "$name"; else not_ok "$name" "it said nothing"; fi
		continue
	fi
	$how <"$base.expected" >"$tmp/a"
	$how <"$base.got" >"$tmp/b"
	if cmp -s "$tmp/a" "$tmp/b"; then
		ok "$name"
	elif [ -n "${UPDATE:-}" ]; then
		ok "$name (updated)"
	else
		not_ok "$name" "the page shows something else ($how):
$(diff "$tmp/a" "$tmp/b" | head -n 20)"
	fi
done
same "commands on the page: more than 20" "$(ls "$tmp"/[0-9][0-9][0-9].command | wc -l | awk '{ print ($1 > 20) }')" 1
if [ -n "${UPDATE:-}" ] && [ "$failed" -eq 0 ]; then
	awk -v folder="$tmp" '
		/^@[0-9][0-9][0-9]@$/ {
			got = folder "/" substr($0, 2, 3) ".got"
			while ((getline line <got) > 0) print line
			next
		}
		{ print }' "$tmp/page" >"$page"
fi
tally
