use serde_json::{Map, Value, json};

use super::chart::Chart;
use crate::{manifests::files::own_place, resource::to_yaml};

/// The parts of the reference of an image: repository, tag and digest.
pub(super) fn image(reference: &str) -> (&str, &str, &str) {
    let (name, digest) = reference.split_once('@').unwrap_or((reference, ""));
    // A colon before the last slash belongs to the port of the registry.
    match name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((repository, tag)) => (repository, tag, digest),
        None => (name, "", digest),
    }
}

/// The text of `values.yaml`. Each value has a comment.
pub(super) fn text(
    chart: &Chart<'_>,
    fields: &[(&'static str, Value)],
) -> Result<String, serde_json::Error> {
    let (repository, tag, digest) = image(chart.image);
    let image = json!({"repository": repository, "tag": tag, "digest": digest, "pullPolicy": ""});
    let mut all: Vec<(&str, Value, &str)> = vec![
        (
            "image",
            image,
            "The image of the operator. With a digest, the tag is not needed.",
        ),
        (
            "replicas",
            json!(chart.replicas),
            "Number of pods; all but the leader stand by.",
        ),
        (
            "namespaces",
            json!(chart.namespaces),
            "The namespaces in which the operator works. An empty list means all.",
        ),
        (
            "extraArgs",
            json!(chart.extra_args),
            "More flags for the operator, such as `--log=debug`. A list of your own takes the place of this one.",
        ),
        (
            "definitions",
            json!({"install": true, "keep": true}),
            "The CustomResourceDefinitions: whether this release installs and updates them, and whether they\n# stay when it is removed. Without them, all objects of these kinds are deleted.",
        ),
    ];
    if let Some(monitoring) = chart.monitoring {
        let monitoring = json!({"enabled": monitoring});
        all.push((
            "monitoring",
            monitoring,
            "The objects for the Prometheus operator.",
        ));
    }
    for (name, value) in fields {
        all.push((name, value.clone(), comment(name)));
    }
    let mut text = format!("# Values of the chart of the operator {}.\n", chart.name);
    for (name, value, comment) in all {
        text += &format!("\n# {comment}\n{}", to_yaml([json!({name: value})])?);
    }
    text += "\n# Values for templates that you add to the chart. Indent them, so that they are below `own`.\nown:\n";
    text += &own_place("  #", "values", "");
    Ok(text)
}

fn comment(field: &str) -> &'static str {
    match field {
        "resources" => "Requests and limits of the container.",
        "env" => "Environment variables of the container.",
        "imagePullSecrets" => "Secrets for the registry of the image: `- name: …`.",
        "podAnnotations" => "Annotations of the pods.",
        "nodeSelector" => "Labels of the nodes for the pods.",
        "tolerations" => "Taints of nodes that the pods tolerate.",
        _ => "Preferences for nodes and for other pods.",
    }
}

/// The text of `values.schema.json`: it refuses misspelled names and values that cannot work.
pub(super) fn schema(
    chart: &Chart<'_>,
    fields: &[(&'static str, Value)],
) -> Result<String, serde_json::Error> {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let label =
        json!({"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"});
    let mut replicas = json!({"type": "integer", "minimum": 0});
    if !chart.elects {
        // Without an election, two pods must not work at the same time.
        replicas["maximum"] = json!(1);
    }
    let mut namespaces = json!({"type": "array", "items": label, "uniqueItems": true});
    if chart.is_limited_by_itself {
        namespaces["minItems"] = json!(1);
    }
    let mut properties = Map::from_iter([
        (
            "image".to_owned(),
            object(&[
                ("repository", json!({"type": "string", "minLength": 1})),
                ("tag", json!({"type": "string"})),
                (
                    "digest",
                    json!({"type": "string", "pattern": "^([a-z0-9]+:[0-9a-f]{32,})?$"}),
                ),
                (
                    "pullPolicy",
                    json!({"enum": ["", "Always", "IfNotPresent", "Never"]}),
                ),
            ]),
        ),
        ("replicas".into(), replicas),
        ("namespaces".into(), namespaces),
        ("extraArgs".into(), texts),
        (
            "definitions".into(),
            object(&[
                ("install", json!({"type": "boolean"})),
                ("keep", json!({"type": "boolean"})),
            ]),
        ),
        // Without a value of the user's it is null.
        ("own".into(), json!({"type": ["object", "null"]})),
        // Helm adds this one to a chart that is part of another.
        ("global".into(), json!({"type": "object"})),
    ]);
    if chart.monitoring.is_some() {
        let enabled = object(&[("enabled", json!({"type": "boolean"}))]);
        properties.insert("monitoring".into(), enabled);
    }
    for (name, value) in fields {
        let kind = if value.is_array() { "array" } else { "object" };
        let mut schema = json!({"type": kind});
        if *name == "env" {
            schema["items"] = json!({"type": "object", "required": ["name"]});
        }
        properties.insert((*name).into(), schema);
    }
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    if chart.is_limited_by_itself {
        // A value that is null counts as missing. Without namespaces, the roles would be for all of them.
        schema["required"] = json!(["namespaces"]);
    }
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

fn object(properties: &[(&str, Value)]) -> Value {
    let properties = properties.iter().cloned();
    let properties: Map<String, Value> = properties
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_of_an_image_has_up_to_three_parts() {
        for (reference, parts) in [
            ("website", ("website", "", "")),
            ("r.example.com:5000/web", ("r.example.com:5000/web", "", "")),
            (
                "r.example.com:5000/web:1",
                ("r.example.com:5000/web", "1", ""),
            ),
            ("web:1@sha256:ab", ("web", "1", "sha256:ab")),
        ] {
            assert_eq!(image(reference), parts);
        }
    }

    #[test]
    fn the_namespaces_of_a_limited_program_cannot_be_removed() {
        let namespaces = Default::default();
        let chart = |is_limited_by_itself| Chart {
            name: "website",
            version: None,
            image: "website",
            replicas: 1,
            elects: true,
            namespaces: &namespaces,
            extra_args: &[],
            is_limited_by_itself,
            monitoring: None,
            fixed_settings: &[],
        };
        let required = |is_limited| -> Value {
            let text = schema(&chart(is_limited), &[]).unwrap();
            let schema: Value = serde_json::from_str(&text).unwrap();
            schema["required"].clone()
        };
        // Helm removes a value that is null before it looks at the schema.
        assert_eq!(required(true), json!(["namespaces"]));
        assert_eq!(required(false), Value::Null);
    }
}
