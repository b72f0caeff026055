use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::{
    api::admissionregistration::v1::MatchCondition,
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};

use super::Operation;
use crate::resource::dns;

/// Which requests a webhook gets, and what the API server does without an answer.
///
/// | rule | default |
/// | --- | --- |
/// | [operations](Self::operations) | create and update |
/// | [subresources](Self::subresources) | none: only the object itself |
/// | [failure policy](Self::ignore_failures) | `Fail`: without an answer the request fails |
/// | [timeout](Self::timeout) | 10 s |
/// | namespaces | all; for a kind that the operator does not define, all but `kube-system` and its own |
/// | side effects | `None`, or `NoneOnDryRun` with [`acts_outside`](Self::acts_outside) |
/// | match policy | `Equivalent`: requests in another version of the kind are converted, and come, too |
/// | [reinvocation](Self::reinvoke) | `Never`, for a mutation |
/// | [needs code](Self::needs_code) | unknown: `manifests` says what could do without the webhook, if it reads no caches |
///
/// ```
/// use std::time::Duration;
/// use pilothouse::webhook::{Operation, Rules};
///
/// fn rules(rules: Rules) -> Rules {
///     rules
///         .operations([Operation::Create, Operation::Delete])
///         .timeout(Duration::from_secs(3))
///         .only_if("has-owner", "has(object.metadata.labels) && 'owner' in object.metadata.labels")
/// }
/// # let _ = rules;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Rules {
    pub(super) name: Option<String>,
    pub(super) operations: BTreeSet<Operation>,
    pub(super) subresources: Vec<String>,
    pub(super) namespaces: Option<LabelSelector>,
    pub(super) objects: Option<LabelSelector>,
    pub(super) conditions: Vec<MatchCondition>,
    pub(super) ignores_failures: bool,
    pub(super) timeout: Duration,
    pub(super) acts_outside: bool,
    pub(super) reinvokes: bool,
    pub(super) needs_code: bool,
}

/// The timeouts that an API server accepts.
const TIMEOUTS: std::ops::RangeInclusive<u64> = 1..=30;

impl Rules {
    pub(super) fn new() -> Self {
        Self {
            name: None,
            operations: [Operation::Create, Operation::Update].into(),
            subresources: vec![String::new()],
            namespaces: None,
            objects: None,
            conditions: Vec::new(),
            ignores_failures: false,
            timeout: Duration::from_secs(10),
            acts_outside: false,
            reinvokes: false,
            needs_code: false,
        }
    }

    /// Distinguishes the webhook from another one for the same kind. The name becomes a part of its path and of the name that
    /// users see.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the operations.
    pub fn operations(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.operations = operations.into_iter().collect();
        self
    }

    /// Sets the subresources, such as `status`, in place of the object itself. `""` stands for the object itself. The object of
    /// some subresources is of another kind, such as the `Scale` of `scale`; a webhook for them has `DynamicObject`s.
    pub fn subresources<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.subresources = names.into_iter().map(Into::into).collect();
        self
    }

    /// Limits the webhook to namespaces with these labels. Each namespace has its name as the label `kubernetes.io/metadata.name`.
    /// It replaces the default, so keep the operator's own namespace out if the operator cannot start without requests of this
    /// kind.
    pub fn in_namespaces(mut self, labels: LabelSelector) -> Self {
        self.namespaces = Some(labels);
        self
    }

    /// Limits the webhook to objects with these labels, before or after the request. A user who may set labels can so avoid the
    /// webhook: use it only for what the user may avoid.
    pub fn for_objects(mut self, labels: LabelSelector) -> Self {
        self.objects = Some(labels);
        self
    }

    /// Limits the webhook to requests for which a CEL expression is true. The expression sees `object`, `oldObject`, `request` and
    /// `authorizer`. With several, all have to be true.
    pub fn only_if(mut self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        self.conditions.push(MatchCondition {
            name: name.into(),
            expression: expression.into(),
        });
        self
    }

    /// Lets requests pass if the webhook does not answer, panics or takes too long (failure policy `Ignore`). Use it if the
    /// webhook only helps, and the operator also works with objects that it did not see.
    pub fn ignore_failures(mut self) -> Self {
        self.ignores_failures = true;
        self
    }

    /// Sets how long a request may take: whole seconds, 1 to 30. The framework answers a little earlier.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Declares that the webhook changes something outside of the request, unless it is a
    /// [dry run](super::Admission::is_dry_run).
    pub fn acts_outside(mut self) -> Self {
        self.acts_outside = true;
        self
    }

    /// Calls a mutation again if a later webhook changes the object. Then it sees its own result.
    pub fn reinvoke(mut self) -> Self {
        self.reinvokes = true;
        self
    }

    /// Declares that no rule of CEL can decide what the webhook decides, so that the command `manifests` does not propose one.
    pub fn needs_code(mut self) -> Self {
        self.needs_code = true;
        self
    }

    /// Whether an API server accepts the rules.
    ///
    /// # Errors
    /// The problem, and what to do.
    pub(super) fn check(&self, mutates: bool) -> Result<(), String> {
        if let Some(name) = &self.name
            && let Err(rule) = dns::check_label(name)
        {
            return Err(format!("its name `{name}` {rule}"));
        }
        if self.operations.is_empty() {
            return Err("it has no operations: name at least one in `Rules::operations`".into());
        }
        let others = [Operation::Delete, Operation::Connect];
        if mutates && let Some(other) = others.iter().find(|one| self.operations.contains(one)) {
            return Err(format!(
                "there is no object to change in the operation {other}: remove it from `Rules::operations`"
            ));
        }
        if self.subresources.is_empty() {
            return Err("it is for no subresource and not for the object: name one in `Rules::subresources`, or \"\" for the object".into());
        }
        let whole = self.timeout.subsec_nanos() == 0;
        if !whole || !TIMEOUTS.contains(&self.timeout.as_secs()) {
            return Err(format!(
                "its timeout is {:?}, but an API server accepts whole seconds from 1 to 30",
                self.timeout
            ));
        }
        Ok(())
    }
}
