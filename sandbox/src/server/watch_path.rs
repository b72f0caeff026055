//! The deprecated paths of watches, such as `/api/v1/watch/namespaces/default/pods/web`.

use super::query::Query;
use super::route::ResourceRoute;
use crate::api::Target;
use crate::error::ApiError;
use crate::registry::ServedKind;
use crate::store::selector::FieldSelector;

/// Checks that objects can be watched at a path.
///
/// # Errors
/// 404 or 405 if they cannot.
pub(super) fn check(target: &Target, route: &ResourceRoute, method: &str) -> Result<(), ApiError> {
    let kind = &target.kind;
    if let Some(subresource) = &route.subresource {
        let is_served = match subresource.as_str() {
            "status" => kind.status,
            "scale" => kind.scale.is_some(),
            _ => false,
        };
        return Err(match kind.is_custom() && is_served {
            true => ApiError::method_not_supported(&target.resource(), route.verb),
            false if kind.is_custom() => {
                target.not_found(route.name.as_deref().unwrap_or_default())
            }
            false => ApiError::no_such_resource(),
        });
    }
    if kind.is_custom() {
        // A real server does not look at the method.
        return Ok(());
    }
    let is_here = match &route.namespace {
        Some(_) => kind.namespaced || kind.plural == "namespaces",
        None => !kind.namespaced || route.name.is_none(),
    };
    if !is_here || !kind.allows("watch") {
        return Err(ApiError::no_such_resource());
    }
    match method {
        "GET" => Ok(()),
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// The query of a watch at a path with this name: it selects the object.
///
/// # Errors
/// 400 if it selects another one, or nothing by name.
pub(super) fn query(
    mut query: Query,
    kind: &ServedKind,
    name: Option<&str>,
) -> Result<Query, ApiError> {
    const SELECTOR: &str = "fieldSelector";
    const NAME: &str = "metadata.name";
    let Some(name) = name else {
        return Ok(query);
    };
    let selector = FieldSelector::parse(query.get(SELECTOR), kind);
    let selector = selector.map_err(ApiError::bad_request)?;
    if selector.is_empty() {
        let escaped = name
            .replace('\\', r"\\")
            .replace(',', r"\,")
            .replace('=', r"\=");
        query.set(SELECTOR, format!("{NAME}={escaped}"));
    } else if selector.required(NAME) != Some(name) {
        return Err(ApiError::bad_request(
            "fieldSelector metadata.name doesn't match requested name",
        ));
    }
    Ok(query)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn the_name_in_the_path_selects_the_object() {
        let kind = builtin::kinds()
            .into_iter()
            .find(|kind| kind.plural == "pods");
        let kind = kind.unwrap();
        let selected = |given: &str, name: Option<&str>| {
            let read = query(Query::parse(given), &kind, name);
            read.map(|query| query.get("fieldSelector").to_owned())
        };
        assert_eq!(selected("", None).unwrap(), "");
        assert_eq!(selected("", Some("a")).unwrap(), "metadata.name=a");
        assert_eq!(selected("", Some("a,b=")).unwrap(), r"metadata.name=a\,b\=");
        let more = "status.phase=Running,metadata.name=a";
        let given = format!("fieldSelector={}", more.replace('=', "%3D"));
        assert_eq!(selected(&given, Some("a")).unwrap(), more);
        for other in [
            "metadata.name%3Db",
            "status.phase%3DRunning",
            "metadata.name!%3Da",
        ] {
            let error = selected(&format!("fieldSelector={other}"), Some("a"));
            assert_eq!(error.unwrap_err().code, 400, "{other}");
        }
    }
}
