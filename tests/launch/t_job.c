/* t_job.c - "werkbank job": scripts for PBS and Slurm, an MPIJob for Kubernetes */
#include <stdio.h>
#include <sys/stat.h>

#include "tests/launch/launch_bench.h"
#include "tests/test.h"

#define RECIPE "[model]\nsize = tiny\n[train]\nsteps = 10\n"

TEST(job_pbs_script)
{
	const char *out, *f = test_folder();

	bench_write("my.ini", RECIPE);
	if (!check_int(bench_command(&out,
				     "job pbs %s/my.ini --walltime 90 -C %s --hosts a:2,b:2,c:4 "
				     "--seed 7 --restarts 1 --threads 3",
				     f, f),
		       0))
		printf("  %s\n", out);
	bench_has(out, "#!/bin/bash\n#PBS -N my\n");
	bench_has(out, "#PBS -l select=2:ncpus=6:mpiprocs=2:mem=");
	bench_has(out, "mb+1:ncpus=12:mpiprocs=4:mem=");
	bench_has(out, "mb\n#PBS -l place=scatter\n#PBS -l walltime=1:30:00\n");
	bench_has(out, "cd \"${PBS_O_WORKDIR:-.}\" || exit 66\n");
	bench_has(out, "/runs/my\n");
	bench_has(out, " --run my --hosts pbs --walltime 90 --threads 3 ");
	bench_has(out, "--seed=7 ");
	bench_has(out, "--restarts=1 ");
	bench_has(out, "\tqsub ${PBS_O_QUEUE:+-q \"$PBS_O_QUEUE\"} ${PBS_ACCOUNT:+-A "
		       "\"$PBS_ACCOUNT\"} \\\n\t\t-W depend=afterany:\"$PBS_JOBID\" \"$0\"\n");
	bench_has(out, "sleep 5380 & ");
}

TEST(job_slurm_script)
{
	const char *out, *f = test_folder();
	struct stat s;

	bench_write("my.ini", RECIPE);
	check_int(bench_command(&out,
				"job slurm %s/my.ini --walltime 60 -C %s --hosts a:2,b:2 "
				"--threads 5 --backend cuda",
				f, f),
		  0);
	bench_has(out, "#SBATCH --job-name=my\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n");
	bench_has(out, "#SBATCH --cpus-per-task=5\n#SBATCH --mem=");
	bench_has(out, "#SBATCH --gpus-per-node=2\n#SBATCH --time=1:00:00\n#SBATCH "
		       "--signal=B:USR1@120\n#SBATCH --requeue\n#SBATCH --open-mode=append\n");
	bench_has(out, "scontrol requeue \"$SLURM_JOB_ID\"\n");
	bench_has(out, "trap 'kill \"$sleep\" 2>/dev/null' TERM");
	check(!strstr(out, "--no-kill"));
	check_int(bench_command(&out,
				"job slurm %s/my.ini --walltime 60 -C %s --hosts a:2,b:2 --elastic",
				f, f),
		  0);
	bench_has(out, "#SBATCH --time=1:00:00\n#SBATCH --no-kill\n#SBATCH --signal=");
	check_int(bench_command(&out,
				"job slurm %s/my.ini --walltime 9 -C '%s/a b' --hosts a:2,b:1 "
				"--run other --output %s/job.sh",
				f, f, f),
		  0);
	out = bench_read("job.sh");
	bench_has(out, "#SBATCH --ntasks=3\n");
	bench_has(out, "/a b'/runs/other\n");
	check(!stat(f, &s));
	check_int(bench_command(&out, "job slurm demo --walltime 9 -C %s", f), 0);
	bench_has(out, " demo &\npid=$!\n");
}

/* The margin comes from the slowest step and checkpoint of the run's journal. */
TEST(job_slurm_margin)
{
	const char *out, *f = test_folder();

	bench_write("my.ini", RECIPE);
	bench_write("runs/my/journal.jsonl",
		    "{\"v\":1,\"kind\":\"train\",\"t\":1,\"step\":1,\"step_s\":100}\n"
		    "{\"v\":1,\"kind\":\"save\",\"t\":2,\"step\":1,\"seconds\":50}\n");
	check_int(bench_command(&out, "job slurm %s/my.ini --walltime 60 -C %s", f, f), 0);
	bench_has(out, "#SBATCH --signal=B:USR1@680\n"); /* 30 + 3 * 50 + 5 * 100 */
	check_int(bench_command(&out, "job slurm %s/my.ini --walltime 10 -C %s", f, f), 0);
	bench_has(out, "#SBATCH --signal=B:USR1@300\n"); /* half of the time */
}

TEST(job_k8s_manifest)
{
	const char *out, *f = test_folder();

	bench_write("my.ini", RECIPE);
	check_int(bench_command(&out,
				"job k8s %s/my.ini -C %s --run 7_Up- --hosts w[1-3]:2 --threads 4 "
				"--image 'a\"b' --backend cuda",
				f, f),
		  0);
	bench_has(out, "kind: MPIJob\nmetadata:\n  name: run-7-up\nspec:\n  slotsPerWorker: 2\n");
	bench_has(out, "            - \"/etc/mpi/hostfile\"\n            - \"--threads\"\n");
	bench_has(out, "    Worker:\n      replicas: 3\n      restartPolicy: OnFailure\n");
	bench_has(out, "            image: \"a\\\"b\"\n");
	bench_has(out, "                cpu: 8\n                memory: ");
	bench_has(out, "Mi\n                nvidia.com/gpu: 2\n");
}

TEST(job_refusals)
{
	const char *out, *f = test_folder();

	bench_write("my.ini", RECIPE);
	check_int(bench_command(&out, "job lsf %s/my.ini --walltime 9", f), 64);
	bench_has(out, "expected slurm, pbs or k8s, not 'lsf'");
	check_int(bench_command(&out, "job pbs %s/my.ini", f), 64);
	bench_has(out, "--walltime MINUTES");
	check_int(bench_command(&out, "job pbs %s/none.ini --walltime 9", f), 66);
	check_int(bench_command(&out, "job pbs %s/my.ini --walltime 9 --run ../x", f), 64);
	check_int(bench_command(&out, "job pbs %s/my.ini --walltime 9 --run=-x", f), 64);
	bench_has(out, "the name of a run must not begin with -, which begins an option: '-x'");
	check_int(bench_command(&out, "job k8s %s/my.ini --hosts a:2,b:1", f), 64);
	bench_has(out, "all workers of an MPIJob have the same number of slots");
	check_int(bench_command(&out, "job pbs %s/my.ini --walltime 9 --output %s/no/job", f, f),
		  73);
}
