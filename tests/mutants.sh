#!/bin/sh
# mutants.sh - does the simulated GPU notice? Each mutant is one small mistake in a copy of the GPU's
# sources, of the kinds that pass by chance on a real GPU; the tests must fail with it.
#
#	make check-mutants		minutes; not part of "make check"
#	make check-mutants ONLY=barrier	those with this in their name
#
# From make: COMPILE (ends with -c), LINK (with @OUT@), the names of objects in it, srcdir.
set -u
: "${COMPILE:?run this by make check-mutants}" "${LINK:?}" "${srcdir:?}"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-mutants.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=tests/helpers.sh
. "$srcdir/tests/helpers.sh"

# mutant NAME FILE TESTS SED : FILE (of kernels/, without .cu), or SHARED:FILE when SED changes cuda.cuh and FILE includes it
mutant() {
	name=$1 file=$2 words=$3 change=$4
	case $name in *"${ONLY:-}"*) ;; *) return ;; esac
	changed=$file.cu
	case $file in shared:*) file=${file#shared:} changed=cuda.cuh ;; esac
	rm -rf "$tmp/kernels"
	mkdir "$tmp/kernels"
	cp "$srcdir/kernels/cuda.cuh" "$srcdir/kernels/$file.cu" "$tmp/kernels"
	sed "$change" "$srcdir/kernels/$changed" >"$tmp/kernels/$changed"
	if cmp -s "$srcdir/kernels/$changed" "$tmp/kernels/$changed"; then
		not_ok "$name" "the change does not fit $changed any more"
		return
	fi
	if ! eval "$COMPILE -O1 -I'$tmp' $COMPILE_MORE -o '$tmp/mutant.o' '$tmp/kernels/$file.cu'" >"$tmp/log" 2>&1; then
		not_ok "$name" "does not compile: $(grep -m 1 error "$tmp/log")"
		return
	fi
	if ! eval "$(printf '%s' "$LINK" | sed "s|kernels/$file\\.simo|$tmp/mutant.o|; s|@OUT@|$tmp/run|")" >"$tmp/log" 2>&1; then
		not_ok "$name" "does not link: $(tail -n 1 "$tmp/log")"
		return
	fi
	got=0
	"$tmp/run" "$words" >"$tmp/log" 2>&1 || got=$?
	if [ "$got" -eq 0 ]; then
		not_ok "$name" "lives: nothing of '$words' fails"
	else
		ok "$name"
	fi
}

# ---- barriers --------------------------------------------------------------------------------
mutant barrier-column-sums cuda_point cuda_ops \
	'/sums\[threadIdx.y\]\[k \* 32 + threadIdx.x\] = /,/__syncthreads/s/__syncthreads();//'
mutant barrier-add-parts cuda_point cuda_ops '/sums\[threadIdx.y\]\[threadIdx.x\] = sum;/,/__syncthreads/s/__syncthreads();//'
mutant barrier-block-sum shared:cuda_point cuda_ops \
	'/sums\[threadIdx.x \/ 32\] = x;/,/__syncthreads/s/__syncthreads();//'
mutant barrier-sort-scan cuda_embed cuda_ops '/warps\[warp\] = before;/,/__syncthreads/s/__syncthreads();//'
mutant barrier-sort-count cuda_embed cuda_ops '/seen\[threadIdx.x\] = 0;/,/__syncthreads/s/__syncthreads();//'
mutant barrier-tile-read cuda_linear cuda_ops '/x\[r\]\[u\] = /,/__syncthreads/s/__syncthreads();//'
mutant barrier-tile-written-over cuda_linear cuda_ops '/const int many = /,/__syncthreads/s/__syncthreads();//'
mutant syncwarp-sort-read cuda_embed cuda_ops '/int32_t to = real/,/__syncwarp/s/__syncwarp();//'

# ---- one too many, one too few -----------------------------------------------------------------
mutant index-last-row cuda_point cuda_ops 's/last = min(first + ROWS_A_PART, dx.rows)/last = min(first + ROWS_A_PART, dx.rows - 1)/'
mutant index-store-behind shared:cuda_point cuda_ops 's/if (col + i < t.cols)/if (col + i <= t.cols)/'
mutant index-run-goes-on cuda_embed cuda_ops 's/bool goes_on = first > 0 \&\& /bool goes_on = first > CHUNK \&\& /'
mutant index-next-chunk cuda_embed cuda_ops 's/int64_t c = blockIdx.x + 1;/int64_t c = blockIdx.x + 2;/'
mutant index-panel cuda_linear cuda_ops 's/w\[(from + u) \* PANEL_WIDTH\]/w[(from + u + 1) * PANEL_WIDTH]/'
mutant index-dropout shared:cuda_point cuda_ops 's/(row \* cols + col) >> 3/(row * cols + col + 8) >> 3/'

# ---- reductions ----------------------------------------------------------------------------------
mutant sum-half-a-warp shared:cuda_point cuda_ops '/T warp_sum/,/^}/s/with = 16/with = 8/'
mutant sum-replaces cuda_point cuda_ops 's/out\[col\] += sum;/out[col] = sum;/'
mutant sum-parts-twice cuda_point cuda_ops '/for (int64_t p = threadIdx.y; p < n_parts/s/p += 8/p += 4/'
mutant sum-of-one-warp shared:cuda_point cuda_ops '/int i = 0; i < THREADS \/ 32; i++/,/total += sums/s/i = 0;/i = 1;/'
mutant greatest-without-sign cuda_linear cuda_ops 's/fabsf(load1(x, row, k))/load1(x, row, k)/'

# ---- what is not ordered ---------------------------------------------------------------------------
mutant wait-for-a-copy cuda_dev cuda_memory 's/cuda_note(d, cudaEventSynchronize(d->stage\[i\].free), "waiting for a copy");//'
mutant event-not-recorded cuda_dev cuda_memory 's/cuda_note(d, cudaEventRecord(d->stage\[i\].free, d->stream), "recording an event");//'
mutant wait-for-results cuda_dev cuda_pinned '/void cuda_to_host/,/^}/s/cudaStreamSynchronize(d->stream)/cudaSuccess/'
tally
