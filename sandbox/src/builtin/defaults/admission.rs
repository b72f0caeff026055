use serde_json::{Map, Value, json};

use super::fields::{each, fill, object};

/// `admissionregistration.k8s.io`.
pub(super) fn admission(kind: &str, fields: &mut Map<String, Value>) {
    match kind {
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            each(fields, "webhooks", |webhook| {
                default_webhook(webhook);
                if kind == "MutatingWebhookConfiguration" {
                    fill(webhook, "reinvocationPolicy", "Never");
                }
            });
        }
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => {
            let Some(spec) = object(fields, "spec") else {
                return;
            };
            fill(spec, "failurePolicy", "Fail");
            if let Some(constraints) = object(spec, "matchConstraints") {
                match_resources(constraints);
            }
        }
        _ => {
            let Some(spec) = object(fields, "spec") else {
                return;
            };
            if let Some(resources) = object(spec, "matchResources") {
                match_resources(resources);
            }
        }
    }
}

fn default_webhook(webhook: &mut Map<String, Value>) {
    fill(webhook, "failurePolicy", "Fail");
    matching(webhook);
    fill(webhook, "timeoutSeconds", 10);
    each(webhook, "rules", |rule| fill(rule, "scope", "*"));
    if let Some(client) = object(webhook, "clientConfig")
        && let Some(service) = object(client, "service")
    {
        service_port(service);
    }
}

/// The port of a service that the API server calls.
pub(super) fn service_port(service: &mut Map<String, Value>) {
    fill(service, "port", 443);
}

fn match_resources(resources: &mut Map<String, Value>) {
    matching(resources);
    for rules in ["resourceRules", "excludeResourceRules"] {
        each(resources, rules, |rule| fill(rule, "scope", "*"));
    }
}

fn matching(fields: &mut Map<String, Value>) {
    fill(fields, "matchPolicy", "Equivalent");
    fill(fields, "namespaceSelector", json!({}));
    fill(fields, "objectSelector", json!({}));
}
