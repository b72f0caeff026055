use super::query::Query;
use super::route::Route;
use crate::api::ApiError;
use crate::auth::User;
use crate::authorization::{Action, Mode, What, decide};
use crate::core::Core;
use crate::record::RecordedRequest;

/// Whether the user may send a request.
///
/// # Errors
/// 403. 501 for who may write roles or bindings and is no administrator: whether he grants more than he has is not looked at.
pub(super) fn may(
    core: &Core,
    user: &User,
    route: &Route,
    query: &Query,
    record: &RecordedRequest,
) -> Result<(), ApiError> {
    if core.authorization == Mode::AlwaysAllow {
        return Ok(());
    }
    let what = match route {
        Route::Other => What::Path(record.path.clone()),
        Route::Resource(route) => What::Resource {
            group: route.group.clone(),
            resource: route.resource.clone(),
            subresource: route.subresource.clone().unwrap_or_default(),
            namespace: route.namespace.clone().unwrap_or_default(),
            // A list of one object is about that object.
            name: route.name.clone().unwrap_or_else(|| selected(query)),
        },
    };
    let action = Action {
        verb: record.verb.clone(),
        what,
    };
    check(core, user, &action)?;
    let writes = matches!(&*record.verb, "create" | "update" | "patch");
    let is_master = user.groups.iter().any(|group| group == "system:masters");
    if writes && record.group == "rbac.authorization.k8s.io" && !is_master {
        return Err(ApiError::not_implemented(
            "the check that nobody grants more than he may do himself (write roles and bindings as the administrator)",
        ));
    }
    Ok(())
}

/// The name that a field selector asks for.
fn selected(query: &Query) -> String {
    let terms = query.get("fieldSelector").split(',');
    let mut names = terms.filter_map(|term| term.trim().strip_prefix("metadata.name="));
    let name = names.next().unwrap_or_default();
    name.strip_prefix('=').unwrap_or(name).to_owned()
}

/// Whether `sender` may act as `user`, in `groups` that he asks for by name.
///
/// # Errors
/// 403.
pub(super) fn may_impersonate(
    core: &Core,
    sender: &User,
    user: &User,
    groups: &[String],
) -> Result<(), ApiError> {
    let act = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
        let action = Action {
            verb: "impersonate".into(),
            what: What::Resource {
                group: group.into(),
                resource: resource.into(),
                subresource: subresource.into(),
                namespace: namespace.into(),
                name: name.into(),
            },
        };
        check(core, sender, &action)
    };
    let account = user.name.strip_prefix("system:serviceaccount:");
    match account.and_then(|account| account.split_once(':')) {
        Some((namespace, name)) => act("", "serviceaccounts", "", namespace, name)?,
        None => act("", "users", "", "", &user.name)?,
    }
    for group in groups {
        act("", "groups", "", "", group)?;
    }
    const GROUP: &str = "authentication.k8s.io";
    for (key, values) in &user.extra {
        for value in values {
            act(GROUP, "userextras", key, "", value)?;
        }
    }
    if !user.uid.is_empty() {
        act(GROUP, "uids", "", "", &user.uid)?;
    }
    Ok(())
}

fn check(core: &Core, user: &User, action: &Action) -> Result<(), ApiError> {
    let decision = decide(core, user, action);
    if decision.allowed {
        return Ok(());
    }
    Err(action.forbidden(user, &decision.reason))
}
