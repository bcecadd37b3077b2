#!/bin/sh
# release.sh - what an earlier release wrote still opens: a recipe with former option names, a corpus, a journal, a checkpoint;
# what a newer release wrote is refused. tests/golden/release holds one of each. Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-release-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_RUN
WERKBANK_SHARE=$(cd "$srcdir/share" && pwd); export WERKBANK_SHARE
old=$(cd "$srcdir/tests/golden/release" && pwd)
w=$tmp/w
mkdir -p "$w/corpora" "$w/runs"
cp -r "$old/corpus" "$w/corpora/old"
cp -r "$old/run" "$w/runs/old"
chmod -R u+w "$w"
ln -s 12 "$w/runs/old/checkpoints/last"
ln -s 12 "$w/runs/old/checkpoints/best"
wb() { command=$1; shift; "$top/werkbank" "$command" -C "$w" "$@"; }

says "status of the run" 0 'step 12 of 12' wb status old
says "report on the run" 0 'Which learning-rate schedule' wb report old
says "... knows the schedule" 0 'warm-up' wb report old --json
says "its options beside another run's" 0 'old' wb runs old --json
says "samples" 0 '' wb samples old
says "scores of the checkpoint" 0 '^BLEU ' wb eval --run old --set test
says "translation by the checkpoint" 0 '' sh -c "echo 'The old woman reads.' | '$top/werkbank' translate -C '$w' --run old"
cp "$w/corpora/old/vocab.tsv" "$tmp/vocab.tsv"
if truncate -s 4T "$w/corpora/old/vocab.tsv" 2>/dev/null; then
	says "... beside a vocabulary of terabytes in the corpus, which is not read" 0 '' \
		sh -c "ulimit -t 20; echo 'The old woman reads.' | exec '$top/werkbank' translate -C '$w' --run old"
else
	skip "... beside a vocabulary of terabytes in the corpus" "no sparse files here"
fi
cp "$tmp/vocab.tsv" "$w/corpora/old/vocab.tsv"
says "a pair of the corpus" 0 'source' wb data show old 3
says "the corpus need not be prepared again" 0 '' wb prep "$old/old.ini" --dry-run
if grep -q "define HAVE_CURSES 1" config.h; then
	says "a screen of the run" 0 'old' wb watch old --dump 24x80 --color never
else
	skip "a screen of the run" "no curses"
fi
says "the run is finished" 0 '' wb train "$old/old.ini" --quiet
says "six steps more from its checkpoint" 0 '' wb train "$old/old.ini" --steps 18 --quiet
says "... are done" 0 'step 18 of 18' wb status old
says "former names on the command line" 0 '' wb train "$old/old.ini" --run other --learning-rate 1 --accumulate 1 --steps 3 --quiet
says "... are the new options" 0 '^noam_factor = 1 ' grep -E '^(noam_factor|micro_batches) = 1 ' "$w/runs/other/recipe.ini"
export WERKBANK_LEARNING_RATE=1.5
says "a former name in the environment" 0 '' wb train "$old/old.ini" --run third --steps 3 --quiet
says "... is the new option" 0 'noam_factor = 1.5 ' cat "$w/runs/third/recipe.ini"
unset WERKBANK_LEARNING_RATE

