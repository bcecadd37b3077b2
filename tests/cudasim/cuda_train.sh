#!/bin/sh
# cuda_train.sh - training, checkpoints, translation and several ranks on the simulated GPU give the results of the CPU.
# Uses the programs of tests/cudasim/, which contain the simulated GPU. Last line: the tally.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-cuda-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS WERKBANK_BACKEND CUDASIM_GPUS CUDASIM_HANG CUDASIM_NO_NCCL CUDASIM_FASTEST CUDASIM_WAITS
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 CUDASIM_LEFT=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM CUDASIM_LEFT
wb=$top/werkbank
sim=$top/tests/cudasim/werkbank
w=$tmp/w
mkdir -p "$w/runs"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"

if [ ! -x "$sim-train" ]; then
	skip "trainings on the simulated GPU" "there is no C++ compiler"
	tally
	exit
fi

cat >"$tmp/tiny.ini" <<'END'
[data]
demo_pairs = 200
merges = 60
[model]
d_model = 16
d_ff = 32
heads = 2
encoder_layers = 1
decoder_layers = 2
[train]
steps = 6
warmup = 4
batch_tokens = 64
micro_batches = 2
clip = 1
eval_every = 100000
eval_sentences = 2
samples = 2
save_every = 3
log_every = 1
threads = 1
bucket_mb = 0.01
telemetry_every = 0
[decode]
beam = 1
max_length_extra = 8
max_length_factor = 1
END
if ! "$wb" prep -q -C "$w" "$tmp/tiny.ini" >"$tmp/log" 2>&1; then
	not_ok "prepare" "$(tail -n 3 "$tmp/log")"
	tally
	exit
fi
"$wb" shortlist -q -C "$w" tiny >"$tmp/log" 2>&1 || not_ok "shortlist" "$(tail -n 3 "$tmp/log")"
mkdir "$tmp/dev"
cp "$w"/corpora/tiny/dev.* "$w/corpora/tiny/manifest.json" "$tmp/dev"

# without_dev : the corpus is as if it had been prepared without a development set, so no run is evaluated: that is slow here
without_dev() {
	rm "$w"/corpora/tiny/dev.*
	sed 's/\("pairs":{[^}]*"dev":\)[0-9]*/\10/' "$tmp/dev/manifest.json" >"$w/corpora/tiny/manifest.json"
}

# with_dev : it has one, of two sentences
with_dev() {
	cp "$tmp/dev"/dev.shard "$tmp/dev/manifest.json" "$w/corpora/tiny"
	for file in "$tmp/dev"/dev.??; do
		head -n 2 "$file" >"$w/corpora/tiny/${file##*/}"
	done
}
without_dev

# recipe RUN KEY=VALUE... : the folder of a run, for a rank without the launcher.
recipe() {
	name=$1
	shift
	mkdir -p "$w/runs/$name"
	cp "$tmp/tiny.ini" "$w/runs/$name/recipe.ini"
	for pair; do
		key=${pair%%=*}
		sed -i "/^$key = /d" "$w/runs/$name/recipe.ini"
		sed -i "/^\[train\]/a $key = ${pair#*=}" "$w/runs/$name/recipe.ini"
	done
	sed -i '1a corpus = tiny' "$w/runs/$name/recipe.ini"
}

# trains RUN : on this host alone, by the program with the simulated GPU.
trains() {
	"$sim-train" _rank -C "$w" --run "$1" >"$tmp/log" 2>&1 || not_ok "train $1" "$(tail -n 3 "$tmp/log")"
	if grep 'cudasim:' "$tmp/log" >"$tmp/faults"; then not_ok "$1: no faults" "$(head -n 2 "$tmp/faults")"; fi
}

weights() { grep safetensors "$w/runs/$1/checkpoints/$2/SHA256SUMS"; }

