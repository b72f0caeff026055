//! Authentication: which user sends a request.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use parking_lot::RwLock;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
#[cfg(feature = "client-certificates")]
use std::sync::Arc;

use crate::error::ApiError;
use crate::meta;
use crate::registry::GroupResource;
use crate::store::{Key, Store};

pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The issuer of tokens, and their audience if the request names none.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
const ANONYMOUS: &str = "system:anonymous";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// A user: the owner of a bearer token, or an impersonated user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

/// The reason why a token is refused, with the texts of a real server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadToken {
    Unknown,
    /// What it belongs to is gone.
    Invalidated(String),
    WrongAudience {
        audiences: Vec<String>,
        wanted: Vec<String>,
    },
}

impl fmt::Display for BadToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = |texts: &[String]| {
            let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
            format!("[{}]", texts.join(" "))
        };
        match self {
            Self::Unknown => f.write_str("invalid bearer token"),
            Self::Invalidated(why) => write!(f, "[invalid bearer token, {why}]"),
            Self::WrongAudience { audiences, wanted } => write!(
                f,
                "[invalid bearer token, token audiences {} is invalid for the target audiences {}]",
                texts(audiences),
                texts(wanted)
            ),
        }
    }
}

impl User {
    /// The user as an object, as reviews and the audit log show it. Empty fields are left out.
    pub(crate) fn info(&self) -> Value {
        let mut info = Map::new();
        for (field, text) in [("username", &self.name), ("uid", &self.uid)] {
            if !text.is_empty() {
                info.insert(field.into(), text.as_str().into());
            }
        }
        if !self.groups.is_empty() {
            info.insert("groups".into(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            info.insert("extra".into(), json!(self.extra));
        }
        Value::Object(info)
    }

    /// A service account, in the groups that every service account is in.
    pub(crate) fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            uid: uid.into(),
            groups: vec![
                "system:serviceaccounts".into(),
                format!("system:serviceaccounts:{namespace}"),
                AUTHENTICATED.into(),
            ],
            extra: BTreeMap::new(),
        }
    }
}

/// The bearer tokens that the server accepts.
pub(crate) struct Tokens {
    users: BTreeMap<String, User>,
    admin: User,
    /// The user of a request without a token; `None` if such a request is refused.
    anonymous: Option<User>,
    /// Tokens of service accounts.
    issued: RwLock<BTreeMap<String, Issued>>,
}

/// A token of a service account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Issued {
    pub(crate) user: User,
    pub(crate) expires: Timestamp,
    /// Its audiences.
    pub(crate) audiences: Vec<String>,
    /// The objects whose deletion ends it. Tokens of older data folders name none.
    #[serde(default)]
    pub(crate) holders: Vec<Holder>,
}

/// An object of the core group whose deletion ends a token: the service account, or what the token is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    resource: String,
    key: String,
    uid: String,
}

/// How long a token is good after the deletion of its holder began: clocks may differ by as much.
const LEEWAY: SignedDuration = SignedDuration::from_secs(60);

impl Holder {
    pub(crate) fn new(resource: &str, namespace: Option<&str>, object: &Value) -> Self {
        Self {
            resource: resource.into(),
            key: Key::new(namespace, meta::name(object)).as_str().into(),
            uid: meta::uid(object).into(),
        }
    }

    /// # Errors
    /// The object is gone, or another one has its name.
    fn check(&self, store: &Store, now: Timestamp) -> Result<(), BadToken> {
        let resource = GroupResource::new("", &*self.resource);
        let found = store.get(&resource, &Key::parse(&self.key));
        let invalid = |text: String| Err(BadToken::Invalidated(text));
        let is_account = self.resource == "serviceaccounts";
        let Some(found) = found else {
            return match is_account {
                true => invalid(format!("serviceaccounts {:?} not found", self.name())),
                false => invalid("service account token has been invalidated".into()),
            };
        };
        let (uid, wanted) = (meta::uid(&found.object), &self.uid);
        if uid != wanted {
            return invalid(match &*self.resource {
                "serviceaccounts" => {
                    format!("service account UID ({uid}) does not match claim ({wanted})")
                }
                "secrets" => format!(
                    "secret UID ({uid}) does not match service account secret ref claim ({wanted})"
                ),
                "pods" => format!(
                    "pod UID ({uid}) does not match service account pod ref claim ({wanted})"
                ),
                _ => format!(
                    "node UID ({uid}) does not match service account node ref claim ({wanted})"
                ),
            });
        }
        let deleted: Option<Timestamp> =
            meta::text(&found.object, "deletionTimestamp").parse().ok();
        match deleted.is_some_and(|deleted| now.duration_since(deleted) > LEEWAY) {
            true if is_account => invalid(format!("service account {} has been deleted", self.key)),
            true => invalid("service account token has been invalidated".into()),
            false => Ok(()),
        }
    }

