use bytes::Bytes;
use http::Response;
use http_body::Body as HttpBody;
use serde_json::{Value, json};

use super::body;
use super::respond::{self, Body};
use super::route::ResourceRoute;
use super::service::Incoming;
use crate::api::ApiError;
use crate::auth::User;
use crate::core::Core;

/// Whether somebody asks who they are.
pub(super) fn is_own(route: &ResourceRoute) -> bool {
    (route.group.as_str(), route.version.as_str()) == ("authentication.k8s.io", "v1")
        && (route.resource.as_str(), route.verb) == ("selfsubjectreviews", "create")
        && route.namespace.is_none()
        && route.name.is_none()
}

/// Answers a SelfSubjectReview: what the server knows of the one who asks.
///
/// # Errors
/// The body is no SelfSubjectReview.
pub(super) async fn own<B>(
    core: &Core,
    user: &User,
    incoming: Incoming<B>,
) -> Result<Response<Body>, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let media = body::media_type(&incoming.record.content_type);
    let mut review = body::decode(&media, &body::read(incoming.body).await?)?;
    if review.get("kind").and_then(Value::as_str) != Some("SelfSubjectReview") {
        return Err(ApiError::bad_request("the body is no SelfSubjectReview"));
    }
    let mut known = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        known["uid"] = user.uid.clone().into();
    }
    if !user.extra.is_empty() {
        known["extra"] = json!(user.extra);
    }
    review["metadata"] = json!({"creationTimestamp": core.clock.timestamp()});
    review["status"] = json!({"userInfo": known});
    Ok(respond::json(201, &review, incoming.query.flag("pretty")))
}
