use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{CustomResourceDefinition, to_json};
use crate::{
    client::{Api, Client, Error, Patch, PatchParams},
    resource::{ApiResource, Object, ObjectMeta},
};

/// How long one definition may take to be established and served.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two looks at first; it doubles up to [`SLOWEST`].
const FIRST: Duration = Duration::from_millis(50);
const SLOWEST: Duration = Duration::from_secs(1);

/// Why a definition could not be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A request failed.
    #[error(transparent)]
    Client(#[from] Error),
    /// The server has a definition of that name which this program must not overwrite.
    #[error(
        "CustomResourceDefinition {name} on the server does not match this program: {difference}"
    )]
    #[non_exhaustive]
    Mismatch {
        /// Name of the definition.
        name: String,
        /// What differs, and what to do.
        difference: String,
    },
    /// The server took the definition and did not accept it.
    #[error("CustomResourceDefinition {name} was not accepted: {message}")]
    #[non_exhaustive]
    NotAccepted {
        /// Name of the definition.
        name: String,
        /// The condition's message.
        message: String,
    },
    /// The server accepted the definition and does not serve the kind yet.
    #[error("CustomResourceDefinition {name} is installed, but {missing} after {} s", .after.as_secs())]
    #[non_exhaustive]
    NotServed {
        /// Name of the definition.
        name: String,
        /// What was waited for, with what the server last said.
        missing: String,
        /// How long was waited.
        after: Duration,
    },
}

/// Installs definitions, and returns once the API server serves their kinds.
///
/// Each is applied as `field_manager`, then awaited until it is established *and* the discovery
/// document of its group version lists it: requests made before that can still be answered 404.
/// A definition that is there already is updated.
///
/// # Errors
///
/// A request fails; the server's definition has another kind or scope, or versions this program
/// does not know; the names are taken; or the kind is not served 30 s later. What was installed
/// before the error stays.
pub async fn install(
    client: &Client,
    crds: &[CustomResourceDefinition],
    field_manager: &str,
) -> Result<(), InstallError> {
    let resource = ApiResource::of::<CustomResourceDefinition>();
    let api = Api::<Present>::of(client, resource, None);
    for crd in crds {
        if let Some(present) = api.get_opt(crd.name()).await?
            && let Some(difference) = difference(&present, crd)
        {
            let name = crd.name().to_owned();
            return Err(InstallError::Mismatch { name, difference });
        }
        let params = PatchParams::apply(field_manager).force();
        api.patch(crd.name(), &params, &Patch::Apply(to_json(crd)))
            .await?;
    }
    for crd in crds {
        let deadline = Instant::now() + PATIENCE;
        established(&api, crd, deadline).await?;
        served(client, crd, deadline).await?;
    }
    Ok(())
}

/// What counts here of a definition that the server has; schemas of others are not this program's to understand.
#[derive(Serialize, Deserialize)]
struct Present {
    metadata: ObjectMeta,
    spec: PresentSpec,
    #[serde(default)]
    status: PresentStatus,
}

#[derive(Serialize, Deserialize)]
struct PresentSpec {
    names: PresentNames,
    scope: String,
    versions: Vec<PresentVersion>,
}

#[derive(Serialize, Deserialize)]
struct PresentNames {
    kind: String,
}

