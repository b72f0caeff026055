use serde_json::Value;

use super::fields::{at, immutable, map, text};
use super::object::{DATA_LIMIT, frozen, key_errors};
use crate::go::base64_bytes;
use crate::json;
use crate::schema::FieldError;
use crate::stack;

pub(super) fn secret(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in map(object, "/data") {
        for wrong in key_errors(key) {
            found.push(FieldError::invalid(field(key), key.as_str(), wrong));
        }
        size += decoded(value).len();
    }
    if size > DATA_LIMIT {
        let limit = u64::try_from(DATA_LIMIT).unwrap_or(u64::MAX);
        found.push(FieldError::too_long("data", limit));
    }
    content(object, found);
    if let Some(old) = old {
        immutable(object, old, "/type", found);
    }
    frozen(object, old, &["data"], found);
}

/// Checks that a Secret has what its type promises.
fn content(object: &Value, found: &mut Vec<FieldError>) {
    const ACCOUNT: &str = "kubernetes.io/service-account.name";
    let data = at(object, "/data");
    let has = |key: &str| data.get(key).is_some();
    let mut missing = |key: &str| found.push(FieldError::required(field(key), ""));
    match text(object, "/type") {
        "kubernetes.io/service-account-token" => {
            let name = at(object, "/metadata/annotations").get(ACCOUNT);
            if name.and_then(Value::as_str).unwrap_or_default().is_empty() {
                let field = format!("metadata.annotations[{ACCOUNT}]");
                found.push(FieldError::required(field, ""));
            }
        }
        "kubernetes.io/dockercfg" => configuration(data, ".dockercfg", found),
        "kubernetes.io/dockerconfigjson" => configuration(data, ".dockerconfigjson", found),
        // An empty user name or password counts as present.
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            missing("username");
            missing("password");
        }
        "kubernetes.io/ssh-auth" if decoded(at(data, "/ssh-privatekey")).is_empty() => {
            missing("ssh-privatekey");
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if !has(key) {
                    missing(key);
                }
            }
        }
        _ => {}
    }
}

/// Checks that the configuration of a registry is a JSON object. The error shows nothing of it.
fn configuration(data: &Value, key: &str, found: &mut Vec<FieldError>) {
    let Some(value) = data.get(key) else {
        found.push(FieldError::required(field(key), ""));
        return;
    };
    // Nobody has looked at the depth of this text yet.
    if let Some(wrong) = stack::large(|| wrong_configuration(&decoded(value))) {
        let hidden = "<secret contents redacted>";
        found.push(FieldError::invalid(field(key), hidden, wrong));
    }
}

/// Why the text is no JSON object.
fn wrong_configuration(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let kind = match json::read(text.as_bytes()).map(|document| document.value) {
        Ok(Value::Object(_) | Value::Null) => return None,
        Ok(Value::Bool(_)) => "bool",
        Ok(Value::Number(_)) => "number",
        Ok(Value::String(_)) => "string",
        Ok(Value::Array(_)) => "array",
        Err(wrong) => return Some(wrong),
    };
    Some(format!(
        "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    ))
}

fn field(key: &str) -> String {
    format!("data[{key}]")
}

fn decoded(value: &Value) -> Vec<u8> {
    base64_bytes(value.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;

    fn errors(kind: &str, data: Value) -> Vec<String> {
        let object = json!({"type": format!("kubernetes.io/{kind}"), "data": data});
        let mut found = Vec::new();
        secret(&object, None, &mut found);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_configuration_may_be_deep_and_its_base64_may_have_lines() {
        let deep = "[".repeat(9999) + &"]".repeat(9999);
        let found = errors(
            "dockerconfigjson",
            json!({".dockerconfigjson": STANDARD.encode(deep)}),
        );
        assert!(found[0].contains("cannot unmarshal array"), "{found:?}");
        let lines = json!({".dockerconfigjson": "eyJh\nIjox\r\nfQ==\n"});
        assert_eq!(errors("dockerconfigjson", lines), [""; 0]);
    }

    #[test]
    fn each_type_has_its_content() {
        let table: &[(&str, Value, &[&str])] = &[
            ("tls", json!({"tls.crt": "", "tls.key": ""}), &[]),
            (
                "tls",
                json!({"tls.key": ""}),
                &["data[tls.crt]: Required value"],
            ),
            ("ssh-auth", json!({"ssh-privatekey": "eA=="}), &[]),
            (
                "ssh-auth",
                json!({"ssh-privatekey": ""}),
                &["data[ssh-privatekey]: Required value"],
            ),
            ("basic-auth", json!({"password": ""}), &[]),
            (
                "basic-auth",
                json!({}),
                &[
                    "data[username]: Required value",
                    "data[password]: Required value",
                ],
            ),
            (
                "service-account-token",
                json!({}),
                &["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
            ),
            ("dockercfg", json!({".dockercfg": "e30="}), &[]),
            (
                "dockercfg",
                json!({}),
                &["data[.dockercfg]: Required value"],
            ),
            (
                "dockerconfigjson",
                json!({".dockerconfigjson": "c2VjcmV0"}),
                &[
                    "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 's' looking \
                     for beginning of value",
                ],
            ),
        ];
        for (kind, data, expected) in table {
            assert_eq!(&errors(kind, data.clone()), expected, "{kind}: {data}");
        }
    }

    #[test]
    fn the_limit_counts_the_decoded_bytes() {
        let sized = |length: usize| json!({"a": STANDARD.encode(vec![0; length])});
        assert_eq!(errors("other", sized(DATA_LIMIT)), [""; 0]);
        assert_eq!(
            errors("other", sized(DATA_LIMIT + 1)),
            ["data: Too long: may not be more than 1048576 bytes"]
        );
    }
}
