use serde_json::{Value, json};

use super::{conditions, flag, items, selectable_fields, text};
use crate::builtin::webhook_client;
use crate::error::Cause;
use crate::schema::Schema;
use crate::table::JsonPath;
use crate::{meta, names};

/// The errors in a definition that is created or replaces `old`.
pub(crate) fn check(definition: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let group = text(definition, "/spec/group");
    let plural = text(definition, "/spec/names/plural");
    let name = meta::name(definition);
    if old.is_none() && name != format!("{plural}.{group}") {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &name.into(), detail));
    }
    check_group(definition, group, &mut causes);
    match text(definition, "/spec/scope") {
        "Cluster" | "Namespaced" => {}
        "" => causes.push(Cause::required("spec.scope", "")),
        other => causes.push(Cause::not_supported(
            "spec.scope",
            other,
            &["Cluster", "Namespaced"],
        )),
    }
    if flag(definition, "/spec/preserveUnknownFields") {
        let mut refuse = |detail: &str| {
            causes.push(Cause::invalid(
                "spec.preserveUnknownFields",
                &true.into(),
                detail,
            ));
        };
        let mut versions = items(definition, "/spec/versions").iter();
        if versions.any(|version| has_default(version.pointer("/schema/openAPIV3Schema"))) {
            refuse("must be false in order to use defaults in the schema");
        }
        if !old.is_some_and(|old| flag(old, "/spec/preserveUnknownFields")) {
            refuse(
                "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
            );
        }
    }
    check_names(definition, &mut causes);
    check_versions(definition, &mut causes);
    check_conversion(definition, &mut causes);
    check_stored(definition, &mut causes);
    if let Some(old) = old {
        check_update(definition, old, &mut causes);
    }
    causes
}

fn check_group(definition: &Value, group: &str, causes: &mut Vec<Cause>) {
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
        return;
    }
    let wrong = names::dns_subdomain(group);
    for detail in &wrong {
        causes.push(Cause::invalid("spec.group", &group.into(), detail));
    }
    if wrong.is_empty() && !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        causes.push(Cause::invalid("spec.group", &group.into(), detail));
    }
    let belongs = |domain: &str| {
        group == domain
            || group
                .strip_suffix(domain)
                .is_some_and(|rest| rest.ends_with('.'))
    };
    let annotations = definition.pointer("/metadata/annotations");
    let approved = annotations.is_some_and(|all| all.get("api-approved.kubernetes.io").is_some());
    if (belongs("k8s.io") || belongs("kubernetes.io")) && !approved {
        let detail = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
                      https://github.com/kubernetes/enhancements/pull/1111";
        causes.push(Cause::required(
            "metadata.annotations[api-approved.kubernetes.io]",
            detail,
        ));
    }
}

/// Whether a schema sets a default anywhere.
fn has_default(schema: Option<&Value>) -> bool {
    match schema {
        Some(Value::Object(fields)) => {
            fields.contains_key("default") || fields.values().any(|field| has_default(Some(field)))
        }
        Some(Value::Array(items)) => items.iter().any(|item| has_default(Some(item))),
        _ => false,
    }
}

fn check_names(definition: &Value, causes: &mut Vec<Cause>) {
    for field in ["plural", "singular", "kind", "listKind"] {
        let name = text(definition, &format!("/spec/names/{field}"));
        let path = format!("spec.names.{field}");
        if name.is_empty() {
            causes.push(Cause::required(path, ""));
            continue;
        }
        let lower = if field.ends_with("ind") {
            name.to_lowercase()
        } else {
            name.into()
        };
        for detail in names::dns_1035_label(&lower) {
            let detail = if field.ends_with("ind") {
                format!("may have mixed case, but should otherwise match: {detail}")
            } else {
                detail
            };
            causes.push(Cause::invalid(path.clone(), &name.into(), &detail));
        }
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in items(definition, &format!("/spec/names/{field}"))
            .iter()
            .enumerate()
        {
            for detail in names::dns_1035_label(name.as_str().unwrap_or_default()) {
                causes.push(Cause::invalid(
                    format!("spec.names.{field}[{index}]"),
                    name,
                    &detail,
                ));
            }
        }
    }
    let (kind, list) = (
        text(definition, "/spec/names/kind"),
        text(definition, "/spec/names/listKind"),
    );
    if !kind.is_empty() && kind == list {
        let detail = "kind and listKind may not be the same";
        causes.push(Cause::invalid("spec.names.listKind", &list.into(), detail));
    }
}

