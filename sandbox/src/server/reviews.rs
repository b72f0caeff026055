use bytes::Bytes;
use http::Response;
use http_body::Body as HttpBody;
use serde_json::{Map, Value, json};

use super::body;
use super::negotiate::{self, Offer, negotiate};
use super::options;
use super::request::Incoming;
use super::respond::{self, Body};
use super::review_selectors::{evaluation_error, selector_errors};
use super::route::ResourceRoute;
use crate::api;
use crate::authentication::User;
use crate::authorization::{Action, ActionTarget, Decision};
use crate::core::Core;
use crate::error::{ApiError, Cause};

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// A review: a question about a user that the server answers and does not store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Review {
    /// Which user sends the request.
    OwnSubject,
    /// Which user a token belongs to.
    Token,
    /// Whether a user may do something.
    Access,
    /// Whether a user may do something in the namespace of the path.
    LocalAccess,
    /// Whether the sender may do something.
    OwnAccess,
    /// What the sender may do in a namespace.
    OwnRules,
}

impl Review {
    /// The review at a path. Returns `None` for all other paths.
    pub(super) fn of(route: &ResourceRoute) -> Option<Self> {
        let is_collection = route.verb == "create" && route.name.is_none();
        if !is_collection || route.version != "v1" {
            return None;
        }
        let review = match (route.group.as_str(), route.resource.as_str()) {
            (AUTHENTICATION, "selfsubjectreviews") => Self::OwnSubject,
            (AUTHENTICATION, "tokenreviews") => Self::Token,
            (AUTHORIZATION, "subjectaccessreviews") => Self::Access,
            (AUTHORIZATION, "localsubjectaccessreviews") => Self::LocalAccess,
            (AUTHORIZATION, "selfsubjectaccessreviews") => Self::OwnAccess,
            (AUTHORIZATION, "selfsubjectrulesreviews") => Self::OwnRules,
            _ => return None,
        };
        (route.namespace.is_some() == (review == Self::LocalAccess)).then_some(review)
    }

    fn group(self) -> &'static str {
        match self {
            Self::OwnSubject | Self::Token => AUTHENTICATION,
            Self::Access | Self::LocalAccess | Self::OwnAccess | Self::OwnRules => AUTHORIZATION,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::OwnSubject => "SelfSubjectReview",
            Self::Token => "TokenReview",
            Self::Access => "SubjectAccessReview",
            Self::LocalAccess => "LocalSubjectAccessReview",
            Self::OwnAccess => "SelfSubjectAccessReview",
            Self::OwnRules => "SelfSubjectRulesReview",
        }
    }
}

