use std::time::Duration;

use serde_json::Value;

use super::jobs::finish;
use crate::api::{DeleteOptions, Handle, Propagation};
use crate::controllers::simulator::object::{jobs, since};
use crate::meta;

/// Deletes a finished Job whose time to live is over. Returns the time until then.
pub(super) fn expire(handle: &Handle, job: &Value) -> Option<Duration> {
    let limit = job["spec"]["ttlSecondsAfterFinished"].as_u64()?;
    if meta::is_deleting(job) {
        return None;
    }
    let age = since(handle, &finish(job)?["lastTransitionTime"])?;
    let rest = Duration::from_secs(limit).saturating_sub(age);
    if !rest.is_zero() {
        return Some(rest);
    }
    let options = DeleteOptions {
        propagation: Some(Propagation::Foreground),
        uid: Some(meta::uid(job).to_owned()),
        ..DeleteOptions::default()
    };
    let (namespace, name) = (meta::text(job, "namespace"), meta::name(job));
    if let Err(error) = handle.delete(&jobs(), Some(namespace), name, &options) {
        tracing::debug!(%namespace, %name, %error, "the simulator cannot delete the Job");
    }
    None
}
