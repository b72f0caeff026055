use std::{collections::BTreeSet, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    cache::{InformerStatus, Informers},
    controller::ControllerStatus,
    health::Checks,
    resource::ApiResource,
};

/// How often a start that is not ready yet is looked at.
const GLANCE: Duration = Duration::from_millis(100);
/// After this long without a word from the server, or of one failure after the other, a cache is no longer well.
const SILENCE: Duration = Duration::from_secs(150);

/// Which of the operator's kinds it brings itself, and how they are installed.
#[derive(Clone, Debug)]
pub(super) struct OwnKinds {
    /// Name of the binary.
    pub(super) operator: String,
    /// `websites.demo.pilothouse.dev`, as definitions are named.
    pub(super) names: BTreeSet<String>,
}

/// Whether an operator is ready, and if not why.
#[derive(Clone, Debug)]
pub(super) struct Readiness {
    pub(super) own_kinds: OwnKinds,
    pub(super) informers: Informers,
    pub(super) controllers: Vec<ControllerStatus>,
}

impl Readiness {
    /// Adds a check for each kind that a controller watches, so that readiness names what is not in sync, and why; and
    /// for each controller one that never fails and tells how many of its objects fail, and why. Objects that fail do not
    /// make a process unready: another version of it could then not be rolled out in its place.
    pub(super) fn add_checks(&self, ready: &Checks, kinds: impl IntoIterator<Item = ApiResource>) {
        for kind in kinds {
            let readiness = self.clone();
            let name = format!("informer-{}", kind.qualified_plural());
            ready.add(name, move || readiness.check(&kind));
        }
        for controller in &self.controllers {
            let status = controller.clone();
            let name = format!("controller-{}", controller.name());
            ready.add_told(name, move || Ok(status.to_string()));
        }
    }

    fn check(&self, kind: &ApiResource) -> Result<(), String> {
        let mut statuses = self.informers.statuses();
        statuses.retain(|status| status.resource == *kind);
        if statuses.is_empty() {
            return Err("not started".into());
        }
        let trouble = statuses
            .iter()
            .find_map(|status| self.own_kinds.trouble(status));
        trouble.map_or(Ok(()), Err)
    }

    /// Waits until every controller works, or stands by.
    pub(super) async fn working(&self) {
        while !self.is_working() {
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Until every controller works: says once of each kind that is not served what to do. The informers log their
    /// own failures; they cannot know that a kind is the operator's, whose `crd` installs it.
    pub(super) async fn tell(&self, cancel: &CancellationToken) {
        let mut told = BTreeSet::new();
        while !self.is_working() {
            let mut statuses = self.informers.statuses();
            statuses.retain(|status| status.not_served);
            for trouble in statuses
                .iter()
                .filter_map(|status| self.own_kinds.trouble(status))
            {
                if told.insert(trouble.clone()) {
                    tracing::warn!("{trouble}");
                }
            }
            tokio::select! {
                () = cancel.cancelled() => return,
                // Losing it is safe: it only waits.
                () = tokio::time::sleep(GLANCE) => {}
            }
        }
    }

    /// Waits until the caches of every controller have synced, or are held back by what waiting does not change: one
    /// kind's trouble is not that of the others.
    pub(super) async fn settled(&self) {
        while !self.controllers.iter().all(is_settled) {
            tokio::time::sleep(GLANCE).await;
        }
    }

    fn is_working(&self) -> bool {
        self.controllers.iter().all(is_synced)
    }
}

fn is_synced(controller: &ControllerStatus) -> bool {
    controller.is_working() || controller.is_standing_by()
}

fn is_settled(controller: &ControllerStatus) -> bool {
    let waits_for = controller.waiting_for();
    let in_trouble = |informer: &InformerStatus| {
        informer.forbidden || informer.not_served || informer.last_error.is_some()
    };
    is_synced(controller) || (!waits_for.is_empty() && waits_for.iter().any(in_trouble))
}

impl OwnKinds {
    /// What keeps an informer from being well, in one line with what to do.
    fn trouble(&self, status: &InformerStatus) -> Option<String> {
        let kind = status.resource.qualified_plural();
        if status.not_served {
            let operator = &self.operator;
            return Some(if self.names.contains(&kind) {
                format!("{kind} is not served: run `{operator} crd | kubectl apply -f -`")
            } else {
                format!("{kind} is not served: install what brings it, or do not name it in `wire`")
            });
        }
        let is_long = |time: Option<Duration>| time.is_some_and(|time| time >= SILENCE);
        let fails = status.last_error.is_some()
            && (is_long(status.silent_for) || is_long(status.failing_for));
        (!status.synced || fails || status.forbidden).then(|| status.to_string())
    }
}