fn check_versions(definition: &Value, causes: &mut Vec<Cause>) {
    let versions = items(definition, "/spec/versions");
    let mut seen: Vec<&str> = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        // Fields that all versions share are checked at the path that the first API version of definitions had for
        // them.
        let common = |field: &str| {
            let first = versions.first().and_then(|first| first.get(field));
            versions.iter().all(|other| other.get(field) == first)
        };
        let part = |field: &str| {
            if common(field) {
                "spec".to_owned()
            } else {
                path.clone()
            }
        };
        let name = text(version, "/name");
        for detail in names::dns_1035_label(name) {
            causes.push(Cause::invalid(
                format!("{path}.name"),
                &name.into(),
                &detail,
            ));
        }
        check_warning(version, &path, causes);
        if seen.contains(&name) {
            causes.push(Cause::invalid(
                "spec.versions",
                &shown(versions),
                "must contain unique version names",
            ));
        }
        seen.push(name);
        let schema_path = if common("schema") {
            "spec.validation.openAPIV3Schema".to_owned()
        } else {
            format!("{path}.schema.openAPIV3Schema")
        };
        match version.pointer("/schema/openAPIV3Schema") {
            None => causes.push(Cause::required(
                format!("{path}.schema.openAPIV3Schema"),
                "",
            )),
            Some(schema) => {
                if let Err(errors) = Schema::from_json_at(schema, &schema_path) {
                    causes.extend(errors.into_iter().map(Cause::from));
                }
            }
        }
        check_scale(version, &part("subresources"), causes);
        check_columns(version, &part("additionalPrinterColumns"), causes);
        // Fields that all versions share are looked up in a schema that all versions share.
        let schema = version
            .pointer("/schema/openAPIV3Schema")
            .filter(|_| common("schema") || !common("selectableFields"));
        selectable_fields::check(version, &part("selectableFields"), schema, causes);
    }
    if versions
        .iter()
        .filter(|version| flag(version, "/storage"))
        .count()
        != 1
    {
        let detail = "must have exactly one version marked as storage version";
        let shown = match definition.pointer("/spec/versions") {
            None | Some(Value::Null) => Value::Null,
            Some(_) => shown(versions),
        };
        causes.push(Cause::invalid("spec.versions", &shown, detail));
    }
    // The first version is also checked at the path that the first API version of definitions had for its only version.
    let first = versions.first().map(|first| text(first, "/name"));
    if let Some(name) = first.filter(|name| !name.is_empty()) {
        for detail in names::dns_1035_label(name) {
            causes.push(Cause::invalid("spec.version", &name.into(), &detail));
        }
    }
}

