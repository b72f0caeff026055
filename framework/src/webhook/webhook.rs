use std::{fmt, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::Instant;

use super::{
    Admission, Change, Denied, Mutate, Operation, ReadCaches, Reads, Rules, Validate,
    admission::{read, unreadable},
    change::missing,
    patch,
    refused::Refused,
    review::{Allowed, Decision, ReviewRequest},
    service::time_to_answer,
};
use crate::{
    controller::Reconcilable,
    resource::{ApiResource, StatusDetails},
};

/// The time for an answer to reach the API server.
const LAST_BYTES: Duration = Duration::from_millis(500);

type Decide =
    Arc<dyn Fn(ReviewRequest, Instant, ReadCaches) -> BoxFuture<'static, Decision> + Send + Sync>;

/// A validation or a mutation of one kind, without the user's types.
#[derive(Clone)]
pub(crate) struct Webhook {
    pub(super) resource: ApiResource,
    pub(super) rules: Rules,
    pub(crate) reads: Reads,
    pub(super) mutates: bool,
    /// Whether the operator defines the kind.
    pub(super) is_own_kind: bool,
    /// Whether the kind is known only at run time.
    is_dynamic: bool,
    decide: Decide,
}

impl Webhook {
    /// The webhook of a validation.
    pub(crate) fn validating<V: Validate>(resource: ApiResource, validate: V) -> Self {
        let declared = (
            validate.rules(Rules::new()),
            validate.reads(Reads::default()),
        );
        let validate = Arc::new(validate);
        let decide: Decide = Arc::new(move |request, deadline, caches| {
            let validate = validate.clone();
            let decided = async move {
                let change = Change::<V::Resource>::of(&request);
                let cx = Admission::new(request, deadline, caches);
                let outcome = match change {
                    Ok(change) => validate.validate(&change, &cx).await,
                    Err(denied) => Err(denied),
                };
                decision(&cx, outcome.map(|warnings| (warnings, Vec::new())))
            };
            decided.boxed()
        });
        Self::new::<V::Resource>(resource, declared, false, decide)
    }

    /// The webhook of a mutation.
    pub(crate) fn mutating<M: Mutate>(resource: ApiResource, mutate: M) -> Self {
        let declared = (mutate.rules(Rules::new()), mutate.reads(Reads::default()));
        let mutate = Arc::new(mutate);
        let decide: Decide = Arc::new(move |mut request, deadline, caches| {
            let mutate = mutate.clone();
            let decided = async move {
                let object = request.object.take();
                let cx = Admission::new(request, deadline, caches);
                let changed = async {
                    let object = object.ok_or_else(|| missing("object"))?;
                    let mut typed: M::Resource = read(&object, "the object")?;
                    let before = to_json(&typed)?;
                    let warnings = mutate.mutate(&mut typed, &cx).await?;
                    let after = to_json(&typed)?;
                    let patch = patch::patch(object.get(), &before, &after);
                    let patch = patch.map_err(|problem| unreadable("the object", &problem))?;
                    Ok((warnings, patch))
                };
                let outcome = changed.await;
                decision(&cx, outcome)
            };
            decided.boxed()
        });
        Self::new::<M::Resource>(resource, declared, true, decide)
    }

    fn new<K: Reconcilable>(
        resource: ApiResource,
        (rules, reads): (Rules, Reads),
        mutates: bool,
        decide: Decide,
    ) -> Self {
        Self {
            resource,
            rules,
            reads,
            mutates,
            is_own_kind: K::definition().is_some(),
            is_dynamic: K::IS_RUNTIME,
            decide,
        }
    }

    /// The path of its URL, in the form of controller-runtime: `/validate-apps-v1-deployment`.
    pub(crate) fn path(&self) -> String {
        let verb = self.verb();
        let group = self.resource.group.replace('.', "-");
        let (version, kind) = (&self.resource.version, self.resource.kind.to_lowercase());
        match &self.rules.name {
            Some(name) => format!("/{verb}-{group}-{version}-{kind}-{name}"),
            None => format!("/{verb}-{group}-{version}-{kind}"),
        }
    }

    /// The name that users see. It has at least three parts, as an API server demands.
    pub(crate) fn name(&self) -> String {
        let group = match &*self.resource.group {
            "" => "core",
            group => group,
        };
        let name = self.rules.name.iter().map(|name| format!("{name}."));
        let name = name.collect::<String>();
        format!("{name}{}.{}.{group}", self.verb(), self.resource.plural)
    }

    fn verb(&self) -> &'static str {
        match self.mutates {
            true => "mutate",
            false => "validate",
        }
    }

    /// Whether an API server accepts the webhook.
    ///
    /// # Errors
    /// The problem, and what to do.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.rules.check(self.mutates)
    }

    /// What could do without the webhook. `None` if it declares something that a rule of CEL cannot have: caches, effects outside of the
    /// request, connections, or that it needs code.
    pub(crate) fn alternative(&self) -> Option<&'static str> {
        let rules = &self.rules;
        let is_declared = rules.needs_code
            || rules.acts_outside
            || rules.operations.contains(&Operation::Connect)
            || self.reads.kinds().next().is_some();
        if is_declared {
            return None;
        }
        let deletes = rules.operations.contains(&Operation::Delete);
        Some(match (self.mutates, self.is_own_kind) {
            (true, true) => {
                "a default in the schema (`#[serde(default = \"..\")]`), or an `AdmissionRule`"
            }
            (true, false) => "an `AdmissionRule`",
            (false, true) if !deletes => {
                "a rule in the schema (`#[schema(rule(..))]`), or an `AdmissionRule`"
            }
            (false, _) => "an `AdmissionRule`",
        })
    }

    /// The longest time from a request to the last byte of its answer.
    pub(super) fn longest_call(&self) -> Duration {
        time_to_answer(self.rules.timeout) + LAST_BYTES
    }

    /// Checks that the review is for this webhook.
    pub(super) fn check_kind(&self, request: &ReviewRequest) -> Result<(), Refused> {
        let is_other_kind = self.is_dynamic && !request.sub_resource.is_empty();
        if is_other_kind
            || request.operation == Operation::Connect
            || request.kind.is(&self.resource)
        {
            return Ok(());
        }
        let (path, found) = (self.path(), request.kind.shown());
        let resource = &self.resource;
        Err(Refused::bad_request(format!(
            "the webhook at {path} is for {} of {}, but the review is for a {found}: correct the rules of the webhook configuration",
            resource.kind,
            resource.api_version(),
        )))
    }

    /// Decides about a request.
    pub(super) async fn decide(
        &self,
        request: ReviewRequest,
        deadline: Instant,
        caches: ReadCaches,
    ) -> Decision {
        let details = StatusDetails {
            name: request.name.clone(),
            group: request.kind.group.clone(),
            kind: request.kind.kind.clone(),
            ..StatusDetails::default()
        };
        let mut decision = (self.decide)(request, deadline, caches).await;
        if let Err(denied) = &mut decision.outcome {
            denied.about(details);
        }
        decision
    }
}

fn decision(
    cx: &Admission,
    outcome: Result<(super::Warnings, Vec<patch::Operation>), Denied>,
) -> Decision {
    Decision {
        outcome: outcome.map(|(warnings, patch)| Allowed { warnings, patch }),
        audit: cx.take_audit(),
    }
}

fn to_json<K: Reconcilable>(object: &K) -> Result<String, Denied> {
    serde_json::to_string(object).map_err(|_| {
        let message = "the type that the operator has for the object cannot be written as JSON";
        Denied::with(500, "InternalError", message)
    })
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Webhook({})", self.path())
    }
}
