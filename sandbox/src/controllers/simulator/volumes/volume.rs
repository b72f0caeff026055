use std::time::Duration;

use serde_json::Value;

use super::claim::set_phase;
use super::volumes;
use crate::api::{DeleteOptions, Handle};
use crate::controllers::simulator::object::claims;
use crate::meta;

/// Shows whether a volume is available, and deletes it after its claim if its policy says so.
pub(in crate::controllers::simulator) fn reconcile(
    handle: &Handle,
    volume: &Value,
) -> Option<Duration> {
    let reference = &volume["spec"]["claimRef"];
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    if text("uid").is_empty() {
        set_phase(handle, volume, "Available");
        return None;
    }
    let claim = handle.get(&claims(), Some(text("namespace")), text("name"));
    let claim = claim.filter(|claim| meta::uid(claim) == text("uid"));
    match claim {
        Some(claim) if claim["spec"]["volumeName"] == meta::name(volume) => {
            set_phase(handle, volume, "Bound");
        }
        // The claim is about to be bound.
        Some(_) => {}
        None => {
            set_phase(handle, volume, "Released");
            let deletes = volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete";
            if deletes && !meta::is_deleting(volume) {
                let options = DeleteOptions {
                    uid: Some(meta::uid(volume).to_owned()),
                    ..DeleteOptions::default()
                };
                // An error means that it is gone already.
                let _ = handle.delete(&volumes(), None, meta::name(volume), &options);
            }
        }
    }
    None
}
