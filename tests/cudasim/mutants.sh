#!/bin/sh
# mutants.sh - mutation test of the GPU kernels: does the simulated GPU notice small mistakes? Each mutant is one small change in
# a copy of a source file, of a kind that often passes by chance on a real GPU (a missing barrier, an index off by one, a missing
# event). The tests must fail with it.
#
#	make check-mutants			all mutants, more than half an hour; not part of "make check"
#	make check-mutants ONLY='barrier top'	mutants with one of these words in their name
#	make check-mutants PART=2/3		the second of every three mutants
#	make check-mutants KEPT=FILE		append the names of noticed mutants to FILE, and skip names that are in it
#	CHECK=1 sh tests/cudasim/mutants.sh	only check that each sed script still changes its file; needs no build (lint.sh)
#
# From make: COMPILE and COMPILE_C (end with -c), LINK (with @OUT@), the names of objects in it, srcdir.
set -u
srcdir=${srcdir:-.}
if [ -z "${CHECK:-}" ]; then
	: "${COMPILE:?run this by make check-mutants}" "${LINK:?}"
fi
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-mutants.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=tests/helpers.sh
. "$srcdir/tests/helpers.sh"
number=0 part=${PART:-1/1}
: >"$tmp/pass"

# wanted NAME : do PART, KEPT and ONLY select this mutant?
wanted() {
	number=$((number + 1))
	[ $((number % ${part#*/})) -eq $((${part%/*} % ${part#*/})) ] || return 1
	[ -z "${KEPT:-}" ] || ! grep -qsx -- "$1" "$KEPT" || return 1
	for word in ${ONLY:-}; do
		case $1 in *"$word"*) return 0 ;; esac
	done
	[ -z "${ONLY:-}" ]
}

# try PROGRAM TESTS OPS : run tests; a program that hangs fails
try() {
	got=0
	OPS=$3 timeout 600 "$1" "$2" >"$tmp/log" 2>&1 || got=$?
}

# passes TESTS OPS : the tests pass without the mistake; otherwise their failure would prove nothing
passes() {
	! grep -qx -- "$1 $2" "$tmp/pass" || return 0
	try tests/cuda_run "$1" "$2"
	[ "$got" -eq 0 ] && echo "$1 $2" >>"$tmp/pass"
}

# changes NAME FILE SED : apply the sed script to a copy of FILE; each of its commands (one a line) must change the file
changes() {
	mkdir -p "$tmp/${2%/*}"
	cp "$srcdir/$2" "$tmp/$2"
	echo "$3" | sed 's/; \//;\n\//g; s/; s\//;\ns\//g' >"$tmp/script"
	while IFS= read -r command; do
		sed "$command" "$tmp/$2" >"$tmp/changed"
		if cmp -s "$tmp/$2" "$tmp/changed"; then
			not_ok "$1" "no longer changes $2: $command"
			return 1
		fi
		mv "$tmp/changed" "$tmp/$2"
	done <"$tmp/script"
}

# mutant NAME FILE TESTS SED [OPS] : FILE is a kernel file (of kernels/cuda/, without .cu); or HEADER.cuh:FILE, when SED changes a
# header that FILE includes (shared:FILE: cuda.cuh); or a path without .c, a file that drives the GPU. OPS: try only the cases of
# ops whose names begin so.
mutant() {
	name=$1 file=$2 words=$3 change=$4 ops=${5:-} folder=kernels/cuda
	wanted "$name" || return
	since=$(date +%s)
	changed=$folder/$file.cu
	case $file in
	*/*) folder=${file%/*} changed=$file.c ;;
	shared:*) file=${file#shared:} changed=$folder/cuda.cuh ;;
	*.cuh:*) changed=$folder/${file%%:*} file=${file#*:} ;;
	esac
	rm -rf "${tmp:?}/kernels" "$tmp/eval" "$tmp/train"
	mkdir -p "$tmp/$folder"
	[ "$folder" != kernels/cuda ] || cp "$srcdir/$folder/$file.cu" "$tmp/$folder"
	changes "$name" "$changed" "$change" || return
	[ -z "${CHECK:-}" ] || return
	if [ "$folder" = kernels/cuda ]; then
		compile="$COMPILE -O1 -I'$tmp' $COMPILE_MORE" source=$tmp/$folder/$file.cu
		instead="s|$folder/$file\\.simo|$tmp/mutant.o|; s|@OUT@|$tmp/run|"
	else	# linked before the library, which has the unchanged object
		compile=$COMPILE_C source=$tmp/$changed instead="s|@OUT@|$tmp/run $tmp/mutant.o|"
	fi
	if ! eval "$compile -o '$tmp/mutant.o' '$source'" >"$tmp/log" 2>&1; then
		not_ok "$name" "does not compile: $(grep -m 1 error "$tmp/log")"
		return
	fi
	if ! eval "$(printf '%s' "$LINK" | sed "$instead")" >"$tmp/log" 2>&1; then
		not_ok "$name" "does not link: $(tail -n 1 "$tmp/log")"
		return
	fi
	if ! passes "$words" "$ops"; then
		not_ok "$name" "'$words' fails without the mistake: $(grep -m 1 -i fail "$tmp/log")"
		return
	fi
	try "$tmp/run" "$words" "$ops"
	if [ "$got" -eq 0 ]; then
		not_ok "$name" "not noticed: no test of '$words' fails"
	else
		ok "$name ($(($(date +%s) - since)) s)"
		[ -z "${KEPT:-}" ] || echo "$name" >>"$KEPT"
	fi
}

# ---- barriers --------------------------------------------------------------------------------
mutant barrier-column-sums shared:cuda_point cuda_ops \
	'/sums\[threadIdx.y\]\[k \* 32 + threadIdx.x\] = /,/__syncthreads/s/__syncthreads();//' relu
mutant barrier-gate-sums cuda_activate cuda_ops '/all threads have read the first sums/s/__syncthreads();//' activate_grad
mutant barrier-add-parts cuda_point cuda_ops '/sums\[threadIdx.y\]\[threadIdx.x\] = sum;/,/__syncthreads/s/__syncthreads();//' relu
mutant barrier-block-sum shared:cuda_point cuda_ops \
	'/sums\[threadIdx.x \/ 32\] = x;/,/__syncthreads/s/__syncthreads();//' sum_squares
mutant barrier-sort-scan cuda_embed cuda_ops '/warps\[warp\] = before;/,/__syncthreads/s/__syncthreads();//' embed_grad
mutant barrier-sort-count cuda_embed cuda_ops '/seen\[threadIdx.x\] = 0;/,/__syncthreads/s/__syncthreads();//' embed_grad
mutant barrier-tile-read cuda_linear cuda_ops '/x\[r\]\[u\] = /,/__syncthreads/s/__syncthreads();//' linear
mutant barrier-tile-written-over cuda_linear cuda_ops '/const int many = /,/__syncthreads/s/__syncthreads();//' linear
mutant syncwarp-sort-read cuda_embed cuda_ops '/int32_t to = real/,/__syncwarp/s/__syncwarp();//' embed_grad
mutant barrier-norm-averages cuda_norm cuda_ops '/warps\[turn\]\[threadIdx/,/__syncthreads/s/__syncthreads();//' norm_grad
mutant barrier-norm-turns cuda_norm cuda_ops 's/turn = 1 - turn/turn = 0/' norm_grad
mutant barrier-norm-sums cuda_norm cuda_ops '/sums\[threadIdx.y\]\[threadIdx.x\] = sum;/,/__syncthreads/s/__syncthreads();//' norm_grad
mutant barrier-step-groups cuda_decode cuda_ops '/sums\[warp\]\[lane\] = \*s;/,/__syncthreads/s/__syncthreads();//' attention_step
mutant barrier-top-list cuda_decode cuda_ops '/list\[at\] = candidate/,/if (n\[0\]/s/__syncthreads();//' top_k
mutant barrier-attention-v cuda_attention cuda_ops '/v has arrived/s/__syncthreads();//' attention
mutant barrier-attention-v-used cuda_attention cuda_ops '/all warps have read v/s/__syncthreads();//' attention
mutant barrier-attention-k-used cuda_attention cuda_ops '/all warps have read k/s/__syncthreads();//' attention
mutant barrier-grad-dscore cuda_attention_grad cuda_ops '/backward_pairs(b, tiles/,/if (query/s/__syncthreads();//' attention_grad
mutant barrier-grad-tiles cuda_attention_grad cuda_ops '/all warps have read the tiles/s/__syncthreads();//' attention_grad
mutant copy-attention-v cuda_attention cuda_ops '/copy_commit();/,/v has arrived/s/copy_wait<1>/copy_wait<2>/' attention
mutant copy-grad cuda_attention_grad cuda_ops '/load_queries<A>(tiles/,/copy_wait/s/copy_wait<0>/copy_wait<1>/' attention_grad

# ---- dependent launches ----------------------------------------------------------------------
mutant begin-never cuda_norm cuda_bits '/norm_warp_rows/,/norm_wide_rows/s/kernel_begin();//'
mutant begin-behind-access cuda_embed cuda_bits '/embed_rows(/,/drop_now/s/kernel_begin();//; s/\tdrop = drop_now(drop);/&kernel_begin();/'

# ---- one too many, one too few -----------------------------------------------------------------
mutant index-last-row cuda_point cuda_ops 's/last = min(first + PART_ROWS, dx.rows)/last = min(first + PART_ROWS, dx.rows - 1)/' relu
mutant index-store-behind shared:cuda_point cuda_ops 's/if (col + i < t.cols)/if (col + i <= t.cols)/' relu
mutant index-run-goes-on cuda_embed cuda_ops 's/bool goes_on = first > 0 \&\& /bool goes_on = first > CHUNK \&\& /' embed_grad
mutant index-next-chunk cuda_embed cuda_ops 's/int64_t c = blockIdx.x + 1;/int64_t c = blockIdx.x + 2;/' embed_grad
mutant index-panel cuda_linear cuda_ops 's/w\[(from + u) \* PANEL_WIDTH\]/w[(from + u + 1) * PANEL_WIDTH]/' linear
mutant few-rows-barrier cuda_few_rows cuda_ops 's/__syncthreads();//' linear
mutant few-rows-halves cuda_few_rows cuda_ops 's/t < 2 ? sums/t < 3 ? sums/' linear
mutant few-rows-edge cuda_few_rows cuda_ops 's/k >= r.cols/k > r.cols/' linear
mutant few-rows-limit cuda_few_rows cuda_few_rows 's/p->out.rows > d->few_rows/p->out.rows >= d->few_rows/'
mutant index-dropout shared:cuda_point cuda_ops 's/(row \* cols + col) >> 3/(row * cols + col + 8) >> 3/' relu
mutant index-loss-last cuda_loss cuda_ops 's/col + i < w.n_real ? v\[i\]/col + i <= w.n_real ? v[i]/' cross
mutant index-loss-behind cuda_loss cuda_ops 's/i < n ? v\[i\] : LOWEST/i <= n ? v[i] : LOWEST/' cross
mutant index-loss-target cuda_loss cuda_ops 's/target < col + 8/target < col + 7/' cross
mutant index-norm-last cuda_norm cuda_ops '/ norm_grad_rows(/,/^}/s/last = min(first + w.rows_per_part, w.dx.rows)/last = min(first + w.rows_per_part, w.dx.rows - 1)/' norm_grad
mutant index-activate-last cuda_activate cuda_ops 's/min(first + PART_ROWS, w.dout.rows)/min(first + PART_ROWS, w.dout.rows - 1)/' activate_grad
mutant index-activate-gate cuda_activate cuda_ops 's/tensor_columns(x, x.cols - cols, cols)/tensor_columns(x, cols \/ 8 * 8, cols)/' activate
mutant index-activate-bias cuda_activate cuda_ops 's/bias ? bias + cols : NULL/bias/' activate
mutant index-column-parts cuda_activate cuda_ops 's/blockIdx.y \* rows_per_part/blockIdx.y * PART_ROWS/' column_sums
mutant index-rotate-head cuda_activate cuda_ops 's/at.col - head \* eights \* 8/at.col/' rotate
mutant index-rotate-width cuda_activate cuda_ops 's/half % 8 ? ACCESS_ANY : //' rotate
mutant index-rotate-back cuda_activate cuda_ops 's/b\[k\] \* cosine\[k\] + w.direction \* a/b[k] * cosine[k] + a/' rotate
mutant index-norm-none cuda_norm cuda_ops 's/min(first + PART_ROWS, w.dx.rows)/min(first + PART_ROWS, w.dx.rows - 1)/' add_norm_grad
mutant index-position-row cuda_embed cuda_ops 's/w.encodings, position, col/w.encodings, position + 1, col/' embed
mutant index-ssru-first cuda_ssru cuda_ops 's/t > first ? state\[r + 1\] : 0/state[r + 1]/' ssru_grad
mutant index-ssru-ahead cuda_ssru cuda_ops 's/max(row - ROWS_AHEAD, first)/max(row - ROWS_AHEAD + 1, first)/' ssru_grad
mutant index-ssru-break cuda_ssru cuda_ops 's/if (row + r >= last)/if (row + r > last)/' ssru
mutant index-ssru-state cuda_ssru cuda_ops 's/if (from >= 0)/if (from > 0)/' ssru_step
mutant index-step-length cuda_decode cuda_ops 's/j < length\[row\]; h++/j <= length[row]; h++/' attention_step
mutant index-top-ties cuda_decode cuda_ops 's/a.x == b.x \&\& a.id < b.id/a.x == b.x \&\& a.id > b.id/' top_k
mutant index-top-bound cuda_decode cuda_ops 's/if (own < bound)/if (own <= bound)/' top_k
mutant index-attention-last-key cuda_attention cuda_ops 's/key >= n_k ||/key > n_k ||/' attention
mutant index-attention-causal cuda_attention cuda_ops 's/w.causal \&\& key > query)/w.causal \&\& key > query + 1)/' attention
mutant index-attention-dropout cuda_attention cuda_ops 's/key + t \/ 2 \* 8/key + t % 2 * 8/' attention
mutant index-grad-causal cuda_attention_grad cuda_ops 's/!w.causal || j <= i)/!w.causal || j < i)/' attention_grad
mutant index-grad-dropout cuda_attention_grad cuda_ops 's/keeps >> (16 \* half + in_tile)/keeps >> (16 * half + in_tile ^ 1)/' attention_grad
mutant epilogue-without-relu cuda_product cuda_ops 's/p->relu ? CUBLASLT_EPILOGUE_RELU_BIAS/p->relu ? CUBLASLT_EPILOGUE_BIAS/' linear
mutant epilogue-bias-alignment cuda_linear cuda_linear_bias 's/!access_is_aligned(p->bias)/false/'
mutant epilogue-twice cuda_linear cuda_ops '/if (apart) {/,/}/s/alone.relu = false/;/; /if (apart) {/,/}/s/alone.bias = NULL/;/' linear
mutant chip-without-tensor-cores cuda_dev cuda_old 's/d->tensor_cores = major >= 8/d->tensor_cores = true/'
mutant index-any-dropout cuda_attention_any cuda_ops 's/>> j % 8 \& 1/>> (j + 1) % 8 \& 1/' attention_grad

# ---- reductions ----------------------------------------------------------------------------------
mutant sum-gate cuda_activate cuda_ops 's/part + cols, cols, col, sum\[1\]/part + cols, cols, col, sum[0]/' activate_grad
mutant sum-rms-mean cuda_norm cuda_ops 's/mean = RMS ? 0 : /mean = /' norm
mutant sum-rms-grad cuda_norm cuda_ops 's/if (w.is_rms)/if (false)/' norm_grad
mutant sum-rms-grad-wide cuda_norm cuda_ops 's/w.is_rms ? 0 : warp_sum/warp_sum/' norm_grad
mutant sum-ssru-sentences cuda_ssru cuda_ops 's/sum += ssru_sentence_grad/sum = ssru_sentence_grad/' ssru_grad
mutant sum-ssru-carried cuda_ssru cuda_ops 's/later = gate \* s;/later = s;/' ssru_grad
mutant bias-top-k cuda_linear cuda_ops 's/packed, bias, false)/packed, NULL, false)/' linear_top_k
mutant sum-half-a-warp shared:cuda_point cuda_ops '/T warp_sum/,/^}/s/with = 16/with = 8/' sum_squares
mutant sum-replaces cuda_point cuda_ops 's/out\[col\] += sum;/out[col] = sum;/' relu
mutant sum-parts-twice cuda_point cuda_ops '/for (int64_t p = threadIdx.y; p < n_parts/s/p += 8/p += 4/' relu
mutant sum-of-one-warp shared:cuda_point cuda_ops '/int i = 0; i < THREADS \/ 32; i++/,/total += sums/s/i = 0;/i = 1;/' sum_squares
mutant greatest-without-sign cuda_linear cuda_ops 's/fabsf(tensor_load1(x, row, k))/tensor_load1(x, row, k)/' linear
mutant sum-norm-replaces cuda_norm cuda_ops 's/threadIdx.y\] += sum;/threadIdx.y] = sum;/' norm_grad
mutant sum-step-weights cuda_attention.cuh:cuda_decode cuda_ops 's/+ other->weights \* its/+ other->weights/' attention_step
mutant sum-any-groups cuda_attention_any cuda_ops '/void join_groups/,/^}/s/with < 32/with < 16/' attention_grad
mutant sum-attention-greatest cuda_attention cuda_ops 's/__shfl_xor_sync(ALL_LANES, greatest, 2)/__shfl_xor_sync(ALL_LANES, greatest, 1)/' attention
mutant sum-attention-turn cuda_attention_tiles.cuh:cuda_attention cuda_ops 's/by <= 2; by/by <= 1; by/' attention
mutant sum-grad-delta cuda_attention_grad cuda_ops 's/sum += __shfl_xor_sync(ALL_LANES, sum, 4);//' attention_grad
mutant sum-grad-carried cuda_attention_grad cuda_ops 's/s, query, key == 0);/s, query, true);/' attention_grad

# ---- missing order ---------------------------------------------------------------------------
mutant wait-for-a-copy cuda_dev cuda_memory 's/cuda_check(d, cudaEventSynchronize(d->stage\[i\].free), "waiting for a copy");//'
mutant event-not-recorded cuda_dev cuda_memory 's/cuda_check(d, cudaEventRecord(d->stage\[i\].free, d->stream), "recording an event");//'
mutant wait-for-sent cuda_dev cuda_step_sends 's/cuda_check(d, cudaStreamWaitEvent(d->stream, half->copy_event, 0), "waiting for an event");//'
mutant wait-for-used cuda_dev cuda_step_sends 's/cuda_check(d, cudaStreamWaitEvent(d->copies, d->swap_event, 0), "waiting for an event");//'
mutant wait-for-lane cuda_dev cuda_step_sends 's/cuda_check(d, cudaEventSynchronize(half->copy_event), "waiting for a copy");//'
mutant adam-rounds-before cuda_point cuda_step_rounds 's/bf16_pair(p.x, p.y),/bf16_pair(p.x, p.x),/'
mutant adam-changes-all cuda_point cuda_step_leaves 's/if (isnan(now.factor))/if (0)/'
mutant wait-for-results cuda_dev cuda_pinned '/void cuda_to_host/,/^}/s/cudaStreamSynchronize(d->stream)/cudaSuccess/'
mutant event-queue-follows cuda_queue nccl_sums '/^void cuda_queue_wait_for_ops/,/^}/s/order_streams(q.*//'
mutant event-ops-follow cuda_queue nccl_sums '/^void cuda_ops_wait_for_queue/,/^}/s/order_streams(q.*//'
mutant event-ops-follow-the-last cuda_queue nccl_training '/^void cuda_ops_wait_for_queue/,/^}/s/order_streams(q.*//'
mutant event-queue-follows-squares cuda_queue nccl_training '/^void cuda_queue_wait_for_ops/,/^}/s/order_streams(q.*//'
mutant error-feedback-not-kept cuda_compress nccl_sums 's/wire_store4(at.error_feedback, at.i, at.m, lost);/;/'
mutant error-feedback-not-fed-back cuda_compress nccl_sums 's/v\[k\] += error_feedback\[k\];/;/'
mutant sum-numbers-of-ranks cuda_queue nccl_training '/void queue_add_rows/,/^}/s/i < n; i++/i < n - 1; i++/'
mutant sum-squares-replaced cuda_point nccl_training 's/\*out += sum;/*out = sum;/'
mutant adam-without-decay cuda_point cuda_ops 's/now.decay = s.decay;/now.decay = 0;/' adam
mutant adam-without-tokens cuda_point cuda_ops 's/now.factor = adam_factor(&s);/s.tokens = NULL, now.factor = adam_factor(\&s);/' adam
mutant barrier-wire-numbers cuda_compress cuda_wire '/y\[at.i + k\] = v\[k\];/,/__syncthreads/s/__syncthreads();//'
mutant barrier-wire-codes cuda_compress cuda_wire '/codes\[WIRE_BLOCK + threadIdx.x\] = 0;/,/__syncthreads/s/__syncthreads();//'
mutant sum-wire-lanes cuda_compress cuda_wire 's/k < WIRE_LANES; k++/k < WIRE_LANES - 1; k++/'
mutant barrier-int8-lanes cuda_compress cuda_wire '/lanes->sum\[t\] = most;/,/__syncthreads/s/__syncthreads();//'
mutant barrier-int8-scale cuda_compress cuda_wire '/levels.split = has_scale/,/return lanes/s/__syncthreads();//'
mutant sum-int8-lanes cuda_compress cuda_wire 's/k = 1; k < WIRE_LANES; k++/k = 1; k < WIRE_LANES - 1; k++/'
mutant index-int8-last cuda_compress cuda_wire 's/t < WIRE_LANES \&\& i < m;/t < WIRE_LANES \&\& i < m - 1;/'
mutant int8-without-sign cuda_compress cuda_wire 's/(float)(signed char)code/(float)code/'
mutant index-wire-own cuda_compress nccl_sums 's/y >= p.own_piece ? y + 1 : y/y > p.own_piece ? y + 1 : y/'

# ---- algorithms of products ----------------------------------------------------------------
mutant choice-not-measured cuda_product cuda_choices_are_measured 's/measures ? CANDIDATES : 1/1/'
mutant choice-adds-often cuda_product cuda_choices_are_measured 's/other ? other : p->out.data/p->out.data/'
mutant choice-forgotten cuda_product cuda_choices_of_many 's/(int)(choice - all->choice) + 1), MAX_CHOICES)/\0 % MAX_CHOICES/'
mutant choice-not-loaded cuda_choices cuda_choices_are_kept 's/all->n = count;/all->n = 0;/'
mutant choice-not-checked cuda_product cuda_choices_that 's/(!choice->is_loaded || is_choice_accepted(all, \&upper, choice))/true/'
mutant choice-hash cuda_choices cuda_choices_that 's/return memcmp(\*end, last, LAST) == 0;/return true;/'
mutant choice-of-first-shape cuda_product cuda_choices_by_shape 's/n = ask_heuristic(all, \&upper, \&k,/n = ask_heuristic(all, p, \&k,/'
mutant split-any-sum cuda_product cuda_products_of_ones 's/k.may_split = inner % SPLIT_MULTIPLE == 0/k.may_split = true/'
mutant chip-without-kernels cuda_dev cuda_absent 's/!d->fault.code \&\& !cuda_kernels_fit()/false/'
mutant choice-library cuda_choices cuda_choices_of 's/d->products->blas->GetVersion()/(size_t)0/'

# ---- CUDA graphs -------------------------------------------------------------------------
mutant graph-memory-unknown cuda_dev cuda_memory_of_graphs 's/multiply_saturated(limits->step_kernels, GRAPH_KERNEL_BYTES)/0/'
mutant graph-keeps-others cuda_graph cuda_graphs_fill 's/		discard_other_graphs(d);/		;/'
mutant graph-one-try cuda_graph cuda_graph_without '/discard_other_graphs(d);/,/^}/s/cudaGraphInstantiate(\&piece, captured, 0)/cudaErrorMemoryAllocation/'
mutant graph-goes-on cuda_graph cuda_graphs '/^void cuda_graph_pause/,/^}/s/graph_end_piece(d, d->graphs->current);/graph_end_piece(d, d->graphs->current), graph_begin_piece(d);/; /^void cuda_graph_resume/,/^}/s/graph_begin_piece(d);/;/'
mutant graph-key-cache eval/decode/incremental cuda_graphs_decode \
	'/ step_graph_key(/,/^}/s/(uintptr_t)s->cache,/0,/; / step_graph_key(/,/^}/s/(uint64_t)s->cache_rows,/0,/'
mutant graph-key-areas eval/decode/incremental cuda_graphs_decode \
	'/ step_graph_key(/,/^}/s/(uintptr_t)s->block,/0,/; / step_graph_key(/,/^}/s/(uint64_t)s->cap_rows,/0,/; / step_graph_key(/,/^}/s/(uint64_t)s->stride,/0,/; / step_graph_key(/,/^}/s/(uint64_t)s->cross_stride,/0,/'
mutant graph-key-best eval/decode/incremental cuda_graphs_decode '/ step_graph_key(/,/^}/s/(uint64_t)k,/0,/'
mutant graph-parents eval/decode/incremental cuda_graphs_true 's/step > 0 ? rows->parent\[r\] : 0/0/'
mutant graph-key-rows eval/decode/incremental cuda_graphs_decode '/ step_graph_key(/,/^}/s/(uint64_t)s->rows,/0,/'
mutant graph-pad-slot eval/decode/incremental cuda_graphs_decode 's/: spare,/: slot->first_row,/'
mutant join-sources eval/decode/incremental cuda_graphs_join 's/(int32_t \*)s->a.sources + first \* s->cross_stride/(int32_t *)s->a.sources/'
mutant head-in-place train/model/model_head cuda_training_with_other 's/in_place ? dlogits\[copy\] : /in_place \&\& p->copies > 2 ? dlogits[copy] : /'
mutant graph-pad-room eval/decode/incremental cuda_graphs_decode 's/incremental_reserve_cache(s, s->rows, e)/incremental_reserve_cache(s, rows->n, e)/'
mutant graph-length eval/decode/incremental cuda_graphs_true 's/\[STEP_INPUT_LENGTH\] = step + 1/[STEP_INPUT_LENGTH] = step + 1 + (step > 2)/'
mutant wait-for-host-copy cuda_dev cuda_graphs_decode '/^int cuda_to_host_and_sync/,/^}/s/rc = cuda_sync(d, e);/rc = 0;/'
mutant rng-step-point shared:cuda_point cuda_ops 's/d.key = dropout_key(d.key, d.rng_step);//' relu_dropout
mutant rng-step-activate cuda_activate cuda_ops 's/w.drop = drop_now(w.drop);//' activate
mutant rng-step-norm cuda_norm cuda_ops 's/w.drop = drop_now(w.drop);//' add_norm
mutant rng-step-embed cuda_embed cuda_ops 's/drop = drop_now(drop);//' embed
mutant rng-step-attention cuda_attention cuda_ops 's/drop_now(w.drop).key/w.drop.key/' attention
mutant rng-step-attention-grad cuda_attention_grad cuda_ops 's/w.drop = drop_now(w.drop);//' attention_grad
mutant rng-step-attention-any cuda_attention_any cuda_ops 's/w.drop = drop_now(w.drop);//' attention
mutant target-of-nothing cuda_loss cuda_ops 's/if (target < 0)/if (target < -1)/' cross
mutant pairs-other-row cuda_loss cuda_ops 's/q \* (r + s.qp) + p - q/q * (r + s.pq) + p - q/' pairs
mutant pairs-padding cuda_loss cuda_ops 's/store_zero_pair<A>(w, row);/store_zero_loss<A>(w.a, row);/' pairs
mutant copies-key train/model/model_batch cuda_training_with_r 's/target = copy \* x->target/target = 0/'
mutant graph-played-once cuda_graph cuda_graphs_end 's/if (g \&\& piece < g->n)/if (g \&\& piece < 1)/'
mutant graph-key-slot train/model/model_backward cuda_graphs_train 's/pack_two_ints(x->sentences, p->m->batch_slot)/pack_two_ints(x->sentences, 0)/'
mutant graph-key-extent train/model/model_backward cuda_graphs_train 's/pack_two_ints(x->source, x->target)/0/; s/pack_two_ints(x->max_source, x->max_target)/0/'
mutant graph-key-sentences train/model/model_backward cuda_graphs_train 's/pack_two_ints(x->sentences, p->m->batch_slot)/pack_two_ints(0, p->m->batch_slot)/'
mutant graph-key-ready train/model/model_backward cuda_graphs_end 's/how->ready != NULL,/0,/'
mutant graph-pads-cost train/model/model_batch cuda_graphs_train 's/fill_padded_ids(to->target_out + target, b->target_out, b->n_target, x->target, -1)/fill_padded_ids(to->target_out + target, b->target_out, b->n_target, x->target, 5)/'
mutant graph-pads-join train/model/model_batch cuda_graphs_train 's/to\[n + 1\] = MIN(.*, rows);/to[n + 1] = rows;/'
[ -z "${CHECK:-}" ] || exit $((failed > 0))
tally
