use std::{any::type_name, collections::BTreeSet, panic::Location};

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};

use super::{Message, Params, Reason, ValidationAction, expression::Expression};
use crate::{
    resource::{ApiResource, CrdError, Resource, RulePlace},
    webhook::Operation,
};

/// A rule about the objects of a kind, which the API server evaluates by itself. The [module's page](super) has examples.
///
/// | setting | default |
/// | --- | --- |
/// | [operations](Self::operations) | create and update |
/// | [subresources](Self::subresources) | none: only the object itself |
/// | [namespaces](Self::in_namespaces) | all; for a kind that the operator does not define, all but `kube-system` |
/// | [objects](Self::for_objects), [conditions](Self::only_if) | all |
/// | [parameters](Self::params) | none; without them, requests are denied |
/// | [actions](Self::actions) | deny |
/// | [reason](Self::reason) | `Invalid`, code 422 |
/// | [failure policy](Self::ignore_failures) | `Fail`: if an expression fails, so does the request |
/// | [reinvocation](Self::reinvoke) | `Never`, for defaults |
/// | match policy | `Equivalent`: requests in another version of the kind are converted, and count, too |
#[derive(Clone, Debug)]
#[must_use = "an operator needs it: `Operator::admission_rule`"]
pub struct AdmissionRule {
    pub(crate) name: String,
    pub(crate) place: &'static Location<'static>,
    pub(crate) kind: KnownKind,
    pub(super) operations: BTreeSet<Operation>,
    pub(super) subresources: Vec<String>,
    pub(super) namespaces: Option<LabelSelector>,
    pub(super) objects: Option<LabelSelector>,
    pub(super) conditions: Vec<(String, Expression)>,
    pub(crate) params: Option<(KnownKind, Params)>,
    pub(super) variables: Vec<(String, Expression)>,
    pub(super) checks: Vec<Check>,
    pub(super) actions: BTreeSet<ValidationAction>,
    pub(super) reason: Reason,
    pub(super) annotations: Vec<(String, Expression)>,
    pub(super) changes: Vec<Change>,
    pub(super) ignores_failures: bool,
    pub(super) reinvokes: bool,
}

/// A kind, and what the program knows of it.
#[derive(Clone, Debug)]
pub(crate) struct KnownKind {
    pub(crate) resource: ApiResource,
    pub(crate) rust_type: &'static str,
    /// The definition, if the operator defines the kind.
    pub(crate) definition: fn() -> Option<Result<CustomResourceDefinition, CrdError>>,
    pub(crate) rule_places: fn() -> Vec<RulePlace>,
}

impl KnownKind {
    fn of<K: Resource>() -> Self {
        Self {
            resource: ApiResource::of::<K>(),
            rust_type: type_name::<K>(),
            definition: K::definition,
            rule_places: K::rule_places,
        }
    }

    /// Whether the operator defines the kind.
    pub(super) fn is_own(&self) -> bool {
        (self.definition)().is_some()
    }
}

/// What has to hold, and what the user sees otherwise.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) expression: Expression,
    pub(super) message: Message,
}

/// A change of an object.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Apply(Expression),
    JsonPatch(Expression),
}

impl AdmissionRule {
    /// A rule about objects of the kind `K`. Its name distinguishes it from the other rules of the operator. It is a DNS label, such as
    /// `replicas`, and users see it in each denial.
    #[track_caller]
    pub fn on<K: Resource>(name: impl Into<String>) -> Self {
        Self::of(KnownKind::of::<K>(), name.into())
    }

    /// As [`on`](Self::on), for a kind without a Rust type. The expressions are not checked for the types of its objects.
    #[track_caller]
    pub fn on_dynamic(resource: ApiResource, name: impl Into<String>) -> Self {
        let kind = KnownKind {
            resource,
            rust_type: "",
            definition: || None,
            rule_places: Vec::new,
        };
        Self::of(kind, name.into())
    }

    #[track_caller]
    fn of(kind: KnownKind, name: String) -> Self {
        Self {
            name,
            place: Location::caller(),
            kind,
            operations: [Operation::Create, Operation::Update].into(),
            subresources: vec![String::new()],
            namespaces: None,
            objects: None,
            conditions: Vec::new(),
            params: None,
            variables: Vec::new(),
            checks: Vec::new(),
            actions: [ValidationAction::Deny].into(),
            reason: Reason::default(),
            annotations: Vec::new(),
            changes: Vec::new(),
            ignores_failures: false,
            reinvokes: false,
        }
    }

    /// Adds a check: an expression that has to be true, such as `object.spec.replicas <= 5`, and what the user sees if it is not. All checks
    /// have to hold.
    #[track_caller]
    pub fn check(mut self, expression: impl Into<String>, message: impl Into<Message>) -> Self {
        self.checks.push(Check {
            expression: Expression::new(expression),
            message: message.into(),
        });
        self
    }

