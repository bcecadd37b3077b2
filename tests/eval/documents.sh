#!/bin/sh
# documents.sh - translate --markup, and documents of each kind: opened again by xmllint and msgfmt where they are installed.
# Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-documents-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=tests/helpers.sh
. "$srcdir/tests/helpers.sh"
model=$srcdir/tests/golden/release/run/checkpoints/12
corpus=$srcdir/tests/fuzz/corpus/document

translate() { ./werkbank translate -q -m "$model" --threads 1 "$@" 2>"$tmp/err"; }
# The tags of a file, sorted.
tags() { grep -o '<[^<>]*>' "$1" | sort; }

cat >"$tmp/lines" <<'END'
The <b>old <i class="x">man</i></b> reads <x id="1"/>a book &amp; sees <code>a &lt; b</code>.
<p translate="no">Nothing here</p>

A dog runs. <a href="u?a&b">The cat</a> sleeps<br/>now.
END
translate --markup "$tmp/lines" >"$tmp/marked"
same "--markup: lines" "$(wc -l <"$tmp/marked")" 4
tags "$tmp/lines" >"$tmp/tags"
same "... their tags" "$(tags "$tmp/marked")" "$(cat "$tmp/tags")"
same "... what is not translated" "$(sed -n '2,3p' "$tmp/marked")" "$(sed -n '2,3p' "$tmp/lines")"
translate --markup --n-best 2 --scores "$tmp/lines" >"$tmp/best"
same "... with --n-best and --scores" "$(sed -n 1p "$tmp/best" | awk -F '\t' '{ print NF, $1 }')" "3 1"

# a prefix with letters that the vocabulary lacks is written as it is
printf 'A dog.\tŁódź Xyz\n' >"$tmp/prefixed"
same "--prefix: unknown words" "$(translate --prefix "$tmp/prefixed" | cut -d ' ' -f 1,2)" 'Łódź Xyz'

# the first byte of an input of the fuzz target is its format
for kind in html md xlf tmx po srt; do
	tail -c +2 "$corpus/$kind" >"$tmp/in.$kind"
	translate "$tmp/in.$kind" -o "$tmp/out.$kind"
	same "$kind: translated" "$?" 0
	if cmp -s "$tmp/in.$kind" "$tmp/out.$kind"; then not_ok "$kind: something changed" "nothing did"; fi
done
same "html: all tags" "$(tags "$tmp/out.html")" "$(tags "$tmp/in.html")"
same "html: script, style and pre" "$(grep -E 'script|pre>' "$tmp/out.html")" "$(grep -E 'script|pre>' "$tmp/in.html")"
same "md: code and front matter" "$(grep -nE '^---|^title|^```|^the man' "$tmp/out.md" | cut -d: -f2)" "$(grep -nE '^---|^title|^```|^the man' "$tmp/in.md" | cut -d: -f2)"
same "srt: numbers and times" "$(grep -E '^[0-9]' "$tmp/out.srt")" "$(grep -E '^[0-9]' "$tmp/in.srt")"
same "xliff: targets" "$(grep -c '<target>' "$tmp/out.xlf")" 3
same "xliff: a translation stays" "$(grep -c '<target>fertig</target>' "$tmp/out.xlf")" 1
if command -v xmllint >/dev/null; then
	xmllint --noout "$tmp/out.xlf" "$tmp/out.tmx" 2>"$tmp/err"
	same "xliff, tmx: xmllint reads them" "$?" 0
fi
if command -v msgfmt >/dev/null; then
	msgfmt -c -o /dev/null "$tmp/out.po" 2>"$tmp/err"
	same "po: msgfmt -c reads it" "$?" 0
fi
translate --document html <"$tmp/in.html" >"$tmp/out2.html"
same "standard input and output" "$(cat "$tmp/out2.html")" "$(cat "$tmp/out.html")"
translate "$tmp/in.srt" >"$tmp/as-lines"
same "without --output a file is lines" "$(wc -l <"$tmp/as-lines")" "$(wc -l <"$tmp/in.srt")"

# translations that a person has checked: those of the model give the words of the model's document, in every kind
words() { tr -cs '[:alnum:]' '\n' <"$1" | sort; }
for kind in html md xlf tmx po srt; do
	translate --list-sentences "$tmp/in.$kind" >"$tmp/sentences"
	translate --one-a-line "$tmp/sentences" | paste "$tmp/sentences" - >"$tmp/edited"
	translate --post-edited "$tmp/edited" "$tmp/in.$kind" -o "$tmp/edited.$kind"
	same "$kind: --post-edited" "$? $(words "$tmp/edited.$kind")" "0 $(words "$tmp/out.$kind")"