# form A B STEP : files of the same names, tensors of the same names and shapes.
form() {
	for run in "$1" "$2"; do
		(cd "$w/runs/$run/checkpoints/$3" && ls && for f in *.safetensors; do
			n=$(od -A n -t u8 -N 8 "$f")
			echo "$f $(wc -c <"$f") $(head -c $((n + 8)) "$f" | cksum)"
		done) >"$tmp/form.$run"
	done
	equal "$2: checkpoints in form as $1's" "$tmp/form.$1" "$tmp/form.$2"
}

recipe cpu backend=cpu
trains cpu
recipe gpu backend=cuda
trains gpu
says_first=$(head -n 1 "$tmp/log")
case $says_first in
"training on GPU 0, simulated GPU ("*" GiB free); needs "*" GiB") ok "the first line names the GPU" ;;
*) not_ok "the first line names the GPU" "$says_first" ;;
esac
near cpu gpu 2e-4 6
form cpu gpu 6
same "the journal says so" "$(grep -c '"backend":"cuda","device":"GPU 0, simulated GPU' "$w/runs/gpu/journal.jsonl")" 1
recipe refused backend=cuda steps=2
CUDASIM_NO_PRODUCTS=1 trains refused
near cpu refused 2e-4 2
same "products that the library refuses: said once" "$(grep -c '"level":"warning".*no algorithm for some products' "$w/runs/refused/journal.jsonl")" 1
recipe auto steps=1
trains auto
same "auto takes the GPU" "$(grep -c '"backend":"cuda"' "$w/runs/auto/journal.jsonl")" 1

# by graphs, which is the usual way, as op by op
played() { grep -c '^graphs started: [1-9]' "$tmp/log"; }
recipe long backend=cuda batch_tokens=100 micro_batches=3 precision=bf16
CUDASIM_GRAPHS=1 trains long
same "graphs are there" "$(played)" 1
recipe plain backend=cuda batch_tokens=100 micro_batches=3 precision=bf16 cuda_graphs=no
CUDASIM_GRAPHS=1 trains plain
same "and are not" "$(played)" 0
same "by graphs: the same bits" "$(weights long 6)" "$(weights plain 6)"
losses long >"$tmp/a"
losses plain >"$tmp/b"
equal "by graphs: the same losses" "$tmp/a" "$tmp/b"
recipe turns backend=cuda batch_tokens=100 micro_batches=3 steps=3 precision=bf16
trains turns
recipe turns backend=cuda batch_tokens=100 micro_batches=3 precision=bf16
trains turns
same "by graphs: resumed to the bit" "$(weights turns 6)" "$(weights plain 6)"

# the fastest algorithms of products, kept in the run's folder: a resumed attempt uses them, though others are faster then
recipe measured backend=cuda
CUDASIM_FASTEST=1 trains measured
same "products are measured: said once" "$(grep -c '"level":"info".*measured the fastest algorithm of' "$w/runs/measured/journal.jsonl")" 1
recipe kept backend=cuda steps=3
CUDASIM_FASTEST=1 trains kept
for run in damaged lost; do cp -r "$w/runs/kept" "$w/runs/$run"; done
recipe kept backend=cuda
trains kept
same "measured products: resumed to the bit" "$(weights kept 6)" "$(weights measured 6)"
rm "$w/runs/lost/products.0.txt"
recipe lost backend=cuda
trains lost
if [ "$(weights lost 6)" != "$(weights measured 6)" ]; then ok "without the file: other bits"; else not_ok "without the file: other bits"; fi
same "without the file: said" "$(grep -c '"level":"warning".*products.0.txt is not used (it is missing' "$w/runs/lost/journal.jsonl")" 1
same "with it, and at a start: nothing" "$(cat "$w/runs/kept/journal.jsonl" "$w/runs/measured/journal.jsonl" | grep -c 'is not used')" 0
printf x | dd of="$w/runs/damaged/products.0.txt" bs=1 seek=100 conv=notrunc 2>/dev/null
recipe damaged backend=cuda
trains damaged
same "a damaged file: said" "$(grep -c '"level":"warning".*products.0.txt is not used (it is damaged' "$w/runs/damaged/journal.jsonl")" 1
equal "… and replaced" "$w/runs/damaged/products.0.txt" "$w/runs/lost/products.0.txt"
near kept damaged 2e-4 6

