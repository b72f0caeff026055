//! Counts Secrets by their metadata, and marks those without a team.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use pilothouse::{
    client::Patch,
    metrics::{
        Metrics,
        prometheus::{IntGaugeVec, Opts},
    },
    prelude::*,
    resource::{AccessRule, ObjectKey, PartialObject},
    server::{
        Reply,
        http::{HeaderValue, header::CONTENT_TYPE},
    },
};
use serde_json::json;

use crate::TEAM;

/// The annotation of Secrets without a team.
pub const CHECKED: &str = "platform.example.com/checked";

/// The namespace of a Secret, and its team. A Secret without a team has an empty text there.
type Owner = (String, String);

/// The owners of all Secrets.
#[derive(Default)]
pub(crate) struct Census {
    owners: Mutex<BTreeMap<ObjectKey, Owner>>,
}

impl Census {
    fn owners(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Owner>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of Secrets of each team in each namespace, as JSON.
    pub(crate) fn reply(&self) -> Result<Reply> {
        let mut counts = BTreeMap::<String, BTreeMap<String, u64>>::new();
        for (namespace, team) in self.owners().values().cloned() {
            *counts
                .entry(namespace)
                .or_default()
                .entry(team)
                .or_default() += 1;
        }
        let mut reply = Reply::new(serde_json::to_vec(&counts)?.into());
        let json = HeaderValue::from_static("application/json");
        reply.headers_mut().insert(CONTENT_TYPE, json);
        Ok(reply)
    }
}

pub(crate) struct CensusReconciler {
    census: Arc<Census>,
    secrets: IntGaugeVec,
}

impl CensusReconciler {
    pub(crate) fn new(census: Arc<Census>, metrics: &Metrics) -> Result<Self> {
        let help = "Number of Secrets by namespace and team.";
        let secrets =
            IntGaugeVec::new(Opts::new("platform_secrets", help), &["namespace", "team"])?;
        let secrets = metrics.register(secrets)?;
        Ok(Self { census, secrets })
    }

    /// Counts the Secret for its present owner, or for none.
    fn count(&self, key: &ObjectKey, owner: Option<Owner>) {
        let mut owners = self.census.owners();
        let old = match owner.clone() {
            Some(owner) => owners.insert(key.clone(), owner),
            None => owners.remove(key),
        };
        let gauge = |(namespace, team): Owner| self.secrets.with_label_values(&[namespace, team]);
        owner.map(gauge).inspect(|gauge| gauge.inc());
        old.map(gauge).inspect(|gauge| gauge.dec());
    }
}

impl Reconciler for CensusReconciler {
    type Resource = PartialObject<Secret>;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.access(AccessRule::of::<Secret>(["patch"]))
    }

    async fn reconcile(
        &self,
        secret: Arc<PartialObject<Secret>>,
        cx: &Context<PartialObject<Secret>>,
    ) -> Result {
        let namespace = secret.namespace().unwrap_or_default();
        let team = secret.label(TEAM).unwrap_or_default();
        self.count(cx.key(), Some((namespace.into(), team.into())));
        if team.is_empty() && secret.annotation(CHECKED).is_none() && !secret.is_deleting() {
            let checked = json!({"metadata": {"annotations": {CHECKED: "true"}}});
            cx.patch::<PartialObject<Secret>>(cx.key(), &Patch::Merge(checked))
                .await?;
        }
        Ok(Action::wait())
    }

    async fn deleted(&self, key: &ObjectKey, _: &Context<PartialObject<Secret>>) -> Result<()> {
        self.count(key, None);
        Ok(())
    }
}
