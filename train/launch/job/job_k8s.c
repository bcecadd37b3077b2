/*
 * job_k8s.c - a job for Kubernetes: an MPIJob of the MPI Operator (kubeflow.org/v2beta1)
 *
 * The operator starts the workers (sshd) and then the launcher, which finds them in
 * /etc/mpi/hostfile. The launcher runs "werkbank train". If its pod is evicted or the training stops
 * with 75, Kubernetes starts the launcher again, and the run resumes from its last checkpoint.
 */
#include <ctype.h>

#include "train/launch/job/job_internal.h"

#define GRACE_LEAST_S 120 /* from SIGTERM to SIGKILL; Kubernetes' own default is 30 s */
#define MAX_RESTARTS  20  /* Kubernetes restarts after any failure, also a permanent one */
#define MAX_NAME      40  /* of the 63 characters of a pod's name; the operator appends a suffix */
#define LAUNCHER_MB   1024

/* Text in double quotes: YAML reads it as JSON does. */
static void add_yaml_string(struct buf *out, const char *text)
{
	buf_add_char(out, '"');
	for (; *text; text++)
		if ((unsigned char)*text < ' ')
			buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*text);
		else
			buf_printf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	buf_add_char(out, '"');
}

/* Kubernetes allows lower case letters, digits and - in a name, which begins with a letter. */
static void add_k8s_name(struct buf *out, const char *run)
{
	size_t start = out->len;

	if (!isalpha((unsigned char)*run))
		buf_add_str(out, "run-");
	for (; *run && out->len - start < MAX_NAME; run++)
		buf_add_char(out, isalnum((unsigned char)*run) ? (char)tolower(*run) : '-');
	while (out->len > start && out->data[out->len - 1] == '-')
		out->data[--out->len] = 0;
}

static void add_resources(struct buf *out, int64_t cpus, int64_t mb, int32_t gpus)
{
	buf_add_str(out, "            resources:\n              limits:\n");
	buf_printf(out, "                cpu: %lld\n", (long long)cpus);
	if (mb)
		buf_printf(out, "                memory: %lldMi\n", (long long)mb);
	if (gpus)
		buf_printf(out, "                nvidia.com/gpu: %d\n", gpus);
}

/* The start of a pod up to the image of its only container. */
static void add_pod_head(struct buf *out, const struct job *j, const char *kind, size_t replicas,
			 const char *policy)
{
	buf_printf(out,
		   "    %s:\n      replicas: %zu\n      restartPolicy: %s\n      template:\n"
		   "        spec:\n          terminationGracePeriodSeconds: %lld\n"
		   "          containers:\n          - name: %s\n            image: ",
		   kind, replicas, policy,
		   (long long)(j->margin_s > GRACE_LEAST_S ? j->margin_s : GRACE_LEAST_S),
		   *kind == 'L' ? "launcher" : "worker");
	add_yaml_string(out, j->conf->image);
	buf_add_char(out, '\n');
}

/* Ranks on a host exchange data through /dev/shm, of which a container has only 64 MiB. */
static void add_pod_end(struct buf *out, const struct job *j)
{
	buf_add_str(out, "            volumeMounts:\n            - name: workspace\n"
			 "              mountPath: ");
	add_yaml_string(out, j->workspace);
	buf_add_str(out, "\n            - name: shm\n              mountPath: /dev/shm\n"
			 "          volumes:\n          - name: workspace\n"
			 "            persistentVolumeClaim:\n              claimName: ");
	add_yaml_string(out, j->conf->volume);
	buf_add_str(out, "\n          - name: shm\n            emptyDir:\n"
			 "              medium: Memory\n");
}

int job_write_k8s(const struct job *j, struct buf *out, struct err *e)
{
	if (!j->same_slots)
		return err_set(e, ERR_USAGE,
			       "all workers of an MPIJob have the same number of slots: give for "
			       "example --hosts w[1-4]:2");
	buf_add_str(out, "# Image, volume claim and workspace must exist in the cluster.\n"
			 "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata:\n  name: ");
	add_k8s_name(out, j->run);
	buf_printf(out,
		   "\nspec:\n  slotsPerWorker: %d\n  runPolicy:\n    cleanPodPolicy: Running\n"
		   "    backoffLimit: %d\n  sshAuthMountPath: /root/.ssh\n"
		   "  mpiImplementation: OpenMPI\n  mpiReplicaSpecs:\n",
		   j->slots, MAX_RESTARTS);
	add_pod_head(out, j, "Launcher", 1, "OnFailure");
	buf_add_str(out, "            command:\n");
	for (size_t i = 0; i < j->line.n; i++) {
		buf_add_str(out, "            - ");
		add_yaml_string(out, j->line.all[i]);
		buf_add_char(out, '\n');
	}
	add_resources(out, 1, LAUNCHER_MB, 0);
	add_pod_end(out, j);
	add_pod_head(out, j, "Worker", j->hosts.n, "OnFailure");
	buf_add_str(out, "            command: [/usr/sbin/sshd, -De]\n");
	add_resources(out, j->threads * j->slots, job_host_mb(j, j->slots), j->gpus ? j->slots : 0);
	add_pod_end(out, j);
	return buf_check(out, e);
}
