//! The rules of the API without HTTP: what a request changes in the store, and its response.
//!
//! Every write takes the same steps, also one by a controller: prune → take back what this path may not change →
//! default → admit → validate → record the owners of fields → commit at the resource version that was read. If the object
//! changed meanwhile, the write starts again.
//!
//! | file | what it does |
//! | --- | --- |
//! | `target.rs` | the kind and namespace of a request |
//! | `handle.rs` | the API for controllers inside the sandbox |
//! | `list.rs`, `watch.rs` | reads |
//! | `create.rs`, `update.rs`, `patch.rs`, `delete.rs` | writes |
//! | `deadline.rs` | the end of a write that is overtaken again and again |
//! | `scale.rs`, `scale_values.rs`, `bind.rs`, `evict.rs`, `token.rs` | subresources |
//! | `convert.rs` | custom resources in another version, by the webhook of their definition |
//! | `escalation.rs` | with RBAC: roles and bindings grant only what their author has |
//! | `allocation.rs`, `ranges.rs`, `families.rs` | the addresses of Services, the ranges that they are of, their families, and the ports of the nodes |
//! | `admission/` | what other objects add to an object, and forbid |
//! | `recognize.rs`, `decode.rs`, `identity.rs` | read a body as an object of its kind |
//! | `strategy.rs` | what differs between kinds |
//! | `stamp.rs` | the times and users that the server writes into objects |
//! | `validate.rs` | the rules for every object |
//! | `ownership.rs` | calls `apply` to record who owns which field |
//! | `options.rs` | the options of writes and deletions |
//! | `size.rs` | how large an object may be |

mod admission;
mod allocation;
mod bind;
mod convert;
#[cfg(test)]
mod convert_test;
mod create;
mod deadline;
mod decode;
mod delete;
mod escalation;
mod evict;
mod families;
mod handle;
mod identity;
mod list;
mod options;
mod ownership;
mod patch;
mod ranges;
mod recognize;
mod scale;
mod scale_values;
mod size;
mod stamp;
pub(crate) mod strategy;
mod target;
#[cfg(test)]
mod tests;
mod token;
mod update;
mod validate;
mod watch;

pub use admission::ExpressionWarning;
use admission::{Attributes, Operation};
pub(crate) use admission::{
    Configurations, NOT_READY, PROTECTED, ResourceList, check_types, class_of,
    create_default_account, node_resources, occupied_by, own_kind, recount_quota,
};
pub(crate) use allocation::{Allocated, MANAGED_ADDRESS, addresses};
pub(crate) use bind::bind;
pub(crate) use convert::events as convert_events;
pub(crate) use create::create;
pub(crate) use delete::{CLEANUP, Deleted, delete, delete_collection};
pub(crate) use evict::{evict, set_disruption_condition};
pub(crate) use handle::Handle;
pub(crate) use identity::{identify, named};
pub(crate) use list::{ListRequest, Listed, VERSION_TIMEOUT, VersionMatch, at_least, get, list};
pub(crate) use options::{
    Answered, DeleteOptions, FieldValidation, Propagation, WriteOptions, Written,
};
pub(crate) use patch::{Patched, apply, patch};
pub(crate) use ranges::{Range, SERVICE_RANGE, service_ranges};
pub(crate) use recognize::{another_kind, recognize, recognize_as, recognize_options, summary};
pub(crate) use scale::{apply_scale, read_scale, write_scale};
pub(crate) use target::Target;
pub(crate) use token::{issue, issue_for_secret};
pub(crate) use update::{Replace, replace, update};
pub(crate) use watch::{Event, Start, Watch, WatchRequest};

use serde_json::{Value, json};

use crate::authentication::User;
use crate::core::Core;
use crate::error::ApiError;
use crate::record::Audit;

/// The ConfigMap in each namespace with the certificate authority of the server.
pub(crate) const AUTHORITY: &str = "kube-root-ca.crt";

/// The current state of an object.
///
/// # Errors
/// 404.
async fn get_current(core: &Core, target: &Target, name: &str) -> Result<Value, ApiError> {
    let entry = core.store.get(&target.storage(), &target.key(name));
    let entry = entry.ok_or_else(|| target.not_found(name))?;
    convert::read(core, target, &entry.object).await
}

/// Lets others change and refuse the object of a subresource that has a kind of its own. Returns the object and the warnings.
///
/// # Errors
/// The reason why the request is refused.
async fn admit_own_kind(
    core: &Core,
    target: &Target,
    subresource: &str,
    name: &str,
    object: Value,
    options: &WriteOptions,
) -> Result<(Value, Vec<String>), ApiError> {
    let mut warnings = Vec::new();
    if !options.admitted {
        return Ok((object, warnings));
    }
    let operation = Operation::Create;
    let attributes = Attributes::of_write(target, subresource, operation, name, options);
    let admitted =
        admission::admit_request(core, &attributes, Some(object), None, &mut warnings).await;
    let admitted = admitted.map_err(|error| error.warned(&warnings))?;
    Ok((admitted.unwrap_or_default(), warnings))
}

/// Lets others refuse a connection with a Pod. Returns the warnings.
///
/// # Errors
/// The reason why it is refused.
pub(crate) async fn connect(
    core: &Core,
    target: &Target,
    subresource: &str,
    name: &str,
    (user, audit): (&User, &Audit),
    object: Value,
) -> Result<Vec<String>, ApiError> {
    let mut warnings = Vec::new();
    let attributes = Attributes {
        target,
        subresource,
        operation: Operation::Connect,
        name,
        user,
        dry_run: false,
        audit,
        // A connection lasts long.
        deadline: None,
        options: Value::Null,
    };
    let admitted =
        admission::admit_request(core, &attributes, Some(object), None, &mut warnings).await;
    admitted.map_err(|error| error.warned(&warnings))?;
    Ok(warnings)
}

/// The `Status` that a request returns which creates no object.
fn success(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code})
}
