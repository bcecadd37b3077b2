#!/bin/sh
# pack.sh - puts into one folder what hour.sh needs on a machine that has only a GPU driver, cuBLASLt, Python and bash.
#
#	sh tests/gpu/pack.sh [--simulated] [FOLDER]	default: gpu-pack/; FOLDER.tar.xz holds the same
#
# It builds for one chip, without the optional libraries, in $BUILD (gpu-build/), and prepares real text: $WERKBANK_TEST_DATA, else
# ../shared/data beside the source; without it the built-in corpus. The folder gets the stripped programs (bin); the libraries that
# they need (lib), except glibc, libstdc++ and libgcc, which PyTorch needs too; the prepared text (corpora); the PyTorch comparison
# (peers); and hour.sh. The archive has at most 60 MB. glibc 2.34.
#
#	--simulated	programs with the simulated GPU, and the built-in corpus, for a rehearsal without a GPU
#	NVCC_GENCODE	the chip (-gencode=arch=compute_90,code=sm_90)		JOBS	of make (all cores)
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
simulated=
if [ "${1:-}" = --simulated ]; then simulated=1; shift; fi
pack=${1:-gpu-pack}
build=${BUILD:-$here/gpu-build}
DATA=${WERKBANK_TEST_DATA:-$here/../shared/data}
MOST_MB=60
MOST_GLIBC=34	# 2.34: what the machine has at least

fail() { echo "pack.sh: $*" >&2; exit 1; }

[ -x "$here/configure" ] || (cd "$here" && ./autogen.sh) || fail "autogen.sh failed"
mkdir -p "$build" "$pack"
pack=$(cd "$pack" && pwd)
build=$(cd "$build" && pwd)
[ -z "$(ls "$pack")" ] || [ -f "$pack/about" ] || fail "$pack holds other files: name an empty folder"

# configure refuses a tree that was configured in place: build from a copy without what that left
source_tree=$here
if [ -e "$here/config.status" ]; then
	source_tree=$build/source
	mkdir -p "$source_tree"
	(cd "$here" && find . \( -name .git -o -name 'build*' -o -name 'gpu-*' -o -name werkbank.d -o -name .deps \) -prune -o -type f \
		! -name '*.[oa]' ! -name Makefile ! -name config.status ! -name config.h ! -name stamp-h1 -size -4096k -print |
		tar -cf - -T -) | tar -xf - -C "$source_tree" || fail "$here cannot be copied to $source_tree"
fi

# ---- programs --------------------------------------------------------------------------------
cd "$build"
if [ ! -f config.status ]; then
	cuda=--with-cuda
	[ -z "$simulated" ] || cuda=--without-cuda
	"$source_tree/configure" -q "$cuda" --without-mpi --without-nccl CFLAGS="-O2 -g0" CXXFLAGS="-O2 -g0" \
		NVCC_GENCODE="${NVCC_GENCODE:--gencode=arch=compute_90,code=sm_90}"
fi
grep -q 'HAVE_CUDA 1' config.h || [ -n "$simulated" ] || fail "$build is configured without CUDA"
# names in the build folder, and in the pack
if [ -n "$simulated" ]; then
	programs="tests/cudasim/werkbank-train tests/cudasim/werkbank-eval tests/cudasim/bench_ops tests/cudasim/bench_train
		tests/cudasim/bench_decode tests/cuda_run"
else
	programs="werkbank-train werkbank-eval tests/bench_ops tests/bench_train tests/bench_decode tests/gpu_run"
fi
# The GPU code of a program is 3 MB, or 0.5 MB if the compiler can make it smaller.
if [ -z "$simulated" ] && "$(sed -n 's/^NVCC = //p' Makefile)" --help | grep -q '^--compress-mode .*size'; then
	set -- NVCCFLAGS=--compress-mode=size
else
	set --
