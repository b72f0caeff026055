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
    refusals::Refusals,
    reply::text_reply,
    review_cache::{Digest, ReviewCache},
};
use crate::{
    client::{Api, Client, Deadline, Error, ErrorKind, PostParams, stack::SentSecrets},
    resource::{Access, AccessRule},
};

/// How long a valid token is trusted without another review.
const AUTHENTICATED_TTL: Duration = Duration::from_secs(60);
/// How long a token is refused after a review did not accept it.
const UNAUTHENTICATED_TTL: Duration = Duration::from_secs(10);
/// How long a user may access a path without another review.
const ALLOWED_TTL: Duration = Duration::from_secs(5 * 60);
/// How long a user is refused after a review denied the access.
const DENIED_TTL: Duration = Duration::from_secs(30);
/// The time limit for a review by the API server.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);
/// The number of reviews that run at once, so that a client with many different tokens cannot flood the
/// API server.
const MAX_CONCURRENT_REVIEWS: usize = 8;

/// Authenticates requests by their bearer token (TokenReview) and authorizes their path
/// (SubjectAccessReview) with the API server, as controller-runtime's `WithAuthenticationAndAuthorization`
/// does.
///
/// An accepted token is remembered for 1 min and a refused one for 10 s. An allowed access is remembered for
/// 5 min and a denied one for 30 s. Tokens are stored as hashes, at most 1024. Equal requests at the same time
/// cause one review.
///
/// A request without a valid token gets status 401, a request that is not allowed gets 403. If the API server
/// does not respond to a review within 10 s, the request gets 500: an unreachable API server never grants
/// access. Such failures are at most one line of the log per minute, with the number of refused requests. The line
/// never shows the token, also if the API server repeats it.
///
/// A user that reads `/metrics` needs the verb `get` for the non-resource URL `/metrics`. [`access`](Self::access)
/// returns the permissions that the operator itself needs.
#[derive(Clone)]
pub struct Reviewer {
    client: Client,
    users: Arc<ReviewCache<Option<UserInfo>>>,
    access: Arc<ReviewCache<bool>>,
    slots: Arc<Semaphore>,
    /// Requests that were refused because a token review failed.
    unknown_users: Arc<Refusals>,
    /// Requests that were refused because an access review failed.
    unknown_access: Arc<Refusals>,
}

impl Reviewer {
    /// Creates a reviewer that sends its reviews with `client`.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            users: ReviewCache::new(|user| match user {
                Some(_) => AUTHENTICATED_TTL,
                None => UNAUTHENTICATED_TTL,
            }),
            access: ReviewCache::new(|allowed| if *allowed { ALLOWED_TTL } else { DENIED_TTL }),
            slots: Arc::new(Semaphore::new(MAX_CONCURRENT_REVIEWS)),
            unknown_users: Arc::default(),
            unknown_access: Arc::default(),
        }
    }

    /// The permissions that the operator needs to create reviews.
    pub fn access() -> Access {
        let review =
            |group: &str, resource: &str| AccessRule::new(group, resource, ["create"]).everywhere();
        Access::from(review("authentication.k8s.io", "tokenreviews"))
            .and(review("authorization.k8s.io", "subjectaccessreviews"))
    }

    /// Checks that a request may pass.
    ///
    /// # Errors
    /// The response for a request that may not pass.
    pub(super) async fn admit(&self, head: &Parts) -> Result<(), Reply> {
        let Some(token) = bearer(&head.headers) else {
            return Err(unauthorized());
        };
        let secrets = SentSecrets::of_token(&token);
        let user = self.user(token).await.map_err(|error| {
            let problem = secrets.redacted(problem(&error));
            log_refusal(&self.unknown_users, "TokenReview", problem);
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
                let problem = format!("user {name}: {}", problem(&error));
                let problem = secrets.redacted(problem);
                log_refusal(&self.unknown_access, "SubjectAccessReview", problem);
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
        // Serializing this type does not fail.
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

/// Logs that a request is refused because a review failed.
fn log_refusal(refusals: &Refusals, kind: &str, problem: String) {
    match refusals.count() {
        None => tracing::debug!("creating a {kind} failed: a request is refused: {problem}"),
        Some(1) => tracing::warn!(
            "creating a {kind} failed: a request is refused, and further ones are logged once per minute: {problem}"
        ),
        Some(count) => tracing::warn!(
            "creating a {kind} failed: {count} requests were refused since the last such line; the newest failure: {problem}"
        ),
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
        // The semaphore is never closed.
        let _slot = slots.acquire().await;
        api.create(&params, review).await
    };
    let late = |_| {
        Error::new(
            "create",
            kind.to_owned(),
            ErrorKind::Timeout {
                deadline: Deadline::Total,
                after: REVIEW_TIMEOUT,
            },
        )
    };
    tokio::time::timeout(REVIEW_TIMEOUT, asked)
        .await
        .map_err(late)?
}

/// The text of a review's error. It names the ClusterRole of Kubernetes that allows both reviews, if the API server refused
/// this one.
fn problem(error: &Error) -> String {
    match error.is_forbidden() {
        true => format!("{error}; the ClusterRole system:auth-delegator allows all reviews"),
        false => error.to_string(),
    }
}

/// The bearer token of a request, parsed as the API server does.
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
