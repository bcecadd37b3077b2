#!/bin/sh
# spread.sh - an evaluation shared by two ranks equals the one of a single process: with a visible checkpoint,
# with a host that cannot read it, and with a rank that fails. Last line: the tally.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-spread-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
TMPDIR=$tmp/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export TMPDIR OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
wb=$top/werkbank
w=$tmp/here far=$tmp/far
mkdir -p "$TMPDIR" "$w/runs" "$far/runs"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"

if ! command -v mpirun >/dev/null || ! "$wb-train" --version | grep -q 'with MPI'; then
	skip "evaluations shared by ranks" "there is no MPI"
	tally
	exit
fi

cat >"$tmp/tiny.ini" <<'END'
[data]
demo_pairs = 800
merges = 200
[model]
d_model = 32
d_ff = 64
heads = 2
encoder_layers = 1
decoder_layers = 2
[train]
steps = 100
warmup = 20
batch_tokens = 512
precision = auto
micro_batches = 2
eval_every = 50
ema = 0.9
save_every = 50
samples = 12
threads = 1
[decode]
beam = 1
END
if ! "$wb" prep -q -C "$w" "$tmp/tiny.ini" >"$tmp/log" 2>&1; then
	not_ok "prepare" "$(tail -n 3 "$tmp/log")"
	tally
	exit
fi
cp -r "$w/corpora" "$far"

# The evaluation records and samples of a run, without the fields that depend on the clock.
results() {
	sed -n 's/^.*"kind":"eval",.*"step"/"step"/; s/"seconds":[^,]*,//; s/"shares":[^,]*,//; /"dev_nll"/p' \
		"$w/runs/$1/journal.jsonl"
	sed 's/"t":[^,]*,//' "$w/runs/$1/samples.jsonl"
}

# alone RUN STEP : the same from a single process, with the fields that both have.
alone() {
	"$wb-eval" _evaluate -C "$w" --run "$1" --checkpoint "$2" | sed 's/^.*"bleu"/"bleu"/; s/"decoded.*//' >"$tmp/alone"
	score=$(sed -n '1s/.*"bleu":\([^,]*\).*"dev_nll":\([^,]*\),"train_nll":\([^,]*\).*/\1 \2 \3/p' "$tmp/alone")
	shared=$(sed -n 's/.*"kind":"eval",.*"step":'"$2"',"bleu":\([^,]*\),"dev_nll":\([^,]*\),"train_nll":\([^,]*\).*/\1 \2 \3/p' \
		"$w/runs/$1/journal.jsonl")
	same "$1: the scores of one process at step $2" "${shared:-none}" "$score"
	sed -n 's/.*"id"/"id"/p' "$tmp/alone" >"$tmp/alone.samples"
	sed -n 's/.*"step":'"$2"',"id"/"id"/p' "$w/runs/$1/samples.jsonl" >"$tmp/shared.samples"
	equal "$1: the samples of one process at step $2" "$tmp/shared.samples" "$tmp/alone.samples"
	same "$1: samples" "$(wc -l <"$tmp/shared.samples")" 12
}

# other_warnings RUN : number of warnings, but for those about the tiny recipe and its learning
other_warnings() { grep warning "$w/runs/$1/journal.jsonl" | grep -vc '"sign"'; }

shares() { grep '"kind":"eval"' "$w/runs/$1/journal.jsonl" | grep -c '"shares":'"$2"; }

# two RUN : a rank in each of the two workspaces, as on two hosts without a common file system.
two() {
	for folder in "$w" "$far"; do
		mkdir -p "$folder/runs/$1"
		cp "$w/runs/near/recipe.ini" "$folder/runs/$1"
	done
	cat >"$tmp/rank" <<-END
		#!/bin/sh
		case \$OMPI_COMM_WORLD_RANK in 0) folder='$w' ;; *) folder='$far' ;; esac
		exec "$wb-train" _rank -q -C "\$folder" --run "$1"
	END
	# not "A : B": Open MPI 5.0.7 crashes at a second program
	timeout 120 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 2 sh "$tmp/rank" >"$tmp/log" 2>&1 ||
		not_ok "train $1" "$(tail -n 3 "$tmp/log")"
}

says "two ranks, one file system" 0 '' "$wb" train -q -C "$w" --ranks 2 --run near "$tmp/tiny.ini"
alone near 50
alone near 100
same "near: both ranks took part" "$(shares near 2)" 2
same "near: no warning" "$(other_warnings near)" 0
results near >"$tmp/near"

two far
same "far: both ranks took part" "$(shares far 2)" 2
absent "far: it has no checkpoints" "$far/runs/far/checkpoints"
results far >"$tmp/results"
equal "far: the same results" "$tmp/results" "$tmp/near"
same "far: nothing is left behind" "$(ls "$TMPDIR")" ""

rm "$far"/corpora/*/dev.en
two lame
same "lame: told once" "$(grep -c 'rank 1 on .* failed in its share' "$w/runs/lame/journal.jsonl")" 1
same "lame: the first rank's share counts" "$(shares lame 1)" 2
results lame >"$tmp/results"
equal "lame: the same results" "$tmp/results" "$tmp/near"
absent "no parts are left" "$w/runs/lame/evaluation.parts"

# Stop during an evaluation: all ranks save and end, and the next attempt evaluates.
mkdir "$tmp/bin"
cp "$top/werkbank-train" "$tmp/bin"
cat >"$tmp/bin/werkbank-eval" <<-END
	#!/bin/sh
	: >"$tmp/evaluating"
	exec sleep 100
END
chmod +x "$tmp/bin/werkbank-eval"
mkdir "$w/runs/asked"
sed 's/^steps = .*/steps = 1000/' "$w/runs/near/recipe.ini" >"$w/runs/asked/recipe.ini"
timeout 120 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --report-pid "$tmp/pid" -n 2 \
	"$tmp/bin/werkbank-train" _rank -q -C "$w" --run asked >"$tmp/log" 2>&1 &
ranks=$!
for _ in $(seq 300); do
	[ ! -e "$tmp/evaluating" ] || break
	sleep 0.1
done
started=$(date +%s)
kill -USR1 "$(cat "$tmp/pid")"
wait "$ranks"
same "asked: all ranks leave" "$?" 0
if [ $(($(date +%s) - started)) -lt 30 ]; then ok "asked: at once"; else not_ok "asked: at once" "it took too long"; fi
same "asked: saved" "$(readlink "$w/runs/asked/checkpoints/last")" 50
same "asked: not evaluated" "$(grep -c '"kind":"eval"' "$w/runs/asked/journal.jsonl")" 0
same "asked: no warning" "$(other_warnings asked)" 0
tally
