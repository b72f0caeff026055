use std::sync::Arc;

use parking_lot::MutexGuard;
use serde_json::{Value, json};

use super::evaluator::Evaluator;
use super::scope;
use crate::api::admission::resources::{self, ResourceList};
use crate::api::handle::now;
use crate::api::update::Change;
use crate::api::{Target, WriteOptions, update};
use crate::core::Core;
use crate::error::ApiError;
use crate::go::Quantity;
use crate::meta;
use crate::registry::GroupResource;

/// A write that quotas may count.
pub(in crate::api) struct Attempt<'a> {
    pub(in crate::api) target: &'a Target,
    /// Empty for the main resource.
    pub(in crate::api) subresource: &'a str,
    /// The state before; `None` for a new object.
    pub(in crate::api) old: Option<&'a Value>,
    pub(in crate::api) new: &'a Value,
    pub(in crate::api) dry_run: bool,
}

/// What a write was charged for. It is taken back when this is dropped, unless the write took place. Until then no quota changes.
pub(in crate::api) struct Charge<'a> {
    core: &'a Core,
    /// The quotas that were charged, with what they counted before.
    charged: Vec<(String, Value)>,
    namespace: String,
    _lock: Option<MutexGuard<'a, ()>>,
}

impl Charge<'_> {
    /// The write took place.
    pub(in crate::api) fn keep(mut self) {
        self.charged.clear();
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        for (name, used) in &self.charged {
            // An error means that the quota is gone.
            let _ = write_used(self.core, &self.namespace, name, used);
        }
    }
}

/// Charges a write to the quotas of its namespace.
///
/// # Errors
/// The quota that the write would exceed, or that cannot tell.
pub(in crate::api) fn charge<'a>(
    core: &'a Core,
    attempt: &Attempt<'_>,
) -> Result<Charge<'a>, String> {
    let namespace = attempt.target.namespace.as_deref().unwrap_or_default();
    let mut charge = Charge {
        core,
        charged: Vec::new(),
        namespace: namespace.to_owned(),
        _lock: None,
    };
    let evaluator = Evaluator::of(&attempt.target.kind);
    let evaluator =
        evaluator.filter(|one| one.counts(attempt.subresource, attempt.old, attempt.new));
    let Some(evaluator) = evaluator.filter(|_| !quotas(core, namespace).is_empty()) else {
        return Ok(charge);
    };
    charge._lock = Some(core.quotas.lock());
    for quota in quotas(core, namespace) {
        let Some(used) = evaluate(core, &evaluator, &quota, attempt)? else {
            continue;
        };
        if !attempt.dry_run {
            let name = meta::name(&quota);
            // An error means that the quota is gone.
            if write_used(core, namespace, name, &resources::to_json(&used)).is_ok() {
                let before = quota["status"]["used"].clone();
                charge.charged.push((name.to_owned(), before));
            }
        }
    }
    Ok(charge)
}

/// What a quota counts with a write; `None` if that changes nothing.
fn evaluate(
    core: &Core,
    evaluator: &Evaluator,
    quota: &Value,
    attempt: &Attempt<'_>,
) -> Result<Option<ResourceList>, String> {
    let name = meta::name(quota);
    let hard = resources::read(&quota["status"]["hard"]);
    let counted: Vec<&str> = hard
        .keys()
        .map(String::as_str)
        .filter(|name| evaluator.covers(name))
        .collect();
    let in_scopes = |object| scope::all(quota).all(|scope| evaluator.is_in(&scope, object));
    if counted.is_empty() || !in_scopes(attempt.new) {
        return Ok(None);
    }
    evaluator
        .requires(&counted, attempt.new)
        .map_err(|why| format!("failed quota: {name}: {why}"))?;
    let used = resources::read(&quota["status"]["used"]);
    if counted.iter().any(|name| !used.contains_key(*name)) {
        let counted = counted.join(",");
        return Err(format!(
            "status unknown for quota: {name}, resources: {counted}"
        ));
    }
    let mut usage = evaluator.usage(core, attempt.new);
    let negative: Vec<&str> = usage
        .iter()
        .filter(|(_, quantity)| quantity.is_negative())
        .map(|(name, _)| name.as_str())
        .collect();
    if !negative.is_empty() {
        let negative = negative.join(",");
        return Err(format!(
            "quota usage is negative for resource(s): {negative}"
        ));
    }
    if let Some(old) = attempt.old.filter(|old| in_scopes(old)) {
        let before = evaluator.usage(core, old);
        for (name, quantity) in &mut usage {
            let before = before.get(name).copied().unwrap_or(Quantity::ZERO);
            *quantity = quantity.minus(before).max(Quantity::ZERO);
        }
    }
    usage.retain(|name, quantity| hard.contains_key(name) && !quantity.is_zero());
    if usage.is_empty() {
        return Ok(None);
    }
    let mut sum = used.clone();
    resources::add(&mut sum, &usage);
    let exceeded: Vec<&str> = usage
        .keys()
        .filter(|name| sum.get(*name) > hard.get(*name))
        .map(String::as_str)
        .collect();
    if exceeded.is_empty() {
        return Ok(Some(sum));
    }
    let shown = |list: &ResourceList| {
        let parts = exceeded.iter().filter_map(|name| {
            let quantity = list.get(*name)?;
            Some(format!("{name}={quantity}"))
        });
        parts.collect::<Vec<String>>().join(",")
    };
    let (requested, used, limited) = (shown(&usage), shown(&used), shown(&hard));
    Err(format!(
        "exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}"
    ))
}

