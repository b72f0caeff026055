use serde_json::{Value, json};

use super::claims;
use crate::controllers::simulator::history::{self, REVISION_LABEL};
use crate::controllers::simulator::object::number;
use crate::controllers::simulator::pod_control::from_template;
use crate::meta;

const NAME: &str = "statefulset.kubernetes.io/pod-name";
const INDEX: &str = "apps.kubernetes.io/pod-index";

/// The name of the Pod with a number.
pub(super) fn name(set: &Value, ordinal: i64) -> String {
    format!("{}-{ordinal}", meta::name(set))
}

/// The number of a Pod. `None` if its name is not one of this set.
pub(super) fn ordinal(set: &Value, pod: &Value) -> Option<i64> {
    let (set_name, ordinal) = meta::name(pod).rsplit_once('-')?;
    let ordinal = ordinal.parse().ok()?;
    (set_name == meta::name(set) && name(set, ordinal) == meta::name(pod)).then_some(ordinal)
}

/// The revision that a Pod was made from.
pub(super) fn revision(pod: &Value) -> &str {
    let revision = &pod["metadata"]["labels"][REVISION_LABEL];
    revision.as_str().unwrap_or_default()
}

/// The number of the first Pod.
pub(super) fn first(set: &Value) -> i64 {
    number(set, "/spec/ordinals/start")
}

/// The Pod with a number, made from a revision of the set.
pub(super) fn make(set: &Value, revision: &Value, ordinal: i64) -> Value {
    let mut pod = from_template(set, &history::template(revision));
    let name = name(set, ordinal);
    if let Some(metadata) = meta::fields(&mut pod) {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        labels[NAME] = json!(name);
        labels[INDEX] = json!(ordinal.to_string());
        labels[REVISION_LABEL] = json!(meta::name(revision));
        metadata.insert("name".into(), json!(name));
    }
    pod["spec"]["hostname"] = json!(name);
    if let Some(service) = set["spec"]["serviceName"].as_str() {
        pod["spec"]["subdomain"] = json!(service);
    }
    let mut volumes: Vec<Value> = claims::names(set, ordinal)
        .map(|(template, claim)| {
            json!({"name": template, "persistentVolumeClaim": {"claimName": claim}})
        })
        .collect();
    let declared = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let taken = |volume: &&Value| volumes.iter().any(|own| own["name"] == volume["name"]);
    let kept: Vec<Value> = declared.filter(|one| !taken(one)).cloned().collect();
    volumes.extend(kept);
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = volumes.into();
    }
    pod
}