    fn name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or_default()
    }
}

/// How far the server trusts a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// An in-memory connection: a request without a token is the administrator's.
    Admin,
    /// A network connection: every request needs a token.
    TokenRequired,
    /// A network connection with a certificate of this user.
    #[cfg(feature = "client-certificates")]
    Certificate(Arc<User>),
}

impl Tokens {
    /// Requests without a token are refused unless `anonymous` is set: as a real server does, which accepts them only if somebody decides
    /// what they may do.
    /// `issued` are tokens of service accounts from an earlier process.
    pub(crate) fn new(
        users: BTreeMap<String, User>,
        anonymous: bool,
        issued: BTreeMap<String, Issued>,
    ) -> Self {
        let admin = User {
            name: "kubernetes-admin".into(),
            groups: vec!["system:masters".into(), AUTHENTICATED.into()],
            ..User::default()
        };
        let issued = RwLock::new(issued);
        let anonymous = anonymous.then(|| User {
            name: ANONYMOUS.into(),
            groups: vec![UNAUTHENTICATED.into()],
            ..User::default()
        });
        Self {
            users,
            admin,
            anonymous,
            issued,
        }
    }

    /// The user of a request: its sender, or the user that the sender impersonates. Then the second one is the sender.
    ///
    /// # Errors
    /// 401 for an unknown token, and for a missing one unless the server accepts anonymous requests; 400 if the request impersonates groups without a user; the error of
    /// `authorize_impersonation`, which gets the sender and the impersonated user.
    pub(crate) fn authenticate(
        &self,
        headers: &HeaderMap,
        trust: &Trust,
        (store, now): (&Store, Timestamp),
        authorize_impersonation: impl FnOnce(&User, &User, &[String]) -> Result<(), ApiError>,
    ) -> Result<(Cow<'_, User>, Option<Cow<'_, User>>), ApiError> {
        let sender = self.sender(headers, trust, (store, now))?;
        let Some(user) = impersonated(headers)? else {
            return Ok((sender, None));
        };
        let groups = headers.get_all("impersonate-group").iter();
        let groups: Vec<String> = groups
            .map(|group| String::from_utf8_lossy(group.as_bytes()).into_owned())
            .collect();
        authorize_impersonation(&sender, &user, &groups)?;
        Ok((Cow::Owned(user), Some(sender)))
    }

    /// Accepts a token from now on, and forgets the expired ones.
    pub(crate) fn issue(&self, token: String, issued: Issued, now: Timestamp) {
        let mut all = self.issued.write();
        all.retain(|_, issued| now < issued.expires);
        all.insert(token, issued);
    }

    /// The user of a token, and those of the `wanted` audiences that the token is for, in their order. An empty list of
    /// audiences stands for the API server itself.
    ///
    /// # Errors
    /// [`BadToken`] if the token is unknown or expired, if what it belongs to is gone, or if it is for other audiences.
    pub(crate) fn review(
        &self,
        token: &str,
        wanted: &[String],
        (store, now): (&Store, Timestamp),
    ) -> Result<(User, Vec<String>), BadToken> {
        let itself = [ISSUER.to_owned()];
        let wanted = if wanted.is_empty() { &itself } else { wanted };
        let (user, audiences) = match self.users.get(token) {
            Some(user) => (user.clone(), itself.to_vec()),
            None => {
                let issued = self.issued.read();
                let issued = issued.get(token).filter(|issued| now < issued.expires);
                let issued = issued.ok_or(BadToken::Unknown)?;
                for holder in &issued.holders {
                    holder.check(store, now)?;
                }
                (issued.user.clone(), issued.audiences.clone())
            }
        };
        let mut both = wanted.to_vec();
        both.retain(|audience| audiences.contains(audience));
        match both.is_empty() {
            false => Ok((user, both)),
            true => Err(BadToken::WrongAudience {
                audiences,
                wanted: wanted.to_vec(),
            }),
        }
    }

