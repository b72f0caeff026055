use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Answered, Target, WriteOptions, get_current};
use crate::authentication::{Holder, ISSUER, Issued, User};
use crate::core::Core;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::registry::GroupResource;

const SHORTEST: i64 = 10 * 60;
const HOUR: i64 = 60 * 60;

/// Issues a token for a service account. Its bearer is that service account until the token expires.
///
/// # Errors
/// 404; 400 or 409 if the token cannot be bound to the object; 422 if the lifetime is too short or too long.
pub(crate) async fn issue(
    core: &Core,
    target: &Target,
    name: &str,
    request: Value,
    options: &WriteOptions,
) -> Result<Answered, ApiError> {
    let (request, warnings) =
        super::admit_own_kind(core, target, "token", name, request, options).await?;
    let request = &request;
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let invalid = |about: &str, cause| {
        let group = "authentication.k8s.io";
        Err(ApiError::invalid_kind(
            group,
            "TokenRequest",
            about,
            vec![cause],
        ))
    };
    for (field, own) in [("name", name), ("namespace", namespace)] {
        let given = meta::text(request, field);
        if !given.is_empty() && given != own {
            let detail = format!("must match the service account {field} if specified");
            let cause = Cause::invalid(format!("metadata.{field}"), &given.into(), &detail);
            return invalid(name, cause);
        }
    }
    let account = get_current(core, target, name).await?;
    let uid = meta::uid(&account);
    same_uid(
        meta::uid(request),
        uid,
        "TokenRequest.authentication.k8s.io",
        name,
    )?;
    let seconds = request.pointer("/spec/expirationSeconds");
    let seconds = seconds.and_then(Value::as_i64).unwrap_or(HOUR);
    let wrong = |detail: &str| Cause::invalid("spec.expirationSeconds", &seconds.into(), detail);
    if seconds < SHORTEST {
        return invalid("", wrong("may not specify a duration less than 10 minutes"));
    }
    if seconds > 1 << 32 {
        return invalid(
            "",
            wrong("may not specify a duration larger than 2^32 seconds"),
        );
    }
    let bound = bound_to(
        core,
        namespace,
        name,
        request.pointer("/spec/boundObjectRef"),
    )
    .await?;
    let audiences = request.pointer("/spec/audiences").and_then(Value::as_array);
    let audiences = match audiences {
        Some(given) if !given.is_empty() => Value::Array(given.clone()),
        _ => json!([ISSUER]),
    };
    let now = core.clock.now().as_second();
    let mut own = json!({"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}});
    let mut holders = vec![Holder::new("serviceaccounts", Some(namespace), &account)];
    if let Some((kind, object)) = bound {
        own[kind] = json!({"name": meta::name(&object), "uid": meta::uid(&object)});
        let place = (kind != "node").then_some(namespace);
        holders.push(Holder::new(&format!("{kind}s"), place, &object));
    }
    let claims = json!({
        "aud": audiences, "exp": now.saturating_add(seconds), "iat": now, "iss": ISSUER,
        "jti": core.clock.uid(), "kubernetes.io": own, "nbf": now,
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
    });
    let token = core.authority.sign(&claims);
    let token = token.ok_or_else(|| ApiError::internal("the key of the server cannot sign"))?;
    let after = Duration::from_secs(seconds.unsigned_abs());
    let id = format!("JTI={}", claims["jti"].as_str().unwrap_or_default());
    let issued = "authentication.kubernetes.io/issued-credential-id";
    options.audit.annotate(issued, || id.clone());
    if !options.dry_run {
        let mut user = User::service_account(namespace, name, uid);
        user.extra.insert(
            "authentication.kubernetes.io/credential-id".into(),
            vec![id],
        );
        let audiences = audiences.as_array().into_iter().flatten();
        let issued = Issued {
            user,
            expires: core.clock.after(after),
            holders,
            audiences: audiences
                .filter_map(|audience| audience.as_str().map(String::from))
                .collect(),
        };
        core.store.keep_token(&token, &issued);
        core.tokens.issue(token.clone(), issued, core.clock.now());
    }
    let bound = request.pointer("/spec/boundObjectRef");
    let answer = json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": name, "namespace": namespace, "uid": uid,
            "creationTimestamp": core.clock.timestamp(),
            "managedFields": [managed_fields_entry(core, request, options)],
        },
        "spec": {
            "audiences": audiences, "expirationSeconds": seconds,
            "boundObjectRef": bound.cloned().unwrap_or_default(),
        },
        "status": {"token": token, "expirationTimestamp": core.clock.timestamp_in(after)},
    });
    Ok(Answered { answer, warnings })
}

