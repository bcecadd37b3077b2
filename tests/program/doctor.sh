#!/bin/sh
# doctor.sh - what "werkbank doctor" says of machines that have this and lack that. Last line: the tally.
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-doctor-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"
wb=$PWD/werkbank
unset WERKBANK_HOME WERKBANK_RUN

# doctor ENVIRONMENT... : of a machine with that environment
doctor() { env "$@" "$wb" doctor -C "$tmp/w"; }

says "it finds the processor" 0 '^processor .*vectors: (AVX-512|AVX2|plain)' doctor
says "one core, by taskset" 0 '^processor .*, 1 thread;' taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$wb" doctor -C "$tmp/w"
mkdir -p "$tmp/one/self" "$tmp/one/fs/cgroup/box"
echo '0::/box' >"$tmp/one/self/cgroup"
echo '90000 100000' >"$tmp/one/fs/cgroup/box/cpu.max"
says "one core, by its cgroup" 0 '^processor .*[ ,]1 thread;' doctor WERKBANK_PROC_ROOT="$tmp/one" WERKBANK_SYS_ROOT="$tmp/one"
measured="own code"
if grep -q avx512_bf16 /proc/cpuinfo && grep -q 'define HAVE_VECTOR_VARIANTS 1' config.h; then measured="GFLOP/s in fp32"; fi
says "it compares fp32 and bf16, if the processor and this build have both" 0 "^matrix products +(good|limited) .*$measured" doctor
says "it names the format of precision = auto" 0 "^matrix products .*precision auto trains in (fp32|bf16)" doctor
says "all programs are there" 0 '^programs +good .* complete' doctor
says "a workspace that is not there yet" 0 "^workspace .*$tmp/w \\(created when first needed\\)" doctor
says "no programs beside: no mpirun, no ssh" 0 '^other hosts +missing  ssh is missing, rsync is missing' doctor PATH=/nonexistent
says "what they would bring" 0 'install ssh for training on other hosts' doctor PATH=/nonexistent
mkdir -p "$tmp/slow"
printf '#!/bin/sh\nexec sleep 60\n' >"$tmp/slow/mpirun"
chmod +x "$tmp/slow/mpirun"
says "an mpirun that hangs" 0 '^MPI .*(mpirun does not answer|not built in$)' doctor PATH="$tmp/slow:$PATH"
says "a terminal without a name" 0 'TERM not set' doctor TERM=
says "a terminal that shows ASCII" 0 '^terminal +(limited|missing) .*characters ASCII' doctor LC_ALL=C TERM=xterm
mkdir -p "$tmp/proc"
printf 'MemTotal:        2000000 kB\nMemAvailable:    1000000 kB\n' >"$tmp/proc/meminfo"
says "little memory" 0 '^memory +limited +2.0 GB, 1.0 GB of it free' doctor WERKBANK_PROC_ROOT="$tmp/proc"
says "unreadable facts" 0 '^memory +limited +cannot read the size of the memory' doctor WERKBANK_PROC_ROOT="$tmp/none"
says "no GPU" 0 '^GPU +(missing|limited) +none' doctor WERKBANK_NVML="$tmp/none.so" WERKBANK_SYS_ROOT="$tmp"
says "what computes" 0 '^computes +good +(the processor|GPU 0)' doctor
says "GPUs" 0 '^GPU +(good|limited) +8 x ' doctor WERKBANK_NVML="$PWD/tests/fake_nvml.so" WERKBANK_FAKE_NVML=eight WERKBANK_SYS_ROOT="$tmp"
says "the sandbox" 0 "^sandbox +(good|limited|missing) .*(Landlock [0-9]+ limits|nothing limits) files.*(seccomp|nothing) limits system calls" doctor
says "the sandbox is switched off" 0 "^sandbox +limited +switched off by WERKBANK_SANDBOX" doctor WERKBANK_SANDBOX=off
says "as JSON" 0 '^\{"findings":\[\{"what":"processor","state":"[a-z]*","found":".*\}\]\}$' "$wb" doctor --json
says "an option that it does not take" 64 'steps' "$wb" doctor --steps 3
says "no room for what it says" 74 'cannot be written' sh -c '"$1" doctor >/dev/full' sh "$wb"
tally