    fn sender(
        &self,
        headers: &HeaderMap,
        trust: &Trust,
        (store, now): (&Store, Timestamp),
    ) -> Result<Cow<'_, User>, ApiError> {
        #[cfg(feature = "client-certificates")]
        if let Trust::Certificate(user) = trust {
            return Ok(Cow::Owned(User::clone(user)));
        }
        let Some(header) = headers.get(AUTHORIZATION) else {
            return match trust {
                Trust::Admin => Ok(Cow::Borrowed(&self.admin)),
                _ => {
                    let anonymous = self.anonymous.as_ref().map(Cow::Borrowed);
                    anonymous.ok_or_else(ApiError::unauthorized)
                }
            };
        };
        let token = header.to_str().ok().and_then(|text| {
            let (scheme, token) = text.trim().split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let token = token.ok_or_else(ApiError::unauthorized)?;
        let known = self.users.get(token).map(Cow::Borrowed);
        known
            .or_else(|| {
                self.review(token, &[], (store, now))
                    .ok()
                    .map(|(user, _)| Cow::Owned(user))
            })
            .ok_or_else(ApiError::unauthorized)
    }
}

/// The user that the `Impersonate-` headers describe.
fn impersonated(headers: &HeaderMap) -> Result<Option<User>, ApiError> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let one = |name: &str| headers.get(name).map(text).unwrap_or_default();
    let mut user = User {
        name: one("impersonate-user"),
        uid: one("impersonate-uid"),
        ..User::default()
    };
    let groups = headers.get_all("impersonate-group");
    user.groups = groups.iter().map(text).collect();
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix("impersonate-extra-") {
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            user.extra.entry(key).or_default().push(text(value));
        }
    }
    if user == User::default() {
        return Ok(None);
    }
    if user.name.is_empty() {
        return Err(ApiError::bad_request(
            "requested groups, extra or a UID without impersonating a user",
        ));
    }
    let account = user.name.strip_prefix("system:serviceaccount:");
    if let Some((namespace, _)) = account.and_then(|account| account.split_once(':'))
        && user.groups.is_empty()
    {
        user.groups.push("system:serviceaccounts".into());
        let in_namespace = format!("system:serviceaccounts:{namespace}");
        user.groups.push(in_namespace);
    }
    let anonymous = user.name == ANONYMOUS;
    let told = |group: &String| group == UNAUTHENTICATED || !anonymous && group == AUTHENTICATED;
    if !user.groups.iter().any(told) {
        let group = if anonymous {
            UNAUTHENTICATED
        } else {
            AUTHENTICATED
        };
        user.groups.push(group.into());
    }
    Ok(Some(user))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(headers: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        map
    }

    fn groups(of: &[(&'static str, &str)]) -> Vec<String> {
        impersonated(&headers(of)).unwrap().unwrap().groups
    }

    #[test]
    fn an_impersonated_user_is_in_the_groups_that_a_real_server_gives_it() {
        let user = |name| ("impersonate-user", name);
        let group = |name| ("impersonate-group", name);
        assert_eq!(groups(&[user("jane")]), [AUTHENTICATED]);
        assert_eq!(
            groups(&[user("jane"), group("a"), group("b")]),
            ["a", "b", AUTHENTICATED]
        );
        assert_eq!(
            groups(&[user("jane"), group(UNAUTHENTICATED)]),
            [UNAUTHENTICATED]
        );
        assert_eq!(groups(&[user("system:anonymous")]), [UNAUTHENTICATED]);
        let account = user("system:serviceaccount:shop:till");
        let own = [
            "system:serviceaccounts",
            "system:serviceaccounts:shop",
            AUTHENTICATED,
        ];
        assert_eq!(groups(&[account]), own);
        assert_eq!(groups(&[account, group("a")]), ["a", AUTHENTICATED]);
    }

    #[test]
    fn impersonation_without_a_user_is_refused() {
        assert_eq!(impersonated(&headers(&[])).unwrap(), None);
        for half in [
            "impersonate-group",
            "impersonate-uid",
            "impersonate-extra-a",
        ] {
            assert!(impersonated(&headers(&[(half, "x")])).is_err(), "{half}");
        }
    }
}