done
# words that the model does not know, in another order; an empty translation leaves the segment as it is
echo '<p>The man sees <b>a dog</b>. A cat sleeps.</p><p>The <i>old</i> house</p>' >"$tmp/two.html"
printf 'The man sees a dog.\tŁódź & sieht ihn.\nA cat sleeps.\tMiau, und 1 < 2.\nThe old house\t\n' >"$tmp/edited"
translate --post-edited "$tmp/edited" "$tmp/two.html" -o "$tmp/edited.html"
same "--post-edited: the text is that of the person" "$(sed 's/<[^<>]*>//g' "$tmp/edited.html")" 'Łódź &amp; sieht ihn. Miau, und 1 &lt; 2.The old house'
same "... with all tags" "$(tags "$tmp/edited.html")" "$(tags "$tmp/two.html")"
head -n 2 "$tmp/edited" | translate --post-edited - "$tmp/two.html" -o "$tmp/refused"
same "... with a sentence that is missing" "$? $(grep -c 'has 2 lines, and the document has more sentences' "$tmp/err")" "65 1"
sed 's/cat/dog/' "$tmp/edited" | translate --post-edited - "$tmp/two.html" -o "$tmp/refused"
same "... of another document" "$? $(grep -c 'line 2: does not begin with the sentence' "$tmp/err")" "65 1"
{ cat "$tmp/edited"; echo 'a	b'; } | translate --post-edited - "$tmp/two.html" -o "$tmp/refused"
same "... with a line more" "$? $(grep -c 'line 4: the document has no more sentences' "$tmp/err")" "65 1"
printf '<p>&#xFEFF;The man<p>A dog' >"$tmp/mark.html"
translate --list-sentences "$tmp/mark.html" | sed 's/$/\tHier/' >"$tmp/marked"
translate --post-edited "$tmp/marked" "$tmp/mark.html" -o "$tmp/mark.out"
same "--post-edited: a first sentence with a byte order mark" "$? $(cat "$tmp/mark.out")" "0 <p>Hier<p>Hier"
translate --list-sentences "$tmp/edited"
same "sentences of lines" "$? $(grep -c 'name the kind with --document' "$tmp/err")" "64 1"
[ ! -e "$tmp/refused" ] || not_ok "refused translations leave no file" "there is one"

# what is refused leaves no file
printf '<!DOCTYPE x [<!ENTITY a "b">]>\n<xliff/>' >"$tmp/dtd.xlf"
printf 'PK\003\004' >"$tmp/bad.docx"
printf 'a\377b' >"$tmp/bad.html"
for bad in dtd.xlf bad.docx bad.html; do
	translate "$tmp/$bad" -o "$tmp/refused"
	same "$bad is refused" "$?" 65
	[ ! -e "$tmp/refused" ] || not_ok "$bad leaves no file" "there is one"
done
translate --document pdf "$tmp/in.html" -o "$tmp/refused"
same "an unknown kind" "$? $(grep -c 'not one of html, md' "$tmp/err")" "64 1"
translate --document html --serve <"$tmp/in.html" >/dev/null
same "a document has no place in --serve" "$? $(grep -c 'leave out --document' "$tmp/err")" "64 1"
./werkbank translate -m "$model" --threads 1 --repair "$tmp/bad.html" -o "$tmp/repaired" 2>"$tmp/err"
same "--repair: letters that are not UTF-8" "$? $(grep -c 'became U+FFFD' "$tmp/err")" "0 1"
./werkbank translate -m "$model" --threads 1 "$tmp/in.html" 2>"$tmp/err" >/dev/null
same "without --output a document is named" "$(grep -c 'looks like a document.*--document html' "$tmp/err")" 1
printf '<xliff><unit><segment><source>a</source><target>b</target></segment></unit></xliff>' >"$tmp/done.xlf"
./werkbank translate -m "$model" --threads 1 "$tmp/done.xlf" -o "$tmp/done.out" 2>"$tmp/err"
same "nothing to translate: the number of units" "$? $(grep -c '0 of 1 units' "$tmp/err")" "0 1"
# the workbench: T, Tab completes the path, the proposed name keeps the ending
mkdir -p "$tmp/w/runs" "$tmp/files"
cp -r "$srcdir/tests/golden/release/run" "$tmp/w/runs/demo"
chmod -R u+w "$tmp/w"
ln -sfn 12 "$tmp/w/runs/demo/checkpoints/best"
ln -sfn 12 "$tmp/w/runs/demo/checkpoints/last"
cp "$tmp/in.html" "$tmp/files/page.html"
top=$PWD
if (cd "$tmp/files" && WERKBANK_RUNTIME=$tmp XDG_CONFIG_HOME=$tmp XDG_STATE_HOME=$tmp "$top/werkbank" watch -C ../w --dump 24x80 --keys '7<Wait><Esc>Tp<Tab><Enter><Enter><Wait><Wait>' >"$tmp/screen" 2>"$tmp/err"); then
	same "the Translate view: a document" "$(cat "$tmp"/files/page.*.html)" "$(cat "$tmp/out.html")"
else
	skip "the Translate view: a document" "$(tail -n 1 "$tmp/err")"
fi
translate --document html --n-best 2 "$tmp/in.html" -o "$tmp/refused"
same "columns have no place in a document" "$?" 64
tally
