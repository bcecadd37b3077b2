#!/bin/sh
# train_on.sh - trainings that start from the weights of a run, of a model folder, or of an imported model, also with the
# moving average; refused combinations. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-train-on-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_RUN WERKBANK_STEPS WERKBANK_BEAM
WERKBANK_HOME=$tmp/w
export WERKBANK_HOME
wb=$top/werkbank
. "$(dirname "$0")/../helpers.sh"

# ---- a general corpus and one of other sentences ---------------------------------
tiny_recipe "$tmp/general.ini" 900 150 steps=12 batch_tokens=512 warmup=8 eval_every=6 save_every=6 \
	eval_sentences=8 samples=0 threads=1 log_every=2 precision=fp32
"$wb" demo-corpus --demo-pairs 300 --seed 7 "$tmp/en" "$tmp/de" || not_ok "other sentences" "not made"
for l in en de; do
	sed -n 1,260p "$tmp/$l" >"$tmp/train.$l"
	sed -n 261,300p "$tmp/$l" >"$tmp/dev.$l"
done
{ echo 'Ωμέγα ☃ house'; echo 'A house.'; } >>"$tmp/train.en"
{ echo 'Ωμέγα ☃ Haus'; echo 'Ein Haus.'; } >>"$tmp/train.de"
cat >"$tmp/special.ini" <<END
[data]
train_source = $tmp/train.en
train_target = $tmp/train.de
dev_source = $tmp/dev.en
dev_target = $tmp/dev.de
pieces_from = general
[train]
start_from = general
END
sed -n '/^steps/,$p' "$tmp/general.ini" >>"$tmp/special.ini"

c=$tmp/w/corpora r=$tmp/w/runs
says "pieces of a run that is not there" 66 'general: there is no such run' "$wb" prep -q "$tmp/special.ini"
says "a general corpus" 0 '' "$wb" prep -q "$tmp/general.ini"
says "pieces of a run without a checkpoint" 66 'no such run' "$wb" prep -q "$tmp/special.ini"
says "a general model" 0 '' "$wb" train -q "$tmp/general.ini"

# ---- memory ----------------------------------------------------------------------------
# in_memory TOTAL FREE OPTION... : train on a host with so many kB
in_memory() {
	mkdir -p "$tmp/proc"
	printf 'MemTotal: %s kB\nMemAvailable: %s kB\n' "$1" "$2" >"$tmp/proc/meminfo"
	shift 2
	WERKBANK_PROC_ROOT=$tmp/proc "$wb" train "$tmp/general.ini" --steps 1 "$@"
}
says "more memory than the host has" 78 'needs [0-9.]+ GiB, but it may use at most 0\.0 GiB of this host' in_memory 3000 2000 --run less
mkdir -p "$tmp/proc/self" "$tmp/sys/fs/cgroup/box"
echo '0::/box' >"$tmp/proc/self/cgroup"
echo 3000000 >"$tmp/sys/fs/cgroup/box/memory.max"
export WERKBANK_SYS_ROOT="$tmp/sys"
says "more memory than its cgroup may use" 78 'it may use at most 0\.0 GiB of this host' in_memory 800000000 700000000 --run boxed
rm "$tmp/proc/self/cgroup"
unset WERKBANK_SYS_ROOT
says "more memory than is free" 0 'warning: .* needs [0-9.]+ GiB, but only 0\.0 of the 762\.9 GiB of this host are free' in_memory 800000000 2000 --run busy

# ---- pieces of another preparation ------------------------------------------------
says "another corpus with its pieces" 0 'taken from general' "$wb" prep "$tmp/special.ini"
equal "the same codes" "$c/general/bpe.codes" "$c/special/bpe.codes"
equal "the same vocabulary" "$c/general/vocab.tsv" "$c/special/vocab.tsv"
says "what it does not know is unknown" 0 '"unknown":[1-9]' "$wb" prep --json "$tmp/special.ini"
says "the same again is ready" 0 'is ready' "$wb" prep "$tmp/special.ini"
says "other text has other pieces" 78 'escape = yes, this recipe .no.' "$wb" prep "$tmp/special.ini" --no-escape --corpus other
says "another segmentation, too" 78 'segmentation = bpe' "$wb" prep "$tmp/special.ini" --segmentation sentencepiece --corpus other
says "a corpus's folder has pieces" 0 'taken from' "$wb" prep "$tmp/special.ini" --pieces-from "$c/general" --corpus other
equal "the same ones" "$c/general/vocab.tsv" "$c/other/vocab.tsv"
says "none of them any more" 0 'learn +never|pieces_from is no longer given' "$wb" prep --dry-run "$tmp/special.ini" --pieces-from '' --corpus other
says "a folder without pieces" 66 'there is no .*recipe.ini' "$wb" prep "$tmp/special.ini" --pieces-from "$tmp/" --corpus more

