use std::{collections::BTreeSet, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    cache::{InformerStatus, Informers, joined},
    controller::ControllerStatus,
    health::Checks,
    resource::ApiResource,
};

/// The time between two checks during a start that is not ready yet.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// A cache counts as failed after this time without data from the server, or with repeated failures only.
const SILENCE: Duration = Duration::from_secs(150);
/// If the first list of a kind that the operator converts takes so long, the API server perhaps waits for a replica that converts.
const LONGEST_FIRST_LIST: Duration = Duration::from_secs(5);

/// The kinds that the operator defines or reconciles itself.
#[derive(Clone, Debug)]
pub(super) struct OwnKinds {
    /// Name of the binary.
    pub(super) operator: String,
    /// The names of their definitions, such as `websites.demo.pilothouse.dev`.
    pub(super) names: BTreeSet<String>,
    /// The names of all reconciled kinds.
    pub(super) reconciled: BTreeSet<String>,
    /// The names of the kinds whose objects it converts for the API server.
    pub(super) converted: BTreeSet<String>,
}

/// Decides whether an operator is ready, and if not, why. Clones share the state.
#[derive(Clone, Debug)]
pub(super) struct Readiness {
    pub(super) own_kinds: OwnKinds,
    pub(super) informers: Informers,
    pub(super) controllers: Vec<ControllerStatus>,
}

impl Readiness {
    /// Adds a check for each watched kind, so that readiness names each kind that is not in sync, and why. Also adds a
    /// check for each controller. It never fails and shows how many of its objects fail, and why. Failing objects do not
    /// make a process unready: otherwise a rolling update could not replace it by a fixed version.
    pub(super) fn add_checks(&self, ready: &Checks, kinds: impl IntoIterator<Item = ApiResource>) {
        for kind in kinds {
            let readiness = self.clone();
            let name = format!("informer-{}", kind.qualified_plural());
            ready.add_with_details(name, move || readiness.check(&kind));
        }
        for controller in &self.controllers {
            let status = controller.clone();
            let name = format!("controller-{}", controller.name());
            ready.add_with_details(name, move || Ok(Some(status.to_string())));
        }
    }

    /// Checks the caches of one kind. A problem is only reported as a detail as long as the caches may still be used.
    pub(super) fn check(&self, kind: &ApiResource) -> Result<Option<String>, String> {
        let mut statuses = self.informers.statuses();
        statuses.retain(|status| status.resource == *kind);
        if statuses.is_empty() {
            return Err("not started".into());
        }
        let describe = |is_shown: &dyn Fn(&InformerStatus) -> bool| {
            let shown = statuses.iter().filter(|status| is_shown(status));
            let texts: Vec<_> = shown
                .map(|status| self.own_kinds.describe(status))
                .collect();
            (!texts.is_empty()).then(|| joined(texts))
        };
        let is_unready = |status: &InformerStatus| {
            is_unready(status) && !self.own_kinds.may_wait_for_conversions(status)
        };
        match describe(&is_unready) {
            Some(text) => Err(text),
            None => Ok(describe(&InformerStatus::is_unhealthy)),
        }
    }

    /// Checks that every controller has its caches. The error lists those that have not. If the operator converts objects for the
    /// API server, this does not count: the checks of the kinds decide which caches must be there.
    pub(super) fn check_controllers(&self) -> Result<(), String> {
        if !self.own_kinds.converted.is_empty() {
            return Ok(());
        }
        let waiting = self.controllers.iter().filter(|one| !is_synced(one));
        let waiting: Vec<String> = waiting.map(|one| format!("{} {one}", one.name())).collect();
        match waiting.is_empty() {
            true => Ok(()),
            false => Err(waiting.join("; ")),
        }
    }

    /// Waits until every controller works or stands by.
    pub(super) async fn controllers_working(&self) {
        while !self.is_working() {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    /// Logs once for each kind that is not served what to do, until every controller works. The informers log their own
    /// failures, but do not know that the operator's `crd` command installs a kind.
    pub(super) async fn log_missing_kinds(&self, cancel: &CancellationToken) {
        let mut logged = BTreeSet::new();
        while !self.is_working() {
            let mut statuses = self.informers.statuses();
            statuses.retain(|status| status.not_served);
            for status in &statuses {
                let problem = self.own_kinds.not_served(status);
                if logged.insert(problem.clone()) {
                    tracing::warn!("{problem}");
                }
            }
            tokio::select! {
                () = cancel.cancelled() => return,
                // Losing this branch is safe: it only waits.
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
        }
    }

    /// Waits until the caches of every controller have synced, or have a problem that waiting does not solve. A problem of
    /// one kind must not delay the others.
    pub(super) async fn caches_settled(&self) {
        while !self.controllers.iter().all(is_settled) {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    fn is_working(&self) -> bool {
        self.controllers.iter().all(is_synced)
    }
}

/// Whether a controller works, or would work if it led. A controller whose caches cannot be compared with the API server does
/// nothing.
fn is_synced(controller: &ControllerStatus) -> bool {
    let catches_up = controller.is_catching_up() && controller.not_caught_up().is_none();
    controller.is_working() || controller.is_standing_by() || catches_up
}

fn is_settled(controller: &ControllerStatus) -> bool {
    let waits_for = controller.waiting_for();
    let in_trouble = |informer: &InformerStatus| {
        informer.forbidden || informer.not_served || informer.last_error.is_some()
    };
    is_synced(controller) || (!waits_for.is_empty() && waits_for.iter().any(in_trouble))
}

/// Whether a cache may not be used: it has not synced, or has received nothing from the server for too long.
fn is_unready(status: &InformerStatus) -> bool {
    let is_long = |time: Option<Duration>| time.is_some_and(|time| time >= SILENCE);
    let fails = status.last_error.is_some()
        && (is_long(status.silent_for) || is_long(status.unhealthy_for));
    !status.synced || fails || status.forbidden || status.not_served
}

impl OwnKinds {
    /// Whether the cache perhaps lacks objects because no replica converts them. The API server calls only replicas that are ready.
    /// So a cache that waits for this must not keep the replica from being ready: without another replica both would wait for ever.
    fn may_wait_for_conversions(&self, status: &InformerStatus) -> bool {
        let is_long = |time: Duration| time >= LONGEST_FIRST_LIST;
        let is_late = status.last_error.is_some() || status.unhealthy_for.is_some_and(is_long);
        let is_refused = status.forbidden || status.not_served;
        is_late && !is_refused && self.converted.contains(&status.resource.qualified_plural())
    }

    /// Describes the problem of an informer in one line: the problem, what to do, and since when.
    fn describe(&self, status: &InformerStatus) -> String {
        match (status.not_served, status.unhealthy_for) {
            (true, Some(time)) => {
                let text = self.not_served(status);
                format!("{text} (failing for {} s)", time.as_secs())
            }
            _ => status.to_string(),
        }
    }

    /// Says what to do about a kind that is not served.
    fn not_served(&self, status: &InformerStatus) -> String {
        let kind = status.resource.qualified_plural();
        let operator = &self.operator;
        match self.names.contains(&kind) {
            true => format!("{kind} is not served: run `{operator} crd | kubectl apply -f -`"),
            false if self.reconciled.contains(&kind) => {
                format!("{kind} is not served: install its definition; its controller starts then")
            }
            false => {
                format!("{kind} is not served: install its definition, or remove it from `wire`")
            }
        }
    }
}
