use k8s_openapi::api::core::v1::Secret;

use super::{rotation::Step, signing, stored::Stored};
use crate::{
    client::{self, Api, Client, PostParams},
    clock::Clock,
    resource::{Access, AccessRule, ObjectMeta},
    webhook::WebhookOptions,
};

/// How often a replica tries again after another one has written the Secret first.
const ATTEMPTS: usize = 10;

/// Why a replica has no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeepError {
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error(
        "the Secret {namespace}/{name} cannot be used: {problem}: delete it, and a replica makes a new one"
    )]
    Content {
        namespace: String,
        name: String,
        problem: String,
    },
    #[error("making a certificate failed: {0}")]
    Signing(#[from] rcgen::Error),
    #[error("writing the certificates as JSON failed: {0}")]
    Json(#[from] serde_json::Error),
    #[error("other replicas wrote the Secret {namespace}/{name} first, {ATTEMPTS} times")]
    Contended { namespace: String, name: String },
}

/// Keeps the certificates of an operator's webhooks in a Secret, together with the other replicas.
pub(in crate::webhook) struct Keeper {
    secrets: Api<Secret>,
    namespace: String,
    name: String,
    hosts: Vec<String>,
    clock: Clock,
}

impl Keeper {
    pub(in crate::webhook) fn new(
        client: &Client,
        operator: &str,
        namespace: &str,
        hosts: Vec<String>,
    ) -> Self {
        Self {
            secrets: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name: WebhookOptions::secret(operator),
            hosts,
            clock: client.clock().clone(),
        }
    }

    /// The access that a replica needs.
    pub(in crate::webhook) fn access(operator: &str, namespace: &str) -> Access {
        let rule = |verbs: &[&str]| AccessRule::of::<Secret>(verbs.iter().copied());
        let own = rule(&["get", "update"]).named(WebhookOptions::secret(operator));
        // The API server does not know the name when it decides about `create`.
        Access::from(own.in_namespace(namespace)).and(rule(&["create"]).in_namespace(namespace))
    }

    /// What the Secret holds, after all steps that are due.
    pub(in crate::webhook) async fn current(&self) -> Result<Stored, KeepError> {
        for _ in 0..ATTEMPTS {
            let secret = self.secrets.get_opt(&self.name).await?;
            let mut stored = match &secret {
                Some(secret) => Stored::read(secret).map_err(|problem| self.content(problem))?,
                None => Stored::default(),
            };
            if !self.advance(&mut stored)? {
                return Ok(stored);
            }
            let written = match secret {
                Some(secret) => {
                    let secret = stored.write(secret.metadata)?;
                    let params = PostParams::default();
                    self.secrets.replace(&self.name, &params, &secret).await
                }
                None => {
                    let metadata = ObjectMeta {
                        name: Some(self.name.clone()),
                        namespace: Some(self.namespace.clone()),
                        ..ObjectMeta::default()
                    };
                    let secret = stored.write(metadata)?;
                    self.secrets.create(&PostParams::default(), &secret).await
                }
            };
            match written {
                Ok(_) => return Ok(stored),
                // Another replica was first, or somebody deleted the Secret.
                Err(error)
                    if error.is_already_exists() || error.is_conflict() || error.is_not_found() => {
                }
                Err(error) => return Err(error.into()),
            }
        }
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        Err(KeepError::Contended { namespace, name })
    }

    /// Makes every step that is due. Returns whether there was one.
    fn advance(&self, stored: &mut Stored) -> Result<bool, rcgen::Error> {
        let now = self.clock.now();
        let mut changed = false;
        while let Some(step) = Step::due(stored, &self.hosts, now) {
            changed = true;
            match step {
                Step::Forget => stored.authorities.retain(|one| !one.is_expired(now)),
                Step::AddAuthority { expires } => {
                    let name = format!("{now} {}", self.name);
                    stored
                        .authorities
                        .push(signing::authority(name, now, expires)?);
                }
                Step::Issue {
                    authority,
                    hosts,
                    expires,
                } => {
                    let authority = &stored.authorities[authority];
                    stored.serving = Some(signing::issue(authority, hosts, now, expires)?);
                }
            }
        }
        Ok(changed)
    }

    fn content(&self, problem: String) -> KeepError {
        KeepError::Content {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            problem,
        }
    }
}
