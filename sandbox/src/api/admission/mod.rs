//! Admission: what the server adds to an object, and what it refuses, because of other objects.
//!
//! A new object is admitted after its defaults were set and the owners of its fields were recorded, so nobody owns what admission adds. It is validated
//! and then checked. A change is admitted before it is validated, and checked afterwards. Quotas come last: [`charge`] counts what is about to be written.
//!
//! | file | plugin of kube-apiserver | what it does |
//! | --- | --- | --- |
//! | `limit_range.rs` | LimitRanger | gives containers default requests and limits; refuses Pods and claims outside a LimitRange |
//! | `service_account.rs` | ServiceAccount | gives a Pod its service account and the token; only with the simulator |
//! | `tolerations.rs` | DefaultTolerationSeconds | lets a Pod stay five minutes on a node that does not answer |
//! | `priority.rs` | Priority | gives a Pod the priority of its class; allows one default class |
//! | `protection.rs` | StorageObjectInUseProtection | gives claims, volumes and attribute classes the finalizer that protects them |
//! | `runtime_class.rs` | RuntimeClass | gives a Pod the overhead, node selector and tolerations of its class |
//! | `taint.rs` | TaintNodesByCondition | gives a new node the taint of one that is not ready |
//! | `storage_class.rs` | DefaultStorageClass | gives a claim the default class |
//! | `ingress_class.rs` | DefaultIngressClass | gives an Ingress the default class |
//! | `pod_security/` | PodSecurity | refuses Pods that violate the standard of their namespace, and warns about workloads |
//! | `policies/` | MutatingAdmissionPolicy, ValidatingAdmissionPolicy | evaluates policies |
//! | `webhooks/` | MutatingAdmissionWebhook, ValidatingAdmissionWebhook | asks webhooks |
//! | `quota/` | ResourceQuota | counts objects and what they ask for; refuses what exceeds a quota |
//! | `resources.rs` | | what Pods and containers ask for |
//!
//! `configurations.rs` holds the webhooks and policies, `default_class.rs` finds the default among classes, `attributes.rs` describes a request to them, `rules.rs` says which of them match it, `round.rs` which of them see a change of others, `expressions/` evaluates their expressions.

mod attributes;
mod configurations;
mod default_class;
mod expressions;
mod ingress_class;
mod limit_range;
mod pod_security;
mod policies;
mod priority;
mod protection;
mod quota;
mod resources;
mod round;
mod rules;
mod runtime_class;
mod service_account;
mod storage_class;
mod taint;
#[cfg(test)]
mod tests;
mod tolerations;
mod webhooks;

use std::sync::Arc;

use serde_json::Value;

use super::convert;
use super::decode::decode;
use super::{FieldValidation, Target, WriteOptions};
use crate::builtin;
use crate::core::Core;
use crate::error::ApiError;
use crate::go;
use crate::meta;
use crate::registry::ServedKind;

pub(crate) use attributes::{Attributes, Operation, Triple, definition, own_kind};
pub(crate) use configurations::Configurations;
pub(super) use pod_security::{Attempt as Secured, check as check_security};
pub use policies::ExpressionWarning;
pub(crate) use policies::check_types;
pub(crate) use protection::PROTECTED;
pub(crate) use quota::recount as recount_quota;
pub(super) use quota::{Attempt, charge};
pub(crate) use resources::{ResourceList, node_resources, occupied_by};
use round::Round;
pub(crate) use service_account::create_default as create_default_account;
pub(crate) use storage_class::class_of;
pub(crate) use taint::NOT_READY;

/// Admits a new object.
///
/// # Errors
/// The reason why the object is forbidden.
pub(super) fn admit_new(core: &Core, target: &Target, object: &mut Value) -> Result<(), String> {
    let kind = &target.kind;
    protection::admit(kind, object);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            limit_range::set_defaults(core, target, object);
            service_account::admit(core, target, object)?;
            tolerations::admit(object);
            priority::admit(core, object)?;
            runtime_class::admit(core, object)
        }
        ("", "PersistentVolumeClaim") => {
            storage_class::admit(core, object);
            Ok(())
        }
        ("", "Node") => {
            taint::admit(object);
            Ok(())
        }
        ("networking.k8s.io", "Ingress") => {
            ingress_class::admit(core, object);
            Ok(())
        }
        ("scheduling.k8s.io", "PriorityClass") => priority::admit_class(core, object, None),
        _ => Ok(()),
    }
}

/// Admits a change of an object through its main resource.
///
/// # Errors
/// The reason why the change is forbidden.
pub(super) fn admit_change(
    core: &Core,
    target: &Target,
    current: &Value,
    new: &mut Value,
) -> Result<(), String> {
    let kind = &target.kind;
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            tolerations::admit(new);
            priority::keep(current, new);
            Ok(())
        }
        ("scheduling.k8s.io", "PriorityClass") => priority::admit_class(core, new, Some(current)),
        _ => Ok(()),
    }
}

