use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use http::{Method, Request};
use parking_lot::RwLock;
use percent_encoding::percent_decode_str;

use crate::{
    client::{Body, NotDeclared, request::RequestPath},
    resource::{Access, AccessScope, Permission},
};

/// The reviews that every authenticated program may create about itself (cluster role `system:basic-user`).
const SELF_REVIEWS: [(&str, &str); 3] = [
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
];

/// Allows the declared requests, refuses all others, and records which declarations were used; see
/// [`Client::guarded`](crate::client::Client::guarded).
///
/// The guard judges a request as the API server's authorizer does: by verb, group, resource, subresource, namespace and
/// name. It allows paths that are not resources, such as discovery, and the reviews that every identity may create
/// about itself.
pub struct AccessGuard {
    permissions: Vec<DeclaredPermission>,
    /// `None` for all namespaces.
    namespaces: Option<Vec<String>>,
    /// The temporary declarations. A declaration that is granted twice is here twice.
    granted: RwLock<Vec<Access>>,
}

struct DeclaredPermission {
    permission: Permission,
    used: AtomicBool,
}

impl AccessGuard {
    /// A guard that allows `access` to a program that works in `namespaces`. `None` stands for all namespaces.
    pub fn new(access: &Access, namespaces: Option<Vec<String>>) -> Self {
        let permissions = access.iter().map(|permission| DeclaredPermission {
            permission: permission.clone(),
            used: AtomicBool::new(false),
        });
        Self {
            permissions: permissions.collect(),
            namespaces,
            granted: RwLock::default(),
        }
    }

    /// Allows `access`, too, until the grant is dropped. The guard does not record whether it is used.
    pub fn grant(self: &Arc<Self>, access: Access) -> AccessGrant {
        self.granted.write().push(access.clone());
        AccessGrant {
            guard: self.clone(),
            access,
        }
    }

    /// The permanent declarations.
    pub fn access(&self) -> Access {
        let all = self.permissions.iter();
        all.map(|one| one.permission.clone()).collect()
    }

    /// The permanent declarations that no request has used yet.
    ///
    /// `get`, `list` and `watch` of one resource count as one use, because a program declares them together. So do
    /// `create`, `update` and `patch`. Two declarations are never in the result, because other parties use them:
    /// finalizers as a subresource, which the server checks in the course of other requests, and Events, which another
    /// client sends.
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
        all.filter(|one| !is_used_by_others(one) && !is_used(one))
            .cloned()
            .collect()
    }

    /// Records `access` as used. For requests that another client makes on behalf of this program, as informers do.
    pub fn note_use(&self, access: &Access) {
        for one in &self.permissions {
            if access.permits(&one.permission) {
                one.used.store(true, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn check(&self, request: &Request<Body>) -> Result<(), NotDeclared> {
        let Some(action) = Action::of(request) else {
            return Ok(());
        };
        if action.verb == "create" && SELF_REVIEWS.contains(&(&*action.group, &*action.resource)) {
            return Ok(());
        }
        let mut elsewhere = false;
        let mut allowed = false;
        for DeclaredPermission { permission, used } in &self.permissions {
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
        let granted = self.granted.read();
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

    /// Whether a declaration of this action is for more than some namespaces, so that only a ClusterRole allows all of it.
    pub(crate) fn needs_cluster_role(&self, verb: &str, group: &str, resource: &str) -> bool {
        self.permissions.iter().any(|one| {
            let everywhere = match one.permission.scope {
                AccessScope::Cluster => true,
                AccessScope::Operator => self.namespaces.is_none(),
                AccessScope::Namespace(_) => false,
            };
            everywhere
                && one.permission.names_action(
                    verb,
                    group,
                    resource,
                    one.permission.name.as_deref(),
                )
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

/// A temporary declaration of an [`AccessGuard`]. It ends when this value is dropped; see [`AccessGuard::grant`].
#[derive(Debug)]
#[must_use]
pub struct AccessGrant {
    guard: Arc<AccessGuard>,
    access: Access,
}

impl Drop for AccessGrant {
    fn drop(&mut self) {
        let mut granted = self.guard.granted.write();
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

fn is_used_by_others(permission: &Permission) -> bool {
    let is_event =
        permission.resource == "events" && matches!(&*permission.group, "" | "events.k8s.io");
    permission.resource.ends_with("/finalizers") || is_event
}

/// Verbs with the same result are used together.
fn use_of(verb: &str) -> &str {
    match verb {
        "get" | "list" | "watch" => "read",
        "create" | "update" | "patch" => "write",
        other => other,
    }
}

/// A request in the words of the API server's authorizer.
struct Action<'a> {
    verb: &'static str,
    group: Cow<'a, str>,
    resource: Cow<'a, str>,
    namespace: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
}

impl<'a> Action<'a> {
    /// `None` if the path is not a resource.
    fn of(request: &'a Request<Body>) -> Option<Self> {
        let requested = RequestPath::parse(request.uri().path())?;
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
        // A list that selects one name counts as a request for that object.
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
