use std::time::Duration;

use super::{Status, status::REASONS};

fn status(json: serde_json::Value) -> Status {
    serde_json::from_value(json).unwrap()
}

#[test]
fn the_reason_counts_before_the_code() {
    let exists = status(serde_json::json!({"reason": "AlreadyExists", "code": 409}));
    assert!(exists.is_already_exists() && !exists.is_conflict());
    assert!(status(serde_json::json!({"code": 409})).is_conflict());
    for reason in ["Expired", "Gone"] {
        assert!(status(serde_json::json!({"reason": reason, "code": 410})).is_expired());
    }
}

#[test]
fn a_detail_of_a_wrong_type_hides_no_other_detail() {
    use serde_json::json;
    let odd = [
        json!(-5),
        json!("x"),
        json!(null),
        json!(1e300),
        json!([[{}]]),
        json!({"a": [1]}),
        json!(true),
    ];
    let fields = [
        "/status",
        "/metadata",
        "/metadata/continue",
        "/metadata/remainingItemCount",
        "/details",
        "/details/name",
        "/details/causes",
        "/details/causes/0",
        "/details/causes/0/field",
        "/details/retryAfterSeconds",
    ];
    for field in fields {
        for value in &odd {
            let mut answer = json!({
                "status": "Failure", "code": 429, "reason": "TooManyRequests", "message": "slow down",
                "metadata": {"continue": "next", "remainingItemCount": 3},
                "details": {
                    "name": "a", "retryAfterSeconds": 7,
                    "causes": [{"reason": "R", "field": "spec"}, {"reason": "S"}],
                },
            });
            *answer.pointer_mut(field).unwrap() = value.clone();
            let status = status(answer);
            assert_eq!(
                (status.code, &*status.message),
                (429, "slow down"),
                "{field} {value}"
            );
            assert!(status.is_too_many_requests());
            let keeps_details = field != "/details" && !field.starts_with("/details/causes");
            assert_eq!(
                status.has_cause("R") && status.has_cause("S"),
                keeps_details || field.ends_with("field")
            );
        }
    }
    let after = |seconds: serde_json::Value| {
        status(json!({"details": {"retryAfterSeconds": seconds}})).retry_after()
    };
    assert_eq!(after(json!(-5)), None);
    assert_eq!(after(json!(1e12)), Some(Duration::from_secs(60)));
    assert_eq!(after(json!(2)), Some(Duration::from_secs(2)));
}

#[test]
fn a_retry_after_is_at_most_one_minute() {
    for (asked, found) in [(0, None), (7, Some(7)), (60, Some(60)), (86_400, Some(60))] {
        let busy = status(serde_json::json!({"details": {"retryAfterSeconds": asked}}));
        assert_eq!(
            busy.retry_after(),
            found.map(Duration::from_secs),
            "{asked}"
        );
    }
}

#[test]
fn each_reason_has_one_predicate_that_no_other_reason_satisfies() {
    type Predicate = fn(&Status) -> bool;
    let predicates: [(&str, u16, Predicate); 19] = [
        ("Unauthorized", 401, Status::is_unauthorized),
        ("Forbidden", 403, Status::is_forbidden),
        ("NotFound", 404, Status::is_not_found),
        ("AlreadyExists", 0, Status::is_already_exists),
        ("Conflict", 409, Status::is_conflict),
        ("Gone", 410, Status::is_gone),
        ("Invalid", 422, Status::is_invalid),
        ("ServerTimeout", 0, Status::is_server_timeout),
        ("StoreReadError", 0, Status::is_store_read_error),
        ("Timeout", 504, Status::is_timeout),
        ("TooManyRequests", 429, Status::is_too_many_requests),
        ("BadRequest", 400, Status::is_bad_request),
        ("MethodNotAllowed", 405, Status::is_method_not_allowed),
        ("NotAcceptable", 406, Status::is_not_acceptable),
        (
            "RequestEntityTooLarge",
            413,
            Status::is_request_entity_too_large,
        ),
        (
            "UnsupportedMediaType",
            415,
            Status::is_unsupported_media_type,
        ),
        ("InternalError", 500, Status::is_internal_error),
        ("Expired", 0, Status::is_expired),
        ("ServiceUnavailable", 503, Status::is_service_unavailable),
    ];
    assert_eq!(predicates.map(|(reason, ..)| reason), REASONS);
    for (reason, code, _) in predicates {
        for (other, _, holds) in predicates {
            // A caller does the same for both forms of an expired version.
            let expired = other == "Expired" && reason == "Gone";
            let known = status(serde_json::json!({"reason": reason, "code": 599}));
            assert_eq!(
                holds(&known),
                reason == other || expired,
                "{other} of {reason}"
            );
            if code == 0 {
                continue;
            }
            for reason_given in ["", "Odd"] {
                let coded = status(serde_json::json!({"reason": reason_given, "code": code}));
                assert_eq!(
                    holds(&coded),
                    reason == other || expired,
                    "{other} of {code}"
                );
            }
        }
    }
}

#[test]
fn a_missing_object_is_distinguished_from_a_missing_kind() {
    let object = serde_json::json!({"reason": "NotFound", "code": 404, "details": {"name": "a", "kind": "configmaps"}});
    let kind = serde_json::json!({"reason": "NotFound", "code": 404, "details": {}});
    let page = serde_json::json!({"code": 404, "message": "404 page not found"});
    for (answer, not_served) in [(object, false), (kind, true), (page, true)] {
        let status = status(answer);
        assert!(status.is_not_found());
        assert_eq!(status.is_not_served(), not_served);
    }
    assert!(!status(serde_json::json!({"code": 503})).is_not_served());
}

#[test]
fn a_cause_is_found_by_its_reason() {
    let status = status(serde_json::json!({
        "reason": "Forbidden", "code": 403,
        "details": {"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]},
    }));
    assert!(status.is_namespace_terminating() && !status.has_cause("DisruptionBudget"));
    let cause = status.cause("NamespaceTerminating");
    assert_eq!(cause.map(|cause| &*cause.field), Some("metadata.namespace"));
}

#[test]
fn a_too_large_resource_version_is_recognized_as_cause_and_as_message() {
    let cause = serde_json::json!({"reason": "Timeout", "code": 504, "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}});
    assert!(status(cause).is_too_large_resource_version());
    let text = serde_json::json!({"reason": "Timeout", "message": "Too large resource version: 9, current: 3"});
    assert!(status(text).is_too_large_resource_version());
    assert!(!status(serde_json::json!({"reason": "Timeout"})).is_too_large_resource_version());
}