# stopped and resumed, with an average of the weights
recipe whole backend=cuda ema=0.9
trains whole
recipe parts backend=cuda ema=0.9 steps=3
trains parts
recipe parts backend=cuda ema=0.9
trains parts
same "resumed to the bit" "$(weights parts 6)" "$(weights whole 6)"
recipe ema backend=cpu ema=0.9
trains ema
form ema whole 6
recipe bf16 backend=cuda precision=bf16
trains bf16
recipe bf16_cpu backend=cpu precision=bf16
trains bf16_cpu
near bf16_cpu bf16 0.05 6

# what one began the other goes on with
cp -r "$w/runs/cpu" "$w/runs/there"
cp -r "$w/runs/gpu" "$w/runs/back"
rm -r "$w"/runs/there/checkpoints/6 "$w"/runs/back/checkpoints/6
recipe there backend=cuda
trains there
recipe back backend=cpu
"$wb-train" _rank -q -C "$w" --run back >"$tmp/log" 2>&1 || not_ok "train back" "$(tail -n 3 "$tmp/log")"
near cpu there 2e-4 6
near cpu back 2e-4 6

# translations and scores
recipe taught backend=cpu steps=200 save_every=100 noam_factor=4 warmup=50
trains taught
cat >"$tmp/text" <<'END'
The old house is small .
We like it .
END
with_dev
# what may be wished for: words of the target that the model knows
read -r spoken forced rest <"$tmp/dev"/dev.de
forced=${rest%% *}
sed "s/\$/	$spoken/" "$tmp/text" >"$tmp/begun"
printf 'house\t%s\nit\t%s\n' "$forced" "$spoken" >"$tmp/terms"
cat >"$tmp/asked" <<END
{"id":1,"text":"The old house is small .","alternatives":5,"at":1}
{"id":2,"text":"We like it .","force":["$forced"],"n_best":2,"beam":3}
{"id":3,"text":"The old house is small .","forbid":["$spoken"],"alternatives":3,"at":0}
{"id":4,"text":"We like it .","prefix":"$spoken","terms":{"like":"$forced"}}
END
for backend in cpu cuda; do
	for words in "--n-best 2 --beam 2" "--precision bf16 --beam 1" "--shortlist model --alignments --beam 2" \
		"--checkpoint 100,200 --beam 2" "--sample --seed 3" "--n-best 3 --beam 4 --alignments" \
		"--terms $tmp/terms --beam 2" "--forbid $spoken --beam 2 --n-best 2" "--shortlist model --forbid $spoken --beam 2" \
		"--shortlist model --sample --top-k 5 --n-best 2" "--shortlist model --terms $tmp/terms --precision int8 --beam 2" \
		"--shortlist model --precision bf16 --beam 2" "--precision bf16 --n-best 2 --beam 10"; do
		echo "translate $words"
		# shellcheck disable=SC2086 # words
		"$sim-eval" translate -q -C "$w" --run taught --backend $backend --threads 1 --checkpoint 200 $words "$tmp/text" 2>&1
	done >"$tmp/text.$backend"
	for words in "" "--shortlist model --beam 2" "--checkpoint 100,200 --beam 2"; do
		echo "translate --prefix $words"
		# shellcheck disable=SC2086 # words
		"$sim-eval" translate -q -C "$w" --run taught --backend $backend --threads 1 --checkpoint 200 --prefix $words "$tmp/begun" 2>&1
	done >"$tmp/begun.$backend"
	"$sim-eval" translate --serve -q -C "$w" --run taught --backend $backend --threads 1 --checkpoint 200 <"$tmp/asked" 2>&1 |
		sed 's/\(-\{0,1\}[0-9]*\.[0-9]\)[0-9e-]*/\1/g' >"$tmp/asked.$backend"
	"$sim-eval" eval -q -C "$w" --run taught --set dev --backend $backend --threads 1 --beam 1 2>&1 |
		grep -v 'tokens/s' >"$tmp/eval.$backend"
