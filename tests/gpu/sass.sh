#!/bin/sh
# sass.sh - looks into the machine code of the GPU kernels that multiply matrices. Tensor cores must be used, registers not be
# spilt, and a multiply-add must not cost more instructions than it did.
#
#	sh tests/gpu/sass.sh [FOLDER]		a build with CUDA, sm_90 among its chips (default: this folder)
#	TABLE=1 sh tests/gpu/sass.sh FOLDER	the table of share/doc/gpu/kernels.md instead
#
# Needs cuobjdump ($CUOBJDUMP) and nvdisasm ($NVDISASM), of the CUDA toolkit or of Triton's wheel; no GPU. Last line: the tally.
#
# Counted is the shortest loop with all of the multiply-adds by tensor cores, or the innermost one with the most other ones:
#
#	instructions	of a thread in the loop		mma		of them those of tensor cores
#	each		instructions for each multiply-add of a thread; an HMMA.16816 does 64 of a thread (few_rows uses half
#			of its columns: 32), an FFMA or FADD 1
#	ld16 (other)	reads of global memory, of 16 bytes (of others)	shared	reads of shared memory
#	local		accesses to local memory, in the whole kernel	registers, warps: resident warps of a Hopper multiprocessor
set -eu
here=$(cd "$(dirname "$0")" && pwd)
objects=${1:-.}/kernels/cuda
CUOBJDUMP=${CUOBJDUMP:-$(command -v cuobjdump || true)}
NVDISASM=${NVDISASM:-$(command -v nvdisasm || true)}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=tests/helpers.sh
. "$here/../helpers.sh"

if [ -z "$CUOBJDUMP" ] || [ -z "$NVDISASM" ] || ! "$CUOBJDUMP" -lelf "$objects/cuda_few_rows.o" 2>&1 | grep -q sm_90; then
	skip "machine code of the GPU kernels" "it needs cuobjdump, nvdisasm, and a build with CUDA for sm_90"
	tally
	exit
fi

# KERNEL, threads of a block, the most instructions for a multiply-add, in hundredths
cat >"$tmp/kernels" <<'END'
cuda_few_rows few_rows<bf16,1> 256 51
cuda_few_rows few_rows<bf16,4> 256 26
cuda_few_rows few_rows<f32,1> 256 52
cuda_few_rows few_rows<f32,4> 256 20
cuda_attention attention_tiles<bf16,1> 32 33
cuda_attention attention_tiles<bf16,4> 128 33
cuda_attention_grad attention_grad_tiles<bf16,1> 32 53
cuda_attention_grad attention_grad_tiles<bf16,4> 128 38
cuda_decode attention_step<bf16,8,4> 128 -
cuda_decode attention_step<bf16,8,1> 32 -
cuda_decode top_k<f32> 256 -
cuda_linear linear_rows<bf16> 128 -
cuda_linear linear_rows<int8> 128 -
cuda_linear product_fallback 256 -
END

