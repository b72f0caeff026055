use std::{fmt, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use ring::digest::{SHA256, digest};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;

use super::{
    Reply,
    reply::text_reply,
    review_cache::{Digest, ReviewCache},
};
use crate::{
    client::{Api, Client, Deadline, Error, PostParams},
    resource::{Access, AccessRule},
};

/// How long a token that is somebody's is his without asking again.
const AUTHENTICATED: Duration = Duration::from_secs(60);
/// How long a token that is nobody's is nobody's.
const UNAUTHENTICATED: Duration = Duration::from_secs(10);
/// How long who is allowed something is allowed it.
const ALLOWED: Duration = Duration::from_secs(5 * 60);
/// How long who is denied something is denied it.
const DENIED: Duration = Duration::from_secs(30);
/// How long an answer of the API server is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many reviews are asked for at once: nobody who shows ever new tokens floods the API server.
const AT_ONCE: usize = 8;

/// Lets those pass whom the API server knows by their bearer token (TokenReview) and allows to read the path
/// (SubjectAccessReview), as controller-runtime's `WithAuthenticationAndAuthorization` does.
///
/// Whose a token is counts for 1 min, that it is nobody's for 10 s; that somebody is allowed a path counts for 5 min,
/// that he is not for 30 s. Tokens are remembered as hashes, 1024 at most. Requests that need the same answer
/// ask once.
///
/// A request without a token that is somebody's is answered 401, one that is not allowed 403, and one about which the
/// API server cannot be asked within 10 s 500: nobody passes because it is away.
///
/// Who reads `/metrics` needs `get` on the non-resource URL `/metrics`; what the operator itself needs is
/// [`access`](Self::access).
#[derive(Clone)]
pub struct Reviewer {
    client: Client,
    users: Arc<ReviewCache<Option<UserInfo>>>,
    access: Arc<ReviewCache<bool>>,
    slots: Arc<Semaphore>,
}

impl Reviewer {
    /// Asks by `client`.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            users: ReviewCache::new(|user| match user {
                Some(_) => AUTHENTICATED,
                None => UNAUTHENTICATED,
            }),
            access: ReviewCache::new(|allowed| if *allowed { ALLOWED } else { DENIED }),
            slots: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// What the operator has to be allowed for it.
    pub fn access() -> Access {
        let review =
            |group: &str, resource: &str| AccessRule::new(group, resource, ["create"]).everywhere();
        Access::from(review("authentication.k8s.io", "tokenreviews"))
            .and(review("authorization.k8s.io", "subjectaccessreviews"))
    }

    /// Whether a request may pass.
    ///
    /// # Errors
    /// What it is answered otherwise.
    pub(super) async fn admit(&self, head: &Parts) -> Result<(), Reply> {
        let Some(token) = bearer(&head.headers) else {
            return Err(unauthorized());
        };
        let user = self.user(token).await.map_err(|error| {
            tracing::warn!(%error, "the API server cannot be asked whose a token is");
            text_reply(StatusCode::INTERNAL_SERVER_ERROR, "Authentication failed\n")
        })?;
        let user = user.ok_or_else(unauthorized)?;
        let name = user.username.clone().unwrap_or_default();
        let verb = head.method.as_str().to_ascii_lowercase();
        let allowed = self.is_allowed(user, verb, head.uri.path()).await;
        match allowed {
            Ok(true) => Ok(()),
            Ok(false) => {
                let text = format!("Authorization denied for user {name}\n");
                Err(text_reply(StatusCode::FORBIDDEN, text))
            }
            Err(error) => {
                tracing::warn!(%error, user = name, "the API server cannot be asked what a user may read");
                let text = format!("Authorization for user {name} failed\n");
                Err(text_reply(StatusCode::INTERNAL_SERVER_ERROR, text))
            }
        }
    }

    async fn user(&self, token: SecretString) -> Result<Option<UserInfo>, Arc<Error>> {
        let digest = hashed(token.expose_secret().as_bytes());
        let (client, slots) = (self.client.clone(), self.slots.clone());
        let ask = async move {
            let review = TokenReview {
                spec: TokenReviewSpec {
                    token: token.expose_secret().to_owned(),
                    ..TokenReviewSpec::default()
                },
                ..TokenReview::default()
            };
            let review = created("TokenReview", &slots, &Api::all(&client), &review).await?;
            let status = review.status.unwrap_or_default();
            let is_known = status.authenticated.unwrap_or_default();
            Ok(status.user.filter(|_| is_known))
        };
        self.users.get(digest, ask).await
    }

    async fn is_allowed(
        &self,
        user: UserInfo,
        verb: String,
        path: &str,
    ) -> Result<bool, Arc<Error>> {
        let spec = SubjectAccessReviewSpec {
            user: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some(path.to_owned()),
                verb: Some(verb),
            }),
            resource_attributes: None,
        };
        // What cannot be written cannot be asked either.
        let digest = hashed(&serde_json::to_vec(&spec).unwrap_or_default());
        let (client, slots) = (self.client.clone(), self.slots.clone());
        let ask = async move {
            let review = SubjectAccessReview {
                spec,
                ..SubjectAccessReview::default()
            };
            let review =
                created("SubjectAccessReview", &slots, &Api::all(&client), &review).await?;
            let status = review.status.unwrap_or_default();
            Ok(status.allowed && !status.denied.unwrap_or_default())
        };
        self.access.get(digest, ask).await
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.users.len() + self.access.len()
    }
}

async fn created<K>(
    kind: &'static str,
    slots: &Semaphore,
    api: &Api<K>,
    review: &K,
) -> Result<K, Error>
where
    K: crate::resource::Resource,
{
    let params = PostParams::default();
    let asked = async {
        // Never closed.
        let _slot = slots.acquire().await;
        api.create(&params, review).await
    };
    let late = |_| Error::Timeout {
        verb: "create",
        target: kind.to_owned(),
        deadline: Deadline::Total,
        after: PATIENCE,
    };
    tokio::time::timeout(PATIENCE, asked).await.map_err(late)?
}

/// The token of a request, as the API server reads it.
fn bearer(headers: &HeaderMap) -> Option<SecretString> {
    let mut words = headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .trim()
        .split(' ');
    let scheme = words.next()?;
    let token = words.next().filter(|token| !token.is_empty())?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.to_owned().into())
}

fn hashed(bytes: &[u8]) -> Digest {
    let mut hash = Digest::default();
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

fn unauthorized() -> Reply {
    let mut reply = text_reply(StatusCode::UNAUTHORIZED, "Unauthorized\n");
    let bearer = HeaderValue::from_static("Bearer");
    reply.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
    reply
}

impl fmt::Debug for Reviewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reviewer")
    }
}