    /// Adds a default: an expression that makes the fields to set, such as `Object{spec: Object.spec{replicas: 1}}`. They are merged into the
    /// object as by server-side apply. It also replaces what the user has set: leave a field out, or use [`only_if`](Self::only_if), to
    /// respect it. The changes of several calls come one after the other.
    #[track_caller]
    pub fn apply(mut self, expression: impl Into<String>) -> Self {
        let expression = Expression::new(expression);
        self.changes.push(Change::Apply(expression));
        self
    }

    /// Adds a change by a JSON patch, such as `[JSONPatch{op: 'remove', path: '/spec/old'}]`, for what [`apply`](Self::apply) cannot do: to
    /// remove something, or to change an item of an atomic list.
    #[track_caller]
    pub fn json_patch(mut self, expression: impl Into<String>) -> Self {
        let expression = Expression::new(expression);
        self.changes.push(Change::JsonPatch(expression));
        self
    }

    /// Sets the operations. A default cannot be for deletions and connections, where no object is stored.
    pub fn operations(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.operations = operations.into_iter().collect();
        self
    }

    /// Sets the subresources, such as `status` or `scale`, in place of the object itself. `""` stands for the object itself.
    pub fn subresources<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.subresources = names.into_iter().map(Into::into).collect();
        self
    }

    /// Limits the rule to namespaces with these labels. Each namespace has its name as the label `kubernetes.io/metadata.name`. It replaces
    /// the default.
    pub fn in_namespaces(mut self, labels: LabelSelector) -> Self {
        self.namespaces = Some(labels);
        self
    }

    /// Limits the rule to objects with these labels, before or after the request. A user who may set labels can so avoid the rule: use it
    /// only for what the user may avoid.
    pub fn for_objects(mut self, labels: LabelSelector) -> Self {
        self.objects = Some(labels);
        self
    }

    /// Limits the rule to requests for which an expression is true. With several, all have to be true. It sees no `variables`.
    #[track_caller]
    pub fn only_if(mut self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        self.conditions
            .push((name.into(), Expression::new(expression)));
        self
    }

    /// Gives the rule parameters: objects of the kind `P`, as the variable `params`. If the operator defines the kind, its definition is
    /// installed with those of the reconciled kinds.
    pub fn params<P: Resource>(mut self, params: Params) -> Self {
        self.params = Some((KnownKind::of::<P>(), params));
        self
    }

    /// Defines a variable: other expressions refer to it as `variables.name`. It is evaluated once, and only if it is used. It may use
    /// variables that are defined before it.
    #[track_caller]
    pub fn variable(mut self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        self.variables
            .push((name.into(), Expression::new(expression)));
        self
    }

    /// Sets what happens if a check does not hold, in place of [`ValidationAction::Deny`]. To try a new rule, let it warn and note first.
    pub fn actions(mut self, actions: impl IntoIterator<Item = ValidationAction>) -> Self {
        self.actions = actions.into_iter().collect();
        self
    }

    /// Sets the reason of a denial.
    pub fn reason(mut self, reason: Reason) -> Self {
        self.reason = reason;
        self
    }

    /// Adds an annotation to the audit log, whether the checks hold or not: a key, and an expression that is a text, or null for no
    /// annotation. In the log the key has the name of the policy before it: `teams.replicas/key`.
    #[track_caller]
    pub fn audit_annotation(
        mut self,
        key: impl Into<String>,
        expression: impl Into<String>,
    ) -> Self {
        self.annotations
            .push((key.into(), Expression::new(expression)));
        self
    }

    /// Lets a request pass if an expression fails, or if the rule cannot be evaluated (failure policy `Ignore`).
    pub fn ignore_failures(mut self) -> Self {
        self.ignores_failures = true;
        self
    }

    /// Evaluates the defaults once more if a later policy or webhook changes the object. Then they see their own result.
    pub fn reinvoke(mut self) -> Self {
        self.reinvokes = true;
        self
    }

    /// The rule in a sentence.
    pub(crate) fn shown(&self) -> String {
        format!(
            "the admission rule `{}` on {}",
            self.name, self.kind.resource.kind
        )
    }

    /// The expression in a field of a policy, and what it is. `None` for other fields.
    #[cfg(feature = "dev")]
    pub(crate) fn expression_at(&self, field: &str) -> Option<(String, &Expression)> {
        let (list, rest) = field.strip_prefix("spec.")?.split_once('[')?;
        let (number, part) = rest.split_once("].")?;
        let number: usize = number.parse().ok()?;
        let (what, all) = match list {
            "matchConditions" => ("condition", &self.conditions),
            "variables" => ("variable", &self.variables),
            "auditAnnotations" => ("audit annotation", &self.annotations),
            "mutations" => {
                let (Change::Apply(one) | Change::JsonPatch(one)) = self.changes.get(number)?;
                return Some((format!("default {}", number + 1), one));
            }
            "validations" => {
                let check = self.checks.get(number)?;
                let shown = format!("check {}", number + 1);
                return match part {
                    "messageExpression" => {
                        let expression = check.message.expression.as_ref()?;
                        Some((format!("the message of {shown}"), expression))
                    }
                    _ => Some((shown, &check.expression)),
                };
            }
            _ => return None,
        };
        let (name, expression) = all.get(number)?;
        Some((format!("the {what} `{name}`"), expression))
    }
}