# look FILE : a line for each kernel of an object file: its name and the figures of the head, "|" between them
look() {
	(cd "$tmp" && rm -f ./*.cubin && "$CUOBJDUMP" -xelf sm_90 "$1" >/dev/null)
	"$CUOBJDUMP" -arch sm_90 -res-usage "$1" 2>&1 | awk '/ Function / { sub(/:$/, "", $2); kernel = $2 }
		/REG:/ { sub(/REG:/, "", $1); sub(/SHARED:/, "", $3); print kernel, $1, $3 }' >"$tmp/resources"
	for cubin in "$tmp"/*.cubin; do
		"$NVDISASM" -c "$cubin"
	done | awk -v resources="$tmp/resources" '
		function finish(  i, j, k, m, f, best, most, short) {
			if (kernel == "") return
			best = 0
			for (i = 1; i <= loops; i++) {
				m = f = 0
				for (j = from[i]; j <= to[i]; j++) { m += is_mma[j]; f += is_add[j] }
				for (j = 1; j <= loops; j++) if (j != i && from[j] >= from[i] && to[j] <= to[i]) f = 0
				k = m ? (kernel ~ /few_rows/ ? 32 : 64) * m : mma ? 0 : f
				if (k && (!best || k > most || (k == most && to[i] - from[i] < short))) { most = k; best = i; short = to[i] - from[i] }
			}
			if (!best) most = short = 0
			m = big = small = shared = 0
			if (best) for (j = from[best]; j <= to[best]; j++) {
				m += is_mma[j]; big += is_big[j]; small += is_small[j]; shared += is_shared[j]
			}
			printf "%s|%d|%d|%s|%d (%d)|%d|%d|%d|%d|%d\n", kernel, short + 1, m, (most > 0 ? sprintf("%.2f", (short + 1) / most) : "-"),
				big, small, shared, local, mma, registers[kernel], bytes[kernel]
		}
		BEGIN { while ((getline line <resources) > 0) { split(line, r, " "); registers[r[1]] = r[2]; bytes[r[1]] = r[3] } }
		/^\.text\./ { finish(); kernel = substr($1, 7); sub(/:$/, "", kernel); n = loops = local = mma = 0; split("", at); split("", is_mma)
			split("", is_add); split("", is_big); split("", is_small); split("", is_shared); next }
		/^\.L_x_[0-9]+:/ { name = $1; sub(/:$/, "", name); at[name] = n + 1; next }
		/^ +\/\*[0-9a-f]+\*\// {
			n++
			is_mma[n] = / [HI]MMA\./ || / [HQI]GMMA/; mma += is_mma[n]
			is_add[n] = / FFMA/ || / IDP/ || / FADD/
			is_big[n] = / LDG(STS)?\.E[.A-Z]*\.128/; is_small[n] = / LDG(STS)?\./ && !is_big[n]
			is_shared[n] = / LDS/
			local += / LDL/ || / STL/
			if (match($0, /BRA.*\.L_x_[0-9]+/)) {
				name = substr($0, RSTART, RLENGTH); sub(/.*\.L_x_/, ".L_x_", name)
				if (name in at && at[name] < n) { from[++loops] = at[name]; to[loops] = n }
			}
		}
		END { finish() }' >"$tmp/figures"
	cut -d '|' -f 1 "$tmp/figures" | c++filt | sed -f "$here/kernel_names.sed" | tr -d ' ' | paste -d '|' - "$tmp/figures"
}

file=
while read -r name kernel threads most; do
	if [ "$name" != "$file" ]; then
		look "$(cd "$objects" && pwd)/$name.o" >"$tmp/of_file"
		file=$name
	fi
	grep -F "$kernel|" "$tmp/of_file" | head -n 1 | awk -F '|' -v t="$threads" -v most="$most" -v kernel="$kernel" 'BEGIN { OFS = "|" } {
		w = t / 32; each = int(($10 * 32 + 255) / 256) * 256
		b = int(int(65536 / each) / w); if (b > 32) b = 32; if (b * w > 64) b = int(64 / w)
		if ($11 > 0 && int(233472 / $11) < b) b = int(233472 / $11)
		print kernel, $3, $4, $5, $6, $7, $8, $9, $10, b * w, most }' >>"$tmp/table"
done <"$tmp/kernels"

if [ -n "${TABLE:-}" ]; then
	echo "| kernel | instructions | mma | each | ld16 (other) | shared | local | registers | warps |"
	echo "|---|---|---|---|---|---|---|---|---|"
	awk -F '|' '{ gsub(/,/, ", ", $1); gsub(/</, "\\&lt;", $1); gsub(/>/, "\\&gt;", $1)
		printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", $1, $2, $3, $4, $5, $6, $7, $9, $10 }' "$tmp/table"
	exit
fi
while IFS='|' read -r kernel _ _ each _ _ local mma _ _ most; do
	same "$kernel: local memory" "$local" 0
	[ "$most" != - ] || continue
	if [ "$mma" -gt 0 ]; then ok "$kernel: tensor cores"; else not_ok "$kernel: tensor cores" "no HMMA"; fi
	if awk -v x="$each" -v most="$most" 'BEGIN { exit !(x > 0 && 100 * x <= most) }'; then
		ok "$kernel: instructions for a multiply-add"
	else
		not_ok "$kernel: instructions for a multiply-add" "$each, expected at most 0.$most"
	fi
done <"$tmp/table"
same "kernels that were found" "$(wc -l <"$tmp/table")" "$(wc -l <"$tmp/kernels")"
tally
