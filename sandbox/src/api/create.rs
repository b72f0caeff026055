use std::sync::Arc;

use serde_json::Value;

use super::admission::{Attributes, Operation};
use super::allocation::{Allocation, allocate};
use super::convert;
use super::decode::{decode, refuse};
use super::{
    Target, WriteOptions, Written, admission, escalation, identify, ownership, size, stamp,
    strategy, validate,
};
use crate::builtin;
use crate::core::Core;
use crate::definitions;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::registry::GroupResource;
use crate::store::{Commit, CommitError, Encoded, Key, Write};

/// How many generated names the server tries.
const NAME_ATTEMPTS: usize = 8;
/// The longest prefix of a generated name: the length of a label without the suffix.
const MAX_PREFIX: usize = 63 - 5;

/// Creates an object. If `owned` is true, its `managedFields` are already right.
///
/// # Errors
/// 400, 403, 404 (the namespace), 409 and 422, in the cases in which kube-apiserver returns them.
pub(crate) async fn create(
    core: &Core,
    target: &Target,
    mut object: Value,
    options: &WriteOptions,
    owned: bool,
) -> Result<Written, ApiError> {
    identify(target, &mut object, None)?;
    let mut warnings =
        decode(target, &mut object, options).map_err(|wrong| refuse(target, &wrong))?;
    let created = create_known(core, target, object, options, owned, &mut warnings).await;
    let (object, stored) = created.map_err(|error| error.warned(&warnings))?;
    warnings.extend(validate::warnings(&target.kind, &object, None));
    Ok(Written {
        object,
        stored,
        created: true,
        warnings,
    })
}

/// Creates an object that contains only known fields.
async fn create_known(
    core: &Core,
    target: &Target,
    object: Value,
    options: &WriteOptions,
    owned: bool,
    warnings: &mut Vec<String>,
) -> Result<(Arc<Value>, Option<Arc<Encoded>>), ApiError> {
    if let Some(namespace) = &target.namespace {
        namespace_accepts(core, target, &object, namespace)?;
    }
    let generated =
        meta::name(&object).is_empty() && !meta::text(&object, "generateName").is_empty();
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut new = object.clone();
        if generated {
            generate_name(core, &mut new);
        }
        // Admission knows no generated name yet.
        let shown = if generated { "generateName" } else { "name" };
        let shown = meta::text(&object, shown);
        let new = prepare(core, target, new, shown, options, owned)?;
        let admitted = admit(core, target, new, generated, options, warnings).await?;
        // What was allocated is the Service's own until it is stored.
        let (new, _allocation) = admitted;
        let name = meta::name(&new).to_owned();
        let (resource, key) = (target.storage(), target.key(&name));
        let result = options.dry_run.then(|| new.clone());
        let mut stored = convert::stored(core, target, new).await?;
        let committed = {
            let attempt = admission::Attempt {
                target,
                subresource: "",
                old: None,
                new: &stored,
                dry_run: options.dry_run,
            };
            let charge = admission::charge(core, &attempt)
                .map_err(|why| ApiError::forbidden(&target.resource(), &name, &why))?;
            if let Some(mut new) = result {
                builtin::shown_object(&target.kind, &mut new);
                return match core.store.get_encoded(&resource, &key) {
                    Some(_) => Err(name_conflict(core, target, &name)),
                    None => Ok((new.into(), None)),
                };
            }
            // A real server's storage refuses this: after validation, and not in a dry run, which stores nothing.
            if !meta::resource_version(&stored).is_empty() {
                let message = "resourceVersion should not be set on objects to be created";
                return Err(ApiError::new(500, "", message));
            }
            size::fit(target, &name, &mut stored, 0)?;
            let committed = core.store.commit(Commit {
                resource: &resource,
                key: &key,
                expected: None,
                write: Write::Put(stored),
                namespace: target.namespace.as_deref(),
            });
            if committed.is_ok() {
                charge.keep();
            }
            committed
        };
        match committed {
            Ok(entry) => return convert::written(core, target, entry).await,
            Err(CommitError::Conflict) if generated && attempt < NAME_ATTEMPTS => {}
            Err(CommitError::Conflict) if generated => {
                return Err(ApiError::generated_name_exists(&target.resource(), &name));
            }
            Err(CommitError::Conflict) => {
                return Err(name_conflict(core, target, &name));
            }
            Err(CommitError::NotKept(why)) => return Err(ApiError::not_kept(&why)),
            Err(CommitError::NotServed) => return Err(target.not_found(&name)),
            Err(CommitError::NamespaceUnavailable) => {
                let namespace = target.namespace.as_deref().unwrap_or_default();
                namespace_accepts(core, target, &object, namespace)?;
                // Another client has created it again meanwhile: try again.
            }
        }
    }
}

/// The error for a name that another object has. That object may be about to disappear.
fn name_conflict(core: &Core, target: &Target, name: &str) -> ApiError {
    let mut error = ApiError::already_exists(&target.resource(), name);
    let other = core.store.get(&target.storage(), &target.key(name));
    if other.is_some_and(|other| meta::is_deleting(&other.object)) {
        error.message.insert_str(0, "object is being deleted: ");
    }
    error
}

