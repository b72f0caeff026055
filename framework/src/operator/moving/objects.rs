use std::collections::BTreeSet;

use k8s_openapi::{
    api::core::v1::Namespace,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use serde_json::Value;

use super::Report;
use crate::{
    client::{Api, Client, Error, ListParams, Patch, PatchParams},
    operator::OperatorError,
    resource::{ApiResource, Object, PartialObject},
};

/// How often a change is tried again on a newer object.
const ATTEMPTS: usize = 5;

/// The kind in a version that the cluster serves: its own one if possible. An operator may be newer or older than its definitions.
/// Returns `None` if the cluster does not have the kind.
///
/// # Errors
/// [`OperatorError::NotServed`] if the kind is defined, but no version is served: its objects exist and cannot be listed.
pub(super) async fn served(
    client: &Client,
    resource: &ApiResource,
) -> Result<Option<ApiResource>, OperatorError> {
    let group = client.discover_group(&resource.group).await?;
    let versions = group.iter().flat_map(|group| {
        let own = group.version(&resource.version);
        own.into_iter().chain(group.versions())
    });
    let mut found = versions.filter_map(|version| version.resource(&resource.plural));
    if let Some(kind) = found.next() {
        return Ok(Some(kind.resource.clone()));
    }
    if let Some(failure) = group.iter().flat_map(|group| group.failures()).next() {
        return Err(OperatorError::NotServed {
            kind: resource.qualified_plural(),
            problem: format!("{} cannot be read: {}", failure.version, failure.problem),
        });
    }
    if resource.group.is_empty() {
        return Ok(None);
    }
    let definitions = Api::<CustomResourceDefinition>::all(client);
    match definitions.get_opt(&resource.qualified_plural()).await {
        Ok(None) => Ok(None),
        Ok(Some(_)) => Err(OperatorError::NotServed {
            kind: resource.qualified_plural(),
            problem: "its CustomResourceDefinition exists, but serves no version".into(),
        }),
        // This person may not know it.
        Err(error) if error.is_forbidden() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The metadata of all objects of a kind in these namespaces, with the managed fields. No namespace means all. Returns `None`
/// if the cluster does not serve the kind.
pub(super) async fn list(
    client: &Client,
    resource: &ApiResource,
    namespaces: &BTreeSet<String>,
) -> Result<Option<Vec<PartialObject>>, Error> {
    let scopes: Vec<Option<&str>> = match resource.namespaced && !namespaces.is_empty() {
        true => namespaces.iter().map(|name| Some(name.as_str())).collect(),
        false => vec![None],
    };
    let mut all = Vec::new();
    for namespace in scopes {
        let api = Api::<PartialObject>::of(client, resource.clone(), namespace);
        let listed = api
            .with_managed_fields()
            .list_all(&ListParams::default())
            .await;
        let listed = match listed {
            Err(error) if error.is_not_served() => return Ok(None),
            listed => listed?,
        };
        if let Some(object) = listed.undecodable.into_iter().next() {
            return Err(Error::undecodable("list", object));
        }
        all.extend(listed.items);
    }
    Ok(Some(all))
}

/// Names those of these namespaces that do not exist. Somebody may have mistyped them, and somebody may have deleted them before.
pub(super) async fn report_missing(
    client: &Client,
    namespaces: &BTreeSet<String>,
    report: &mut Report<'_>,
) -> Result<(), OperatorError> {
    let api = Api::<PartialObject>::of(client, ApiResource::of::<Namespace>(), None);
    for name in namespaces {
        match api.get_opt(name).await {
            Ok(None) => report.line(format!("note: there is no namespace {name}"))?,
            // This person may not know it.
            Err(error) if error.is_forbidden() => {}
            found => drop(found?),
        }
    }
    Ok(())
}

/// The API of the kind in the namespace of an object.
pub(super) fn api_of<K>(client: &Client, resource: &ApiResource, object: &impl Object) -> Api<K>
where
    K: Object,
{
    Api::of(client, resource.clone(), object.namespace())
}

/// Patches an object, as `field_manager`. `patch` makes a merge patch that names the resource version. After a conflict it gets the newer object.
/// Returns `false` if the object is gone, or if `patch` finds nothing to change.
pub(super) async fn change<C>(
    client: &Client,
    resource: &ApiResource,
    field_manager: &str,
    mut object: PartialObject,
    patch: C,
) -> Result<bool, Error>
where
    C: AsyncFn(&PartialObject) -> Result<Option<Value>, Error>,
{
    let params = PatchParams::default().field_manager(field_manager);
    for attempt in 1.. {
        let Some(change) = patch(&object).await? else {
            return Ok(false);
        };
        let api = api_of::<PartialObject>(client, resource, &object);
        match api
            .patch(object.name(), &params, &Patch::Merge(change))
            .await
        {
            Ok(_) => return Ok(true),
            Err(error) if error.is_not_found() && !error.is_not_served() => return Ok(false),
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
        match newest(client, resource, &object).await? {
            Some(newest) => object = newest,
            None => return Ok(false),
        }
    }
    Ok(false)
}

/// The object as it is now, if it is still the same object.
async fn newest(
    client: &Client,
    resource: &ApiResource,
    object: &PartialObject,
) -> Result<Option<PartialObject>, Error> {
    let api = api_of::<PartialObject>(client, resource, object).with_managed_fields();
    let newest = api.get_opt(object.name()).await?;
    Ok(newest.filter(|newest| newest.uid() == object.uid()))
}
