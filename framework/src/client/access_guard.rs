use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc, PoisonError, RwLock, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use http::{Method, Request};
use percent_encoding::percent_decode_str;

use super::{Body, NotDeclared, stack::Requested};
use crate::resource::{Access, AccessScope, Permission};

/// What every authenticated program may ask about itself (cluster role `system:basic-user`).
const OF_ONESELF: [(&str, &str); 3] = [
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
];

/// Lets pass what was declared, refuses the rest, and notes what was used; see
/// [`Client::guarded`](super::Client::guarded).
///
/// It judges a request as the API server's authorizer does, by verb, group, resource, subresource,
/// namespace and name. What is no resource, such as discovery, and what everyone may ask about
/// himself passes.
pub struct AccessGuard {
    permissions: Vec<Guarded>,
    /// `None` for all.
    namespaces: Option<Vec<String>>,
    /// What was declared for a time, each as often as it was.
    granted: RwLock<Vec<Access>>,
}

struct Guarded {
    permission: Permission,
    used: AtomicBool,
}

impl AccessGuard {
    /// Guards what `access` says, of a program that works in `namespaces`; `None` for all.
    pub fn new(access: &Access, namespaces: Option<Vec<String>>) -> Self {
        let permissions = access.iter().map(|permission| Guarded {
            permission: permission.clone(),
            used: AtomicBool::new(false),
        });
        Self {
            permissions: permissions.collect(),
            namespaces,
            granted: RwLock::default(),
        }
    }

    /// Declares `access`, too, until the grant is dropped; whether that is used is not noted.
    pub fn grant(self: &Arc<Self>, access: Access) -> AccessGrant {
        self.granted().push(access.clone());
        AccessGrant {
            guard: self.clone(),
            access,
        }
    }

    fn granted(&self) -> RwLockWriteGuard<'_, Vec<Access>> {
        self.granted.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was declared for good.
    pub fn access(&self) -> Access {
        let all = self.permissions.iter();
        all.map(|one| one.permission.clone()).collect()
    }

    /// What was declared and not used yet.
    ///
    /// `get`, `list` and `watch` of one resource are one use, and so are `create`, `update` and
    /// `patch`: they are declared together. Never missed here are finalizers as a subresource, which the
    /// server asks about on its own in the course of other requests, and Events, which another client sends.
    pub fn unused(&self) -> Access {
        let is_used = |wanted: &Permission| {
            let mut alike = self.permissions.iter().filter(|one| {
                let one = &one.permission;
                one.scope == wanted.scope
                    && (&one.group, &one.resource, &one.name)
                        == (&wanted.group, &wanted.resource, &wanted.name)
                    && use_of(&one.verb) == use_of(&wanted.verb)
            });
            alike.any(|one| one.used.load(Ordering::Relaxed))
        };
        let all = self.permissions.iter().map(|one| &one.permission);
        all.filter(|one| !is_asked_by_others(one) && !is_used(one))
            .cloned()
            .collect()
    }

