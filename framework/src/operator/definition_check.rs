//! What `crd` checks before it prints: sizes, and with the feature `dev` everything that an API server checks.

use super::OperatorError;
use crate::{
    crd::{self, CustomResourceDefinition},
    resource::{Object, RulePlace},
};

/// The largest request of an API server to etcd by default, in bytes.
const MOST_STORED: usize = 1536 * 1024;

/// A definition, and the Rust type that it is made from.
pub(super) struct OwnDefinition {
    pub(super) definition: CustomResourceDefinition,
    pub(super) rust_type: &'static str,
    /// Where its rules stand in the source.
    #[cfg_attr(
        not(feature = "dev"),
        expect(dead_code, reason = "only an API server refuses a rule")
    )]
    pub(super) places: Vec<RulePlace>,
}

impl OwnDefinition {
    /// The type, and the kind if its name differs.
    fn name(&self) -> String {
        let kind = &self.definition.spec.names.kind;
        match self.rust_type.rsplit("::").next() == Some(kind) {
            true => self.rust_type.to_owned(),
            false => format!("{} (kind {kind})", self.rust_type),
        }
    }
}

/// Checks definitions before they are printed. Returns notes for the user.
///
/// # Errors
/// [`OperatorError::Refused`] if an API server would refuse a definition.
pub(super) fn check(definitions: &[OwnDefinition]) -> Result<Vec<String>, OperatorError> {
    let (mut refused, mut notes) = (Vec::new(), Vec::new());
    for own in definitions {
        let bytes = crd::size::of(&own.definition);
        if let Some(problem) = size_problem(bytes) {
            refused.push(format!("{}: {problem}", own.name()));
        } else if !crd::size::fits_apply(bytes) {
            notes.push(format!(
                "{} has {bytes} bytes as JSON, too many for an annotation of `kubectl apply`: use `kubectl apply --server-side -f -`, or keep \
                 rarely used parts as `serde_json::Value`",
                own.definition.name(),
            ));
        }
    }
    #[cfg(feature = "dev")]
    if refused.is_empty() {
        refused.extend(refusals(definitions)?);
    }
    #[cfg(not(feature = "dev"))]
    if !definitions.is_empty() {
        notes.push(
            "CEL rules and list map keys were not checked, because this binary was built without the feature `dev` of pilothouse".into(),
        );
    }
    match refused.is_empty() {
        true => Ok(notes),
        false => Err(OperatorError::Refused(refused)),
    }
}

/// What the user should know of a definition whose conversions lead to a Service: its namespace is assumed.
pub(super) fn conversion_note(definition: &CustomResourceDefinition) -> Option<String> {
    let conversion = definition.spec.conversion.as_ref()?;
    let service = conversion
        .webhook
        .as_ref()?
        .client_config
        .as_ref()?
        .service
        .as_ref()?;
    Some(format!(
        "{} is converted by the Service {} in the namespace {}, until an operator that starts writes where it runs: `manifests \
         --operator-namespace NAMESPACE` prints the definitions for another namespace",
        definition.name(),
        service.name,
        service.namespace
    ))
}

fn size_problem(bytes: usize) -> Option<String> {
    (bytes > MOST_STORED).then(|| {
        format!(
            "the definition has {bytes} bytes as JSON, and an API server stores at most {MOST_STORED}: shorten its descriptions with \
             `#[resource(max_description = 0)]`, or keep rarely used parts as `serde_json::Value`"
        )
    })
}

/// Installs the definitions in an API server in this process, as `dev` does, and returns what it refuses.
#[cfg(feature = "dev")]
fn refusals(definitions: &[OwnDefinition]) -> Result<Vec<String>, OperatorError> {
    use std::sync::Arc;

    use pilothouse_sandbox::Sandbox;

    use crate::client::{Client, Config};

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let sandbox = Sandbox::builder().build();
        let sandbox = sandbox.map_err(|error| OperatorError::Sandbox {
            port: 0,
            reason: error.to_string(),
        })?;
        let pipes = sandbox.clone();
        let client = Client::builder(Config::new(http::Uri::from_static("http://sandbox")))
            .connector(Arc::new(move || Ok(pipes.connect())))
            .build()?;
        let mut refused = Vec::new();
        for own in definitions {
            let definition = std::slice::from_ref(&own.definition);
            if let Err(error) = crd::install(&client, definition, "crd").await {
                refused.extend(problems(own, &error));
            }
        }
        sandbox.shutdown().await;
        Ok(refused)
    })
}