/// Answers a review.
///
/// # Errors
/// 400 or 422 if the body is not such a review or asks nothing.
pub(super) async fn handle<B>(
    core: &Core,
    review: Review,
    route: &ResourceRoute,
    user: &User,
    incoming: Incoming<B>,
) -> Result<Response<Body>, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let offer = Offer {
        cbor: core.cbor,
        protobuf: true,
        yaml: true,
    };
    negotiate::check(&incoming.accept, &negotiate::declared(core.cbor, "create"))?;
    let (_, encoding) = negotiate(&incoming.accept, &offer)?;
    let (kind, api_version) = (review.kind(), format!("{}/v1", review.group()));
    let body = body::read(core, incoming.body).await?;
    let content_type = &incoming.record.content_type;
    let translated = body::translate(core, content_type, &body, (&api_version, kind)).await?;
    let media = body::media_type(content_type);
    let (media, body) = translated.unwrap_or((&media, body));
    let object = body::decode(media, &body)?;
    let mut object = api::recognize_as([review.group(), "v1", kind], object, &body)?;
    if object.get("kind").is_some_and(|given| given != kind) {
        return Err(ApiError::bad_request(format!("the body is not a {kind}")));
    }
    object["kind"] = kind.into();
    object["apiVersion"] = api_version.into();
    let spec = object.get("spec").cloned().unwrap_or_default();
    let status = match review {
        Review::OwnSubject => {
            object["metadata"] = json!({"creationTimestamp": core.clock.timestamp()});
            object["status"] = json!({"userInfo": user.info()});
            let response = respond::json(201, &object, incoming.query.flag("pretty"));
            return Ok(encoding.translate(response, false).await);
        }
        Review::OwnRules => {
            object["metadata"] = json!({});
            object["spec"] = json!({});
            object["status"] = rules_status(core, user, text(&spec, "namespace"))?;
            let response = respond::json(201, &object, incoming.query.flag("pretty"));
            return Ok(encoding.translate(response, false).await);
        }
        Review::Token => token_status(core, &spec)?,
        Review::Access => {
            check(review, &object, &spec)?;
            let of = subject(&spec);
            access_status(&core.decide(&of, &action(&spec)?), &spec)
        }
        Review::LocalAccess => {
            check(review, &object, &spec)?;
            let namespace = route.namespace.as_deref().unwrap_or_default();
            check_namespace(&spec, namespace)?;
            object["metadata"]["namespace"] = namespace.into();
            let of = subject(&spec);
            access_status(&core.decide(&of, &action(&spec)?), &spec)
        }
        Review::OwnAccess => {
            check(review, &object, &spec)?;
            access_status(&core.decide(user, &action(&spec)?), &spec)
        }
    };
    let manager = options::manager(&incoming.query, &incoming.record.user_agent);
    let namespace = object["metadata"].get("namespace").cloned();
    object["metadata"] = json!({"managedFields": [{
        "apiVersion": object["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields(&spec)},
        "manager": manager, "operation": "Update", "time": core.clock.timestamp(),
    }]});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = namespace;
    }
    object["status"] = status;
    let response = respond::json(201, &object, incoming.query.flag("pretty"));
    Ok(encoding.translate(response, false).await)
}

/// The fields of a specification, as `managedFields` lists them.
fn fields(spec: &Value) -> Value {
    let mut owned = Map::new();
    for (name, value) in spec.as_object().into_iter().flatten() {
        let inner = match value {
            Value::Object(_) => {
                let mut inner = fields(value);
                inner["."] = json!({});
                inner
            }
            _ => json!({}),
        };
        owned.insert(format!("f:{name}"), inner);
    }
    owned.into()
}

