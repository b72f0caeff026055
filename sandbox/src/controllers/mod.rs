//! The controllers that belong to the API itself, and the optional simulator of workloads.
//!
//! Each one is a task of the sandbox. It reads and writes through [`Handle`](crate::api::Handle), as a client does, and it works only when
//! something changed or to try a failed write again, so a test on a paused clock sees the same order every time.
//!
//! | file | what it does |
//! | --- | --- |
//! | `definitions.rs` | serves the kinds of CustomResourceDefinitions, and deletes their objects with them |
//! | `namespaces.rs` | deletes the content of a namespace before the namespace |
//! | `garbage/` | deletes objects whose owners are gone |
//! | `aggregation.rs` | gives ClusterRoles the rules of those that they aggregate |
//! | `addresses.rs` | keeps an IPAddress for each address of a Service |
//! | `event_ttl.rs` | removes Events after an hour |
//! | `migrator/` | writes the objects of a kind again for a StorageVersionMigration; runs with the simulator |
//! | `protection.rs` | keeps claims and volumes that are used |
//! | `quotas.rs` | counts what ResourceQuotas limit; runs with the simulator |
//! | `service_account_tokens.rs` | fills Secrets with the tokens of service accounts; runs with the simulator |
//! | `service_ranges.rs` | makes ranges of addresses of Services ready, and keeps used ones; runs with the simulator |
//! | `simulator/` | lets workloads and their Pods run as if there were controllers and nodes |
//! | `retries.rs` | when to try failed writes again |
//! | `feed.rs` | the changes of several kinds as one stream, for those that follow more than one |

pub(crate) mod addresses;
pub(crate) mod aggregation;
pub(crate) mod definitions;
#[cfg(test)]
mod definitions_test;
pub(crate) mod event_ttl;
mod feed;
pub(crate) mod garbage;
pub(crate) mod migrator;
pub(crate) mod namespaces;
pub(crate) mod protection;
pub(crate) mod quotas;
mod retries;
pub(crate) mod service_account_tokens;
pub(crate) mod service_ranges;
pub(crate) mod simulator;
