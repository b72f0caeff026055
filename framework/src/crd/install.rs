use std::time::Duration;

use http::Uri;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{CustomResourceDefinition, to_json};
use crate::{
    backoff::Growth,
    client::{Api, Client, Error, ErrorKind, Patch, PatchParams},
    resource::{Access, AccessRule, ApiResource, Object, ObjectMeta},
};

/// How long the server may take to establish and serve one definition.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The times between two polls.
const INTERVALS: Growth = Growth::doubling(Duration::from_millis(50), Duration::from_secs(1));

/// Why a definition could not be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A request failed.
    #[error(transparent)]
    Client(#[from] Error),
    /// The server has a definition of this name that the program must not overwrite.
    #[error(
        "CustomResourceDefinition {name} on the server does not match this program: {difference}"
    )]
    #[non_exhaustive]
    Mismatch {
        /// Name of the definition.
        name: String,
        /// The difference, and what to do.
        difference: String,
    },
    /// The server stored the definition, but did not accept its names or its schema.
    #[error("CustomResourceDefinition {name} was not accepted: {message}")]
    #[non_exhaustive]
    NotAccepted {
        /// Name of the definition.
        name: String,
        /// The condition's message.
        message: String,
    },
    /// The server accepted the definition, but did not serve the kind in time.
    #[error("CustomResourceDefinition {name} is installed, but {missing} after {} s", .after.as_secs())]
    #[non_exhaustive]
    NotServed {
        /// Name of the definition.
        name: String,
        /// What is missing, with the server's last response.
        missing: String,
        /// How long the program waited.
        after: Duration,
    },
}

/// Installs definitions, and returns when the API server serves their kinds.
///
/// It applies each definition as `field_manager`. Then it waits until the server has established it *and* lists its kind
/// in the discovery document of the group version, because a request before that may still get 404. A definition that
/// exists already is updated.
///
/// # Errors
///
/// * [`InstallError::Client`]: a request fails.
/// * [`InstallError::Mismatch`]: the server's definition has another kind or scope, or versions that this program does not
///   define.
/// * [`InstallError::NotAccepted`]: the names are taken, or the schema is not structural.
/// * [`InstallError::NotServed`]: the server does not serve the kind after 30 s.
///
/// Definitions that were installed before the error stay installed.
pub async fn install(
    client: &Client,
    crds: &[CustomResourceDefinition],
    field_manager: &str,
) -> Result<(), InstallError> {
    let api = installed(client);
    let before = present(&api, crds).await?;
    for (crd, before) in crds.iter().zip(&before) {
        if let Some(difference) = before.as_ref().and_then(|before| difference(before, crd)) {
            let name = crd.name().to_owned();
            return Err(InstallError::Mismatch { name, difference });
        }
    }
    write(client, crds, field_manager, &before).await.map(drop)
}

/// What the server did with an applied definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    Created,
    Changed,
    Unchanged,
}

/// As [`install`], but replaces a definition of another program, too, if the server accepts it. `before` are the definitions of these names
/// that the server has.
pub(crate) async fn apply(
    client: &Client,
    crds: &[CustomResourceDefinition],
    field_manager: &str,
    before: &[Option<CustomResourceDefinition>],
) -> Result<Vec<Applied>, InstallError> {
    let read = |crd: &CustomResourceDefinition| serde_json::from_value(to_json(crd)).ok();
    let before: Vec<_> = before
        .iter()
        .map(|crd| crd.as_ref().and_then(read))
        .collect();
    write(client, crds, field_manager, &before).await
}

fn installed(client: &Client) -> Api<InstalledDefinition> {
    let resource = ApiResource::of::<CustomResourceDefinition>();
    Api::of(client, resource, None)
}

/// The definitions of these names on the server.
async fn present(
    api: &Api<InstalledDefinition>,
    crds: &[CustomResourceDefinition],
) -> Result<Vec<Option<InstalledDefinition>>, Error> {
    let mut all = Vec::new();
    for crd in crds {
        all.push(api.get_opt(crd.name()).await?);
    }
    Ok(all)
}