done
equal "translations: the same" "$tmp/text.cuda" "$tmp/text.cpu"
equal "beginnings: the same" "$tmp/begun.cuda" "$tmp/begun.cpu"
same "beginnings: kept" "$(grep -c "^$spoken" "$tmp/begun.cuda")" 6
equal "the service: the same answers" "$tmp/asked.cuda" "$tmp/asked.cpu"
same "the service: alternatives, phrases" "$(grep -c '"alternatives":\[{' "$tmp/asked.cuda") $(grep -c "\"text\":\"[^\"]*$forced" "$tmp/asked.cuda")" "2 2"
equal "scores: the same" "$tmp/eval.cuda" "$tmp/eval.cpu"
# headings and the translations, of which a hardly trained model may leave some empty; no messages
same "translations: not errors" "$(($(grep -c '[a-z]' "$tmp/text.cuda") >= 24)) $(grep -c '^werkbank' "$tmp/text.cuda")" "1 0"
recipe evaluated backend=cuda steps=2 eval_every=2
trains evaluated
same "an evaluation beside the training" "$(grep -c '"kind":"eval",.*"bleu"' "$w/runs/evaluated/journal.jsonl")" 1
same "with its samples" "$(wc -l <"$w/runs/evaluated/samples.jsonl")" 2
without_dev

# what cannot be
recipe large backend=cuda batch_tokens=10000000
says "a GPU that is too small" 78 'training with batch_tokens 10000000 needs [0-9.]+ GiB, but GPU 0 .*has 8.0 GiB' \
	"$sim-train" _rank -q -C "$w" --run large
recipe other backend=cuda gpu=3
says "a GPU that does not exist" 69 'GPU 3 does not exist: this host has 1' "$sim-train" _rank -q -C "$w" --run other
says "the doctor" 0 'simulated GPU' "$sim-train" doctor -C "$w"

