use super::body::media_type;
use super::query::Query;
use super::route::Route;
use crate::authentication::User;
use crate::authorization::{Action, ActionTarget, Mode};
use crate::core::Core;
use crate::error::ApiError;
use crate::record::{Audit, RecordedRequest};
use crate::registry::GroupResource;
use crate::store::Key;

/// Checks that the user may send a request.
///
/// # Errors
/// 403 if the user may not.
pub(super) fn authorize(
    core: &Core,
    user: &User,
    route: &Route,
    query: &Query,
    record: &RecordedRequest,
    audit: &Audit,
) -> Result<(), ApiError> {
    let name = name_of(route, query, &record.verb);
    audit.name(&name);
    if core.authorization == Mode::AlwaysAllow {
        note(audit, true, "");
        return Ok(());
    }
    let target = match route {
        Route::Other | Route::Unreadable => ActionTarget::Path(record.path.clone()),
        Route::Resource(route) => ActionTarget::Resource {
            group: route.group.clone(),
            resource: route.resource.clone(),
            subresource: route.subresource.clone().unwrap_or_default(),
            namespace: route.namespace.clone().unwrap_or_default(),
            name,
        },
    };
    let action = Action {
        verb: record.verb.clone(),
        target,
    };
    let decision = core.decide(user, &action);
    note(audit, decision.allowed, &decision.reason);
    if !decision.allowed {
        return Err(action.forbidden(user, &decision.reason));
    }
    if is_apply_of_new(core, route, record) {
        // The server checks it with the name, other than for a POST.
        let verb = "create".into();
        check(core, user, &Action { verb, ..action })?;
    }
    Ok(())
}

/// The name of the object of a request. A list of one object has the name of that object.
fn name_of(route: &Route, query: &Query, verb: &str) -> String {
    match (route, verb) {
        (Route::Other | Route::Unreadable, _) => String::new(),
        (Route::Resource(route), "list" | "watch") => {
            route.name.clone().unwrap_or_else(|| selected(query))
        }
        (Route::Resource(route), _) => route.name.clone().unwrap_or_default(),
    }
}

/// Notes a decision for the audit log.
fn note(audit: &Audit, is_allowed: bool, reason: &str) {
    let decision = if is_allowed { "allow" } else { "forbid" };
    let (of_decision, of_reason) = (
        "authorization.k8s.io/decision",
        "authorization.k8s.io/reason",
    );
    audit.annotate(of_decision, || decision.into());
    audit.annotate(of_reason, || reason.into());
}

/// Whether this is a server-side apply of an object that does not exist.
fn is_apply_of_new(core: &Core, route: &Route, record: &RecordedRequest) -> bool {
    let Route::Resource(route) = route else {
        return false;
    };
    let (Some(name), None, "patch") = (&route.name, &route.subresource, &*record.verb) else {
        return false;
    };
    let resource = GroupResource::new(&route.group, &route.resource);
    let key = Key::new(route.namespace.as_deref(), name);
    media_type(&record.content_type).starts_with("application/apply-patch+")
        && core.store.get(&resource, &key).is_none()
}

/// The name that a field selector selects.
fn selected(query: &Query) -> String {
    let terms = query.get("fieldSelector").split(',');
    let mut names = terms.filter_map(|term| term.trim().strip_prefix("metadata.name="));
    let name = names.next().unwrap_or_default();
    name.strip_prefix('=').unwrap_or(name).to_owned()
}

/// Checks that `sender` may act as `user`, in the `groups` that the request names.
///
/// # Errors
/// 403 if the sender may not.
pub(super) fn authorize_impersonation(
    core: &Core,
    sender: &User,
    user: &User,
    groups: &[String],
) -> Result<(), ApiError> {
    let act = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
        let action = Action {
            verb: "impersonate".into(),
            target: ActionTarget::Resource {
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
    let decision = core.decide(user, action);
    if decision.allowed {
        return Ok(());
    }
    Err(action.forbidden(user, &decision.reason))
}
