#!/bin/sh
# gpu_table.sh - a table of all GPU kernels: registers, shared memory, spills, occupancy on a Hopper multiprocessor, and counts
# of some instructions.
#
#	sh tests/cudasim/gpu_table.sh >share/doc/gpu/kernels.md		no GPU needed; minutes of compiling; the loops of products at
#									its end are from tests/gpu/sass.sh
#	sh tests/cudasim/gpu_table.sh 90				for this chip only; FILES=kernels/cuda/cuda_point.cu: only this file
#
# Needs nvcc ($NVCC), and nvdisasm ($NVDISASM) for some columns, which are "-" without it.
#
#	registers, stack, spills   of a thread, from ptxas; stack and spills in bytes
#	shared                     bytes of static shared memory of a block, from ptxas
#	threads, warps             threads of a block at launch; resident warps of a multiprocessor, at most 64
#	ld128, st128               instructions that read or write 16 bytes of global memory; other sizes in brackets
#	mma                        instructions of the tensor cores
#	local                      accesses to local memory: spills, and arrays with computed indices
#	sm_80, …                   registers on other chips that this nvcc knows, + bytes of spills; kernels that need
#	                           tensor cores for bf16 are empty before sm_80
set -eu
cd "$(dirname "$0")/../.."
NVCC=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
NVDISASM=${NVDISASM:-$(command -v nvdisasm || true)}
chip=${1:-90}
others=
[ $# -gt 0 ] || for n in 70 75 80 86 89; do
	! "$NVCC" --list-gpu-code | grep -qx "sm_$n" || others="$others $n"
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# threads_of KERNEL : threads of a block, as in the launch; default 256
threads_of() {
	case $1 in
	attention*tiles*1\>) echo 32; return ;;
	attention*tiles*2\>) echo 64; return ;;
	attention*tiles*4\>) echo 128; return ;;
	esac
	case ${1%%<*} in
	attention_*|copy_rows|step_weights|*_pieces|ssru_*) echo 128 ;;
	norm_grad_rows) echo 64 ;;	# with 512 columns
	queue_add_rows) echo 32 ;;
	sum_rows) echo 512 ;;
	loss_in_registers) echo 512 ;;
	norm_add_sums) echo 1024 ;;
	embed_rows|fill_frequencies|pack_outputs|make_input|linear_rows|embed_grad_*) echo 128 ;;
	*) echo 256 ;;
	esac
}

# compile SOURCE CHIP CUBIN : print for each kernel its name, registers, shared memory, stack, spills
compile() {
	"$NVCC" -std=c++17 -O3 -arch="sm_$2" -cubin -Xptxas -v -I. -D_GNU_SOURCE -o "$3" "$1" 2>"$tmp/log"
	awk '
	/Compiling entry function/ { split($0, q, "'\''"); kernel = q[2] }
	/bytes stack frame/ { stack[kernel] = $1; spill[kernel] = $5 + $9 }
	/Used [0-9]+ registers/ {
		for (i = 1; i <= NF; i++) {
			if ($i == "registers,") r[kernel] = $(i - 1)
			if ($i ~ /^smem/) s[kernel] = $(i - 2)
		}
		print kernel, r[kernel], s[kernel] + 0, stack[kernel] + 0, spill[kernel] + 0
	}' "$tmp/log"
}

echo "# Kernels on sm_$chip"
echo
echo "Made by \`tests/cudasim/gpu_table.sh\` with $("$NVCC" --version | sed -n 's/.*release \([0-9.]*\).*/nvcc \1/p'); the head of that script explains the columns."
echo
head='' rule=''
for n in $others; do head="$head sm_$n |" rule="$rule---|"; done
echo "| file | kernel | registers | shared | stack | spills | threads | warps | ld128 (other) | st128 (other) | mma | local |$head"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|$rule"
: >"$tmp/spilt"
for source in ${FILES:-kernels/cuda/cuda_*.cu}; do
	name=$(basename "$source" .cu)
	[ "$name" != cuda_blas ] || continue
	compile "$source" "$chip" "$tmp/$name.cubin" >"$tmp/kernels"
	for n in $others; do compile "$source" "$n" "$tmp/other.cubin" >"$tmp/sm_$n"; done
	: >"$tmp/sass"
	[ -z "$NVDISASM" ] || "$NVDISASM" -c "$tmp/$name.cubin" >"$tmp/sass"
	while read -r kernel registers shared stack spills; do
		plain=$(echo "$kernel" | c++filt | sed -f tests/gpu/kernel_names.sed)
		threads=$(threads_of "$plain")
		counts=$(awk -v kernel="$kernel" '
			/^\.text\./ { on = $0 == ".text." kernel ":" }
			on && /LDG\.E/ { if (/LDG\.E[.A-Z]*\.128/) a++; else b++ }
			on && /STG\.E/ { if (/STG\.E[.A-Z]*\.128/) c++; else d++ }
			on && /HMMA|IMMA|QGMMA|HGMMA/ { m++ }
			on && /LDL|STL/ { l++ }
			END { printf "%d (%d) | %d (%d) | %d | %d", a, b, c, d, m, l }' "$tmp/sass")
		[ -n "$NVDISASM" ] || counts='- | - | - | -'
		awk -v r="$registers" -v s="$shared" -v t="$threads" 'BEGIN {
			w = t / 32; each = int((r * 32 + 255) / 256) * 256	# registers of a warp
			b = int(int(65536 / each) / w); if (b > 32) b = 32
			if (b * w > 64) b = int(64 / w)
			if (s > 0 && int(233472 / (s + 1024)) < b) b = int(233472 / (s + 1024))
			printf "%d", b * w }' >"$tmp/warps"
		rest=
		for n in $others; do
			rest="$rest $(awk -v kernel="$kernel" '$1 == kernel { print $2 ($5 ? " + " $5 : "") }' "$tmp/sm_$n") |"
		done
		echo "| $name | $plain | $registers | $shared | $stack | $spills | $threads | $(cat "$tmp/warps") | $counts |$rest"
		case "$spills$rest" in 0*+*|[1-9]*) echo "$plain" >>"$tmp/spilt" ;; esac
	done <"$tmp/kernels"
done
echo
if [ -s "$tmp/spilt" ]; then
	echo "Registers are spilt by: $(paste -sd , "$tmp/spilt" | sed 's/,/, /g')."
else
	echo "No kernel spills a register$([ -z "$others" ] || echo " on any of these chips")."
fi