# ---- training on from a run ---------------------------------------------------------
best=$(readlink "$r/general/checkpoints/best")
says "from a run" 0 'started with the weights of .*general/checkpoints/best \(step [0-9]+, SHA-256 [0-9a-f]{12}\); moments and step count start from 0' \
	"$wb" train "$tmp/special.ini" --keep 10
equal "its first checkpoint has those weights" "$r/general/checkpoints/$best/model.safetensors" "$r/special/checkpoints/0/model.safetensors"
if cmp -s "$r/special/checkpoints/0/model.safetensors" "$r/special/checkpoints/12/model.safetensors"; then
	not_ok "and it learns" "weights are as before"
else
	ok "and it learns"
fi
says "they are scored before the first step" 0 '^0 *eval|"kind":"eval".*"step":0[,}]' grep '"kind":"eval"' "$r/special/journal.jsonl"
says "its sizes are the model's" 0 '^d_model *= *32 .*start_from' cat "$r/special/recipe.ini"
says "so it says why" 0 '"kind":"event".*started with the weights' cat "$r/special/journal.jsonl"
says "goes on as ever" 0 '' "$wb" train -q "$tmp/special.ini" --steps 14
mv "$r/general" "$r/moved"
says "also when the first model is gone" 0 '' "$wb" train -q "$tmp/special.ini" --steps 16
mv "$r/moved" "$r/general"
says "not from another one" 78 'began with --start-from .general. and cannot continue' "$wb" train -q "$tmp/special.ini" --start-from general:6
says "a checkpoint by its step" 0 'general/checkpoints/6 \(step 6' "$wb" train "$tmp/special.ini" --start-from general:6 --run six --steps 1
if command -v mpirun >/dev/null && "$wb-train" --version | grep -q "with MPI"; then
	says "two ranks begin alike" 0 'started with the weights' "$wb" train "$tmp/special.ini" --run two --ranks 2 --micro-batches 2 --steps 1
	equal "with the same weights" "$r/special/checkpoints/0/model.safetensors" "$r/two/checkpoints/0/model.safetensors"
else
	skip "two ranks begin alike" "there is no MPI"
fi

# ---- from an imported model ------------------------------------------------------------
says "exported" 0 '' "$wb" export --run general --checkpoint "$best" --format ctranslate2 -o "$tmp/ct2" -q
says "imported as a run" 0 '' "$wb" import "$tmp/ct2" --run taken
says "imported as a folder" 0 '' "$wb" import "$tmp/ct2" -o "$tmp/folder"
says "on from the imported run" 0 'taken/checkpoints/best \(step 0' "$wb" train "$tmp/special.ini" --start-from taken --run on-run --steps 2
(cd "$tmp" && "$wb" train -q "$tmp/special.ini" --start-from ./folder --run on-folder --steps 2) || not_ok "on from a folder" "it failed"
equal "with its weights" "$r/taken/checkpoints/0/model.safetensors" "$r/on-run/checkpoints/0/model.safetensors"
equal "of the folder the same" "$r/on-run/checkpoints/2/model.safetensors" "$r/on-folder/checkpoints/2/model.safetensors"
says "a path is kept whole" 0 "^start_from *= *$tmp/./folder" cat "$r/on-folder/recipe.ini"
says "the imported run itself" 0 'started with the weights of .*taken/checkpoints/0' \
	"$wb" train "$tmp/general.ini" --corpus general --run taken --steps 2
present "which has moments now" "$r/taken/checkpoints/2/optimizer.safetensors"