/// Applies the definitions, and waits until their kinds are served.
async fn write(
    client: &Client,
    crds: &[CustomResourceDefinition],
    field_manager: &str,
    before: &[Option<InstalledDefinition>],
) -> Result<Vec<Applied>, InstallError> {
    let api = installed(client);
    let mut done = Vec::new();
    for (crd, before) in crds.iter().zip(before) {
        let params = PatchParams::apply(field_manager).force();
        let mut wanted = to_json(crd);
        if let (Some(before), Some(conversion)) = (before, wanted.pointer_mut("/spec/conversion")) {
            keep_target(conversion, &before.spec.conversion);
        }
        let after = api
            .patch(crd.name(), &params, &Patch::Apply(wanted))
            .await?;
        done.push(match before {
            None => Applied::Created,
            Some(before) if before.resource_version() == after.resource_version() => {
                Applied::Unchanged
            }
            Some(_) => Applied::Changed,
        });
    }
    for crd in crds {
        let deadline = Instant::now() + TIMEOUT;
        established(&api, crd, deadline).await?;
        served(client, crd, deadline).await?;
    }
    Ok(done)
}

/// Lets a conversion lead where it leads on the server, if the program does not know where it leads: for a Service it only assumes the namespace
/// in which the operator runs, and a URL with the port 0 has no port yet. An operator that starts writes what leads to it.
fn keep_target(wanted: &mut Value, present: &Value) {
    let is_webhook = |one: &Value| one["strategy"] == "Webhook";
    let present =
        (is_webhook(wanted) && is_webhook(present)).then_some(&present["webhook"]["clientConfig"]);
    let wanted = wanted.pointer_mut("/webhook/clientConfig");
    let (Some(present), Some(wanted)) = (present, wanted) else {
        return;
    };
    let has_no_port = |url: &Value| {
        let url = url.as_str().and_then(|url| url.parse::<Uri>().ok());
        url.is_some_and(|url| url.port_u16() == Some(0))
    };
    if wanted["service"].is_null() && !has_no_port(&wanted["url"]) {
        return;
    }
    let is_url = !wanted["url"].is_null();
    // What the server sets by default stays out, so that nothing changes if both lead to the same place.
    if let Some(url) = present["url"].as_str() {
        *wanted = json!({"url": url});
    } else if !is_url {
        for field in ["namespace", "name"] {
            if let Some(value) = present["service"][field].as_str() {
                wanted["service"][field] = value.into();
            }
        }
    }
}

/// The permissions that [`install`] needs for these definitions.
pub fn install_access(crds: &[CustomResourceDefinition]) -> Access {
    // Applying an object that does not exist is also a `create` of that name.
    let rule = AccessRule::of::<CustomResourceDefinition>(["get", "create", "patch"]);
    crds.iter()
        .map(|crd| Access::from(rule.clone().named(crd.name())))
        .sum()
}

/// The part of the server's definition that is compared. The schema is left out: it may have forms that only a newer
/// program understands.
#[derive(Serialize, Deserialize)]
struct InstalledDefinition {
    metadata: ObjectMeta,
    spec: InstalledSpec,
    #[serde(default)]
    status: InstalledStatus,
}

#[derive(Serialize, Deserialize)]
struct InstalledSpec {
    names: InstalledNames,
    scope: String,
    versions: Vec<InstalledVersion>,
    #[serde(default)]
    conversion: Value,
}

#[derive(Serialize, Deserialize)]
struct InstalledNames {
    kind: String,
}

