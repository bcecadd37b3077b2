# tests/lab: several hosts on one machine, each a network namespace with an sshd; needs root.
# lab.sh builds and removes them; hosts.sh, faults.sh, random_faults.sh, ipv6.sh and latency.sh run on it, throttle.sh measures; verdicts.sh is a table of verdicts about 21 networks; slurm.sh tries a real Slurm.
# May use: the built programs only.
dist_check_SCRIPTS += %D%/hosts.sh %D%/faults.sh %D%/random_faults.sh %D%/ipv6.sh %D%/latency.sh %D%/slurm.sh %D%/verdicts.sh
long_tests += %D%/hosts.sh %D%/faults.sh %D%/ipv6.sh %D%/latency.sh
EXTRA_DIST += %D%/lab.sh %D%/lab_runs.sh %D%/lab_slurm.sh %D%/throttle.sh