fn generate_name(core: &Core, object: &mut Value) {
    let prefix = meta::text(object, "generateName");
    let end = prefix.floor_char_boundary(MAX_PREFIX);
    let name = format!(
        "{}{}",
        prefix.get(..end).unwrap_or_default(),
        core.clock.suffix()
    );
    meta::set(object, "name", name);
}

/// Adds to a new object what the server sets before others admit it. `shown` is the name in the error of admission.
fn prepare(
    core: &Core,
    target: &Target,
    mut object: Value,
    shown: &str,
    options: &WriteOptions,
    owned: bool,
) -> Result<Value, ApiError> {
    for field in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "generation",
    ] {
        meta::remove(&mut object, field);
    }
    meta::drop_empty(&mut object);
    meta::set(&mut object, "uid", core.clock.uid());
    meta::set(&mut object, "creationTimestamp", core.clock.timestamp());
    if let Some(generation) = strategy::first_generation(&target.kind) {
        meta::set(&mut object, "generation", generation);
    }
    fill(core, target, &mut object, options);
    if !owned {
        object = ownership::record(core, target, "", options, None, object);
    }
    admission::admit_new(core, target, &mut object)
        .map_err(|why| ApiError::forbidden(&target.resource(), shown, &why))?;
    Ok(object)
}

/// Takes out what a new object may not set, and fills in what its kind sets.
fn fill(core: &Core, target: &Target, object: &mut Value, options: &WriteOptions) {
    let kind = &target.kind;
    strategy::prepare_create(kind, object);
    stamp::author(kind, object, &options.user);
    builtin::complete_nulls(kind, object);
    kind.structural().apply_defaults(object);
    builtin::default_object(kind, object);
    stamp::stamp(kind, "", None, object, &core.clock.timestamp());
    if definitions::is_definition(kind) {
        definitions::remember_storage(object);
    }
}

/// The fields that a new object does not have yet when others may change it.
const SYSTEM_FIELDS: [&str; 3] = ["uid", "creationTimestamp", "generation"];

/// Lets others change and refuse a prepared object, and validates it between both.
async fn admit<'a>(
    core: &'a Core,
    target: &Target,
    mut object: Value,
    generated: bool,
    options: &WriteOptions,
    warnings: &mut Vec<String>,
) -> Result<(Value, Allocation<'a>), ApiError> {
    let kind = &target.kind;
    if options.admitted && admission::mutates(core) {
        let mut seen = object.clone();
        for field in SYSTEM_FIELDS {
            meta::remove(&mut seen, field);
        }
        if generated {
            meta::remove(&mut seen, "name");
        }
        let name = meta::name(&seen).to_owned();
        let attributes = Attributes::of_write(target, "", Operation::Create, &name, options);
        let shown = meta::text(&seen, if generated { "generateName" } else { "name" }).to_owned();
        let in_tree = |object: &mut Value| {
            admission::admit_new(core, target, object)
                .map_err(|why| ApiError::forbidden(&target.resource(), &shown, &why))
        };
        let changed =
            admission::mutate(core, &attributes, Some(seen), None, &in_tree, warnings).await?;
        if let Some(mut changed) = changed {
            for field in SYSTEM_FIELDS {
                meta::copy(&mut changed, &object, field);
            }
            if meta::name(&changed).is_empty() {
                meta::copy(&mut changed, &object, "name");
            }
            fill(core, target, &mut changed, options);
            object = changed;
        }
    }
    escalation::check(core, target, options, None, &object)?;
    builtin::forget_empty_lists(kind, &mut object);
    builtin::complete_object(kind, &mut object, None);
    let allocation = allocate(core, target, &mut object, None)?;
    let causes = validate::object(kind, "", &object, None, &mut Vec::new());
    if !causes.is_empty() {
        return Err(ApiError::invalid(kind, meta::name(&object), causes));
    }
    admission::check(core, target, "", None, &object)
        .map_err(|why| ApiError::forbidden(&target.resource(), meta::name(&object), &why))?;
    let secured = admission::Secured {
        target,
        subresource: "",
        name: if generated { "" } else { meta::name(&object) },
        old: None,
        new: &object,
        options,
    };
    admission::check_security(core, &secured, warnings)?;
    if options.admitted && admission::validates(core) {
        let name = meta::name(&object);
        let attributes = Attributes::of_write(target, "", Operation::Create, name, options);
        admission::validate(core, &attributes, Some(&object), None, warnings).await?;
    }
    Ok((object, allocation))
}

fn namespaces() -> GroupResource {
    GroupResource::new("", "namespaces")
}

/// # Errors
/// 404 if the namespace does not exist.
fn find_namespace(core: &Core, namespace: &str) -> Result<Arc<Encoded>, ApiError> {
    core.store
        .get_encoded(&namespaces(), &Key::new(None, namespace))
        .ok_or_else(|| ApiError::not_found(&namespaces(), namespace))
}

fn namespace_accepts(
    core: &Core,
    target: &Target,
    object: &Value,
    namespace: &str,
) -> Result<(), ApiError> {
    if !find_namespace(core, namespace)?.is_deleting {
        return Ok(());
    }
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let cause = Cause::field(
        "NamespaceTerminating",
        "metadata.namespace",
        format!("namespace {namespace} is being terminated"),
    );
    Err(ApiError::forbidden(&target.resource(), meta::name(object), &why).because(vec![cause]))
}
