use std::sync::Arc;

use serde_json::Value;

use super::admission::{Attributes, Operation};
use super::allocation::{Allocation, allocate};
use super::convert;
use super::deadline::Deadline;
use super::decode::{decode, refuse};
use super::{
    Target, WriteOptions, Written, admission, create, escalation, identify, named, ownership,
    scale, size, stamp, strategy, validate,
};
use crate::builtin;
use crate::core::Core;
use crate::definitions;
use crate::error::{ApiError, Cause};
use crate::go;
use crate::meta;
use crate::store::{self, Commit, CommitError, Encoded, Entry};

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
pub(crate) async fn replace(
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
    match replace_known(core, target, known, options).await {
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
async fn replace_known(
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
        return create(core, target, object, options, false).await;
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
    .await
}

/// Changes an object with a function of its current state. Calls the function again if the object changes meanwhile.
///
/// # Errors
/// 404, 409, 422, and the errors of the function.
pub(crate) async fn update(
    core: &Core,
    target: &Target,
    name: &str,
    subresource: &str,
    options: &WriteOptions,
    mut change: impl FnMut(&Value) -> Result<Change, ApiError>,
) -> Result<Written, ApiError> {
    let (resource, key) = (target.storage(), target.key(name));
    let deadline = Deadline::new();
    loop {
        deadline.check()?;
        let entry = core
            .store
            .get(&resource, &key)
            .ok_or_else(|| target.not_found(name))?;
        let current = convert::read(core, target, &entry.object).await?;
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
        let write = Write {
            core,
            target,
            name,
            subresource,
            options,
            current: &current,
        };
        let finished = write.finish(new, owned, &mut warnings).await;
        // What was allocated is the Service's own until it is stored.
        let (new, _allocation) = finished.map_err(|error| error.warned(&warnings))?;
        let written = |(object, stored): (Arc<Value>, Option<Arc<Encoded>>)| Written {
            object,
            stored,
            created: false,
            warnings: warnings.clone(),
        };
        let finished = is_finished(target, &new);
        let result = options.dry_run.then(|| new.clone());
        let mut stored = convert::stored(core, target, new).await?;
        let committed = {
            let attempt = admission::Attempt {
                target,
                subresource,
                old: Some(&current),
                new: &stored,
                dry_run: options.dry_run,
            };
            let charge = admission::charge(core, &attempt).map_err(|why| {
                ApiError::forbidden(&target.resource(), name, &why).warned(&warnings)
            })?;
            if is_stored(&entry, &stored) && !finished {
                return Ok(written((current.into(), None)));
            }
            if let Some(new) = result {
                return Ok(written((new.into(), None)));
            }
            size::fit(target, name, &mut stored, entry.version)
                .map_err(|error| error.warned(&warnings))?;
            let committed = commit(core, target, name, &entry, stored);
            if committed.is_ok() {
                charge.keep();
            }
            committed
        };
        match committed {
            Ok(entry) => {
                let answer = convert::written(core, target, entry).await?;
                return Ok(written(answer));
            }
            Err(CommitError::Conflict) => {}
            Err(CommitError::NotKept(why)) => return Err(ApiError::not_kept(&why)),
            Err(_) => return Err(target.not_found(name)),
        }
    }
}

/// Writes a new state in its stored version, or removes the object if nothing holds its deletion back any more.
pub(super) fn commit(
    core: &Core,
    target: &Target,
    name: &str,
    entry: &Entry,
    new: Value,
) -> Result<Entry, CommitError> {
    let finished = is_finished(target, &new);
    core.store.commit(Commit {
        resource: &target.storage(),
        key: &target.key(name),
        expected: Some(entry.version),
        write: if finished {
            store::Write::Remove(new)
        } else {
            store::Write::Put(new)
        },
        namespace: None,
    })
}

/// Whether the object is already stored in this state, and in this version. A default that only the read adds, such as one of a new
/// schema, does not count.
fn is_stored(entry: &Entry, stored: &Value) -> bool {
    meta::same(&entry.object, stored)
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

/// A change of an object that is being made.
#[derive(Clone, Copy)]
struct Write<'a, 'c> {
    core: &'c Core,
    target: &'a Target,
    name: &'a str,
    subresource: &'a str,
    options: &'a WriteOptions,
    current: &'a Value,
}

impl<'c> Write<'_, 'c> {
    /// Makes the state to store from the one that a request asks for.
    async fn finish(
        self,
        new: Value,
        owned: bool,
        warnings: &mut Vec<String>,
    ) -> Result<(Value, Allocation<'c>), ApiError> {
        let Self {
            core,
            target,
            name,
            subresource,
            options,
            current,
        } = self;
        let now = core.clock.timestamp();
        let mut new = prepare(target, name, subresource, (current, new), &now)?;
        let mut changed = None;
        if options.admitted && admission::mutates(core) {
            // Those who change the object see the owners of its fields. What they change has none.
            let seen = self.record(new.clone(), owned);
            changed = self.mutate(seen, warnings).await?;
        }
        let is_owned = owned || changed.is_some();
        if let Some(changed) = changed {
            new = prepare(target, name, subresource, (current, changed), &now)?;
        }
        escalation::check(core, target, options, Some(current), &new)?;
        // What a Service keeps and loses with its type is nobody's change.
        let is_service = target.kind.group.is_empty() && target.kind.kind == "Service";
        if is_service {
            new = self.record(new, is_owned);
        }
        check(target, name, subresource, (current, &mut new), warnings)?;
        if !is_service {
            new = self.record(new, is_owned);
        }
        builtin::forget_empty_lists(&target.kind, &mut new);
        let allocation = match subresource {
            "" => allocate(core, target, &mut new, Some(current))?,
            _ => Allocation::none(core),
        };
        admission::check(core, target, subresource, Some(current), &new)
            .map_err(|why| ApiError::forbidden(&target.resource(), name, &why))?;
        let secured = admission::Secured {
            target,
            subresource,
            name,
            old: Some(current),
            new: &new,
            options,
        };
        admission::check_security(core, &secured, warnings)?;
        if options.admitted && admission::validates(core) {
            let attributes = self.attributes();
            let seen = scale::shown(target, subresource, &new)?;
            let old = scale::shown(target, subresource, current)?;
            admission::validate(core, &attributes, Some(&seen), Some(&old), warnings).await?;
        }
        Ok((new, allocation))
    }

    fn attributes(&self) -> Attributes<'_> {
        Attributes::of_write(
            self.target,
            self.subresource,
            Operation::Update,
            self.name,
            self.options,
        )
    }

    fn record(&self, new: Value, owned: bool) -> Value {
        match owned {
            true => new,
            false => ownership::record(
                self.core,
                self.target,
                self.subresource,
                self.options,
                Some(self.current),
                new,
            ),
        }
    }

    /// The object as others change it.
    async fn mutate(
        &self,
        mut new: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Value>, ApiError> {
        let (core, target, current) = (self.core, self.target, self.current);
        meta::copy(&mut new, current, "generation");
        let seen = scale::shown(target, self.subresource, &new)?;
        let old = scale::shown(target, self.subresource, current)?;
        let in_tree = |object: &mut Value| match self.subresource {
            "" => admission::admit_change(core, target, current, object)
                .map_err(|why| ApiError::forbidden(&target.resource(), self.name, &why)),
            _ => Ok(()),
        };
        let attributes = self.attributes();
        let changed = admission::mutate(
            core,
            &attributes,
            Some(seen),
            Some(&old),
            &in_tree,
            warnings,
        )
        .await?;
        let Some(changed) = changed else {
            return Ok(None);
        };
        same_version(target, self.name, current, &changed)?;
        scale::taken(target, self.subresource, new, changed).map(Some)
    }
}

/// Makes the state to store from the current state and the one that a request asks for.
fn prepare(
    target: &Target,
    name: &str,
    subresource: &str,
    (current, mut new): (&Value, Value),
    now: &str,
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
    builtin::complete_nulls(kind, &mut new);
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
    if definitions::is_definition(kind) && subresource.is_empty() {
        definitions::remember_storage(&mut new);
    }
    Ok(new)
}

/// Validates a prepared state.
fn check(
    target: &Target,
    name: &str,
    subresource: &str,
    (current, new): (&Value, &mut Value),
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    let kind = &target.kind;
    builtin::complete_object(kind, new, Some(current));
    let causes = validate::object(kind, subresource, new, Some(current), warnings);
    if !causes.is_empty() {
        return Err(ApiError::invalid(kind, name, causes));
    }
    warnings.extend(validate::warnings(kind, new, Some(current)));
    Ok(())
}
