#!/bin/sh
# aarch64.sh - werkbank-eval for 64-bit ARM, built on a Debian of another architecture.
#
#	share/packaging/aarch64.sh [FOLDER]     by default ./aarch64-build
#
# Needs gcc-aarch64-linux-gnu and, to run what was built, qemu-user. Libraries come as packages for arm64, unpacked into
# FOLDER/root; nothing is installed. Of them the program needs PCRE2, OpenSSL's hashes and libc when it runs:
# no MPI, CUDA, curses, curl, libarchive or ICU. Run it as
#	qemu-aarch64 -L FOLDER/root FOLDER/build/werkbank-eval translate --model DIR
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
to=${1:-aarch64-build}
mkdir -p "$to/debs/partial" "$to/apt/lists/partial" "$to/root" "$to/build"
to=$(cd "$to" && pwd)
host=aarch64-linux-gnu
command -v $host-gcc >/dev/null || { echo "aarch64.sh: $host-gcc is missing (gcc-$host)" >&2; exit 69; }

# ---- libraries, through an apt of our own that thinks it is on arm64 ----------
packages="libpcre2-dev libpcre2-8-0 libpcre2-16-0 libpcre2-32-0 libpcre2-posix3 libssl-dev libssl3 libarchive-dev
	libarchive13 libcurl4-openssl-dev libcurl4 libicu-dev libicu72 zlib1g-dev zlib1g libc6 libc6-dev linux-libc-dev libgcc-s1"
: >"$to/apt/status"
apt_get() {
	apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$to/apt" \
		-o Dir::State::status="$to/apt/status" -o Dir::Cache="$to/apt" -o APT::Sandbox::User= "$@"
}
if [ ! -e "$to/root/unpacked" ]; then
	apt_get update
	# shellcheck disable=SC2086 # a list of words
	(cd "$to/debs" && apt_get download $packages)
	for deb in "$to"/debs/*.deb; do dpkg-deb -x "$deb" "$to/root"; done
	: >"$to/root/unpacked"
fi

# ---- the program ----------------------------------------------------------------
lib=$to/root/usr/lib/$host
cd "$to/build"
PKG_CONFIG_LIBDIR=$lib/pkgconfig:$to/root/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$to/root \
	"$source/configure" -q --host=$host --without-cuda --without-mpi --without-nccl --without-curses \
	CC="$host-gcc --sysroot=$to/root" CFLAGS="-O2 -g" LDFLAGS="-Wl,--as-needed -Wl,-rpath-link,$lib"
make -j"${JOBS:-2}" werkbank-eval
$host-readelf -d werkbank-eval | sed -n 's/.*(NEEDED).*\[\(.*\)\]/needs \1/p'