#[derive(Serialize, Deserialize)]
struct PresentVersion {
    name: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct PresentStatus {
    /// `null` until the server has looked at the definition.
    conditions: Option<Vec<PresentCondition>>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct PresentCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    message: String,
}

impl Object for Present {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// What forbids replacing `present` by `wanted`.
fn difference(present: &Present, wanted: &CustomResourceDefinition) -> Option<String> {
    let (present, wanted) = (&present.spec, &wanted.spec);
    if present.names.kind != wanted.names.kind {
        return Some(format!(
            "it defines the kind {}, not {}: choose another plural or group",
            present.names.kind, wanted.names.kind
        ));
    }
    if present.scope != wanted.scope {
        return Some(format!(
            "it is {}, not {}, and a scope cannot be changed: delete it, and with it all its objects, or choose another kind",
            present.scope, wanted.scope
        ));
    }
    let unknown: Vec<&str> = present
        .versions
        .iter()
        .map(|version| version.name.as_str())
        .filter(|name| wanted.versions.iter().all(|version| version.name != *name))
        .collect();
    (!unknown.is_empty()).then(|| {
        format!(
            "it has {}, which this program does not define: run the program that installed it, or remove the version there first",
            unknown.join(", ")
        )
    })
}

async fn established(
    api: &Api<Present>,
    crd: &CustomResourceDefinition,
    deadline: Instant,
) -> Result<(), InstallError> {
    let mut pause = FIRST;
    loop {
        let present = api.get_opt(crd.name()).await?;
        let conditions = present
            .and_then(|present| present.status.conditions)
            .unwrap_or_default();
        let message = |kind: &str, status: &str| {
            conditions
                .iter()
                .find(|condition| condition.kind == kind && condition.status == status)
                .map(|condition| condition.message.clone())
        };
        for (kind, status) in [("NamesAccepted", "False"), ("NonStructuralSchema", "True")] {
            if let Some(message) = message(kind, status) {
                let name = crd.name().to_owned();
                return Err(InstallError::NotAccepted { name, message });
            }
        }
        if message("Established", "True").is_some() {
            return Ok(());
        }
        let missing = || match message("Established", "False") {
            Some(said) if !said.is_empty() => format!("it is not established ({said})"),
            _ => "it is not established".to_owned(),
        };
        wait(&mut pause, deadline, crd, missing).await?;
    }
}

async fn served(
    client: &Client,
    crd: &CustomResourceDefinition,
    deadline: Instant,
) -> Result<(), InstallError> {
    let (group, plural) = (&crd.spec.group, &crd.spec.names.plural);
    let versions = crd.spec.versions.iter().filter(|version| version.served);
    for version in versions {
        let mut pause = FIRST;
        loop {
            let answer = client.discover_version(group, &version.name);
            let said = match tokio::time::timeout_at(deadline, answer).await {
                Ok(Ok(served)) if served.resource(plural).is_some() => break,
                Ok(Ok(_)) => "other kinds only".to_owned(),
                Ok(Err(error @ (Error::Invalid { .. } | Error::Connect { .. }))) => {
                    return Err(error.into());
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            let missing = || format!("{group}/{} does not list it ({said})", version.name);
            wait(&mut pause, deadline, crd, missing).await?;
        }
    }
    Ok(())
}

async fn wait(
    pause: &mut Duration,
    deadline: Instant,
    crd: &CustomResourceDefinition,
    missing: impl FnOnce() -> String,
) -> Result<(), InstallError> {
    if Instant::now() + *pause > deadline {
        return Err(InstallError::NotServed {
            name: crd.name().to_owned(),
            missing: missing(),
            after: PATIENCE,
        });
    }
    tokio::time::sleep(*pause).await;
    *pause = (*pause * 2).min(SLOWEST);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn crd<T: serde::de::DeserializeOwned>(kind: &str, scope: &str, versions: &[&str]) -> T {
        let versions: Vec<_> = versions
            .iter()
            .map(|name| json!({"name": name, "served": true, "storage": true}))
            .collect();
        serde_json::from_value(json!({
            "metadata": {"name": "sites.demo.example.com"},
            "spec": {
                "group": "demo.example.com", "scope": scope, "versions": versions,
                "names": {"kind": kind, "plural": "sites"},
            },
        }))
        .unwrap()
    }

    #[test]
    fn a_definition_with_the_same_kind_and_fewer_versions_may_be_replaced() {
        let wanted = crd("Site", "Namespaced", &["v1", "v1beta1"]);
        let present = crd("Site", "Namespaced", &["v1beta1"]);
        assert_eq!(difference(&present, &wanted), None);
    }

    #[test]
    fn a_definition_that_nobody_has_looked_at_yet_can_be_read() {
        let mut answer = serde_json::to_value(crd::<Present>("Site", "Cluster", &["v1"])).unwrap();
        answer["status"] = json!({"conditions": null});
        assert!(serde_json::from_value::<Present>(answer).is_ok());
    }

    #[test]
    fn a_definition_that_does_not_match_is_kept() {
        let wanted = crd("Site", "Namespaced", &["v1"]);
        for (present, expected) in [
            (
                crd("Web", "Namespaced", &["v1"]),
                "it defines the kind Web, not Site",
            ),
            (
                crd("Site", "Cluster", &["v1"]),
                "it is Cluster, not Namespaced",
            ),
            (crd("Site", "Namespaced", &["v1", "v2"]), "it has v2, which"),
        ] {
            let difference = difference(&present, &wanted).unwrap();
            assert!(difference.starts_with(expected), "{difference}");
        }
    }
}
