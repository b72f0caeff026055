use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    checks,
    template::{EACH, Node, RELEASE, Variant, any_of, escaped, none_of},
    values, webhooks,
};
use crate::{
    manifests::{
        deployment::CONTAINER,
        files::{Files, file_of, own_place},
    },
    resource::to_yaml,
};

pub(super) const NAMESPACES: &str = "$.Values.namespaces";
/// The operator works in the namespace of its pods.
const WORKS_THERE: &str = "has $.Release.Namespace $.Values.namespaces";
const SEVERAL: &str = "gt (int $.Values.replicas) 1";
const MONITORING: &str = "$.Values.monitoring.enabled";

/// The reference of the image.
const IMAGE: &str = r#"printf "%s%s%s" $.Values.image.repository (empty $.Values.image.tag | ternary "" (printf ":%v" $.Values.image.tag)) (empty $.Values.image.digest | ternary "" (printf "@%s" $.Values.image.digest)) | quote"#;

/// Makes all objects, for these namespaces, with this number of replicas and with or without those for monitoring.
pub(crate) type Build<'a> =
    dyn Fn(&[&str], i32, bool) -> Result<Vec<Value>, serde_json::Error> + 'a;

/// What a chart needs to know beside the objects.
pub(crate) struct Chart<'a> {
    /// The name of the operator, which is that of the chart.
    pub(crate) name: &'a str,
    /// The version of the program.
    pub(crate) version: Option<&'a str>,
    pub(crate) image: &'a str,
    pub(crate) replicas: i32,
    /// Whether the replicas elect a leader.
    pub(crate) elects: bool,
    /// The namespaces that were given.
    pub(crate) namespaces: &'a BTreeSet<String>,
    /// The flags on which no object depends.
    pub(crate) extra_args: &'a [String],
    /// Whether the program itself is limited to namespaces, so that an empty list does not mean all.
    pub(crate) is_limited_by_itself: bool,
    /// Whether the objects for monitoring are in the default output. `None` if there are none.
    pub(crate) monitoring: Option<bool>,
    /// The flags on which the objects depend, each with its environment variable.
    pub(crate) fixed_settings: &'a [(&'static str, String)],
}