/// The problems of a refused definition, each with the Rust type and the path of the field.
#[cfg(feature = "dev")]
fn problems(own: &OwnDefinition, error: &crd::InstallError) -> Vec<String> {
    let status = match error {
        crd::InstallError::Client(error) => error.status(),
        _ => None,
    };
    let details = status.and_then(|status| status.details.as_ref());
    let causes = details.map_or(&[][..], |details| &details.causes);
    let mut problems: Vec<String> = causes
        .iter()
        .map(|cause| {
            let (path, rest) = object_path(&cause.field).unwrap_or((String::new(), &cause.field));
            let place = match path.is_empty() {
                true => own.name(),
                false => format!("{}: {path}", own.name()),
            };
            let rest = rest.trim_start_matches('.');
            let source = own.places.iter().find(|place| {
                let rule = format!("x-kubernetes-validations[{}]", place.rule);
                place.path == path && rest.starts_with(&rule)
            });
            let place = match source {
                Some(RulePlace { source, .. }) => format!("{source}: {place}"),
                None => place,
            };
            let rest = match rest.is_empty() {
                true => String::new(),
                false => format!("{rest}: "),
            };
            format!("{place}: {rest}{}", cause.message)
        })
        .collect();
    if problems.is_empty() {
        problems.push(format!("{}: {error}", own.name()));
    }
    problems
}

/// Splits the path of a field in a schema into the path in an object, and the keyword of the schema:
/// `….openAPIV3Schema.properties[spec].properties[pages].items.x-kubernetes-validations[0].rule` becomes `spec.pages[]` and
/// `x-kubernetes-validations[0].rule`. `None` if it is outside a schema.
#[cfg(feature = "dev")]
fn object_path(field: &str) -> Option<(String, &str)> {
    let (_, mut rest) = field.split_once("openAPIV3Schema")?;
    let mut path = String::new();
    loop {
        if let Some(after) = rest.strip_prefix(".properties[") {
            let (name, after) = after.split_once(']')?;
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
            rest = after;
        } else if let Some(after) = rest.strip_prefix(".items") {
            path.push_str("[]");
            rest = after;
        } else if let Some(after) = rest.strip_prefix(".additionalProperties") {
            path.push_str("{}");
            rest = after;
        } else {
            return Some((path, rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_size(bytes: usize) -> OwnDefinition {
        let mut definition = CustomResourceDefinition::default();
        definition.metadata.name = Some("sites.example.com".into());
        definition.spec.names.kind = "Site".into();
        let empty = crd::to_json(&definition).to_string().len();
        definition.spec.group = "x".repeat(bytes - empty);
        OwnDefinition {
            definition,
            rust_type: "app::Site",
            places: Vec::new(),
        }
    }

    #[test]
    fn a_definition_that_etcd_would_refuse_is_refused() {
        assert_eq!(size_problem(MOST_STORED), None);
        let error = check(&[of_size(MOST_STORED + 1)]).unwrap_err().to_string();
        let expected = "an API server would refuse the definitions:\n  app::Site: the definition has 1572865 bytes as JSON";
        assert!(error.starts_with(expected), "{error}");
    }

    #[cfg(feature = "dev")]
    #[test]
    fn the_path_in_a_schema_becomes_the_path_in_an_object() {
        let split = |field| object_path(field).map(|(path, rest)| format!("{path} {rest}"));
        assert_eq!(
            split(
                "spec.validation.openAPIV3Schema.properties[spec].properties[pages].items.properties[tags].additionalProperties.x-kubernetes-validations[0].rule"
            )
            .as_deref(),
            Some("spec.pages[].tags{} .x-kubernetes-validations[0].rule")
        );
        assert_eq!(
            split("spec.validation.openAPIV3Schema").as_deref(),
            Some(" ")
        );
        assert_eq!(split("spec.names.plural"), None);
    }
}