/// Counts what a quota limits, and writes limits and counts into its status if they are not there.
pub(crate) fn recount(core: &Core, namespace: &str, name: &str) {
    let _lock = core.quotas.lock();
    let quotas = quotas(core, namespace);
    let Some(quota) = quotas.iter().find(|quota| meta::name(quota) == name) else {
        return;
    };
    let hard = resources::read(&quota["spec"]["hard"]);
    let before = resources::read(&quota["status"]["used"]);
    let mut used = before.clone();
    let registry = core.registry();
    let stored = registry.kinds().iter();
    for kind in stored.filter(|kind| kind.namespaced && kind.storage) {
        let Some(evaluator) = Evaluator::of(kind) else {
            continue;
        };
        let covers = |name: &&String| evaluator.covers(name);
        if !hard.keys().any(|name| covers(&name)) {
            continue;
        }
        let mut sum: ResourceList = hard
            .keys()
            .filter(covers)
            .map(|name| (name.clone(), Quantity::ZERO))
            .collect();
        let listed = core
            .store
            .list(&kind.group_resource(), Some(namespace), None, None);
        for entry in listed
            .and_then(Result::ok)
            .into_iter()
            .flat_map(|all| all.entries)
        {
            if scope::all(quota).all(|scope| evaluator.is_in(&scope, &entry.object)) {
                resources::add(&mut sum, &evaluator.usage(core, &entry.object));
            }
        }
        used.extend(sum);
    }
    used.retain(|name, _| hard.contains_key(name));
    let is_known =
        quota["status"]["used"].is_object() && hard == resources::read(&quota["status"]["hard"]);
    if is_known && used == before {
        return;
    }
    let status = json!({"hard": resources::to_json(&hard), "used": resources::to_json(&used)});
    let written = write(core, namespace, name, "resourcequota-controller", |quota| {
        quota["status"] = status.clone();
    });
    if let Err(error) = written {
        tracing::debug!(%namespace, %name, %error, "cannot write the status of a quota");
    }
}

fn resource() -> GroupResource {
    GroupResource::new("", "resourcequotas")
}

fn quotas(core: &Core, namespace: &str) -> Vec<Arc<Value>> {
    match core.store.list(&resource(), Some(namespace), None, None) {
        Some(Ok(listed)) => listed.entries.into_iter().map(|one| one.object).collect(),
        _ => Vec::new(),
    }
}

fn write_used(core: &Core, namespace: &str, name: &str, used: &Value) -> Result<(), ApiError> {
    write(core, namespace, name, "kube-apiserver", |quota| {
        quota["status"]["used"] = used.clone();
    })
}

fn write(
    core: &Core,
    namespace: &str,
    name: &str,
    manager: &str,
    change: impl Fn(&mut Value),
) -> Result<(), ApiError> {
    let options = WriteOptions {
        manager: manager.into(),
        ..WriteOptions::default()
    };
    let registry = core.registry();
    let kind = registry.storage("", "resourcequotas");
    let kind = kind.ok_or_else(|| ApiError::not_found(&resource(), name))?;
    let target = Target::new(kind, Some(namespace));
    let written = now(update(core, &target, name, "status", &options, |current| {
        let mut quota = current.clone();
        change(&mut quota);
        Ok(Change::Plain(quota))
    }));
    written.map(drop)
}