impl Chart<'_> {
    /// The namespace with which the objects have to be made.
    pub(crate) const NAMESPACE: &'static str = RELEASE;

    /// The files of the chart.
    pub(crate) fn files(&self, build: &Build<'_>) -> Result<Files, serde_json::Error> {
        let base = build(&[], 1, false)?;
        let in_each = build(&[EACH], 1, false)?;
        // The operator may have access in the namespace of its pods although it does not work there. If it does, one Role has both. The
        // Role of the base may be missing because access to all namespaces covers it.
        let is_own_role =
            |object: &Value| object["kind"] == "Role" && object["metadata"]["namespace"] == RELEASE;
        let has_own_role = base.iter().chain(&in_each).any(is_own_role);
        let mut variants = vec![(NAMESPACES.to_owned(), in_each)];
        if self.elects {
            variants.push((SEVERAL.into(), build(&[], 2, false)?));
        }
        if self.monitoring.is_some() {
            variants.push((MONITORING.into(), build(&[], 1, true)?));
        }
        let mut files = Files::new();
        let mut fields = Vec::new();
        for object in all(&base, &variants) {
            let found = |objects: &'_ [Value]| -> Option<Value> {
                objects.iter().find(|one| same(one, &object)).cloned()
            };
            let mut present: Vec<(&str, Value)> = variants
                .iter()
                .filter_map(|(condition, objects)| Some((&**condition, found(objects)?)))
                .collect();
            let (first, condition) = match found(&base) {
                Some(first) => {
                    let absent = variants
                        .iter()
                        .filter(|(_, objects)| found(objects).is_none());
                    let absent: Vec<&str> = absent.map(|(condition, _)| &**condition).collect();
                    (first, none_of(&absent))
                }
                None => {
                    let conditions: Vec<&str> = present.iter().map(|(one, _)| *one).collect();
                    (object.clone(), any_of(&conditions))
                }
            };
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
            if is_own_role(&object) {
                let there = build(&[RELEASE], 1, false)?;
                let there = there.into_iter().find(|one| same(one, &object));
                // The first condition that holds counts, and the one for any namespaces holds here, too.
                if let Some(role) = there {
                    present.insert(0, (WORKS_THERE, role));
                }
            }
            let borrowed: Vec<Variant<'_>> = present
                .iter()
                .map(|(condition, object)| (*condition, object))
                .collect();
            let in_each = borrowed
                .iter()
                .find(|(condition, _)| *condition == NAMESPACES);
            let mut node = match in_each {
                Some((_, limited)) if is_webhook_configuration(&object) => {
                    webhooks::configuration(&first, limited)
                }
                Some((_, limited)) if is_rule_binding(&object) => {
                    webhooks::binding(&first, limited)
                }
                _ => Node::merge(&first, &borrowed),
            };
            let name = file_of(&object);
            let text = match name {
                // The namespace of a release exists before its objects.
                "namespace.yaml" if object["metadata"]["name"] == RELEASE => continue,
                "definitions.yaml" => definition(node, &object)?,
                _ => {
                    if object["kind"] == "Deployment" && object["metadata"]["name"] == self.name {
                        fields = deployment(&mut node, &first);
                    }
                    node.text()?
                }
            };
            let is_role = matches!(object["kind"].as_str(), Some("Role" | "RoleBinding"));
            let condition = match is_role && ![RELEASE, EACH].contains(&namespace) {
                true => self.but_if_covered(condition, &object, build)?,
                false => condition,
            };
            let mut text = format!("---\n{text}");
            if name == "definitions.yaml" {
                text =
                    format!("{{{{- if $.Values.definitions.install }}}}\n{text}{{{{- end }}}}\n");
            }
            if namespace == EACH {
                text = in_each_namespace(is_role && has_own_role, &text);
            } else if let Some(condition) = condition {
                text = format!("{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n");
            }
            *files.entry(format!("templates/{name}")).or_default() += &text;
        }
        files.insert("Chart.yaml".into(), self.chart()?);
        files.insert("values.yaml".into(), values::text(self, &fields)?);
        files.insert("values.schema.json".into(), values::schema(self, &fields)?);
        files.insert("templates/NOTES.txt".into(), self.notes());
        files.insert("templates/checks.yaml".into(), checks::text(self, &fields));
        Ok(files)
    }

    /// The condition of a Role for a certain namespace, or of its binding. If the operator works there, it may have the same access
    /// anyway.
    fn but_if_covered(
        &self,
        condition: Option<String>,
        object: &Value,
        build: &Build<'_>,
    ) -> Result<Option<String>, serde_json::Error> {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let there = build(&[namespace], 1, false)?;
        if there.iter().any(|one| same(one, object)) {
            return Ok(condition);
        }
        let elsewhere = format!("not (has {namespace:?} {NAMESPACES})");
        Ok(Some(match condition {
            Some(condition) => format!("and ({condition}) ({elsewhere})"),
            None => elsewhere,
        }))
    }

    fn chart(&self) -> Result<String, serde_json::Error> {
        let (_, tag, _) = values::image(self.image);
        let version = self.version.filter(|version| is_semantic(version));
        let text = to_yaml([json!({
            "apiVersion": "v2",
            "name": self.name,
            "description": format!("The operator {}.", self.name),
            "type": "application",
            "version": version.unwrap_or("0.1.0"),
            "appVersion": self.version.unwrap_or(if tag.is_empty() { "0.1.0" } else { tag }),
        })])?;
        Ok(text + &own_place("#", "chart", ""))
    }

    fn notes(&self) -> String {
        let name = self.name;
        format!(
            "The operator {name} is installed in the namespace {{{{ .Release.Namespace }}}}.\n\
             {{{{- with .Values.namespaces }}}}\n\
             It works in {{{{ join \", \" . }}}}.\n\
             {{{{- else }}}}\n\
             It works in all namespaces.\n\
             {{{{- end }}}}\n\n\
             See whether it is ready:\n\n  \
             kubectl -n {{{{ .Release.Namespace }}}} rollout status deployment/{name}\n\
             {{{{- if and .Values.definitions.install .Values.definitions.keep }}}}\n\n\
             The definitions of its kinds stay when the release is removed, and so do the objects of these kinds.\n\
             {{{{- end }}}}\n{}",
            own_place("{{- /*", "notes", " */}}")
        )
    }
}

/// All objects, in the order of installation: those of the base, then those that only variants have.
fn all(base: &[Value], variants: &[(String, Vec<Value>)]) -> Vec<Value> {
    let mut all: Vec<Value> = base.to_vec();
    for object in variants.iter().flat_map(|(_, objects)| objects) {
        if !all.iter().any(|one| same(one, object)) {
            all.push(object.clone());
        }
    }
    all
}

fn is_webhook_configuration(object: &Value) -> bool {
    let kind = object["kind"].as_str();
    kind.is_some_and(|kind| kind.ends_with("WebhookConfiguration"))
}

fn is_rule_binding(object: &Value) -> bool {
    let kind = object["kind"].as_str();
    kind.is_some_and(|kind| kind.ends_with("AdmissionPolicyBinding"))
}

