#!/bin/sh
# front_ends.sh - costs of the workbench and of other terminal programs, on a terminal of the same size: bytes and CPU
# time a second, memory. Run in a build folder after "make tests/bench_tui".
#
# usage: front_ends.sh [ROWS COLS SECONDS]
#
# Peers that are installed are measured: htop, btop (both once a second), nvtop. nvtop (or NVTOP=PATH) is given eight
# made-up GPUs that change each second: tests/train/fake_nvml.c, which the workbench's own tests use, and nvtop_nvml.c.
set -eu
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
rows=${1:-40} cols=${2:-120} seconds=${3:-20}
size="--rows $rows --cols $cols --seconds $seconds"
here=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-peers-XXXXXX")
trap 'rm -rf "$here"' EXIT
bench=$PWD/tests/bench_tui

echo "== werkbank, 8 hosts of 8 GPUs"
$bench $size
echo "== werkbank, 1 host of 8 GPUs"
$bench $size --hosts 1 | grep -v '^draw\|^first\|^open'
if command -v htop >/dev/null; then
	echo "== $(htop --version | head -n 1)"
	$bench $size --peer "exec env HOME=$here htop -d 10" --name htop
fi
if command -v btop >/dev/null; then
	mkdir -p "$here/btop"
	printf 'update_ms = 1000\n' >"$here/btop/btop.conf"
	echo "== $(btop --version | head -n 1)"
	$bench $size --peer "exec env XDG_CONFIG_HOME=$here btop" --name btop
fi
nvtop=${NVTOP:-$(command -v nvtop || :)}
if test -n "$nvtop"; then
	${CC:-cc} -std=gnu11 -O2 -shared -fPIC -o "$here/libnvidia-ml.so.1" "$srcdir/tests/train/fake_nvml.c" \
		"$srcdir/tests/peers/nvtop_nvml.c"
	echo "== $("$nvtop" --version), 8 GPUs"
	$bench $size --peer "exec env HOME=$here XDG_CONFIG_HOME=$here LD_LIBRARY_PATH=$here WERKBANK_FAKE_NVML=moving $nvtop -d 10" \
		--name nvtop
fi
