use serde_json::{Value, json};

use crate::registry::ServedKind;

/// A subresource of a kind.
pub(super) struct Subresource<'a> {
    pub(super) name: &'static str,
    /// Group, version and kind of its objects, if they differ from those of the resource.
    pub(super) own: Option<[&'static str; 3]>,
    pub(super) kind: &'a ServedKind,
    pub(super) verbs: &'static [&'static str],
}

const READ_AND_WRITE: &[&str] = &["get", "patch", "update"];
const OPEN: &[&str] = &["create", "get"];

impl<'a> Subresource<'a> {
    /// The subresources of a kind, in the order of discovery.
    pub(super) fn of(kind: &'a ServedKind) -> Vec<Self> {
        let subresource = |name, own, verbs| Self {
            name,
            own,
            kind,
            verbs,
        };
        let mut all = Vec::new();
        if kind.status {
            all.push(subresource("status", None, READ_AND_WRITE));
        }
        if kind.scale.is_some() {
            let own = Some(["autoscaling", "v1", "Scale"]);
            all.push(subresource("scale", own, READ_AND_WRITE));
        }
        if kind.is_custom() {
            return all;
        }
        match (kind.group.as_str(), kind.plural.as_str()) {
            ("", "namespaces") => all.push(subresource("finalize", None, &["update"])),
            ("", "pods") => {
                let own = |kind| Some(["", "v1", kind]);
                let eviction = Some(["policy", "v1", "Eviction"]);
                all.extend([
                    subresource("attach", own("PodAttachOptions"), OPEN),
                    subresource("binding", own("Binding"), &["create"]),
                    subresource("ephemeralcontainers", None, READ_AND_WRITE),
                    subresource("eviction", eviction, &["create"]),
                    subresource("exec", own("PodExecOptions"), OPEN),
                    subresource("log", None, &["get"]),
                    subresource("portforward", own("PodPortForwardOptions"), OPEN),
                    subresource("resize", None, READ_AND_WRITE),
                ]);
            }
            ("", "serviceaccounts") => {
                let own = Some(["authentication.k8s.io", "v1", "TokenRequest"]);
                all.push(subresource("token", own, &["create"]));
            }
            _ => {}
        }
        all.sort_by_key(|one| one.name);
        all
    }

    /// Its entry in a list of resources.
    pub(super) fn entry(&self) -> Value {
        let mut entry = json!({
            "name": format!("{}/{}", self.kind.plural, self.name),
            "singularName": "",
            "namespaced": self.kind.namespaced,
            "kind": self.own.map_or(self.kind.kind.as_str(), |[_, _, kind]| kind),
            "verbs": self.verbs,
        });
        // Written only if it differs from that of the resource.
        if let Some([group, version, _]) = self.own
            && group != self.kind.group
        {
            entry["group"] = group.into();
            entry["version"] = version.into();
        }
        entry
    }

    /// Its entry in aggregated discovery.
    pub(super) fn aggregated(&self) -> Value {
        let kind = self.kind;
        let [group, version, kind] = self.own.unwrap_or([&kind.group, &kind.version, &kind.kind]);
        json!({
            "subresource": self.name,
            "responseKind": {"group": group, "version": version, "kind": kind},
            "verbs": self.verbs,
        })
    }
}