#[derive(Serialize, Deserialize)]
struct InstalledVersion {
    name: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct InstalledStatus {
    /// `null` until the server has processed the definition.
    conditions: Option<Vec<InstalledCondition>>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct InstalledCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    message: String,
}

impl Object for InstalledDefinition {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Why `wanted` must not replace `present`; `None` if it may.
fn difference(present: &InstalledDefinition, wanted: &CustomResourceDefinition) -> Option<String> {
    let (present, wanted) = (&present.spec, &wanted.spec);
    if present.names.kind != wanted.names.kind {
        return Some(format!(
            "it defines the kind {}, not {}: choose another plural or another group",
            present.names.kind, wanted.names.kind
        ));
    }
    if present.scope != wanted.scope {
        return Some(format!(
            "its scope is {}, not {}, and a scope cannot be changed: delete the definition, which deletes all its objects, or choose another kind",
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
            "it has {}, which this program does not define: run the program that installed it, or remove the version from it first",
            unknown.join(", ")
        )
    })
}

async fn established(
    api: &Api<InstalledDefinition>,
    crd: &CustomResourceDefinition,
    deadline: Instant,
) -> Result<(), InstallError> {
    let mut polls = 0;
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
        wait(&mut polls, deadline, crd, missing).await?;
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
        let mut polls = 0;
        loop {
            let answer = client.discover_version(group, &version.name);
            let said = match tokio::time::timeout_at(deadline, answer).await {
                Ok(Ok(served)) if served.resource(plural).is_some() => break,
                Ok(Ok(_)) => "only other kinds".to_owned(),
                Ok(Err(error))
                    if matches!(
                        error.kind(),
                        ErrorKind::Invalid { .. } | ErrorKind::Connect(_)
                    ) =>
                {
                    return Err(error.into());
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no response".to_owned(),
            };
            let missing = || format!("{group}/{} does not list it ({said})", version.name);
            wait(&mut polls, deadline, crd, missing).await?;
        }
    }
    Ok(())
}

async fn wait(
    polls: &mut u32,
    deadline: Instant,
    crd: &CustomResourceDefinition,
    missing: impl FnOnce() -> String,
) -> Result<(), InstallError> {
    let interval = INTERVALS.least(*polls);
    if Instant::now() + interval > deadline {
        return Err(InstallError::NotServed {
            name: crd.name().to_owned(),
            missing: missing(),
            after: TIMEOUT,
        });
    }
    tokio::time::sleep(interval).await;
    *polls += 1;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_definition_of_the_same_kind_with_fewer_versions_may_be_replaced() {
        let wanted = crd("Site", "Namespaced", &["v1", "v1beta1"]);
        let present = crd("Site", "Namespaced", &["v1beta1"]);
        assert_eq!(difference(&present, &wanted), None);
    }

    #[test]
    fn a_definition_that_the_server_has_not_processed_can_be_read() {
        let mut answer =
            serde_json::to_value(crd::<InstalledDefinition>("Site", "Cluster", &["v1"])).unwrap();
        answer["status"] = json!({"conditions": null});
        assert!(serde_json::from_value::<InstalledDefinition>(answer).is_ok());
    }

    #[test]
    fn a_conversion_goes_on_to_lead_where_it_leads() {
        let to =
            |client: Value| json!({"strategy": "Webhook", "webhook": {"clientConfig": client}});
        let assumed = json!({"service": {"namespace": "sites-system", "name": "sites-webhook"}});
        let service = json!({"namespace": "prod", "name": "sites-webhook"});
        let with_port = json!({"namespace": "prod", "name": "sites-webhook", "port": 443});
        let url = json!({"url": "https://sites.example.com"});
        let with_authority = json!({"service": with_port, "caBundle": "YQ=="});
        for (wanted, present, expected) in [
            (
                to(assumed.clone()),
                to(with_authority.clone()),
                to(json!({"service": service})),
            ),
            (to(assumed.clone()), to(url.clone()), to(url.clone())),
            // A process of `dev` chooses the port when it starts.
            (
                to(json!({"url": "https://127.0.0.1:0/convert"})),
                to(url.clone()),
                to(url.clone()),
            ),
            // The program knows its URL.
            (to(url.clone()), to(with_authority), to(url)),
            (
                to(assumed.clone()),
                json!({"strategy": "None"}),
                to(assumed.clone()),
            ),
            (to(assumed.clone()), Value::Null, to(assumed)),
        ] {
            let mut conversion = wanted;
            keep_target(&mut conversion, &present);
            assert_eq!(conversion, expected);
        }
    }

    #[test]
    fn a_definition_that_does_not_match_must_not_be_replaced() {
        let wanted = crd("Site", "Namespaced", &["v1"]);
        for (present, expected) in [
            (
                crd("Web", "Namespaced", &["v1"]),
                "it defines the kind Web, not Site",
            ),
            (
                crd("Site", "Cluster", &["v1"]),
                "its scope is Cluster, not Namespaced",
            ),
            (crd("Site", "Namespaced", &["v1", "v2"]), "it has v2, which"),
        ] {
            let difference = difference(&present, &wanted).unwrap();
            assert!(difference.starts_with(expected), "{difference}");
        }
    }
}