fn token_status(core: &Core, spec: &Value) -> Result<Value, ApiError> {
    let token = spec
        .get("token")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if token.is_empty() {
        return Err(ApiError::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let audiences = strings(spec, "audiences");
    Ok(
        match core
            .tokens
            .review(token, &audiences, (&core.store, core.clock.now()))
        {
            Ok((user, audiences)) => {
                json!({"authenticated": true, "user": user.info(), "audiences": audiences})
            }
            Err(bad) => json!({"user": {}, "error": bad.to_string()}),
        },
    )
}

/// # Errors
/// 400 if there is no namespace.
fn rules_status(core: &Core, user: &User, namespace: &str) -> Result<Value, ApiError> {
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let found = core.rules_for(user, namespace);
    let having = |list: &str, fields: &[&str]| -> Value {
        let rules = found
            .rules
            .iter()
            .filter(|rule| !strings(rule, list).is_empty());
        rules
            .map(|rule| {
                let given = fields.iter().filter_map(|field| {
                    let value = rule.get(field).filter(|value| !value.is_null())?;
                    Some(((*field).to_owned(), value.clone()))
                });
                Value::Object(given.collect())
            })
            .collect()
    };
    let mut status = json!({
        "resourceRules": having("resources", &["verbs", "apiGroups", "resources", "resourceNames"]),
        "nonResourceRules": having("nonResourceURLs", &["verbs", "nonResourceURLs"]),
        "incomplete": false,
    });
    if !found.error.is_empty() {
        status["evaluationError"] = found.error.into();
    }
    Ok(status)
}

fn access_status(decision: &Decision, spec: &Value) -> Value {
    let mut status = json!({"allowed": decision.allowed});
    let error = spec.get("resourceAttributes").map(evaluation_error);
    if let Some(error) = error.filter(|error| !error.is_empty()) {
        status["evaluationError"] = error.into();
    }
    if !decision.reason.is_empty() {
        status["reason"] = decision.reason.clone().into();
    }
    status
}

/// # Errors
/// 422 if the question is invalid.
fn check(review: Review, object: &Value, spec: &Value) -> Result<(), ApiError> {
    let given = |field: &str| spec.get(field).filter(|value| !value.is_null());
    let (resource, path) = (given("resourceAttributes"), given("nonResourceAttributes"));
    let mut causes = Vec::new();
    if resource.is_some() == path.is_some() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        // A real server shows its own type.
        let path = path.map_or(
            Value::Null,
            |path| json!({"Path": text(path, "path"), "Verb": text(path, "verb")}),
        );
        causes.push(Cause::invalid("spec", &path, detail));
    }
    let is_somebody = !text(spec, "user").is_empty() || !strings(spec, "groups").is_empty();
    if review != Review::OwnAccess && !is_somebody {
        let detail = "at least one of user or group must be specified";
        causes.push(Cause::invalid("spec.user", &"".into(), detail));
    }
    causes.extend(resource.map(selector_errors).into_iter().flatten());
    let metadata = object.get("metadata").and_then(Value::as_object);
    let mut named = metadata.into_iter().flatten().filter(|(name, value)| {
        let is_place = review == Review::LocalAccess && *name == "namespace";
        !is_place
            && !matches!(name.as_str(), "managedFields" | "creationTimestamp")
            && !value.is_null()
    });
    if named.next().is_some() {
        // A real server shows the fields of its own type here.
        return Err(ApiError::not_implemented(format!(
            "metadata of {}",
            review.kind()
        )));
    }
    if causes.is_empty() {
        return Ok(());
    }
    // A real server leaves out the kind here.
    Err(ApiError::invalid_kind(AUTHORIZATION, "", "", causes))
}

fn check_namespace(spec: &Value, namespace: &str) -> Result<(), ApiError> {
    let kind = Review::LocalAccess.kind();
    let mut causes = Vec::new();
    if let Some(resource) = spec.get("resourceAttributes")
        && text(resource, "namespace") != namespace
    {
        let given = text(resource, "namespace");
        causes.push(Cause::invalid(
            "spec.resourceAttributes.namespace",
            &given.into(),
            "must match metadata.namespace",
        ));
    }
    if let Some(path) = spec.get("nonResourceAttributes") {
        let detail = "disallowed on this kind of request";
        causes.push(Cause::invalid("spec.nonResourceAttributes", path, detail));
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid_kind(AUTHORIZATION, kind, "", causes))
}

/// The user that a specification describes.
fn subject(spec: &Value) -> User {
    User {
        name: text(spec, "user").into(),
        uid: text(spec, "uid").into(),
        groups: strings(spec, "groups"),
        ..User::default()
    }
}

/// The action that a specification asks about.
fn action(spec: &Value) -> Result<Action, ApiError> {
    if let Some(path) = spec.get("nonResourceAttributes") {
        return Ok(Action {
            verb: text(path, "verb").into(),
            target: ActionTarget::Path(text(path, "path").into()),
        });
    }
    let resource = spec.get("resourceAttributes");
    let resource = resource.ok_or_else(|| ApiError::bad_request("no attributes"))?;
    Ok(Action {
        verb: text(resource, "verb").into(),
        target: ActionTarget::Resource {
            group: text(resource, "group").into(),
            resource: text(resource, "resource").into(),
            subresource: text(resource, "subresource").into(),
            namespace: text(resource, "namespace").into(),
            name: text(resource, "name").into(),
        },
    })
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn strings(value: &Value, field: &str) -> Vec<String> {
    let values = value.get(field).and_then(Value::as_array);
    let values = values.into_iter().flatten().filter_map(Value::as_str);
    values.map(String::from).collect()
}
