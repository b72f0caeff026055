use std::time::Duration;

use serde::Serialize;

/// Options of `delete` and `delete_collection`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteParams {
    /// How long the object may take to go; `Some(0)` deletes it at once, `None` takes the kind's default.
    pub grace_period: Option<Duration>,
    /// What becomes of the object's dependents; `None` takes the kind's default.
    pub propagation: Option<Propagation>,
    /// Delete only this very object.
    pub preconditions: Option<Preconditions>,
    /// Only check what would happen.
    pub dry_run: bool,
    /// Delete an object that the server cannot read from its store, without finalizers, grace period
    /// or precondition. What the object stood for stays behind; it goes with no other option.
    pub ignore_store_read_error_with_cluster_breaking_potential: bool,
}

/// What becomes of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Propagation {
    /// They stay.
    Orphan,
    /// The garbage collector deletes them afterwards.
    Background,
    /// The object stays until they are gone.
    Foreground,
}

/// What must hold for a deletion to happen; otherwise the server answers a conflict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preconditions {
    /// The object has this UID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The object has this resource version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
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

    /// What becomes of the dependents.
    #[must_use]
    pub fn propagation(mut self, propagation: Propagation) -> Self {
        self.propagation = Some(propagation);
        self
    }

    /// How long the object may take to go, rounded down to seconds.
    #[must_use]
    pub fn grace_period(mut self, period: Duration) -> Self {
        self.grace_period = Some(period);
        self
    }

    /// Delete only the object with this UID.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().uid = Some(uid.into());
        self
    }

    /// Delete only the object at this resource version.
    #[must_use]
    pub fn resource_version(mut self, version: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().resource_version = Some(version.into());
        self
    }

    /// Only check what would happen.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Delete an object that the server cannot read from its store, whatever it leaves behind.
    #[must_use]
    pub fn ignore_store_read_error_with_cluster_breaking_potential(mut self) -> Self {
        self.ignore_store_read_error_with_cluster_breaking_potential = true;
        self
    }

    /// What the server would refuse (apimachinery's `ValidateDeleteOptions`).
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

    /// The body of the request; `None` when every option is the default.
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
    fn only_what_was_asked_for_is_sent() {
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
    fn an_object_that_cannot_be_read_is_deleted_alone_and_as_it_is() {
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
