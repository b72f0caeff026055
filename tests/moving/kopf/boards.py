import kopf
import kubernetes.client as k8s
from kubernetes.client.rest import ApiException

GROUP = ("boards.example.com", "v1", "boards")


def apply(create, patch, body):
    """Creates a child, or patches it if it exists."""
    kopf.adopt(body)
    name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
    try:
        create(namespace, body)
    except ApiException as error:
        if error.status != 409:
            raise
        patch(name, namespace, body)


@kopf.on.create(*GROUP)
@kopf.on.update(*GROUP)
@kopf.on.resume(*GROUP)
def show(name, namespace, spec, **_):
    core, apps = k8s.CoreV1Api(), k8s.AppsV1Api()
    page = {
        "metadata": {"name": f"{name}-page"},
        "data": {"index.html": spec["text"]},
    }
    apply(core.create_namespaced_config_map, core.patch_namespaced_config_map, page)
    web = deployment(name, spec)
    apply(apps.create_namespaced_deployment, apps.patch_namespaced_deployment, web)
    try:
        core.patch_namespaced_config_map("directory", namespace, {"data": {name: spec["text"]}})
    except ApiException as error:
        raise kopf.TemporaryError(f"the directory: {error.reason}", delay=30)


@kopf.on.delete(*GROUP)
def forget(name, namespace, **_):
    core = k8s.CoreV1Api()
    core.patch_namespaced_config_map("directory", namespace, {"data": {name: None}})


@kopf.on.event("apps", "v1", "deployments", labels={"board": kopf.PRESENT})
def count(event, body, labels, namespace, **_):
    if event["type"] == "DELETED":
        return
    ready = body.get("status", {}).get("readyReplicas", 0)
    k8s.CustomObjectsApi().patch_namespaced_custom_object_status(
        *GROUP[:2], namespace, GROUP[2], labels["board"], {"status": {"ready": ready}}
    )


def deployment(name, spec):
    server = {
        "name": "server",
        "image": "nginx:1.29-alpine",
        "volumeMounts": [{"name": "page", "mountPath": "/usr/share/nginx/html"}],
    }
    labels = {"board": name}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": spec.get("replicas"),
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [server],
                    "volumes": [{"name": "page", "configMap": {"name": f"{name}-page"}}],
                },
            },
        },
    }
