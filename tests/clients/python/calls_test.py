"""The calls that programs with Python's package `kubernetes` make."""

import unittest

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"test": name}), data=data)


def deployment(name):
    container = client.V1Container(name="web", image="nginx:1")
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"app": name}), spec=client.V1PodSpec(containers=[container])
    )
    selector = client.V1LabelSelector(match_labels={"app": name})
    return client.V1Deployment(
        metadata=client.V1ObjectMeta(name=name), spec=client.V1DeploymentSpec(selector=selector, template=template)
    )


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config.load_kube_config()
        cls.core, cls.apps = client.CoreV1Api(), client.AppsV1Api()
        made = cls.core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(generate_name="python-")))
        cls.namespace = made.metadata.name

    def test_objects_are_created_read_listed_replaced_and_deleted(self):
        self.core.create_namespaced_config_map(self.namespace, config_map("crud", a="1"))
        found = self.core.read_namespaced_config_map("crud", self.namespace)
        self.assertEqual(found.data, {"a": "1"})
        found.data["a"] = "2"
        self.core.replace_namespaced_config_map("crud", self.namespace, found)
        listed = self.core.list_namespaced_config_map(self.namespace, label_selector="test=crud")
        self.assertEqual([item.data for item in listed.items], [{"a": "2"}])
        self.core.delete_namespaced_config_map("crud", self.namespace)
        listed = self.core.list_namespaced_config_map(self.namespace, label_selector="test=crud")
        self.assertEqual(listed.items, [])

    def test_a_list_has_pages(self):
        for name in ("page-a", "page-b", "page-c"):
            self.core.create_namespaced_secret(self.namespace, client.V1Secret(metadata=client.V1ObjectMeta(name=name)))
        first = self.core.list_namespaced_secret(self.namespace, limit=2)
        rest = self.core.list_namespaced_secret(self.namespace, limit=2, _continue=first.metadata._continue)
        names = [item.metadata.name for item in first.items + rest.items]
        self.assertEqual((len(first.items), names), (2, ["page-a", "page-b", "page-c"]))

    def test_a_watch_continues_a_list(self):
        version = self.core.list_namespaced_config_map(self.namespace).metadata.resource_version
        self.core.create_namespaced_config_map(self.namespace, config_map("watched"))
        self.core.patch_namespaced_config_map("watched", self.namespace, {"data": {"a": "1"}})
        self.core.delete_namespaced_config_map("watched", self.namespace)
        events = watch.Watch().stream(
            self.core.list_namespaced_config_map,
            self.namespace,
            resource_version=version,
            label_selector="test=watched",
            timeout_seconds=1,
        )
        seen = [(event["type"], event["object"].data) for event in events]
        self.assertEqual(seen, [("ADDED", None), ("MODIFIED", {"a": "1"}), ("DELETED", {"a": "1"})])

    def test_each_patch_type_follows_its_rules(self):
        self.apps.create_namespaced_deployment(self.namespace, deployment("patched"))
        containers = [{"name": "side", "image": "busybox"}]
        change = {"spec": {"template": {"spec": {"containers": containers}}}}

        def patch(body, content_type, **options):
            patched = self.apps.patch_namespaced_deployment(
                "patched", self.namespace, body, _content_type=content_type, **options
            )
            return patched, [container.name for container in patched.spec.template.spec.containers]

        self.assertEqual(patch(change, STRATEGIC)[1], ["side", "web"])
        self.assertEqual(patch(change, MERGE)[1], ["side"])
        replaced, _ = patch([{"op": "replace", "path": "/spec/replicas", "value": 3}], JSON)
        self.assertEqual(replaced.spec.replicas, 3)
        applied = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "patched"},
            "spec": {"replicas": 5},
        }
        with self.assertRaises(ApiException) as refused:
            patch(applied, APPLY, field_manager="python")
        self.assertEqual((refused.exception.status, refused.exception.reason), (409, "Conflict"))
        forced, _ = patch(applied, APPLY, field_manager="python", force=True)
        self.assertEqual(forced.spec.replicas, 5)
        self.assertIn(("python", "Apply"), [(entry.manager, entry.operation) for entry in forced.metadata.managed_fields])

    def test_errors_have_a_code(self):
        self.core.create_namespaced_config_map(self.namespace, config_map("errors"))
        for code, call in (
            (404, lambda: self.core.read_namespaced_config_map("absent", self.namespace)),
            (409, lambda: self.core.create_namespaced_config_map(self.namespace, config_map("errors"))),
            (422, lambda: self.core.create_namespaced_config_map(self.namespace, config_map("Not-A-Name"))),
        ):
            with self.assertRaises(ApiException) as refused:
                call()
            self.assertEqual(refused.exception.status, code)

    def test_the_dynamic_client_finds_and_applies_any_kind(self):
        maps = DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dynamic"}, "data": {"a": "1"}}
        made = maps.server_side_apply(body, namespace=self.namespace, field_manager="python")
        self.assertEqual(made.data.a, "1")
        listed = maps.get(namespace=self.namespace, field_selector="metadata.name=dynamic")
        self.assertEqual([item.metadata.name for item in listed.items], ["dynamic"])


if __name__ == "__main__":
    unittest.main()
