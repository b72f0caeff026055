"""An operator on kopf: finalizer, status, events."""

import pathlib
import time
import unittest

from kopf.testing import KopfRunner
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

GROUP, VERSION, PLURAL = "demo.pilothouse.dev", "v1", "greetings"
HANDLERS = pathlib.Path(__file__).with_name("operator_handlers.py")
PATIENCE = 30  # seconds


def definition():
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"kind": "Greeting", "plural": PLURAL},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"name": {"type": "string"}}},
                                "status": anything,
                            },
                        }
                    },
                }
            ],
        },
    }


def eventually(what, find):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = find()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not appear in {PATIENCE} s")


class Operator(unittest.TestCase):
    def test_an_operator_greets_and_says_goodbye(self):
        config.load_kube_config()
        custom, core = client.CustomObjectsApi(), client.CoreV1Api()
        greetings = {"group": GROUP, "version": VERSION, "namespace": "default", "plural": PLURAL}
        client.ApiextensionsV1Api().create_custom_resource_definition(definition())

        def read():
            try:
                return custom.get_namespaced_custom_object(name="a", **greetings)
            except ApiException as error:
                if error.status != 404:
                    raise
                return None

        def greets(text):
            return lambda: (read() or {}).get("status", {}).get("text") == text

        def reasons():
            events = core.list_namespaced_event("default", field_selector="involvedObject.kind=Greeting")
            return {event.reason for event in events.items}

        eventually("the kind", lambda: served(custom, greetings))
        with KopfRunner(["run", "--standalone", "--namespace", "default", str(HANDLERS)], timeout=2 * PATIENCE) as runner:
            body = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Greeting", "metadata": {"name": "a"}, "spec": {"name": "Ada"}}
            custom.create_namespaced_custom_object(body=body, **greetings)
            eventually("the greeting", greets("Hello, Ada"))
            self.assertEqual(read()["metadata"]["finalizers"], ["kopf.zalando.org/KopfFinalizerMarker"])
            custom.patch_namespaced_custom_object(name="a", body={"spec": {"name": "Grace"}}, **greetings)
            eventually("the other greeting", greets("Hello, Grace"))
            custom.delete_namespaced_custom_object(name="a", **greetings)
            eventually("the end", lambda: read() is None)
            eventually("the events", lambda: {"Greeted", "Left"} <= reasons())
        self.assertIsNone(runner.exception, runner.output)
        self.assertEqual(runner.exit_code, 0, runner.output)


def served(custom, greetings):
    try:
        custom.list_namespaced_custom_object(**greetings)
        return True
    except ApiException:
        return False


if __name__ == "__main__":
    unittest.main()