fi
# shellcheck disable=SC2086 # a list of words
make "$@" -j"${JOBS:-$(nproc)}" werkbank werkbank-data werkbank-launch $programs >make.log 2>&1 || { tail make.log; fail "make failed: see $build/make.log"; }
rm -rf "${pack:?}"/*
echo "Packing did not end: run pack.sh again." >"$pack/about"
mkdir -p "$pack/bin" "$pack/lib" "$pack/peers" "$pack/share" "$pack/corpora"
for program in $programs; do
	name=$(basename "$program")
	[ "$name" != cuda_run ] || name=gpu_run
	strip -o "$pack/bin/$name" "$program"
done

# ---- libraries -------------------------------------------------------------------------------
for program in "$pack"/bin/*; do ldd "$program"; done | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u |
	grep -vE '/(ld-linux|libc|libm|libdl|libpthread|librt|libresolv|libutil|libstdc\+\+|libgcc_s)[.-]' | while read -r library; do
	strip -o "$pack/lib/$(basename "$library")" "$library" 2>/dev/null || cp "$library" "$pack/lib/"
done
newest=$(for file in "$pack"/bin/* "$pack"/lib/*; do objdump -T "$file"; done | grep -o 'GLIBC_2\.[0-9]*' | cut -d. -f2 | sort -n | tail -n 1)
[ "$newest" -le $MOST_GLIBC ] || fail "the programs need glibc 2.$newest, which is newer than 2.$MOST_GLIBC: build on an older system"

# ---- text --------------------------------------------------------------------------------------
text=$build/gpu-text
mkdir -p "$text"
if [ -z "$simulated" ] && [ -f "$DATA/mixed/train.en.xz" ]; then
	source="real text, $(basename "$DATA")/mixed"
	for side in en de; do
		[ -f "$text/train.$side" ] || { xz -dc "$DATA/mixed/train.$side.xz" >"$text/train.tmp" && mv "$text/train.tmp" "$text/train.$side"; } ||
			fail "cannot unpack $DATA/mixed/train.$side.xz"
		cp -f "$DATA/mixed/test.$side" "$text/"
	done
	{
		echo '[data]'
		for set in train test; do	# without a development set no run stops to evaluate
			printf '%s_source = %s\n%s_target = %s\n' $set "$text/$set.en" $set "$text/$set.de"
		done
		echo 'merges = 32000'
	} >"$text/text.ini"
else
	source='the built-in corpus'
	printf '[data]\ndemo_pairs = 400\nmerges = 60\n' >"$text/text.ini"
fi
WERKBANK_SHARE="$here/share" ./werkbank prep -q --force -C "$text" "$text/text.ini" || fail "cannot prepare the text"
(cd "$text/corpora" && tar -cf - --exclude=work --exclude=lock --exclude=ledger.tsv text) | (cd "$pack/corpora" && tar -xf -)

if [ "$source" = 'the built-in corpus' ]; then	# two sentences to evaluate: a processor is slow
	for file in "$pack"/corpora/text/dev.?? "$pack"/corpora/text/test.??; do
		head -n 2 "$file" >"$file.tmp" && mv "$file.tmp" "$file"
	done
fi

# ---- the rest ----------------------------------------------------------------------------------
cp -r "$here/share/lang" "$here/share/recipes" "$pack/share/"
cp "$here/tests/peers/pytorch_train.py" "$pack/peers/"
cp "$here/tests/gpu/hour.sh" "$pack/"
sed -n 's/^OP(\([a-z_]*\),.*/\1/p' "$here/kernels/ops/ops.def" >"$pack/ops"
grep -aoE 'libcublasLt\.so\.[0-9]+' "$pack/bin/werkbank-train" | head -n 1 >"$pack/cublaslt" || true
echo "Packed from commit $(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown), $source." >"$pack/about"
rm -f "$pack.tar.xz"
tar -C "$(dirname "$pack")" -cf - "$(basename "$pack")" | xz -T0 -2 >"$pack.tar.xz" || fail "cannot write $pack.tar.xz"
mb=$(($(wc -c <"$pack.tar.xz") / 1024 / 1024))
[ "$mb" -le $MOST_MB ] || fail "$pack.tar.xz has $mb MB, more than $MOST_MB"
echo "$pack: $(($(du -sk "$pack" | cut -f1) / 1024)) MB, $mb MB as $pack.tar.xz; needs glibc 2.$newest, $(cat "$pack/cublaslt"), bash; $source"
