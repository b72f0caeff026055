//! Admission without webhooks: rules that the API server evaluates by itself, also while no replica of the operator runs.
//!
//! An [`AdmissionRule`] is for one kind. Its [checks](AdmissionRule::check) become a ValidatingAdmissionPolicy, and its
//! [defaults](AdmissionRule::apply) a MutatingAdmissionPolicy. The expressions are CEL. They see what a rule in the schema cannot see: the
//! object before the change, the parameters of the rule, the namespace of the object, and what the user may do.
//!
//! ```
//! use pilothouse::{admission::{AdmissionRule, Message, Params}, prelude::*, webhook::Operation};
//!
//! /// A Deployment has at most as many replicas as the ConfigMap `limits` of its namespace allows.
//! fn replicas() -> AdmissionRule {
//!     AdmissionRule::on::<Deployment>("replicas")
//!         .params::<ConfigMap>(Params::named("limits").optional())
//!         .variable("most", "int(params.data['replicas'])")
//!         .check(
//!             "object.spec.replicas <= variables.most",
//!             Message::expression("'at most ' + string(variables.most) + ' replicas'", "too many replicas"),
//!         )
//! }
//!
//! /// Only who may `relabel` a Deployment changes its team.
//! fn team() -> AdmissionRule {
//!     AdmissionRule::on::<Deployment>("team")
//!         .operations([Operation::Update])
//!         .variable("old", "oldObject.metadata.?labels['team'].orValue('')")
//!         .variable("new", "object.metadata.?labels['team'].orValue('')")
//!         .check(
//!             "variables.old == variables.new || authorizer.requestResource.check('relabel').allowed()",
//!             "the label `team` does not change",
//!         )
//! }
//!
//! /// A Deployment without a team belongs to that of its namespace.
//! fn default_team() -> AdmissionRule {
//!     AdmissionRule::on::<Deployment>("default-team")
//!         .only_if("has-no-team", "!has(object.metadata.labels) || !('team' in object.metadata.labels)")
//!         .apply("Object{metadata: Object.metadata{labels: {'team': request.namespace}}}")
//! }
//! # let operator = Operator::new("teams").admission_rule(replicas()).admission_rule(team()).admission_rule(default_team());
//! # drop(operator);
//! ```
//!
//! # What an expression sees
//! | variable | in checks and defaults | in match conditions | in messages |
//! | --- | --- | --- | --- |
//! | `object` | the new object; null for a deletion | yes | yes |
//! | `oldObject` | the object before; null for a creation | yes | yes |
//! | `request` | user, operation, namespace, name, kind, options | yes | yes |
//! | `authorizer` | what a user may do | yes | no |
//! | `params` | the parameters, if the rule has some | yes | yes |
//! | `namespaceObject` | the namespace of the object; null for a cluster-scoped one | yes | yes |
//! | `variables` | what [`AdmissionRule::variable`] defines | no | yes |
//!
//! # Where the rules are
//! [`Operator::admission_rule`](crate::operator::Operator::admission_rule) adds a rule to an operator. The command `manifests` prints it, and
//! [`Operator::install`](crate::operator::Operator::install), `dev` and [`Cluster::run`](crate::testing::Cluster::run) install it. A running
//! operator needs no access to its rules, and does not write them.
//!
//! The policies are named `<operator>.<rule>`. No name of an operator or of a rule has a dot, so two operators never have policies of the same
//! name. An operator that is limited to namespaces limits its rules to them, too: the bindings have a `namespaceSelector`.
//!
//! # Guarantees
//! * What is not allowed stays out: a request fails if an expression fails, if parameters are missing, or if a policy is not valid. Each of
//!   this has a switch ([`AdmissionRule::ignore_failures`], [`Params::optional`]).
//! * With the feature `dev`, `manifests`, `dev` and `install` first check the expressions as an API server does, and for the types of the objects. So a field
//!   that the kind does not have is an error with the place in the source. [`testing::admission_rule`](crate::testing::admission_rule) does
//!   the same in a test.
//! * ValidatingAdmissionPolicy exists since Kubernetes 1.30, and MutatingAdmissionPolicy in version `v1` since Kubernetes 1.36. On an older
//!   server an operator with defaults cannot be installed; use a [mutation](crate::webhook::Mutate) there.
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `rule.rs` | [`AdmissionRule`] |
//! | `message.rs`, `validation_action.rs`, `params.rs` | [`Message`]; [`ValidationAction`] and [`Reason`]; [`Params`] |
//! | `expression.rs` | an expression and its place in the source |
//! | `problem.rs` | what the program can find wrong with a rule by itself |
//! | `policies.rs` | the policies and bindings of a rule |
//! | `install.rs` | writes them into a cluster, and removes those of rules that are gone |

mod expression;
mod install;
mod message;
mod params;
mod policies;
mod problem;
mod rule;
#[cfg(test)]
mod tests;
mod validation_action;

pub(crate) use install::{install, is_rule_kind, kinds, prune};
pub use message::Message;
pub use params::Params;
pub(crate) use policies::policies;
pub use rule::AdmissionRule;
pub(crate) use rule::KnownKind;
pub use validation_action::{Reason, ValidationAction};