# ranks, by NCCL
if command -v mpirun >/dev/null && "$sim-train" --version | grep -q 'with MPI'; then
	# two RUN : on two GPUs of this host
	start_two() {
		CUDASIM_GPUS=2 timeout 100 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 2 \
			"$sim-train" _rank -q -C "$w" --run "$1" >"$tmp/log" 2>&1
	}
	two() {
		start_two "$1" || not_ok "train $1" "$(grep -m 3 werkbank "$tmp/log")"
		if grep 'cudasim:' "$tmp/log" >"$tmp/faults"; then not_ok "$1: no faults" "$(head -n 2 "$tmp/faults")"; fi
	}
	recipe two backend=cuda
	CUDASIM_GRAPHS=1 two two
	near gpu two 2e-4 6
	same "two: graphs are there" "$(played)" 2
	recipe two_plain backend=cuda cuda_graphs=no
	CUDASIM_GRAPHS=1 two two_plain
	same "two: graphs are not" "$(played)" 0
	same "two: the same bits" "$(weights two 6)" "$(weights two_plain 6)"
	recipe shards backend=cuda shard_optimizer=yes ema=0.9
	two shards
	near gpu shards 2e-4 6
	form whole shards 6
	recipe held backend=cuda shard_optimizer=yes wire=2bit wire_warmup=1
	two held
	recipe again backend=cuda shard_optimizer=yes wire=2bit wire_warmup=1 steps=3
	two again
	recipe again backend=cuda shard_optimizer=yes wire=2bit wire_warmup=1
	two again
	same "shards, 2bit: resumed to the bit" "$(weights again 6)" "$(weights held 6)"
	# what NCCL sums of two ranks and what hosts do have the same bits, however it goes
	both() {
		run=$1
		shift
		recipe "$run" backend=cuda steps=2 "$@"
		two "$run"
		same "$run: by NCCL" "$(grep -c 'through host memory' "$w/runs/$run/journal.jsonl")" 0
		recipe "$run.hosts" backend=cuda steps=2 "$@"
		CUDASIM_NO_NCCL=1 two "$run.hosts"
		same "$run: not by NCCL" "$(grep -c 'through host memory' "$w/runs/$run.hosts/journal.jsonl")" 1
		same "$run: to the bit" "$(weights "$run" 2)" "$(weights "$run.hosts" 2)"
	}
	both exact wire=fp32
	both after wire=2bit wire_warmup=0 overlap_reduce=no
	both bits wire=1bit wire_warmup=0 shard_optimizer=yes
	both apart wire=2bit wire_warmup=0 local_steps=2 ema=0.9
	recipe owned backend=cuda steps=2 shard_optimizer=yes
	two owned
	same "shards: the plain optimizer's weights" "$(weights owned 2)" "$(weights exact 2)"
	recipe overlapped backend=cuda steps=2 wire=2bit wire_warmup=0
	two overlapped
	same "overlap changes nothing" "$(weights overlapped 2)" "$(weights after 2)"
	recipe local backend=cuda local_steps=3 ema=0.9
	two local
	recipe local_cpu backend=cpu local_steps=3 ema=0.9
	two local_cpu
	same "local steps: records" "$(losses local | wc -l)" 2
	losses local | cut -c 1-6 >"$tmp/a"
	losses local_cpu | cut -c 1-6 >"$tmp/b"
	equal "local steps: losses as the processor's" "$tmp/a" "$tmp/b"
	# a rank hangs inside NCCL: the watchdog ends the job, which goes on with the same bits
	recipe hung backend=cuda hang_after=4 late_after=2
	CUDASIM_HANG=1:20 start_two hung
	same "a rank that hangs: the status" $? 75
	same "… the sentence" "$(grep -c 'no rank has made progress for [0-9]* s: the watchdog ends the job' "$tmp/log")" 1
	same "… the record" "$(grep -c '"kind":"stop".*"failed"' "$w/runs/hung/journal.jsonl")" 1
	same "… both waited in the reduction" "$(grep -c ' the reduction ' "$w/runs/hung/hang.txt")" 2
	two hung
	same "… and goes on" "$(weights hung 6)" "$(weights two 6)"

	# each rank translates its share on its GPU
	with_dev
	recipe shared backend=cuda steps=2
	two shared
	same "an evaluation in shares" "$(grep -c '"kind":"eval".*"shares":2' "$w/runs/shared/journal.jsonl")" 1
	recipe unshared backend=cuda steps=2
	cp -r "$w/runs/shared/checkpoints" "$w/runs/unshared"
	rm -f "$w"/runs/unshared/checkpoints/evaluated.json
	trains unshared
	without_dev
	for run in shared unshared; do
		grep '"kind":"eval"' "$w/runs/$run/journal.jsonl" | grep -o '"\(bleu\|dev_nll\|train_nll\)":[^,]*' >"$tmp/eval.$run"
		sed 's/"t":[^,]*,//' "$w/runs/$run/samples.jsonl" >>"$tmp/eval.$run"
	done
	equal "… has one rank's numbers and translations" "$tmp/eval.shared" "$tmp/eval.unshared"
	same "… and some of each" "$(wc -l <"$tmp/eval.shared")" 5
	# each rank sees a GPU of its own only, and uses that one
	recipe hidden backend=cuda steps=2
	CUDASIM_GPUS=2 timeout 100 mpirun --oversubscribe --bind-to none -n 1 -x CUDA_VISIBLE_DEVICES=0 "$sim-train" _rank -q -C "$w" --run hidden : \
		-n 1 -x CUDA_VISIBLE_DEVICES=1 "$sim-train" _rank -q -C "$w" --run hidden >"$tmp/log" 2>&1 ||
		not_ok "train hidden" "$(tail -n 3 "$tmp/log")"
	same "GPUs hidden from other ranks: the same bits" "$(weights hidden 2)" "$(weights shared 2)"
	recipe alone backend=cuda
	timeout 100 mpirun --oversubscribe --bind-to none -n 2 "$sim-train" _rank -q -C "$w" --run alone >"$tmp/log" 2>&1
	same "more ranks than GPUs" "$(grep -c 'rank 1 of 2 on this host: GPU 1 does not exist: this host has 1' "$tmp/log")" 1
else
	skip "ranks on GPUs" "there is no MPI"
fi
tally
