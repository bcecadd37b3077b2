#!/bin/bash -eu
# build.sh - OSS-Fuzz calls it in the source tree: one program for all targets, under a name for each target.
# $CC, $CFLAGS, $LIB_FUZZING_ENGINE, $OUT: see OSS-Fuzz. libfuzzer.c finds the target by the program's name.
./autogen.sh
./configure CC="$CC" CXX="$CXX" CFLAGS="$CFLAGS" LDFLAGS="${LDFLAGS:-} $CFLAGS" --without-cuda --without-mpi --without-nccl \
	--without-curses --disable-vector-variants --enable-asserts
make -j"$(nproc)" tests/fuzz_search FUZZ_ENGINE="$LIB_FUZZING_ENGINE"
# shared libraries that the image that runs the targets lacks
mkdir -p "$OUT/lib"
ldd tests/fuzz_search | awk '/=> \// { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux)[.-]' |
	xargs -r -I{} cp {} "$OUT/lib/"
patchelf --set-rpath '$ORIGIN/lib' tests/fuzz_search
for corpus in tests/fuzz/corpus/*/; do
	target=$(basename "$corpus")
	cp tests/fuzz_search "$OUT/fuzz_$target"
	zip -qj "$OUT/fuzz_${target}_seed_corpus.zip" "$corpus"*
	sh tests/fuzz/dictionary.sh . "$target" >"$OUT/fuzz_$target.dict"
	[ -s "$OUT/fuzz_$target.dict" ] || rm "$OUT/fuzz_$target.dict"
done
# tables that readers load (WERKBANK_SHARE), and the small model of the targets serve and terms
cp -r share "$OUT/share"
mkdir -p "$OUT/tests/golden/release"
cp -r tests/golden/release/run "$OUT/tests/golden/release/run"