# ---- what a newer release wrote is refused, with the program that can read it, and nothing is changed --------------
# newer NAME SED FILE : the run "newer", and the corpus of this name, are copies of the old ones with one file changed.
newer() {
	chmod -R u+w "$w/runs/newer" "$w/corpora/newer" 2>/dev/null
	rm -rf "$w/runs/newer" "$w/corpora/newer"
	cp -r "$old/run" "$w/runs/newer"
	cp -r "$old/corpus" "$w/corpora/newer"
	chmod -R u+w "$w/runs/newer" "$w/corpora/newer"
	ln -s 12 "$w/runs/newer/checkpoints/last"
	ln -s 12 "$w/runs/newer/checkpoints/best"
	sed -i "$1" "$w/$2"
	checkpoint=$w/runs/newer/checkpoints/12
	(cd "$checkpoint" && sed 's/^.*  //' SHA256SUMS | xargs sha256sum >sums && mv sums SHA256SUMS)
	(cd "$w" && find runs/newer corpora/newer -type f ! -name progress.json ! -name lock -exec cat {} + | cksum) >"$tmp/before"
}
unchanged() { same "$1: nothing is changed" "$(cd "$w" && find runs/newer corpora/newer -type f ! -name progress.json ! -name lock -exec cat {} + | cksum)" "$(cat "$tmp/before")"; }
state=runs/newer/checkpoints/12/state.json
for row in 'a version of a checkpoint|s/"v":1/"v":99,"program":"9.1.0"/|this checkpoint has version 99, which Werkbank .* does not know: use Werkbank 9.1.0' \
	'a key of the shape|s/"heads":2/"heads":2,"norm_placement":"post"/|this checkpoint has "norm_placement" in "shape".*: use the Werkbank that wrote it, or a newer one' \
	'a needed feature|s/"v":1/"v":1,"needs":["rotary"]/|this checkpoint needs "rotary"'; do
	newer "$(echo "$row" | cut -d '|' -f 2)" $state
	label=${row%%|*} refusal=${row##*|}
	says "$label: translate" 78 "$refusal" sh -c "echo 'The old woman reads.' | '$top/werkbank' translate -C '$w' --run newer"
	says "$label: a model folder" 78 "$refusal" sh -c "echo 'The old woman reads.' | '$top/werkbank' translate --model '$checkpoint'"
	says "$label: eval" 78 "$refusal" wb eval --run newer --set test
	says "$label: train resumes" 78 "$refusal" wb train "$old/old.ini" --run newer --steps 18 --quiet
	says "$label: train starts from it" 78 "$refusal" wb train "$old/old.ini" --run fresh --start-from "$checkpoint" --steps 3
	says "$label: average" 78 "$refusal" wb average -o "$tmp/averaged" "$checkpoint"
	says "$label: export" 78 "$refusal" wb export --run newer --format ctranslate2 -o "$tmp/exported"
	says "$label: model" 78 "$refusal" wb model --run newer
	says "$label: verify" 78 "$refusal" wb verify newer
	absent "$label: the checkpoint is not set aside as damaged" "$w/runs/newer/checkpoints/damaged"
done
newer 's/"v":2/"v":99,"program":"9.1.0"/' corpora/newer/manifest.json
refusal='this corpus has version 99.*use Werkbank 9.1.0'
says "a version of a corpus: prep" 78 "$refusal" wb prep "$old/old.ini" --corpus newer --quiet
says "a version of a corpus: train" 78 "$refusal" wb train "$old/old.ini" --corpus newer --run fresh --steps 3
says "a version of a corpus: data" 78 "$refusal" wb data stats newer
says "a version of a corpus: verify" 65 "$refusal" wb verify "$w/corpora/newer"
unchanged "a version of a corpus"
says "a version of a corpus: prep --force replaces it" 0 '' wb prep "$old/old.ini" --corpus newer --quiet --force
newer 's/"v":1,"kind":"train"/"v":99,"program":"9.1.0","kind":"train"/' runs/newer/journal.jsonl
refusal='this journal has version 99.*use Werkbank 9.1.0'
for command in 'status newer' 'report newer' 'export --run newer --format csv -o /dev/null' 'runs newer old'; do
	# shellcheck disable=SC2086 # words
	says "a version of a journal: $command" 78 "$refusal" wb $command
done
says "a version of a journal: other runs are shown" 0 '^step .*18' wb runs
says "... the newer one with a note" 0 "note: .*$refusal" wb status
unchanged "a version of a journal"
says "a version of a journal: train" 78 "$refusal" wb train "$old/old.ini" --run newer --steps 18 --quiet
unchanged "a version of a journal: train"
says "a version of a journal: verify" 78 "$refusal" wb verify newer
newer "s/^WB\(.\{0,14\}\)$/WB\1/" corpora/newer/recipe.ini
printf '\011' | dd of="$w/corpora/newer/train.shard" bs=1 seek=12 conv=notrunc 2>/dev/null
says "a version of a shard" 65 'shard version 9, this Werkbank reads versions up to 3: use the Werkbank that wrote it, or a newer one' \
	wb train "$old/old.ini" --corpus newer --run fresh2 --steps 3
newer 's/^1\(.*\)$/1\1/' corpora/newer/vocab.tsv
echo '{"v":99,"program":"9.1.0","evaluations":[]}' >"$w/runs/newer/checkpoints/evaluated.json"
refusal='this list of evaluations has version 99.*use Werkbank 9.1.0'
says "a version of the evaluations: train" 78 "$refusal" wb train "$old/old.ini" --run newer --steps 18 --quiet
says "a version of the evaluations: verify" 78 "$refusal" wb verify newer
same "a version of the evaluations: they stay" "$(cat "$w/runs/newer/checkpoints/evaluated.json")" '{"v":99,"program":"9.1.0","evaluations":[]}'
newer 's/"v":1/"v":99,"program":"9.1.0"/' runs/newer/state.json
says "a version of the run's state: train" 78 'this state of a run has version 99.*use Werkbank 9.1.0' \
	wb train "$old/old.ini" --run newer --steps 18 --quiet
unchanged "a version of the run's state"
newer 's/^heads = /norm_placement = post\nheads = /' runs/newer/checkpoints/12/recipe.ini
refusal='recipe.ini:[0-9]*: this recipe has the option norm_placement, which Werkbank .* does not know: use the Werkbank that wrote it'
says "an option of a recipe: translate" 78 "$refusal" sh -c "echo 'The old woman reads.' | '$top/werkbank' translate -C '$w' --run newer"
says "an option of a recipe: eval" 78 "$refusal" wb eval --run newer --set test
unchanged "an option of a recipe"
# A shortlist has its version at byte 12, as a shard.
says "a shortlist is learnt" 0 '' wb shortlist old -o "$tmp/newer.bin" --quiet
printf '\011' | dd of="$tmp/newer.bin" bs=1 seek=12 conv=notrunc 2>/dev/null
says "a version of a shortlist" 65 'version 9' sh -c "echo 'The old woman reads.' | '$top/werkbank' translate -C '$w' --run old --shortlist '$tmp/newer.bin'"
# The records of a download, and of a part of one, in the archives of the workspace.
mkdir -p "$w/archives/one"
archive=$w/archives/one/a.tgz
tar -czf "$archive" -C "$old" old.ini
sum=$(md5sum <"$archive" | cut -c 1-32)
printf '[archive a.tgz]\nmd5 = %s\nurl = http://127.0.0.1:9/a.tgz\ntest.en = a\ntest.de = b\n' "$sum" >"$tmp/one.manifest"
says "an archive" 0 'a.tgz' wb fetch "$tmp/one.manifest" --tries 1
echo '{"v":99,"program":"9.1.0"}' >"$archive.json"
says "a version of the record of a download" 78 'this record of a download has version 99.*use Werkbank 9.1.0' wb fetch "$tmp/one.manifest" --tries 1
same "a version of the record of a download: the archive stays" "$(md5sum <"$archive" | cut -c 1-32)" "$sum"
rm "$archive.json"
mv "$archive" "$archive.part"
echo '{"v":99,"program":"9.1.0"}' >"$archive.part.json"
says "a version of the record of a part" 78 'this record of a part of a download has version 99.*use Werkbank 9.1.0' wb fetch "$tmp/one.manifest" --tries 1
same "a version of the record of a part: the part stays" "$(md5sum <"$archive.part" | cut -c 1-32)" "$sum"
tally