# ---- the moving average and the weights themselves ----------------------------------------
number() { sed -n "s/.*\"$1\":\([0-9.eE+-]*\)[,}].*/\1/p" "$2" | tail -n 1; }
says "a run with ema" 0 '' "$wb" train -q "$tmp/general.ini" --corpus general --run ema --ema 0.9 --eval-sentences 0 --noam-factor 20
grep '"kind":"eval"' "$r/ema/journal.jsonl" >"$tmp/records"
says "says that the average is scored" 0 '"step":12,.*"weights":"average"' cat "$tmp/records"
"$wb" eval --run ema --checkpoint 12 --json -q >"$tmp/average" || not_ok "the average" "not scored"
"$wb" eval --run ema --checkpoint 12 --json -q --unaveraged >"$tmp/itself" || not_ok "the weights" "not scored"
says "eval says which" 0 '"weights":"average"' cat "$tmp/average"
says "and which else" 0 '"weights":"unaveraged"' cat "$tmp/itself"
same "the journal's loss is the average's" "$(number dev_nll "$tmp/records" | cut -c 1-8)" "$(number nll "$tmp/average" | cut -c 1-8)"
same "and its BLEU" "$(number bleu "$tmp/records" | cut -c 1-8)" "$(number bleu "$tmp/average" | cut -c 1-8)"
"$wb" train -q "$tmp/general.ini" --corpus general --run plain --noam-factor 20
"$wb" eval --run plain --checkpoint 12 --json -q >"$tmp/plain"
same "without it, weights are those beside the average" "$(number nll "$tmp/plain")" "$(number nll "$tmp/itself")"
if [ "$(number nll "$tmp/average")" = "$(number nll "$tmp/itself")" ]; then not_ok "the two differ" "they do not"; else ok "the two differ"; fi
says "a run without it has but one kind" 0 '' "$wb" eval --run plain --checkpoint 12 --json -q --unaveraged
same "which is the same" "$(number nll "$tmp/out")" "$(number nll "$tmp/plain")"
says "its export" 0 '' "$wb" export --run ema --checkpoint 12 --format ctranslate2 -o "$tmp/ct2-average" -q
says "and that of the weights" 0 '' "$wb" export --run ema --checkpoint 12 --unaveraged --format ctranslate2 -o "$tmp/ct2-itself" -q
says "plain ones'" 0 '' "$wb" export --run plain --checkpoint 12 --format ctranslate2 -o "$tmp/ct2-plain" -q
equal "are the plain ones" "$tmp/ct2-itself/model.bin" "$tmp/ct2-plain/model.bin"
if cmp -s "$tmp/ct2-average/model.bin" "$tmp/ct2-plain/model.bin"; then not_ok "the average's differ" "no"; else ok "the average's differ"; fi
says "means of the weights" 0 '' "$wb" average --run ema 6 12 --unaveraged -o "$tmp/mean-itself" -q
says "means of plain ones" 0 '' "$wb" average --run plain 6 12 -o "$tmp/mean-plain" -q
equal "are the same" "$tmp/mean-itself/model.safetensors" "$tmp/mean-plain/model.safetensors"
head -n 3 "$tmp/dev.en" >"$tmp/three"
"$wb" translate --run ema --checkpoint 12 --unaveraged -q "$tmp/three" >"$tmp/a"
"$wb" translate --run plain --checkpoint 12 -q "$tmp/three" >"$tmp/b"
equal "translations too" "$tmp/a" "$tmp/b"
cp -R "$r/ema/checkpoints/12" "$tmp/broken"
printf X | dd of="$tmp/broken/training.safetensors" bs=1 seek=3000 conv=notrunc 2>/dev/null
says "damage in what is not read" 0 '' "$wb" translate --model "$tmp/broken" -q "$tmp/three"
says "damage in what is read" 65 'training.safetensors is damaged' "$wb" translate --model "$tmp/broken" --unaveraged -q "$tmp/three"

# ---- a refused option of a resumed run does not stay in its recipe -----------------------------
cp "$r/six/recipe.ini" "$tmp/six.ini"
says "another optimizer" 78 'adafactor' "$wb" train "$tmp/special.ini" --start-from general:6 --run six --steps 2 --optimizer adafactor
equal "the recipe is as before" "$r/six/recipe.ini" "$tmp/six.ini"
says "the run goes on without it" 0 '' "$wb" train -q "$tmp/special.ini" --start-from general:6 --run six --steps 2

# ---- refused combinations ---------------------------------------------------------------------
says "no such run" 66 'none: there is no such run' "$wb" train "$tmp/special.ini" --start-from none --run bad
says "no such checkpoint" 66 'has no checkpoint "99"' "$wb" train "$tmp/special.ini" --start-from general:99 --run bad
says "no such folder" 66 'nowhere: there is no such folder' "$wb" train "$tmp/special.ini" --start-from "$tmp/nowhere" --run bad
says "no model's folder" 66 'not the folder of a model' "$wb" train "$tmp/special.ini" --start-from "$tmp/" --run bad
says "another shape" 65 'has d_model 32, but the recipe has 64' "$wb" train "$tmp/special.ini" --d-model 64 --run bad
says "another size" 65 'has d_model 32, but the recipe has 512: leave out size and d_model' "$wb" train "$tmp/special.ini" --size base --run bad
says "its own pieces" 0 '' "$wb" prep -q "$tmp/special.ini" --pieces-from '' --corpus own --merges 100
says "another vocabulary" 65 'own/vocab.tsv differs from the file of .*pieces_from = ' "$wb" train "$tmp/special.ini" --pieces-from '' --merges 100 --corpus own --run bad
cp "$c/special/bpe.codes" "$tmp/codes"
echo 'x y' >>"$c/special/bpe.codes"
says "other codes" 65 'special/bpe.codes differs from the file of' "$wb" train "$tmp/special.ini" --run bad
cp "$tmp/codes" "$c/special/bpe.codes"
absent "nothing is left of what cannot begin" "$r/bad"
printf X | dd of="$tmp/folder/model.safetensors" bs=1 seek=2000 conv=notrunc 2>/dev/null
says "damaged weights" 65 'model.safetensors is damaged' "$wb" train "$tmp/special.ini" --start-from "$tmp/folder" --run damaged

tally
