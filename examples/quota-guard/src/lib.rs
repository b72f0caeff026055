//! A limit for the Pods of a namespace. It stops no Pod: it says by a condition and by Events when the limit is near or exceeded.

use pilothouse::{
    admission::{AdmissionRule, Reason},
    controller::{Mapping, Watched},
    k8s::api::core::v1::Pod,
    prelude::*,
    resource::{Conditions, NewCondition},
    webhook::Operation,
};

// ANCHOR: kind
/// A limit for the Pods of its namespace.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
pub struct QuotaGuard {
    pub metadata: ObjectMeta,
    pub spec: QuotaGuardSpec,
    pub status: Option<QuotaGuardStatus>,
}

/// The limit.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaGuardSpec {
    /// How many Pods there may be. Pods that have ended do not count.
    #[schema(minimum = 1, maximum = 100_000, column = "Limit")]
    pub pods: i32,
    /// From which part of the limit on it is near, in percent.
    #[serde(default = "eighty")]
    #[schema(minimum = 1, maximum = 100)]
    pub near_percent: i32,
}

/// How much is used.
#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QuotaGuardStatus {
    /// Number of Pods that have not ended.
    #[schema(column = "Pods")]
    pub pods: i32,
    /// The condition `WithinLimit` says whether there are too many Pods. Its reason is `Enough`, `Near` or `Exceeded`.
    pub conditions: Vec<Condition>,
}

fn eighty() -> i32 {
    80
}
// ANCHOR_END: kind

// ANCHOR: view
/// What the operator needs to know of a Pod. The cache holds nothing else of it.
#[derive(Resource, Clone, Debug, Deserialize, Serialize)]
#[resource(view_of = Pod)]
pub struct CountedPod {
    pub metadata: ObjectMeta,
    pub status: Option<Progress>,
}

/// How far a Pod is.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Progress {
    pub phase: Option<String>,
}

impl CountedPod {
    fn has_ended(&self) -> bool {
        let phase = self.status.as_ref().and_then(|one| one.phase.as_deref());
        matches!(phase, Some("Succeeded" | "Failed"))
    }
}
// ANCHOR_END: view

struct QuotaGuardReconciler;

// ANCHOR: reconciler
impl Reconciler for QuotaGuardReconciler {
    type Resource = QuotaGuard;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        // A Pod that comes, ends or goes concerns all guards of its namespace.
        let guards = Mapping::<CountedPod>::changes(|change, caches| {
            let pod = change.new().or(change.old());
            let namespace = pod.and_then(|pod| pod.namespace()).unwrap_or_default();
            let guards = caches.lister::<QuotaGuard>()?.in_namespace(namespace);
            Ok(guards.items.iter().map(|guard| guard.key()).collect())
        });
        controller.watch(Watched::new(guards))
    }

    async fn reconcile(&self, guard: Arc<QuotaGuard>, cx: &Context<QuotaGuard>) -> Result<Action> {
        let pods = cx.list::<CountedPod>()?.items;
        let pods = pods.iter().filter(|pod| !pod.has_ended()).count();
        let pods = i32::try_from(pods).unwrap_or(i32::MAX);
        let use_now = Use::of(pods, &guard.spec);

        let mut status = guard.status.clone().unwrap_or_default();
        let known = status.conditions.of_type(WITHIN_LIMIT);
        let was = known.map(|condition| condition.reason.clone());
        let text = format!("{pods} of {} Pods", guard.spec.pods);
        if was.as_deref() != Some(use_now.reason()) && (was.is_some() || use_now != Use::Enough) {
            cx.event(use_now.event().note(&text));
        }
        status.pods = pods;
        let condition = use_now.condition().message(text);
        status.conditions.set(condition, cx.now())?;
        cx.update_status(status).await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: reconciler

const WITHIN_LIMIT: &str = "WithinLimit";

// ANCHOR: use
/// How much of a limit is used.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    Enough,
    Near,
    Exceeded,
}

impl Use {
    fn of(pods: i32, limit: &QuotaGuardSpec) -> Self {
        let near = i64::from(limit.pods) * i64::from(limit.near_percent);
        if pods > limit.pods {
            Self::Exceeded
        } else if i64::from(pods) * 100 >= near {
            Self::Near
        } else {
            Self::Enough
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Enough => "Enough",
            Self::Near => "Near",
            Self::Exceeded => "Exceeded",
        }
    }

    fn condition(self) -> NewCondition {
        match self {
            Self::Enough | Self::Near => NewCondition::is_true(WITHIN_LIMIT, self.reason()),
            Self::Exceeded => NewCondition::is_false(WITHIN_LIMIT, self.reason()),
        }
    }

    fn event(self) -> NewEvent {
        match self {
            Self::Enough => NewEvent::normal("Enough", "Count"),
            Self::Near => NewEvent::warning("Near", "Count"),
            Self::Exceeded => NewEvent::warning("Exceeded", "Count"),
        }
    }
}
// ANCHOR_END: use

// ANCHOR: rule
/// A user who may change a guard may lower its limit. To raise it, the user needs the verb `raise`, too. The API server decides this,
/// without the operator.
pub fn raise() -> AdmissionRule {
    AdmissionRule::on::<QuotaGuard>("raise")
        .operations([Operation::Update])
        .reason(Reason::Forbidden)
        .check(
            "object.spec.pods <= oldObject.spec.pods || authorizer.requestResource.check('raise').allowed()",
            "only who has the verb `raise` on quotaguards may raise the limit",
        )
}
// ANCHOR_END: rule

/// The operator, for `main` and for the tests.
pub fn operator() -> Operator {
    Operator::new("quota-guard")
        .controller(QuotaGuardReconciler)
        .admission_rule(raise())
}
