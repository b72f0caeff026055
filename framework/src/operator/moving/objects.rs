use std::collections::BTreeSet;

use crate::{
    client::{Api, Client, Error, ListParams},
    resource::{ApiResource, Object, PartialObject},
};

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

/// The object as it is now, if it is still the same object.
pub(super) async fn newest(
    client: &Client,
    resource: &ApiResource,
    object: &PartialObject,
) -> Result<Option<PartialObject>, Error> {
    let api = api_of::<PartialObject>(client, resource, object).with_managed_fields();
    let newest = api.get_opt(object.name()).await?;
    Ok(newest.filter(|newest| newest.uid() == object.uid()))
}
