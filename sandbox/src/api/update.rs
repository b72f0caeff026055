use serde_json::Value;

use super::decode::{decode, refuse};
use super::{
    Target, WriteOptions, Written, admission, create, identify, named, ownership, stamp, strategy,
    validate,
};
use crate::builtin;
use crate::core::Core;
use crate::definitions;
use crate::error::{ApiError, Cause};
use crate::go;
use crate::meta;
use crate::store::{Commit, CommitError, Entry, Write};

/// The parameters of a replace of an object or of one of its subresources.
pub(crate) struct Replace<'a> {
    pub(crate) name: &'a str,
    /// Empty for the main resource.
    pub(crate) subresource: &'a str,
    pub(crate) object: Value,
}

/// A new state made from the current one.
pub(crate) enum Change {
    /// The owners of its fields are still to be recorded.
    Plain(Value),
    /// Its `managedFields` are already right.
    Owned(Value),
    /// The result of a patch, already decoded, with the warnings of the decoder. Its resource version is the only
    /// precondition in it.
    Patched(Value, Vec<String>),
}

/// Replaces an object (PUT).
///
/// # Errors
/// 400, 404, 409 and 422, in the cases in which kube-apiserver returns them.
pub(crate) fn replace(
    core: &Core,
    target: &Target,
    request: Replace<'_>,
    options: &WriteOptions,
) -> Result<Written, ApiError> {
    let Replace {
        name,
        subresource,
        mut object,
    } = request;
    named(target, &object, name)?;
    identify(target, &mut object, Some(name))?;
    let mut warnings =
        decode(target, &mut object, options).map_err(|wrong| refuse(target, &wrong))?;
    let known = Replace {
        name,
        subresource,
        object,
    };
    match replace_known(core, target, known, options) {
        Ok(mut written) => {
            warnings.append(&mut written.warnings);
            Ok(Written {
                warnings,
                ..written
            })
        }
        Err(error) => Err(error.warned(&warnings)),
    }
}

/// Replaces an object by one that contains only known fields.
fn replace_known(
    core: &Core,
    target: &Target,
    request: Replace<'_>,
    options: &WriteOptions,
) -> Result<Written, ApiError> {
    let Replace {
        name,
        subresource,
        object,
    } = request;
    let options = &WriteOptions {
        duplicates: Vec::new(),
        ..options.clone()
    };
    let unversioned = meta::resource_version(&object).is_empty();
    let missing = core
        .store
        .get(&target.storage(), &target.key(name))
        .is_none();
    if missing && unversioned && subresource.is_empty() && strategy::creates_on_update(&target.kind)
    {
        return create(core, target, object, options, false);
    }
    let unconditional = unversioned && !strategy::allows_unconditional_update(&target.kind);
    update(core, target, name, subresource, options, |current| {
        same_uid(target, name, current, &object)?;
        if unconditional {
            let cause = Cause::field(
                "FieldValueInvalid",
                "metadata.resourceVersion",
                "Invalid value: 0: must be specified for an update",
            );
            let resource = target.resource();
            return Err(ApiError::invalid_kind(
                &resource.group,
                &resource.resource,
                name,
                vec![cause],
            ));
        }
        Ok(Change::Plain(object.clone()))
    })
}

/// Changes an object with a function of its current state. Calls the function again if the object changes meanwhile.
///
/// # Errors
/// 404, 409, 422, and the errors of the function.
pub(crate) fn update(
    core: &Core,
    target: &Target,
    name: &str,
    subresource: &str,
    options: &WriteOptions,
    mut change: impl FnMut(&Value) -> Result<Change, ApiError>,
) -> Result<Written, ApiError> {
    let (resource, key) = (target.storage(), target.key(name));
    loop {
        let entry = core
            .store
            .get(&resource, &key)
            .ok_or_else(|| target.not_found(name))?;
        let current = target.read(&entry.object);
        let (mut new, owned, decoded) = match change(&current)? {
            Change::Plain(new) => (new, false, None),
            Change::Owned(new) => (new, true, Some(Vec::new())),
            Change::Patched(new, warnings) => (new, false, Some(warnings)),
        };
        let mut warnings = match decoded {
            Some(warnings) => warnings,
            None => decode(target, &mut new, options).map_err(|wrong| refuse(target, &wrong))?,
        };
        same_version(target, name, &current, &new)?;
        meta::drop_empty(&mut new);
        if subresource.is_empty() {
            admission::admit_change(core, target, &current, &mut new).map_err(|why| {
                ApiError::forbidden(&target.resource(), name, &why).warned(&warnings)
            })?;
        }
        let now = core.clock.timestamp();
        let prepared = prepare(
            target,
            name,
            subresource,
            (&current, new),
            &now,
            &mut warnings,
        );
        let mut new = prepared.map_err(|error| error.warned(&warnings))?;
        warnings.extend(validate::warnings(&target.kind, &new, Some(&current)));
        if !owned {
            new = ownership::record(core, target, subresource, options, Some(&current), new);
        }
        let written = |object: Value| Written {
            object,
            created: false,
            warnings: warnings.clone(),
        };
        let forbidden =
            |why: String| ApiError::forbidden(&target.resource(), name, &why).warned(&warnings);
        admission::check(core, target, subresource, Some(&current), &new).map_err(forbidden)?;
        let write = admission::Attempt {
            target,
            subresource,
            old: Some(&current),
            new: &new,
            dry_run: options.dry_run,
        };
        let charge = admission::charge(core, &write).map_err(forbidden)?;
        if is_stored(target, &entry, &new) && !is_finished(target, &new) {
            return Ok(written(current));
        }
        if options.dry_run {
            return Ok(written(new));
        }
        match commit(core, target, name, &entry, new) {
            Ok(entry) => {
                charge.keep();
                return Ok(written(target.read(&entry.object)));
            }
            Err(CommitError::Conflict) => {}
            Err(CommitError::NotKept(why)) => return Err(ApiError::not_kept(&why)),
            Err(_) => return Err(target.not_found(name)),
        }
    }
}

