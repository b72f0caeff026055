//! What the operator writes of a webhook configuration that somebody else applies, too.

use serde_json::{Value, json};

/// Leaves to others what they have written of the webhooks in the configuration `found`. Of such a webhook `wanted` keeps the name and the
/// authority, and where it leads if that differs.
///
/// Otherwise the operator, which applies by force, would own the rules together with those who apply the printed configurations: their
/// next apply of other rules would be refused as a conflict.
pub(super) fn leave_to_others(wanted: &mut Value, found: &Value, manager: &str) {
    let webhooks = wanted["webhooks"].as_array_mut();
    for webhook in webhooks.into_iter().flatten() {
        let name = &webhook["name"];
        let present = found["webhooks"].as_array().into_iter().flatten();
        let Some(present) = present.into_iter().find(|one| one["name"] == *name) else {
            continue;
        };
        if !is_whole_of_another(name, found, manager) {
            continue;
        }
        let (mine, theirs) = (&webhook["clientConfig"], &present["clientConfig"]);
        let client = match without_authority(mine) == without_authority(theirs) {
            true => mine
                .get("caBundle")
                .map(|authority| json!({"caBundle": authority})),
            false => Some(mine.clone()),
        };
        *webhook = match client {
            Some(client) => json!({"name": name, "clientConfig": client}),
            None => json!({"name": name}),
        };
    }
}

/// Whether a field manager other than `manager` has written everything that a webhook must have.
fn is_whole_of_another(name: &Value, found: &Value, manager: &str) -> bool {
    let entries = found["metadata"]["managedFields"].as_array();
    let mut others = entries
        .into_iter()
        .flatten()
        .filter(|entry| entry["manager"] != manager);
    others.any(|entry| {
        let webhooks = entry["fieldsV1"]["f:webhooks"].as_object();
        let mut items = webhooks.into_iter().flatten();
        items.any(|(key, fields)| {
            let key = key.strip_prefix("k:").map(serde_json::from_str::<Value>);
            let is_named = matches!(key, Some(Ok(key)) if key["name"] == *name);
            let needed = ["f:clientConfig", "f:rules", "f:sideEffects"];
            is_named && needed.iter().all(|field| !fields[*field].is_null())
        })
    })
}

/// Where a webhook leads. The API server adds the port of a Service if it is missing.
fn without_authority(client: &Value) -> Value {
    let mut client = client.clone();
    if let Some(fields) = client.as_object_mut() {
        fields.remove("caBundle");
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook(name: &str, path: &str) -> Value {
        let service =
            json!({"name": "site-webhook", "namespace": "ops", "path": path, "port": 443});
        json!({"name": name, "rules": [], "sideEffects": "None", "clientConfig": {"service": service}})
    }

    fn found(manager: &str, fields: &[&str], webhooks: &[Value]) -> Value {
        let fields: serde_json::Map<String, Value> = fields
            .iter()
            .map(|field| ((*field).to_owned(), json!({})))
            .collect();
        let entry = json!({
            "manager": manager, "operation": "Apply",
            "fieldsV1": {"f:webhooks": {"k:{\"name\":\"a\"}": fields}},
        });
        json!({"metadata": {"managedFields": [entry]}, "webhooks": webhooks})
    }

    const WHOLE: [&str; 4] = ["f:clientConfig", "f:name", "f:rules", "f:sideEffects"];

    fn wanted() -> Value {
        let mut one = webhook("a", "/a");
        one["clientConfig"]["caBundle"] = "cGVt".into();
        json!({"webhooks": [one, webhook("b", "/b")]})
    }

    #[test]
    fn only_the_authority_is_written_of_a_webhook_that_somebody_else_applies() {
        let mut left = wanted();
        let found = found("kubectl", &WHOLE, &[webhook("a", "/a")]);
        leave_to_others(&mut left, &found, "site-webhooks");
        let expected = json!({"name": "a", "clientConfig": {"caBundle": "cGVt"}});
        // The other one is not there yet.
        assert_eq!(left["webhooks"], json!([expected, webhook("b", "/b")]));
    }

    #[test]
    fn a_webhook_that_leads_elsewhere_is_changed() {
        let mut left = wanted();
        let found = found("kubectl", &WHOLE, &[webhook("a", "/other")]);
        leave_to_others(&mut left, &found, "site-webhooks");
        let client = &wanted()["webhooks"][0]["clientConfig"];
        assert_eq!(
            left["webhooks"][0],
            json!({"name": "a", "clientConfig": client})
        );
    }

    #[test]
    fn a_webhook_that_nobody_else_has_written_whole_stays_whole() {
        for found in [
            found("site-webhooks", &WHOLE, &[webhook("a", "/a")]),
            // Somebody has edited only its rules.
            found("kubectl-edit", &["f:rules"], &[webhook("a", "/a")]),
        ] {
            let mut left = wanted();
            leave_to_others(&mut left, &found, "site-webhooks");
            assert_eq!(left, wanted());
        }
    }
}
