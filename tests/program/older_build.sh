#!/bin/sh
# older_build.sh - a build of the last release refuses what it does not know: for each fact of the architecture that the older
# build lacks, today's build writes a checkpoint, and the older build must refuse to translate, average, start from and resume it with
# exit status 78 (verify of builds before 2026-11-27: 65) and a sentence that names what it does not know. By hand, in a build folder; it needs both builds:
#	sh ../tests/program/older_build.sh OLDER-BUILD OLDER-SOURCE
# Each checkpoint is tried twice: as written, and with the recipe and corpus of the older build, so that state.json alone must
# keep it away. Prints exit statuses; fails if something is accepted.
set -u
[ $# = 2 ] || { echo "usage: older_build.sh OLDER-BUILD OLDER-SOURCE" >&2; exit 64; }
older=$(cd "$1" && pwd) older_share=$(cd "$2/share" && pwd)
share=$(cd "$(dirname "$0")/../../share" && pwd)
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-older-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
failed=0

# Facts and their words; the first row has only what every build knows: it must be accepted.
cat >"$tmp/rows" <<'END'
none|
decoder_ff|decoder_ff = 24
decoder_heads|decoder_heads = 1
norm_place|norm_place = post
norm|norm = rms
norm_epsilon|norm_epsilon = 1e-5
final_norm|final_norm = no
embedding_norm|embedding_norm = yes
embedding_scale|embedding_scale = one
tied_embeddings|tied_embeddings = none
positions|positions = rotary
position_offset|position_offset = 2
max_positions|positions = learned
activation|activation = silu
gated_ffn|gated_ffn = yes
ffn_bias|ffn_bias = no
attention_bias|attention_bias = yes
output_bias|output_bias = yes
decoder_self|decoder_self = ssru
decoder_start|decoder_start = zero
source_end|source_end = no
optimizer|[train] optimizer = adafactor
END
for fact in $(sed -n 's/^ARCH(\([a-z_]*\), OPTION, [NCF][A-Z]*,.*/\1/p' "$share/conf/arch.def"); do
	grep -q "^$fact|" "$tmp/rows" || { echo "older_build.sh has no row for the fact $fact" >&2; exit 1; }
done

old_one() { WERKBANK_SHARE=$older_share "$older/werkbank" "$@" </dev/null >"$tmp/out" 2>"$tmp/err"; }
new_one() { WERKBANK_SHARE=$share "$top/werkbank" "$@" </dev/null >"$tmp/out" 2>"$tmp/err"; }
# verdict WORD STATUS : prints one cell; counts what is accepted, or refused without a sentence about the checkpoint.
verdict() {
	if [ "$name" = none ]; then
		[ "$2" = 0 ] || [ "$as" = "as written" ] || { failed=$((failed + 1)); sed 's/^/	/' "$tmp/err"; }
	elif [ "$1 $2" != "verify 65" ] && [ "$2" != 78 ] || ! grep -q 'this checkpoint has "\|this checkpoint needs "\|is not known\|does not know' "$tmp/err"; then
		failed=$((failed + 1))
		sed 's/^/	/' "$tmp/err"
	fi
	printf ' %s %s' "$1" "$2"
}

new_one demo-corpus "$tmp/s" "$tmp/t" --demo-pairs 400
mkdir "$tmp/older"
while IFS='|' read -r name words; do
	rm -rf "$tmp/w"
	{
		printf '[data]\ntrain_source = %s\ntrain_target = %s\ndev_source = %s\ndev_target = %s\nmerges = 60\n' \
			"$tmp/s" "$tmp/t" "$tmp/s" "$tmp/t"
		printf '[model]\nd_model = 16\nd_ff = 32\nheads = 2\nencoder_layers = 1\ndecoder_layers = 1\n'
		case $words in '[train] '*) ;; *) echo "$words" ;; esac
		printf '[train]\nsteps = 2\nbatch_tokens = 256\nsave_every = 1\neval_every = 1000\nprecision = fp32\n'
		case $words in '[train] '*) echo "${words#* }" ;; esac
	} >"$tmp/r.ini"
	[ -f "$tmp/older/r.ini" ] || {
		cp "$tmp/r.ini" "$tmp/older/r.ini"
		old_one prep -C "$tmp/first" "$tmp/older/r.ini" -q && old_one train -C "$tmp/first" "$tmp/older/r.ini" --quiet
		cp "$tmp/first/runs/r/recipe.ini" "$tmp/older.ini"
	}
	new_one prep -C "$tmp/w" "$tmp/r.ini" -q && new_one train -C "$tmp/w" "$tmp/r.ini" --quiet ||
		{ cat "$tmp/err"; failed=$((failed + 1)); continue; }
	# the older build's own recipe, so that state.json must keep it away; then everything as today's build wrote it
	for as in "older recipe" "as written"; do
		rm -rf "$tmp/o"
		cp -r "$tmp/w" "$tmp/o"
		checkpoint=$tmp/o/runs/r/checkpoints/2
		if [ "$as" = "older recipe" ]; then
			rm -rf "$tmp/o/corpora/r"
			cp -r "$tmp/first/corpora/r" "$tmp/o/corpora/r"
			for folder in "$tmp/o/runs/r" "$tmp/o/runs/r/checkpoints/1" "$checkpoint"; do
				chmod u+w "$folder" "$folder"/*
				cp "$tmp/older.ini" "$folder/recipe.ini"
				[ ! -f "$folder/SHA256SUMS" ] ||
					(cd "$folder" && sed 's/^.*  //' SHA256SUMS | xargs sha256sum >sums && mv sums SHA256SUMS)
			done
		fi
		# what is no fact of the architecture is in the recipe alone
		case $words in '[train] '*) [ "$as" = "as written" ] || continue ;; esac
		printf '%s, %s:' "$name" "$as"
		old_one translate --model "$checkpoint" --threads 1; verdict translate $?
		old_one average -C "$tmp/o" --run r --last 2 -o "$tmp/o/mean"; verdict average $?
		case $words in '[train] '*) ;; *) old_one verify "$checkpoint"; status=$?; cat "$tmp/out" >>"$tmp/err"; verdict verify $status ;; esac
		old_one train -C "$tmp/o" "$tmp/older/r.ini" --run fresh --start-from "$checkpoint" --steps 1 --quiet; verdict start-from $?
		old_one train -C "$tmp/o" "$tmp/older/r.ini" --run r --steps 3 --quiet; verdict resume $?
		echo "; $(head -n 1 "$tmp/err" | sed 's/.*this /this /' | cut -c 1-120)"
	done
done <"$tmp/rows"
echo "$failed failed"
[ "$failed" = 0 ]