/// The warning about a version that is deprecated.
fn check_warning(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    const LONGEST: usize = 256;
    let given = version.get("deprecationWarning");
    let Some(given) = given.filter(|given| !given.is_null()) else {
        return;
    };
    let mut refuse = |detail: &str| {
        causes.push(Cause::invalid(
            format!("{path}.deprecationWarning"),
            given,
            detail,
        ));
    };
    if !flag(version, "/deprecated") {
        return refuse("can only be set for deprecated versions");
    }
    let warning = given.as_str().unwrap_or_default();
    if warning.len() > LONGEST {
        refuse("must be <= 256 characters long");
    }
    if warning.is_empty() {
        refuse("must not be an empty string");
    }
    let is_printed =
        |letter: char| letter == ' ' || !letter.is_control() && !letter.is_whitespace();
    if let Some((index, _)) = warning
        .char_indices()
        .find(|(_, letter)| !is_printed(*letter))
    {
        refuse(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

/// Versions as errors show them: with the names of the server's internal type, without the fields that all versions
/// share.
fn shown(versions: &[Value]) -> Value {
    let shown = versions.iter().map(|version| {
        json!({
            "Name": text(version, "/name"),
            "Served": flag(version, "/served"),
            "Storage": flag(version, "/storage"),
            "Deprecated": flag(version, "/deprecated"),
            "DeprecationWarning": version.get("deprecationWarning"),
            "Schema": null,
            "Subresources": null,
            "AdditionalPrinterColumns": null,
            "SelectableFields": null,
        })
    });
    shown.collect()
}

/// The versions of ConversionReview that the server sends.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

/// Errors name the fields of the server's internal type.
fn check_conversion(definition: &Value, causes: &mut Vec<Cause>) {
    const CLIENT: &str = "spec.conversion.webhookClientConfig";
    const VERSIONS: &str = "spec.conversion.conversionReviewVersions";
    let strategy = text(definition, "/spec/conversion/strategy");
    let webhook = definition.pointer("/spec/conversion/webhook");
    let client = webhook.and_then(|webhook| webhook.get("clientConfig"));
    let versions = items(
        definition,
        "/spec/conversion/webhook/conversionReviewVersions",
    );
    if strategy != "Webhook" {
        if strategy.is_empty() && definition.pointer("/spec/conversion").is_some() {
            causes.push(Cause::required("spec.conversion.strategy", ""));
        } else if !matches!(strategy, "" | "None") {
            let known = ["None", "Webhook"];
            causes.push(Cause::not_supported(
                "spec.conversion.strategy",
                strategy,
                &known,
            ));
        }
        let detail = "should not be set when strategy is not set to Webhook";
        if client.is_some() {
            causes.push(Cause::forbidden(CLIENT, detail));
        }
        if !versions.is_empty() {
            causes.push(Cause::forbidden(VERSIONS, detail));
        }
        return;
    }
    match client {
        None => causes.push(Cause::required(
            CLIENT,
            "required when strategy is set to Webhook",
        )),
        Some(client) => {
            let mut found = Vec::new();
            webhook_client(client, CLIENT, &mut found);
            causes.extend(found.into_iter().map(Cause::from));
        }
    }
    if versions.is_empty() {
        return causes.push(Cause::required(VERSIONS, ""));
    }
    let mut seen: Vec<&Value> = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let field = format!("{VERSIONS}[{index}]");
        if seen.contains(&version) {
            causes.push(Cause::invalid(field, version, "duplicate version"));
            continue;
        }
        seen.push(version);
        for detail in names::dns_1035_label(version.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid(field.clone(), version, &detail));
        }
    }
    if !versions
        .iter()
        .any(|version| REVIEWS.iter().any(|known| version == known))
    {
        let detail = format!("must include at least one of {}", REVIEWS.join(", "));
        let shown = Value::from(versions);
        causes.push(Cause::invalid(VERSIONS, &shown, &detail));
    }
}

fn check_stored(definition: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "status.storedVersions";
    let stored = items(definition, "/status/storedVersions");
    if stored.is_empty() {
        let detail = "must have at least one stored version";
        causes.push(Cause::invalid(FIELD, &Value::Null, detail));
    }
    for version in items(definition, "/spec/versions") {
        let name = text(version, "/name");
        if flag(version, "/storage") && !stored.iter().any(|stored| stored == name) {
            let detail = format!("must have the storage version {name}");
            causes.push(Cause::invalid(FIELD, &stored.into(), &detail));
        }
    }
}

fn check_scale(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(scale) = version.pointer("/subresources/scale") else {
        return;
    };
    let selector = (
        "labelSelectorPath",
        &[".spec.", ".status."][..],
        "should be a json path under either .spec or .status",
    );
    for (field, under, detail) in [
        (
            "specReplicasPath",
            &[".spec."][..],
            "should be a json path under .spec",
        ),
        (
            "statusReplicasPath",
            &[".status."][..],
            "should be a json path under .status",
        ),
        selector,
    ] {
        let given = scale.get(field).and_then(Value::as_str).unwrap_or_default();
        let path = format!("{path}.subresources.scale.{field}");
        if given.is_empty() {
            if field != "labelSelectorPath" {
                causes.push(Cause::required(path, ""));
            }
        } else if !given.starts_with('.') {
            let detail = "must be a simple json path starting with .";
            causes.push(Cause::invalid(path, &given.into(), detail));
        } else if given.contains('[') || !under.iter().any(|prefix| given.starts_with(prefix)) {
            causes.push(Cause::invalid(path, &given.into(), detail));
        }
    }
}

fn check_columns(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    const TYPES: &[&str] = &["boolean", "date", "integer", "number", "string"];
    const FORMATS: &[&str] = &[
        "byte",
        "date",
        "date-time",
        "double",
        "float",
        "int32",
        "int64",
        "password",
    ];
    for (index, column) in items(version, "/additionalPrinterColumns")
        .iter()
        .enumerate()
    {
        let path = format!("{path}.additionalPrinterColumns[{index}]");
        if text(column, "/name").is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        }
        match text(column, "/type") {
            "" => {
                let detail = format!("must be one of {}", TYPES.join(","));
                causes.push(Cause::required(format!("{path}.type"), &detail));
            }
            known if TYPES.contains(&known) => {}
            other => {
                let detail = format!("must be one of {}", TYPES.join(","));
                causes.push(Cause::invalid(
                    format!("{path}.type"),
                    &other.into(),
                    &detail,
                ));
            }
        }
        let format = text(column, "/format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let detail = format!("must be one of {}", FORMATS.join(","));
            causes.push(Cause::invalid(
                format!("{path}.format"),
                &format.into(),
                &detail,
            ));
        }
        let json_path = text(column, "/jsonPath");
        let path = format!("{path}.JSONPath");
        if json_path.is_empty() {
            causes.push(Cause::required(path, ""));
        } else if !json_path.starts_with('.') {
            let detail = "must be a simple json path starting with .";
            causes.push(Cause::invalid(path, &json_path.into(), detail));
        } else if let Err(error) = JsonPath::parse(json_path) {
            causes.push(Cause::invalid(path, &json_path.into(), &error.to_string()));
        }
    }
}

fn check_update(definition: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let established = conditions::is_true(old, "Established");
    for (field, always) in [
        ("scope", false),
        ("names/kind", false),
        ("group", true),
        ("names/plural", true),
    ] {
        let pointer = format!("/spec/{field}");
        let (was, is) = (old.pointer(&pointer), definition.pointer(&pointer));
        if was != is && (always || established) {
            let path = format!("spec.{}", field.replace('/', "."));
            let is = is.unwrap_or(&Value::Null);
            causes.push(Cause::invalid(path, is, "field is immutable"));
        }
    }
    let versions: Vec<&str> = items(definition, "/spec/versions")
        .iter()
        .map(|version| text(version, "/name"))
        .collect();
    for (index, stored) in items(definition, "/status/storedVersions")
        .iter()
        .enumerate()
    {
        let name = stored.as_str().unwrap_or_default();
        if !versions.contains(&name) {
            let path = format!("status.storedVersions[{index}]");
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            causes.push(Cause::invalid(path, stored, &detail));
        }
    }
}
