#!/bin/sh
# manual.sh - manual pages: every formatter is silent, every command, record and file has its place.
# Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-manual-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
. "$(dirname "$0")/../helpers.sh"
wb=$top/werkbank
pages=$srcdir/share/man

commands=$(sed -n 's/^CMD("\([a-z][^"]*\)".*/\1/p' "$srcdir/share/conf/commands.def")
mkdir "$tmp/man"
"$wb" _man >"$tmp/man/werkbank.1"
"$wb" _man recipe >"$tmp/man/werkbank-recipe.5"
for command in $commands; do "$wb" _man "$command" >"$tmp/man/werkbank-$command.1"; done
cp "$pages"/*.[57] "$tmp/man/"
says "a page that is none" 64 "neither a command nor" "$wb" _man no-such-page
says "no page of what is between programs" 64 "neither a command nor" "$wb" _man _rank

# formatted NAME COMMAND... : on every page nothing is said
formatted() {
	name=$1
	shift
	command -v "$1" >/dev/null 2>&1 || { skip "$name" "no $1"; return; }
	for page in "$tmp/man"/*; do
		"$@" "$page" >"$tmp/text" 2>"$tmp/err" </dev/null || echo "exit status $?" >>"$tmp/err"
		if [ -s "$tmp/err" ]; then
			not_ok "$name: $(basename "$page")" "$(head -n 2 "$tmp/err")"
		elif [ ! -s "$tmp/text" ] && [ "$1" != mandoc ]; then
			not_ok "$name: $(basename "$page")" "nothing came out"
		fi
	done
	ok "$name: $(find "$tmp/man" -type f | wc -l) pages"
}
formatted groff groff -t -man -ww -Tutf8 -P-c
formatted man env LC_ALL=C.UTF-8 MANROFFOPT=-ww MANWIDTH=80 man --warnings=w -l
if command -v mandoc >/dev/null 2>&1; then
	mandoc -Tlint -W warning "$tmp/man"/* >"$tmp/out" 2>&1
	if [ -s "$tmp/out" ]; then not_ok mandoc "$(head -n 3 "$tmp/out")"; else ok mandoc; fi
else
	skip mandoc "no mandoc"
fi
if command -v lexgrog >/dev/null 2>&1; then
	if lexgrog "$tmp/man"/* >"$tmp/out" 2>&1; then ok "whatis"; else not_ok "whatis" "$(grep -m 1 ail "$tmp/out")"; fi
else
	skip whatis "no lexgrog"
fi

# ---- nothing is left out, nothing refers to a page that is not there ----------
for command in $commands; do
	grep -q "^.SS $(echo "$command" | sed 's/-/\\\\-/g')\$" "$tmp/man/werkbank.1" ||
		not_ok "werkbank.1" "it lacks $command"
done
sed -n 's/^\.BR \(werkbank[^ ]*\) (\([157]\)).*/\1.\2/p' "$tmp/man"/* | sed 's/\\//g' | sort -u >"$tmp/refs"
while read -r page; do present "reference to $page" "$tmp/man/$page"; done <"$tmp/refs"
# shellcheck disable=SC2046 # names without blanks
# kinds of records, as the code writes them
sed -n 's/.*journal_begin([^,]*, "\([a-z]*\)".*/\1/p' $(find "$srcdir/train" -name '*.c') | sort -u >"$tmp/kinds"
[ -s "$tmp/kinds" ] || not_ok "kinds of records" "none was found in the code"
while read -r kind; do
	[ "$kind" != sample ] || continue
	if grep -qx "\.B $kind" "$pages/werkbank-journal.5"; then ok "record $kind"; else not_ok "record $kind" "werkbank-journal.5 lacks it"; fi
done <"$tmp/kinds"
# tensors, as the table has them
sed -n 's/^PARAM[A-Z_]*([^"]*"\([^"]*\)".*/\1/p' "$srcdir/train/model/params.def" >"$tmp/tensors"
while read -r tensor; do
	grep -qF -- "$tensor" "$pages/werkbank-checkpoint.5" || not_ok "tensor $tensor" "werkbank-checkpoint.5 lacks it"
done <"$tmp/tensors"
# terms of the glossary, in alphabetical order and each once
sed -n '/^\.TP/{n;s/^\.B //p;}' "$pages/werkbank.7" | sed 's/\\//g' >"$tmp/terms"
if [ "$(wc -l <"$tmp/terms")" -ge 40 ] && LC_ALL=C sort -fuc "$tmp/terms"; then ok "glossary"; else not_ok "glossary" "not sorted, or few terms"; fi
ok "tensors: $(wc -l <"$tmp/tensors")"
tally