    /// Notes as used what somebody else does for the one who declared it, as informers do.
    pub fn note_use(&self, access: &Access) {
        for one in &self.permissions {
            if access.permits(&one.permission) {
                one.used.store(true, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn check(&self, request: &Request<Body>) -> Result<(), NotDeclared> {
        let Some(action) = Action::of(request) else {
            return Ok(());
        };
        if action.verb == "create" && OF_ONESELF.contains(&(&*action.group, &*action.resource)) {
            return Ok(());
        }
        let mut elsewhere = false;
        let mut allowed = false;
        for Guarded { permission, used } in &self.permissions {
            if !action.is_named_by(permission) {
                continue;
            }
            if self.reaches(&permission.scope, action.namespace.as_deref()) {
                allowed = true;
                used.store(true, Ordering::Relaxed);
            } else {
                elsewhere = true;
            }
        }
        let granted = self.granted.read().unwrap_or_else(PoisonError::into_inner);
        for permission in granted.iter().flat_map(Access::iter) {
            if action.is_named_by(permission) {
                match self.reaches(&permission.scope, action.namespace.as_deref()) {
                    true => allowed = true,
                    false => elsewhere = true,
                }
            }
        }
        drop(granted);
        if allowed {
            return Ok(());
        }
        Err(NotDeclared {
            verb: action.verb,
            group: action.group.into_owned(),
            resource: action.resource.into_owned(),
            namespace: action.namespace.map(Cow::into_owned),
            elsewhere,
            kind: None,
        })
    }

    fn reaches(&self, scope: &AccessScope, namespace: Option<&str>) -> bool {
        match scope {
            AccessScope::Cluster => true,
            AccessScope::Namespace(one) => namespace == Some(one),
            AccessScope::Operator => match &self.namespaces {
                None => true,
                Some(own) => namespace.is_some_and(|asked| own.iter().any(|one| one == asked)),
            },
        }
    }
}

/// What an [`AccessGuard`] lets pass until this is dropped; see [`AccessGuard::grant`].
#[derive(Debug)]
#[must_use]
pub struct AccessGrant {
    guard: Arc<AccessGuard>,
    access: Access,
}

impl Drop for AccessGrant {
    fn drop(&mut self) {
        let mut granted = self.guard.granted();
        if let Some(place) = granted.iter().position(|one| *one == self.access) {
            granted.swap_remove(place);
        }
    }
}

impl fmt::Debug for AccessGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessGuard({})", self.access())
    }
}

fn is_asked_by_others(permission: &Permission) -> bool {
    let is_event =
        permission.resource == "events" && matches!(&*permission.group, "" | "events.k8s.io");
    permission.resource.ends_with("/finalizers") || is_event
}

/// What is used together.
fn use_of(verb: &str) -> &str {
    match verb {
        "get" | "list" | "watch" => "read",
        "create" | "update" | "patch" => "write",
        other => other,
    }
}

/// What a request does, in the authorizer's words.
struct Action<'a> {
    verb: &'static str,
    group: Cow<'a, str>,
    resource: Cow<'a, str>,
    namespace: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
}

impl<'a> Action<'a> {
    /// `None` for what is no resource.
    fn of(request: &'a Request<Body>) -> Option<Self> {
        let requested = Requested::parse(request.uri().path())?;
        let decode = |text: &'a str| percent_decode_str(text).decode_utf8_lossy();
        let query = request.uri().query().unwrap_or_default();
        let verb = match *request.method() {
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if requested.name.is_some() => "delete",
            Method::DELETE => "deletecollection",
            _ if parameter(query, "watch")
                .is_some_and(|value| value != "false" && value != "0") =>
            {
                "watch"
            }
            _ if requested.name.is_some() => "get",
            _ => "list",
        };
        // A list of the one object of that name counts as about it.
        let selected = match verb {
            "list" | "watch" | "deletecollection" => selected_name(query),
            _ => None,
        };
        let plural = decode(requested.resource);
        Some(Self {
            verb,
            group: decode(requested.group),
            resource: match requested.subresource {
                Some(subresource) => format!("{plural}/{subresource}").into(),
                None => plural,
            },
            namespace: requested.namespace.map(decode),
            name: requested.name.map(decode).or(selected.map(Cow::Owned)),
        })
    }

    fn is_named_by(&self, permission: &Permission) -> bool {
        permission.names_action(self.verb, &self.group, &self.resource, self.name.as_deref())
    }
}

fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query
        .split('&')
        .find_map(|pair| match pair.split_once('=') {
            Some((key, value)) => (key == name).then_some(value),
            None => (pair == name).then_some(""),
        })
}

fn selected_name(query: &str) -> Option<String> {
    let selector = percent_decode_str(parameter(query, "fieldSelector")?).decode_utf8_lossy();
    let mut terms = selector.split(',');
    terms.find_map(|term| {
        let name = term.strip_prefix("metadata.name=")?;
        Some(name.strip_prefix('=').unwrap_or(name).to_owned())
    })
}
