"""Operators of other frameworks make objects, and the port takes them over with the commands of the book's pages.

`run` builds the programs. The commands below "Take over the objects" of each page are run as they stand there. Only `kubectl scale … --replicas 0`
is not: the operator is a process here, and is stopped.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
PAGES = FOLDER.parents[1] / "book/src/moving"
FINALIZER = "boards.example.com/directory"
PATIENCE = 120  # seconds
BOARDS = ("a", "b")


def commands(page):
    """The commands of the last part of a page."""
    text = (PAGES / page).with_suffix(".md").read_text()
    _, part = text.split("## Take over the objects\n")
    blocks = re.findall(r"^```console\n(.*?)^```$", part, re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def eventually(what, probe):
    """Waits until `probe` returns something true, and returns it. Until then it may also raise an error of an assertion or of a missing key."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if found := probe():
                return found
            problem = None
        except (AssertionError, KeyError) as error:
            problem = error
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE} s") from problem
        time.sleep(0.2)


class Program:
    """A process that runs until it is stopped."""

    def __init__(self, line, environment, log):
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(line, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Move(unittest.TestCase):
    """An empty cluster for each test, in which workloads run."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.folder = pathlib.Path(folder)
        kubeconfig = self.folder / "kubeconfig"
        self.environment = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "POD_NAMESPACE": "boards-system",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        sandbox = self.start("sandbox", [os.environ["SANDBOX"], "--simulate", "--kubeconfig", str(kubeconfig)])
        eventually("the sandbox", lambda: "ready:" in sandbox.log.read_text())
        self.kubectl("create", "namespace", "boards-system")
        self.kubectl("create", "configmap", "directory")
        self.kubectl("apply", "-f", str(FOLDER / "boards.yaml"))
        self.kubectl("wait", "--for", "condition=established", "crd", "boards.boards.example.com")

    def start(self, name, line):
        program = Program(line, self.environment, self.folder / f"{name}.log")
        self.addCleanup(program.kill)
        return program

    @contextlib.contextmanager
    def logs_of_a_failure(self):
        """After a failure, prints what the programs have printed."""
        try:
            yield
        except BaseException:
            for log in sorted(self.folder.glob("*.log")):
                print(f"\n== {log.name}\n{log.read_text()}")
            raise

    def shell(self, line, succeeds=True):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line], env=self.environment, capture_output=True, text=True, timeout=2 * PATIENCE
        )
        self.assertEqual(done.returncode == 0, succeeds, f"{line}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def kubectl(self, *line, given=None):
        done = subprocess.run(["kubectl", *line], env=self.environment, input=given, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, f"kubectl {line}: {done.stderr}")
        return done.stdout

    def objects(self):
        """All boards and what belongs to them, by kind and name, without what Kubernetes makes itself."""
        printed = self.kubectl("get", "boards,configmaps,deployments", "--show-managed-fields", "-o", "json")
        objects = {(one["kind"], one["metadata"]["name"]): one for one in json.loads(printed)["items"]}
        objects.pop(("ConfigMap", "kube-root-ca.crt"), None)
        return objects

    def boards_are_shown(self, finalizer):
        """Whether both boards have all that an operator gives them."""
        objects = self.objects()
        directory = objects["ConfigMap", "directory"]["data"]
        for name in BOARDS:
            board = objects["Board", name]
            self.assertEqual(board["status"]["ready"], 2)
            self.assertEqual(board["metadata"]["finalizers"], [finalizer])
            self.assertEqual(objects["Deployment", name]["spec"]["replicas"], 2)
            self.assertEqual(objects["ConfigMap", f"{name}-page"]["data"], {"index.html": f"Open {name}"})
            self.assertEqual(directory[name], f"Open {name}")
        return objects

    def take_over(self, page, line, finalizer=FINALIZER, managers=(), run="", running=()):
        """The whole move. `managers` are the field managers of the former operator, that of the children first. `run` has the flags of the port, and `running` has commands that
        must be refused while the former operator runs."""
        with self.logs_of_a_failure():
            return self.move(page, line, finalizer, managers, run, running)

    def move(self, page, line, finalizer, managers, run, running):
        former = self.start(page, line)
        self.kubectl("apply", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": [board(name) for name in BOARDS]}))
        before = eventually("the former operator", lambda: self.boards_are_shown(finalizer))
        for key in children(before):
            self.assertIn(managers[0], owners(before[key]), f"{key}")
        for command in running:
            self.assertIn("stop the former operator first", self.shell(command, succeeds=False))

        for command in commands(page):
            if command.startswith("kubectl scale deployment ") and command.endswith(" --replicas 0"):
                self.assertIn(former.stop(), (0, -signal.SIGTERM), "the former operator did not end in order")
                before = self.boards_are_shown(finalizer)
                continue
            untouched = self.objects()
            printed = self.shell(command)
            if command.startswith("boards adopt-from "):
                is_confirmed = "--yes" in command.split()
                self.assertIn("\nChanged objects: " if is_confirmed else "\nNothing was changed. ", printed, command)
                self.assertEqual(self.objects() == untouched, not is_confirmed, f"{command}: {printed}")
        self.assertIsNotNone(former.process.poll(), "the page does not stop the former operator")
        adopted = self.boards_are_shown(FINALIZER)
        self.assertEqual(uids(adopted), uids(before))
        self.assertEqual(spec_and_status(adopted), spec_and_status(before))

        port = self.start("port", ["boards", "run", "--metrics-address", "0", *run.split()])
        eventually("the port", lambda: self.is_taken_over(managers))
        after = self.boards_are_shown(FINALIZER)
        self.assertEqual(uids(after), uids(before))

        # A value that follows, and a field that nobody wants any more.
        self.kubectl("patch", "board", "a", "--type", "merge", "-p", json.dumps({"spec": {"text": "Closed", "replicas": None}}))
        eventually("the change", self.is_closed)
        self.kubectl("delete", "board", "b", "--wait=false")
        eventually("the deletion", self.is_gone)
        kept = {key: uid for key, uid in uids(before).items() if key[1] not in ("b", "b-page")}
        self.assertEqual(uids(self.objects()), kept)
        self.assertEqual(port.stop(), 0)
        self.assertNotRegex(port.log.read_text(), r"\b(WARN|ERROR)\b")
        return before, after

    def is_taken_over(self, managers):
        objects = self.objects()
        for key in children(objects):
            self.assertIn("boards", owners(objects[key]))
            self.assertEqual(owners(objects[key]) & set(managers), set(), f"{key}")
        for name in BOARDS:
            conditions = objects["Board", name]["status"].get("conditions", [])
            self.assertEqual([one["status"] for one in conditions if one["type"] == "Ready"], ["True"])
            self.assertEqual(status_owners(objects["Board", name]) & set(managers), set())
        return True

    def is_closed(self):
        objects = self.objects()
        self.assertEqual(objects["ConfigMap", "a-page"]["data"], {"index.html": "Closed"})
        self.assertEqual(objects["ConfigMap", "directory"]["data"]["a"], "Closed")
        self.assertEqual(objects["Deployment", "a"]["spec"]["replicas"], 1, "nobody owns the field, so the default counts")
        self.assertEqual(objects["Board", "a"]["status"]["ready"], 1)
        return True

    def is_gone(self):
        objects = self.objects()
        self.assertEqual({name for _, name in objects} & {"b", "b-page"}, set())
        self.assertEqual(objects["ConfigMap", "directory"]["data"], {"a": "Closed"})
        return True

    def test_controller_runtime(self):
        lease = "5a1f3c.example.com"
        self.take_over(
            "controller-runtime",
            [os.environ["MANAGER"]],
            managers=("manager",),
            run=f"--lease-name {lease} --lease-namespace boards-system",
            running=[f"boards adopt-from manager --lease boards-system/{lease} --yes"],
        )

    def test_kube_rs(self):
        self.take_over("kube-rs", [os.environ["KUBE_RS"]], managers=("board-controller", "unknown"))

    def test_kopf(self):
        line = [os.environ["PYTHON"], "-m", "kopf", "run", "--all-namespaces", "--standalone", str(FOLDER / "kopf/boards.py")]
        before, after = self.take_over(
            "kopf", line, finalizer="kopf.zalando.org/KopfFinalizerMarker", managers=("OpenAPI-Generator",)
        )
        # The label that only the former operator wanted, and its annotation.
        web = "Deployment", "a"
        self.assertEqual(before[web]["metadata"]["labels"], {"board": "a"})
        self.assertNotIn("labels", after[web]["metadata"])
        for objects, has_annotation in ((before, True), (after, False)):
            annotations = objects["Board", "a"]["metadata"].get("annotations", {})
            self.assertEqual("kopf.zalando.org/last-handled-configuration" in annotations, has_annotation)


def board(name):
    spec = {"text": f"Open {name}", "replicas": 2}
    return {"apiVersion": "boards.example.com/v1", "kind": "Board", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def children(objects):
    return [key for key in objects if key[0] == "Deployment" or key[1].endswith("-page")]


def uids(objects):
    return {key: one["metadata"]["uid"] for key, one in objects.items()}


def spec_and_status(objects):
    parts = {key: {part: one.get(part) for part in ("spec", "data", "status")} for key, one in objects.items()}
    for (kind, _), one in parts.items():
        if kind == "Board":
            # The definition of the port gives the status an empty list.
            one["status"] = {name: value for name, value in one["status"].items() if value != []}
    return parts


def owners(one):
    """The field managers of an object, without those of subresources."""
    return {entry["manager"] for entry in one["metadata"]["managedFields"] if "subresource" not in entry}


def status_owners(one):
    return {entry["manager"] for entry in one["metadata"]["managedFields"] if entry.get("subresource") == "status"}


if __name__ == "__main__":
    unittest.main()