/// The requested fields, as a real server records them in its response.
fn managed_fields_entry(core: &Core, request: &Value, options: &WriteOptions) -> Value {
    // The lifetime has a default, so it is always recorded.
    let mut fields = json!({"f:expirationSeconds": {}});
    let spec = request.get("spec").and_then(Value::as_object);
    for (name, value) in spec.into_iter().flatten() {
        let mut inner = json!({});
        for name in value.as_object().into_iter().flat_map(|value| value.keys()) {
            inner["."] = json!({});
            inner[format!("f:{name}")] = json!({});
        }
        fields[format!("f:{name}")] = inner;
    }
    json!({
        "apiVersion": "authentication.k8s.io/v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": fields}, "manager": options.manager, "operation": "Update",
        "subresource": "token", "time": core.clock.timestamp(),
    })
}

/// The object whose deletion ends the token, and the name of its claim.
async fn bound_to(
    core: &Core,
    namespace: &str,
    account: &str,
    reference: Option<&Value>,
) -> Result<Option<(&'static str, Value)>, ApiError> {
    let Some(reference) = reference.filter(|reference| reference.is_object()) else {
        return Ok(None);
    };
    let text = |field: &str| {
        reference
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
    let (plural, claim) = match (version, kind) {
        ("v1" | "", "Pod") => ("pods", "pod"),
        ("v1" | "", "Secret") => ("secrets", "secret"),
        ("v1" | "", "Node") => ("nodes", "node"),
        _ => {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            let message =
                format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(ApiError::bad_request(message));
        }
    };
    let registry = core.registry();
    let resource = GroupResource::new("", plural);
    let kind_served = registry.storage("", plural);
    let served = kind_served.ok_or_else(|| ApiError::not_found(&resource, name))?;
    let object = get_current(core, &Target::new(served, Some(namespace)), name).await?;
    let runs_as = object
        .pointer("/spec/serviceAccountName")
        .and_then(Value::as_str);
    if plural == "pods" && runs_as != Some(account) {
        return Err(ApiError::bad_request(format!(
            "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
        )));
    }
    let wanted = text("uid");
    if !wanted.is_empty() && wanted != meta::uid(&object) {
        let why = format!(
            "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(ApiError::conflict(
            &GroupResource::new("", kind),
            name,
            &why,
        ));
    }
    Ok(Some((claim, object)))
}

fn same_uid(wanted: &str, uid: &str, resource: &str, name: &str) -> Result<(), ApiError> {
    if wanted.is_empty() || wanted == uid {
        return Ok(());
    }
    let why = format!(
        "the UID in the token request ({wanted}) does not match the UID of the service account ({uid})"
    );
    let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
    Err(ApiError::conflict(
        &GroupResource::new(group, resource),
        name,
        &why,
    ))
}

/// Issues the token of a Secret of the type `kubernetes.io/service-account-token`. It has no end of its own.
pub(crate) fn issue_for_secret(core: &Core, account: &Value, secret: &Value) -> Option<String> {
    let (namespace, name) = (meta::text(account, "namespace"), meta::name(account));
    let (place, uid) = ("kubernetes.io/serviceaccount", meta::uid(account));
    let claims = json!({
        "iss": "kubernetes/serviceaccount",
        format!("{place}/namespace"): namespace,
        format!("{place}/secret.name"): meta::name(secret),
        format!("{place}/service-account.name"): name,
        format!("{place}/service-account.uid"): uid,
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
    });
    let token = core.authority.sign(&claims)?;
    let issued = Issued {
        user: User::service_account(namespace, name, uid),
        expires: Timestamp::MAX,
        audiences: vec![ISSUER.to_owned()],
        holders: vec![
            Holder::new("serviceaccounts", Some(namespace), account),
            Holder::new("secrets", Some(namespace), secret),
        ],
    };
    core.store.keep_token(&token, &issued);
    core.tokens.issue(token.clone(), issued, core.clock.now());
    Some(token)
}
