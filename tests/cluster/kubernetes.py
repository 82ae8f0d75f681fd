# SPDX-License-Identifier: BSD-3-Clause
"""Reads the Service and the Job of docs/howto/kubernetes.md.

Usage: kubernetes.py PAGE      checks required fields, and prints lines for a shell:
                               NAME SIZE PROGRAM, then a variable a line
       kubernetes.py PAGE pod  the same of the pod with several ranks: its
                               variable, then the lines of its shell
"""

import re
import sys

import yaml


def print_pod(job, spec):
    """spec: what differs in a pod of several ranks."""
    (before,), (container,) = job["template"]["spec"]["containers"], spec["containers"]
    assert container["name"] == before["name"]
    (mount,), (volume,) = container["volumeMounts"], spec["volumes"]
    assert mount == {"name": volume["name"], "mountPath": "/dev/shm"}
    assert volume["emptyDir"]["medium"] == "Memory"
    (size,) = container["env"]
    shell, option, script = container["command"]
    assert (shell, option) == ("sh", "-c")
    ranks = int(re.search(r"JOB_COMPLETION_INDEX \* (\d+) \+ i", script)[1])
    assert size == {"name": "RCX_SIZE", "value": str(ranks * job["completions"])}
    print(f"RCX_SIZE={size['value']}\n{script}")


def main():
    """See above."""
    with open(sys.argv[1], encoding="utf-8") as page:
        text, differing = re.findall(r"```yaml\n(.*?)```", page.read(), re.DOTALL)
    service, job = yaml.safe_load_all(text)
    if sys.argv[2:] == ["pod"]:
        print_pod(job["spec"], yaml.safe_load(differing))
        return
    assert (service["apiVersion"], service["kind"]) == ("v1", "Service")
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert service["spec"]["clusterIP"] == "None", "the Service is not headless"
    assert service["spec"]["publishNotReadyAddresses"] is True
    name = job["metadata"]["name"]
    assert service["spec"]["selector"] == {"job-name": name}, "the Service selects other pods"
    spec = job["spec"]
    assert spec["completionMode"] == "Indexed"
    assert spec["completions"] == spec["parallelism"], "not all ranks run at once"
    pod = spec["template"]["spec"]
    assert pod["subdomain"] == service["metadata"]["name"], "pods have no names"
    assert pod["restartPolicy"] in ("Never", "OnFailure")
    (container,) = pod["containers"]
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert all(value is None or isinstance(value, str) for value in env.values()), "a value is no text"
    assert int(env["RCX_SIZE"]) == spec["completions"]
    host, port = env["RCX_ROOT"].rsplit(":", 1)
    assert host == f"{name}-0.{pod['subdomain']}", f"{host} is not the name of pod 0"
    assert int(port) in [entry["port"] for entry in service["spec"]["ports"]]
    print(name, pod["subdomain"], spec["completions"], *container["command"])
    for variable, value in env.items():
        print(f"{variable}={'of-the-secret' if value is None else value}")


main()
