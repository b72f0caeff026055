use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    client::{Api, Client, Error, ListParams, Patch, PatchParams},
    resource::{ApiResource, Object, PartialObject},
};

/// How often a change is tried again on a newer object.
const ATTEMPTS: usize = 5;

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