/// Checks a valid object that is about to be written: a new one, or one that was `current` before.
///
/// # Errors
/// The reason why the write is forbidden.
pub(super) fn check(
    core: &Core,
    target: &Target,
    subresource: &str,
    current: Option<&Value>,
    object: &Value,
) -> Result<(), String> {
    let kind = &target.kind;
    if current.is_some_and(meta::is_deleting) {
        return Ok(());
    }
    match (kind.group.as_str(), kind.kind.as_str(), subresource) {
        ("", "Pod", "") if current.is_none() => limit_range::check(core, target, object),
        ("", "Pod", "resize") | ("", "PersistentVolumeClaim", "") => {
            limit_range::check(core, target, object)
        }
        _ => Ok(()),
    }
}

/// Whether others admit requests at all.
pub(super) fn is_on(core: &Core) -> bool {
    let all = core.configurations.load(&core.store);
    all.mutates() || all.validates()
}

/// Whether others may change objects. If not, there is no need to call [`mutate`].
pub(super) fn mutates(core: &Core) -> bool {
    core.configurations.load(&core.store).mutates()
}

/// Whether others may refuse requests. If not, there is no need to call [`validate`].
pub(super) fn validates(core: &Core) -> bool {
    core.configurations.load(&core.store).validates()
}

/// Asks those who may change the object of a request. Returns the changed object. A request to delete has no object. `in_tree` is what the
/// server itself adds: it runs again after a change, and the others see the result.
///
/// # Errors
/// The reason why the request is refused.
pub(super) async fn mutate(
    core: &Core,
    attributes: &Attributes<'_>,
    mut object: Option<Value>,
    old: Option<&Value>,
    in_tree: &(dyn Fn(&mut Value) -> Result<(), ApiError> + Sync),
    warnings: &mut Vec<String>,
) -> Result<Option<Value>, ApiError> {
    if rules::is_exempt(attributes) {
        return Ok(None);
    }
    let (mut of_policies, mut of_hooks) = (Round::default(), Round::default());
    let by_policies =
        policies::mutate(core, attributes, &mut object, old, &mut of_policies).await?;
    let by_hooks =
        webhooks::mutate(core, attributes, &mut object, old, &mut of_hooks, warnings).await?;
    if !by_policies && !by_hooks {
        return Ok(None);
    }
    if let Some(object) = &mut object {
        in_tree(object)?;
    }
    of_policies.second(object.as_ref());
    policies::mutate(core, attributes, &mut object, old, &mut of_policies).await?;
    of_hooks.second(object.as_ref());
    webhooks::mutate(core, attributes, &mut object, old, &mut of_hooks, warnings).await?;
    Ok(object)
}

/// Asks those who may refuse a request.
///
/// # Errors
/// The reason why it is refused.
pub(super) async fn validate(
    core: &Core,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    if rules::is_exempt(attributes) {
        return Ok(());
    }
    policies::validate(core, attributes, object, old, warnings).await?;
    webhooks::validate(core, attributes, object, old, warnings).await
}

/// Asks all of them about a request whose object is not stored, or that has none: a deletion, a connection, or a subresource with a kind of
/// its own. Returns the object, which may have been changed.
///
/// # Errors
/// The reason why the request is refused.
pub(super) async fn admit_request(
    core: &Core,
    attributes: &Attributes<'_>,
    object: Option<Value>,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<Option<Value>, ApiError> {
    let changed = mutate(core, attributes, object.clone(), old, &|_| Ok(()), warnings).await?;
    let object = changed.or(object);
    validate(core, attributes, object.as_ref(), old, warnings).await?;
    Ok(object)
}

/// An object of a request in the version of another kind under which it is served.
async fn equivalent(
    core: &Core,
    attributes: &Attributes<'_>,
    kind: &Arc<ServedKind>,
    object: Option<&Value>,
) -> Result<Option<Value>, ApiError> {
    let Some(object) = object else {
        return Ok(None);
    };
    let own = &attributes.target.kind;
    let is_own = own.version == kind.version && own.group == kind.group;
    if is_own || attributes::own_kind(attributes.subresource).is_some() {
        return Ok(Some(object.clone()));
    }
    let to = Target::new(kind, None);
    let seen = convert::between(core, attributes.target, &to, object.clone()).await?;
    Ok(Some(seen))
}

/// A changed object as the server takes it over: in the version of the request, without unknown fields, with defaults.
///
/// # Errors
/// 500 if its fields have wrong types, or if some are unknown and `validation` is strict.
async fn received(
    core: &Core,
    attributes: &Attributes<'_>,
    kind: &Arc<ServedKind>,
    object: Value,
    validation: FieldValidation,
) -> Result<Value, ApiError> {
    if let Some(kind) = attributes::own_kind(attributes.subresource) {
        return match go::mistyped(&attributes::definition(kind), &object) {
            Some(wrong) => Err(ApiError::internal(wrong)),
            None => Ok(object),
        };
    }
    let target = attributes.target;
    let seen = Target::new(kind, target.namespace.as_deref());
    let mut object = object;
    let options = WriteOptions {
        validation,
        ..WriteOptions::default()
    };
    decode(&seen, &mut object, &options).map_err(|wrong| ApiError::internal(wrong.text))?;
    if kind.version != target.kind.version || kind.group != target.kind.group {
        object = convert::between(core, &seen, target, object).await?;
    }
    target.kind.structural().apply_defaults(&mut object);
    builtin::default_object(&target.kind, &mut object);
    Ok(object)
}
