//! Admission webhooks: validations and mutations of objects before the API server stores them.
//!
//! [`Validate`] decides about a change, and [`Mutate`] changes an object in place.
//! [`Operator::validates`](crate::operator::Operator::validates) and [`Operator::mutates`](crate::operator::Operator::mutates) add
//! them to an operator. The objects have their Rust type; a [`DynamicObject`](crate::resource::DynamicObject) is for a kind known only
//! at run time.
//!
//! ```
//! use pilothouse::{prelude::*, webhook::{Admission, Change, Denied, Mutate, Validate, Warnings}};
//!
//! /// Lets nobody change the image of a Deployment that is paused.
//! struct Paused;
//!
//! impl Validate for Paused {
//!     type Resource = Deployment;
//!
//!     async fn validate(&self, change: &Change<Deployment>, cx: &Admission) -> Result<Warnings, Denied> {
//!         let Change::Update { old, new } = change else { return Ok(Warnings::none()) };
//!         if old.spec.paused == Some(true) && old.spec.template != new.spec.template && !cx.user_is_in("admins") {
//!             return Err(Denied::invalid("spec.template", "must not change while spec.paused is true"));
//!         }
//!         Ok(Warnings::none())
//!     }
//! }
//!
//! /// Gives each Deployment a label for its team.
//! struct Team;
//!
//! impl Mutate for Team {
//!     type Resource = Deployment;
//!
//!     async fn mutate(&self, object: &mut Deployment, cx: &Admission) -> Result<Warnings, Denied> {
//!         let namespace = cx.namespace().unwrap_or_default().to_owned();
//!         let labels = object.metadata.labels.get_or_insert_default();
//!         labels.entry("team".into()).or_insert(namespace);
//!         Ok(Warnings::none())
//!     }
//! }
//! # let operator = Operator::new("teams").validates(Paused).mutates(Team);
//! # drop(operator);
//! ```
//!
//! # Without a webhook
//! A webhook stands in the way of each request: if no replica of the operator runs, the requests fail. Prefer a rule of CEL or a
//! default in the schema of your own kind (`#[schema(rule(..))]`, `#[serde(default = "..")]`). If the request alone decides, an admission rule of an
//! operator does without a webhook, also for kinds of others.
//!
//! # Caches
//! [`Validate::reads`] and [`Mutate::reads`] declare the kinds that a webhook reads with [`Admission::get`] and [`Admission::lister`]. They
//! are the caches of the controllers. A call waits until its cache has synced, at most until the timeout of the webhook.
//!
//! # Guarantees
//! * No call is lost while certificates are replaced or a replica stops in order. A replica that stops goes on answering while the work of
//!   the operator runs, and for at least 5 s after it is not ready. Each call that has come by then gets the time of its timeout. Only a
//!   process that is killed loses the calls that it was answering.
//! * A patch is the difference between the object before and after [`Mutate::mutate`]. Fields that the Rust type does not know
//!   stay as they are, also in the items of lists that are removed, added or moved: items are the same if they are equal or have the same
//!   `name`.
//! * An operator that is limited to namespaces gets only requests from these.
//! * A panic, and a call that takes longer than the API server waits, denies the request with a message that says so, or
//!   lets it pass if [failures are ignored](Rules::ignore_failures). Other requests go on.
//! * An object that does not fit the Rust type is denied with the path of the field. Its values are never logged.
//! * A review has at most 7 MiB and 127 levels of lists and maps. Larger bodies than 64 KiB, of together at most 64 MiB, are processed at once; further
//!   ones wait. At most 320 run at once.
//! * A request that is no review of the webhook's kind gets an HTTP error whose `Status` says what is wrong.
//!
//! # Map for contributors
//! | file or folder | holds |
//! | --- | --- |
//! | `validate.rs`, `mutate.rs` | the user's code: [`Validate`], [`Mutate`] |
//! | `rules.rs`, `operation.rs` | [`Rules`]: which requests a webhook gets; [`Operation`] |
//! | `reads.rs` | [`Reads`]: the kinds that a webhook reads from caches |
//! | `change.rs`, `admission.rs` | [`Change`]: the objects of a request; [`Admission`]: the rest of it |
//! | `denied.rs`, `warnings.rs` | [`Denied`] and [`Warnings`]: the answer |
//! | `patch/` | the JSON patch of a mutation |
//! | `review.rs`, `refused.rs` | `AdmissionReview` as JSON; the error for a request that is not an `AdmissionReview` |
//! | `webhook.rs` | a webhook without the user's types |
//! | `service.rs`, `routes.rs` | its HTTP service, with its limits; the routes of all webhooks |
//! | `offline.rs` | webhooks without HTTP, for the module `testing` |
//! | `in_process.rs` | the webhooks of an operator beside a sandbox in the same process, without a socket |
//! | `configuration.rs`, `installer.rs`, `ownership.rs` | the webhook configurations, how they are written into the cluster, and what is left to others |
//! | `certificates/` | the certificates that replicas make and share |
//! | `conversion/` | `/convert`: conversions between the versions of the operator's kinds |
//! | `files.rs`, `bundle.rs` | certificates in files, and how their authorities change |
//! | `keeping.rs` | keeps certificate and configurations current |
//! | `server.rs` | the HTTPS server, and what has to be ready before it serves |

mod admission;
mod bundle;
#[cfg(feature = "self-signed")]
mod certificates;
mod change;
mod configuration;
#[cfg(test)]
mod configuration_test;
mod conversion;
mod denied;
mod files;
#[cfg(feature = "dev")]
mod in_process;
mod installer;
#[cfg(test)]
mod installer_test;
mod keeping;
#[cfg(all(test, feature = "self-signed"))]
mod keeping_test;
#[cfg(test)]
mod limits_test;
mod mutate;
#[cfg(feature = "dev")]
mod offline;
mod operation;
mod ownership;
mod patch;
mod reads;
mod refused;
#[cfg(test)]
mod request_test;
mod review;
mod routes;
mod rules;
mod server;
mod service;
#[cfg(test)]
mod tests;
mod validate;
mod warnings;
mod webhook;

pub use admission::Admission;
pub use change::Change;
pub(crate) use configuration::{Configurations, Target};
#[cfg(feature = "dev")]
pub(crate) use conversion::serve_in;
pub(crate) use conversion::set_target;
pub use denied::Denied;
#[cfg(feature = "dev")]
pub(crate) use in_process::InProcess;
pub use mutate::Mutate;
pub use operation::Operation;
pub(crate) use reads::ReadCaches;
pub use reads::Reads;
use routes::routes;
pub use rules::Rules;
pub(crate) use server::{WebhookError, WebhookOptions, WebhookServer};
pub use validate::Validate;
pub use warnings::Warnings;
pub(crate) use webhook::Webhook;