/// Writes a new state, or removes the object if nothing holds its deletion back any more.
pub(super) fn commit(
    core: &Core,
    target: &Target,
    name: &str,
    entry: &Entry,
    new: Value,
) -> Result<Entry, CommitError> {
    let finished = is_finished(target, &new);
    let new = target.store(new);
    core.store.commit(Commit {
        resource: &target.storage(),
        key: &target.key(name),
        expected: Some(entry.version),
        write: if finished {
            Write::Remove(new)
        } else {
            Write::Put(new)
        },
        namespace: None,
    })
}

/// Whether the object is already stored in this state. A default that only the read adds, such as one of a new schema,
/// does not count.
fn is_stored(target: &Target, entry: &Entry, new: &Value) -> bool {
    let mut new = target.store(new.clone());
    meta::copy_field(&mut new, &entry.object, "apiVersion");
    meta::same(&entry.object, &new)
}

/// Whether an object is being deleted and nothing holds it any more.
fn is_finished(target: &Target, object: &Value) -> bool {
    let grace = object
        .pointer("/metadata/deletionGracePeriodSeconds")
        .and_then(Value::as_i64);
    meta::is_deleting(object) && grace.unwrap_or(0) == 0 && !is_held(target, object)
}

/// Whether finalizers hold an object.
pub(super) fn is_held(target: &Target, object: &Value) -> bool {
    let namespace = target.kind.group.is_empty() && target.kind.kind == "Namespace";
    let own = object.pointer("/spec/finalizers").and_then(Value::as_array);
    !meta::finalizers(object).is_empty() || (namespace && own.is_some_and(|own| !own.is_empty()))
}

fn same_version(target: &Target, name: &str, current: &Value, new: &Value) -> Result<(), ApiError> {
    let version = meta::resource_version(new);
    if !version.is_empty() && version.parse::<u64>().is_err() {
        let why = format!("strconv.ParseUint: parsing {version:?}: invalid syntax");
        return Err(ApiError::new(500, "", why));
    }
    if !matches!(version, "" | "0") && version != meta::resource_version(current) {
        return Err(ApiError::modified(&target.resource(), name));
    }
    Ok(())
}

fn same_uid(target: &Target, name: &str, current: &Value, new: &Value) -> Result<(), ApiError> {
    let (wanted, is) = (meta::uid(new), meta::uid(current));
    if wanted.is_empty() || wanted == is {
        return Ok(());
    }
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
         precondition: {wanted}, UID in object meta: {is}",
        strategy::storage_key(target, name)
    );
    Err(ApiError::conflict(&target.resource(), name, &why))
}

/// Makes the state to store from the current state and the one that a request asks for.
fn prepare(
    target: &Target,
    name: &str,
    subresource: &str,
    (current, mut new): (&Value, Value),
    now: &str,
    warnings: &mut Vec<String>,
) -> Result<Value, ApiError> {
    let kind = &target.kind;
    let mistaken: Vec<Cause> = ["kind", "apiVersion"]
        .into_iter()
        .filter(|field| new.get(field) != current.get(field))
        .map(|field| {
            let text = |object: &Value| object.get(field).cloned().unwrap_or_default();
            let detail = format!("must be {}", go::Printed(&text(current)));
            Cause::invalid(field, &text(&new), &detail)
        })
        .collect();
    if !mistaken.is_empty() {
        return Err(ApiError::invalid(kind, name, mistaken));
    }
    for field in [
        "creationTimestamp",
        "generation",
        "resourceVersion",
        "selfLink",
    ] {
        meta::copy(&mut new, current, field);
    }
    if meta::uid(&new).is_empty() {
        meta::copy(&mut new, current, "uid");
    }
    // A deletion that has started can neither be taken back nor delayed.
    if meta::is_deleting(current) {
        meta::copy(&mut new, current, "deletionTimestamp");
        if new
            .pointer("/metadata/deletionGracePeriodSeconds")
            .is_none()
        {
            meta::copy(&mut new, current, "deletionGracePeriodSeconds");
        }
    }
    strategy::prepare_update(kind, subresource, current, &mut new);
    let schema = kind.structural();
    schema.apply_defaults(&mut new);
    builtin::default_object(kind, &mut new);
    stamp::stamp(kind, subresource, Some(current), &mut new, now);
    // The Deployment controller writes its revision into an annotation through the status.
    if !matches!(subresource, "status" | "binding")
        && strategy::counts_as_change(kind, current, &new)
    {
        let generation = meta::generation(current).unwrap_or(0) + 1;
        meta::set(&mut new, "generation", generation);
    }
    let defines = definitions::is_definition(kind) && subresource.is_empty();
    if defines {
        definitions::check_supported(&new)?;
        definitions::remember_storage(&mut new);
    }
    builtin::complete_object(kind, &mut new, Some(current));
    let causes = validate::object(kind, subresource, &new, Some(current), warnings);
    if causes.is_empty() {
        Ok(new)
    } else {
        Err(ApiError::invalid(kind, name, causes))
    }
}
