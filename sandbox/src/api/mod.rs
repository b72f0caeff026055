//! The rules of the API, apart from HTTP: what a request does to the store and what it is answered.
//!
//! Every write goes one way, whoever asks: prune → take back what the path may not change → default → validate → record owners of
//! fields → commit at the resource version that was read, again from the start if that changed meanwhile. `strategy` holds what
//! differs between kinds.

mod bind;
mod create;
mod decode;
mod delete;
mod error;
mod evict;
mod handle;
mod identity;
mod list;
pub(crate) mod meta;
pub(crate) mod names;
mod options;
mod ownership;
mod patch;
mod recognize;
mod scale;
mod scale_values;
pub(crate) mod strategy;
mod target;
#[cfg(test)]
mod tests;
mod token;
mod update;
mod validate;
mod watch;

pub(crate) use bind::bind;
pub(crate) use create::create;
pub(crate) use delete::{CLEANUP, Deleted, delete, delete_collection};
pub(crate) use error::{ApiError, Cause};
pub(crate) use evict::evict;
pub(crate) use handle::Handle;
pub(crate) use identity::{identify, named};
pub(crate) use list::{ListRequest, Listed, VersionMatch, at_least, get, list};
pub(crate) use options::{DeleteOptions, FieldValidation, Propagation, WriteOptions, Written};
pub(crate) use patch::{Patched, apply, patch};
pub(crate) use recognize::recognize;
pub(crate) use scale::{apply_scale, read_scale, write_scale};
pub(crate) use target::Target;
pub(crate) use token::issue;
pub(crate) use update::{Replace, replace, update};
pub(crate) use watch::{Event, Start, Watch, WatchRequest};

use serde_json::{Value, json};

use crate::core::Core;

/// An object as it is now.
///
/// # Errors
/// 404.
fn get_now(core: &Core, target: &Target, name: &str) -> Result<Value, ApiError> {
    let entry = core.store.get(&target.storage(), &target.key(name));
    let entry = entry.ok_or_else(|| target.not_found(name))?;
    Ok(target.read(&entry.object))
}

/// The answer of what creates no object.
fn success(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code})
}
