use std::time::Duration;

use serde_json::Value;

use super::pod_status::place;
use crate::api::Handle;
use crate::clock::Moment;
use crate::controllers::simulator::START;
use crate::controllers::simulator::events::{self, KUBELET, Message};
use crate::pods::Probe;

/// The Events about one Pod and its containers. A kubelet limits their number, and so does this.
#[derive(Default)]
pub(super) struct PodEvents {
    /// How many Events more than the pauses allow were recorded.
    spent: u32,
    since: Moment,
}

/// How many Events a Pod may have at once.
const BURST: u32 = 25;
/// After this pause there may be one more.
const PAUSE: Duration = Duration::from_secs(300);

/// The size of an image that the simulator pulls. Nobody knows the real one.
const SIZE: u32 = 50_000_000;

impl PodEvents {
    fn record(
        &mut self,
        handle: &Handle,
        pod: &Value,
        part: &str,
        (warning, reason): (bool, &str),
        text: &str,
    ) {
        let clock = &handle.core().clock;
        while self.spent > 0 && clock.since(self.since) >= PAUSE {
            self.spent -= 1;
            self.since = self.since.saturating_add(PAUSE);
        }
        if self.spent == 0 {
            self.since = clock.moment();
        }
        if self.spent >= BURST {
            return;
        }
        self.spent += 1;
        let what = Message {
            component: KUBELET,
            warning,
            reason,
        };
        events::record_on_node(handle, pod, part, what, text);
    }

    /// A container starts.
    pub(super) fn started(&mut self, handle: &Handle, pod: &Value, container: &Value) {
        self.pulled(handle, pod, container);
        let part = path(pod, container);
        self.record(handle, pod, &part, (false, "Created"), "Container created");
        self.record(handle, pod, &part, (false, "Started"), "Container started");
    }

    /// A simulated node has each image, but its policy may be to pull it all the same.
    fn pulled(&mut self, handle: &Handle, pod: &Value, container: &Value) {
        let part = path(pod, container);
        let image = &text(&container["image"]);
        if container["imagePullPolicy"] != "Always" {
            let text = format!(
                "Container image {image:?} already present on machine and can be accessed by the pod"
            );
            return self.record(handle, pod, &part, (false, "Pulled"), &text);
        }
        let pulling = format!("Pulling image {image:?}");
        self.record(handle, pod, &part, (false, "Pulling"), &pulling);
        let took = START.as_millis();
        let text = format!(
            "Successfully pulled image {image:?} in {took}ms ({took}ms including waiting). Image size: {SIZE} bytes."
        );
        self.record(handle, pod, &part, (false, "Pulled"), &text);
    }

    /// The image of a container cannot be pulled.
    pub(super) fn pull_failed(&mut self, handle: &Handle, pod: &Value, container: &Value) {
        let part = path(pod, container);
        let image = &text(&container["image"]);
        let pulling = format!("Pulling image {image:?}");
        self.record(handle, pod, &part, (false, "Pulling"), &pulling);
        let text =
            format!("Failed to pull image {image:?}: failed to pull image {image:?}: no such host");
        self.record(handle, pod, &part, (true, "Failed"), &text);
        self.record(handle, pod, &part, (true, "Failed"), "Error: ErrImagePull");
    }

    /// A kubelet waits before it pulls the image again.
    pub(super) fn pull_backs_off(&mut self, handle: &Handle, pod: &Value, container: &Value) {
        let part = path(pod, container);
        let waits = format!("Back-off pulling image {:?}", text(&container["image"]));
        self.record(handle, pod, &part, (false, "BackOff"), &waits);
        let error = "Error: ImagePullBackOff";
        self.record(handle, pod, &part, (true, "Failed"), error);
    }

    /// A container cannot be created, because something that its environment names does not exist.
    pub(super) fn misconfigured(
        &mut self,
        handle: &Handle,
        pod: &Value,
        container: &Value,
        why: &str,
    ) {
        self.pulled(handle, pod, container);
        let part = path(pod, container);
        let text = format!("Error: {why}");
        self.record(handle, pod, &part, (true, "Failed"), &text);
    }

    /// Containers that have exited wait before they start again.
    pub(super) fn backs_off(&mut self, handle: &Handle, pod: &Value, container: &Value) {
        let text = format!(
            "Back-off restarting failed container {} in pod {}",
            text(&container["name"]),
            place(pod)
        );
        let part = path(pod, container);
        self.record(handle, pod, &part, (true, "BackOff"), &text);
    }

    /// A container is told to end, with the Pod.
    pub(super) fn stopped(&mut self, handle: &Handle, pod: &Value, container: &Value) {
        let text = format!("Stopping container {}", text(&container["name"]));
        let part = path(pod, container);
        self.record(handle, pod, &part, (false, "Killing"), &text);
    }

    /// A probe of a container failed too often. It is told to end, unless the probe is that of the readiness.
    pub(super) fn unhealthy(
        &mut self,
        handle: &Handle,
        pod: &Value,
        container: &Value,
        probe: Probe,
    ) {
        let (word, title) = match probe {
            Probe::Startup => ("startup", "Startup"),
            Probe::Readiness => ("readiness", "Readiness"),
            Probe::Liveness => ("liveness", "Liveness"),
        };
        let part = path(pod, container);
        let failed = format!("{title} probe failed: simulated");
        self.record(handle, pod, &part, (true, "Unhealthy"), &failed);
        if probe != Probe::Readiness {
            let name = text(&container["name"]);
            let text = format!("Container {name} failed {word} probe, will be restarted");
            self.record(handle, pod, &part, (false, "Killing"), &text);
        }
    }

    /// The Pod ran for longer than it may.
    pub(super) fn deadline_exceeded(&mut self, handle: &Handle, pod: &Value) {
        let text = "Pod was active on the node longer than the specified deadline";
        self.record(handle, pod, "", (true, "DeadlineExceeded"), text);
    }
}

/// The path of a container in its Pod, as Events name it.
fn path(pod: &Value, container: &Value) -> String {
    let name = &container["name"];
    let has = |list: &&str| {
        let mut all = pod["spec"][*list].as_array().into_iter().flatten();
        all.any(|one| one["name"] == *name)
    };
    let list = ["initContainers", "ephemeralContainers"]
        .into_iter()
        .find(has);
    format!("spec.{}{{{}}}", list.unwrap_or("containers"), text(name))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
