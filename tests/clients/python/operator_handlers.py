"""An operator on kopf. It greets, and says goodbye before an object goes."""

import kopf


@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = True
    settings.watching.server_timeout = 10


@kopf.on.create("demo.pilothouse.dev", "v1", "greetings")
@kopf.on.update("demo.pilothouse.dev", "v1", "greetings", field="spec.name")
def greet(spec, patch, body, **_):
    patch.status["text"] = f"Hello, {spec['name']}"
    kopf.info(body, reason="Greeted", message=f"Said hello to {spec['name']}")


@kopf.on.delete("demo.pilothouse.dev", "v1", "greetings")
def goodbye(body, **_):
    kopf.info(body, reason="Left", message="Said goodbye")