fn same(one: &Value, other: &Value) -> bool {
    one["apiVersion"] == other["apiVersion"]
        && one["kind"] == other["kind"]
        && one["metadata"]["name"] == other["metadata"]["name"]
        && one["metadata"]["namespace"] == other["metadata"]["namespace"]
}

/// A text for each namespace in which the operator works, perhaps without that of its pods.
fn in_each_namespace(but_for_own: bool, text: &str) -> String {
    let text = match but_for_own {
        true => format!("{{{{- if ne $namespace $.Release.Namespace }}}}\n{text}{{{{- end }}}}\n"),
        false => text.to_owned(),
    };
    format!("{{{{- range $namespace := {NAMESPACES} }}}}\n{text}{{{{- end }}}}\n")
}

/// The text of a CustomResourceDefinition that the values may leave out or keep.
fn definition(mut node: Node, object: &Value) -> Result<String, serde_json::Error> {
    const KEEP: &str = "$.Values.definitions.keep";
    const POLICY: &str = "helm.sh/resource-policy";
    let metadata = node.child("metadata");
    *metadata.child("annotations").child(POLICY) = Node::Plain(json!("keep"));
    match object["metadata"]["annotations"].is_object() {
        true => metadata.child("annotations").only_if(POLICY, KEEP),
        false => metadata.only_if("annotations", KEEP),
    }
    node.text()
}

/// Puts values of the chart into the Deployment. Returns the values with their defaults.
fn deployment(node: &mut Node, object: &Value) -> Vec<(&'static str, Value)> {
    *node.child("spec").child("replicas") = Node::Expression("$.Values.replicas".into());
    let template = &object["spec"]["template"];
    let pod = &template["spec"];
    let containers = pod["containers"].as_array();
    let place = containers
        .and_then(|all| all.iter().position(|one| one["name"] == CONTAINER))
        .unwrap_or_default();
    let container = &pod["containers"][place];
    let empty_map = || json!({});
    let empty_list = || json!([]);
    let mut fields = Vec::new();
    // A value with the namespace of the release cannot be a value of the chart.
    let mut field = |name: &'static str, value: &Value, empty: Value| -> Option<Node> {
        let value = if value.is_null() {
            empty
        } else {
            value.clone()
        };
        (!value.to_string().contains(RELEASE)).then(|| {
            fields.push((name, value));
            Node::Field(name.to_owned())
        })
    };
    let template_node = node.child("spec").child("template");
    let annotations = &template["metadata"]["annotations"];
    if let Some(field) = field("podAnnotations", annotations, empty_map()) {
        *template_node.child("metadata").child("annotations") = field;
    }
    let pod_node = template_node.child("spec");
    for (name, empty) in [
        ("nodeSelector", empty_map()),
        ("tolerations", empty_list()),
        ("affinity", empty_map()),
        ("imagePullSecrets", empty_list()),
    ] {
        if let Some(field) = field(name, &pod[name], empty) {
            *pod_node.child(name) = field;
        }
    }
    if let Some(node) = pod_node.child("containers").items().get_mut(place) {
        if let Some(field) = field("resources", &container["resources"], empty_map()) {
            *node.child("resources") = field;
        }
        if let Some(field) = field("env", &container["env"], empty_list()) {
            *node.child("env") = field;
        }
        *node.child("image") = Node::Expression(IMAGE.into());
        *node.child("imagePullPolicy") = Node::Expression("$.Values.image.pullPolicy".into());
        node.only_if("imagePullPolicy", "$.Values.image.pullPolicy");
        *node.child("args") = Node::Items(arguments(&container["args"]));
    }
    fields
}

/// The arguments of the container: the fixed ones, the namespaces after the subcommand, and those of the values.
fn arguments(fixed: &Value) -> Vec<String> {
    let mut lines: Vec<String> = fixed
        .as_array()
        .into_iter()
        .flatten()
        // JSON is YAML on one line.
        .map(|argument| format!("- {}", escaped(&argument.to_string())))
        .collect();
    let after = lines.len().min(1);
    lines.splice(
        after..after,
        [
            format!("{{{{- with {NAMESPACES} }}}}"),
            r#"- {{ printf "--namespace=%s" (join "," .) | quote }}"#.into(),
            "{{- end }}".into(),
        ],
    );
    lines.extend([
        "{{- range $.Values.extraArgs }}".into(),
        "- {{ . | quote }}".into(),
        "{{- end }}".into(),
    ]);
    lines
}

/// Whether a version has the form `1.2.3`, with anything after `-` or `+`, as Helm requires it.
fn is_semantic(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<&str> = core.split('.').collect();
    let is_number = |text: &&str| {
        let is_zero_padded = text.len() > 1 && text.starts_with('0');
        !text.is_empty() && !is_zero_padded && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    numbers.len() == 3 && numbers.iter().all(is_number)
}
