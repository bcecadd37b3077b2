#!/bin/sh
# layers.sh - who may include whom. The table is the architecture.
set -eu
cd "${srcdir:-.}"
status=0

# may FOLDER ALLOWED... : files of FOLDER include only from these.
may() {
	from=$1; shift
	ok=$(printf '%s/|' "$@"); ok=${ok%|}
	if grep -rnE '^[[:space:]]*#[[:space:]]*include "' "$from" --include='*.[ch]' --include='*.cu' --include='*.cuh' |
	    grep -vE "include \"($ok|config\.h)"; then
		echo "^ $from/ may include only: $*"; status=1
	fi
}
# only HEADER FILES... : nobody else includes this system header.
only() {
	header=$1; shift
	pat=$(printf '%s|' "$@"); pat=${pat%|}
	if grep -rnE "include <$header" share kernels data train eval tui --include='*.[ch]' --include='*.cu' --include='*.cuh' |
	    grep -vE "^($pat)"; then
		echo "^ only $* may include <$header>"; status=1
	fi
}

may share/base share/base
may kernels    kernels share/base
may data       data share/base
may train      train data kernels share/base
may train/launch train/launch train/common share/base
may train/common train/common share/base
may eval       eval train data kernels share/base
may tui        tui data share/base

# The launcher is a program of its own: nobody else builds on it.
if grep -rn '#include "train/launch/' share kernels data train eval tui --include='*.[ch]' | grep -v '^train/launch/'; then
	echo "^ only train/launch/ may include train/launch/"; status=1
fi

only curses     tui/term
only mpi.h      train/comm/comm_mpi.c
only nccl       train/comm_nccl
only cuda       kernels/cuda
only oneapi     kernels/cpu/cpu_matmul.c
only curl       data/fetch
only archive    data/source/archive.c
only zlib.h     data/source/inflate_zlib.c
only isa-l      data/source/inflate_isal.c
only pcre2      data/text/rewrite.c
only openssl    share/base/hash.c
only unicode    data/subword/sp_unicode.c

# never WORDS : functions nobody calls, because they are too easy to misuse.
never() {
	if grep -rnE "(^|[^_[:alnum:]])($1)[[:space:]]*\\(" share kernels data train eval tui --include='*.[ch]' --include='*.cu'; then
		echo "^ banned: $1"; status=1
	fi
}
never 'strcpy|strcat|sprintf|vsprintf|strtok|gets|atoi|atol|atof|system'

# What no local.mk names is missing from the distribution, and only "make distcheck" would notice.
files=$(find share kernels data train eval tui tests -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' -o -name '*.def')
for file in $files; do
	if ! grep -qF "${file##*/}" "${file%%/*}/local.mk" "$(dirname "$file")/local.mk" Makefile.am 2>/dev/null; then
		echo "$file: no local.mk names it"; status=1
	fi
done
exit $status
