use std::time::Duration;

use serde::Serialize;

/// Options of [`Api::delete`](crate::client::Api::delete) and
/// [`delete_collection`](crate::client::Api::delete_collection).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteParams {
    pub(crate) grace_period: Option<Duration>,
    pub(crate) propagation: Option<Propagation>,
    preconditions: Option<Preconditions>,
    pub(crate) dry_run: bool,
    pub(crate) ignore_store_read_error_with_cluster_breaking_potential: bool,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Propagation {
    /// The dependents stay.
    Orphan,
    /// The garbage collector deletes the dependents afterwards.
    Background,
    /// The object stays until its dependents are gone.
    Foreground,
}

/// Conditions of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Preconditions {
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_version: Option<String>,
}

impl DeleteParams {
    /// The dependents stay.
    pub fn orphan() -> Self {
        Self::default().propagation(Propagation::Orphan)
    }

    /// The garbage collector deletes the dependents afterwards.
    pub fn background() -> Self {
        Self::default().propagation(Propagation::Background)
    }

    /// The object stays until its dependents are gone.
    pub fn foreground() -> Self {
        Self::default().propagation(Propagation::Foreground)
    }

    /// Sets what happens to the object's dependents. By default the kind decides.
    #[must_use]
    pub fn propagation(mut self, propagation: Propagation) -> Self {
        self.propagation = Some(propagation);
        self
    }

    /// Sets how long the object may take to end, rounded down to seconds. Zero deletes it at once. By default the kind
    /// decides.
    #[must_use]
    pub fn grace_period(mut self, period: Duration) -> Self {
        self.grace_period = Some(period);
        self
    }

    /// Deletes only the object with this UID. If another object has the name, the server answers with a conflict.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().uid = Some(uid.into());
        self
    }

    /// Deletes only the object at this resource version. If it has changed, the server answers with a conflict.
    #[must_use]
    pub fn resource_version(mut self, version: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().resource_version = Some(version.into());
        self
    }

    /// Only checks the request; the server changes nothing.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Deletes an object that the server cannot read from its store, without finalizers, grace period or precondition.
    /// What the object represents, such as a volume or running processes, stays behind. Not allowed with any other option.
    #[must_use]
    pub fn ignore_store_read_error_with_cluster_breaking_potential(mut self) -> Self {
        self.ignore_store_read_error_with_cluster_breaking_potential = true;
        self
    }

    /// Refuses what the server would refuse (apimachinery's `ValidateDeleteOptions`).
    pub(in crate::client) fn check(&self, one_object: bool) -> Result<(), String> {
        let ignores = Self {
            ignore_store_read_error_with_cluster_breaking_potential: true,
            ..Self::default()
        };
        if !self.ignore_store_read_error_with_cluster_breaking_potential {
            return Ok(());
        }
        if !one_object {
            return Err("an object that cannot be read is deleted alone, by its name".into());
        }
        if *self != ignores {
            return Err("an object that cannot be read is deleted without any other option".into());
        }
        Ok(())
    }

    /// The body of the request. `None` if every option has its default.
    pub(in crate::client) fn body(&self) -> Option<DeleteOptions<'_>> {
        (*self != Self::default()).then(|| DeleteOptions {
            api_version: "v1",
            kind: "DeleteOptions",
            grace_period_seconds: self.grace_period.map(|period| period.as_secs()),
            propagation_policy: self.propagation,
            preconditions: self.preconditions.as_ref(),
            dry_run: self.dry_run.then_some(["All"]),
            ignore_store_read_error_with_cluster_breaking_potential: self
                .ignore_store_read_error_with_cluster_breaking_potential
                .then_some(true),
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct DeleteOptions<'a> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace_period_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    propagation_policy: Option<Propagation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preconditions: Option<&'a Preconditions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_store_read_error_with_cluster_breaking_potential: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_chosen_options_are_sent() {
        assert!(DeleteParams::default().body().is_none());
        let params = DeleteParams::foreground()
            .uid("1")
            .grace_period(Duration::ZERO);
        assert_eq!(
            serde_json::to_value(params.body()).unwrap(),
            serde_json::json!({
                "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                "propagationPolicy": "Foreground", "preconditions": {"uid": "1"},
            })
        );
    }

    #[test]
    fn deleting_an_unreadable_object_allows_no_other_option() {
        let ignoring =
            DeleteParams::default().ignore_store_read_error_with_cluster_breaking_potential();
        assert!(ignoring.check(true).is_ok() && ignoring.check(false).is_err());
        let key = "ignoreStoreReadErrorWithClusterBreakingPotential";
        assert_eq!(serde_json::to_value(ignoring.body()).unwrap()[key], true);
        for other in [
            DeleteParams::background(),
            DeleteParams::default().dry_run(),
            DeleteParams::default().uid("1"),
            DeleteParams::default().grace_period(Duration::ZERO),
        ] {
            assert!(other.check(false).is_ok());
            let both = other.ignore_store_read_error_with_cluster_breaking_potential();
            assert!(both.check(true).is_err());
        }
    }
}
