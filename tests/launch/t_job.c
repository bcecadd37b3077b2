/* t_job.c - "werkbank job": scripts for PBS and Slurm */
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
				     "--seed 7 --restarts 1",
				     f, f),
		       0))
		printf("  %s\n", out);
	bench_has(out, "#!/bin/bash\n#PBS -N my\n");
	bench_has(out, "#PBS -l nodes=2:ppn=2+1:ppn=4\n#PBS -l walltime=1:30:00\n");
	bench_has(out, "cd \"${PBS_O_WORKDIR:-.}\" || exit 66\n");
	bench_has(out, "/runs/my/state.json\n");
	bench_has(out, " --run my --hosts pbs --walltime 90 ");
	bench_has(out, "--seed=7 ");
	bench_has(out, "--restarts=1 ");
	bench_has(out, "qsub -W depend=afterany:\"$PBS_JOBID\" \"$0\"\n");
}

TEST(job_slurm_script)
{
	const char *out, *f = test_folder();
	struct stat s;

	bench_write("my.ini", RECIPE);
	check_int(bench_command(&out, "job slurm %s/my.ini --walltime 0.5 -C %s --hosts a:2,b:2", f,
				f),
		  0);
	bench_has(out, "#SBATCH --job-name=my\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n");
	bench_has(out, "#SBATCH --time=0:00:30\n#SBATCH --requeue\n");
	bench_has(out, "scontrol requeue \"$SLURM_JOB_ID\"\n");
	check_int(bench_command(&out,
				"job slurm %s/my.ini --walltime 9 -C '%s/a b' --hosts a:2,b:1 "
				"--run other --output %s/job.sh",
				f, f, f),
		  0);
	out = bench_read("job.sh");
	bench_has(out, "#SBATCH --ntasks=3\n");
	bench_has(out, "/a b'/runs/other/state.json\n");
	check(!stat(f, &s));
	check_int(bench_command(&out, "job slurm demo --walltime 9 -C %s", f), 0);
	bench_has(out, " demo &\npid=$!\n");
}

TEST(job_refusals)
{
	const char *out, *f = test_folder();

	bench_write("my.ini", RECIPE);
	check_int(bench_command(&out, "job lsf %s/my.ini --walltime 9", f), 64);
	bench_has(out, "expected pbs or slurm, not 'lsf'");
	check_int(bench_command(&out, "job pbs %s/my.ini", f), 64);
	bench_has(out, "--walltime MINUTES");
	check_int(bench_command(&out, "job pbs %s/none.ini --walltime 9", f), 66);
	check_int(bench_command(&out, "job pbs %s/my.ini --walltime 9 --run ../x", f), 64);
	check_int(bench_command(&out, "job pbs %s/my.ini --walltime 9 --output %s/no/job", f, f),
		  73);
}
