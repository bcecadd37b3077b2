"""Read the MPIJob that "werkbank job k8s" writes with PyYAML, and check it against the fields that the MPI Operator's resource
definition (kubeflow.org/v2beta1) and a Kubernetes pod have. Usage: werkbank job k8s ... | python3 k8s_job.py"""
import re
import sys

import yaml

POD = {"terminationGracePeriodSeconds", "containers", "volumes"}
CONTAINER = {"name", "image", "command", "resources", "volumeMounts"}
RUN_POLICY = {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit", "schedulingPolicy", "suspend"}
SPEC = {"slotsPerWorker", "runPolicy", "mpiReplicaSpecs", "sshAuthMountPath", "mpiImplementation", "launcherCreationPolicy"}


def only(what, found, allowed):
    extra = set(found) - allowed
    if extra:
        sys.exit(f"{what} has unknown fields: {', '.join(sorted(extra))}")


def check_pod(kind, replica):
    only(kind, replica, {"replicas", "restartPolicy", "template"})
    assert isinstance(replica["replicas"], int) and replica["replicas"] >= 1
    assert replica["restartPolicy"] in ("Never", "OnFailure", "Always", "ExitCode")
    only(f"template of {kind}", replica["template"], {"spec"})
    pod = replica["template"]["spec"]
    only(f"pod of {kind}", pod, POD)
    assert isinstance(pod["terminationGracePeriodSeconds"], int) and pod["terminationGracePeriodSeconds"] > 30
    volumes = {v["name"]: v for v in pod["volumes"]}
    assert isinstance(volumes["workspace"]["persistentVolumeClaim"]["claimName"], str)
    (container,) = pod["containers"]
    only(f"container of {kind}", container, CONTAINER)
    assert isinstance(container["image"], str)
    assert container["command"] and all(isinstance(word, str) for word in container["command"])
    assert {m["name"] for m in container["volumeMounts"]} == set(volumes)
    limits = container["resources"]["limits"]
    only(f"limits of {kind}", limits, {"cpu", "memory", "nvidia.com/gpu"})
    assert re.fullmatch(r"\d+Mi", limits["memory"]), limits
    return container


def main():
    job = yaml.safe_load(sys.stdin)
    only("the job", job, {"apiVersion", "kind", "metadata", "spec"})
    assert job["apiVersion"] == "kubeflow.org/v2beta1" and job["kind"] == "MPIJob"
    name = job["metadata"]["name"]
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name) and len(name) <= 44, name
    spec = job["spec"]
    only("spec", spec, SPEC)
    only("runPolicy", spec["runPolicy"], RUN_POLICY)
    assert spec["mpiImplementation"] in ("OpenMPI", "Intel", "MPICH")
    only("mpiReplicaSpecs", spec["mpiReplicaSpecs"], {"Launcher", "Worker"})
    launcher = check_pod("Launcher", spec["mpiReplicaSpecs"]["Launcher"])
    worker = check_pod("Worker", spec["mpiReplicaSpecs"]["Worker"])
    words = launcher["command"]
    assert words[1] == "train" and words[words.index("--hosts") + 1] == "/etc/mpi/hostfile", words
    mounts = {m["mountPath"] for m in launcher["volumeMounts"]}
    assert words[words.index("-C") + 1] in mounts
    assert worker["command"][0].endswith("sshd")
    print(f"{name}: {spec['mpiReplicaSpecs']['Worker']['replicas']} workers of {spec['slotsPerWorker']} slots, limits "
          f"{worker['resources']['limits']}")


main()
