use std::{collections::BTreeSet, fmt};

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use serde_json::{Value, json};

use super::{
    Webhook,
    bundle::Bundle,
    configuration::{Configurations, Target},
    conversion,
    ownership::leave_to_others,
    server::WebhookError,
};
use crate::{
    client::{self, Api, Client, Patch, PatchParams},
    resource::{Resource, Versions},
};

/// Writes the configurations of an operator's webhooks into the cluster, and where its kinds are converted into their definitions.
pub(super) struct Installer {
    pub(super) client: Client,
    pub(super) operator: String,
    pub(super) namespace: String,
    pub(super) namespaces: BTreeSet<String>,
    pub(super) webhooks: Vec<Webhook>,
    /// The kinds whose objects it converts.
    pub(super) conversions: Vec<Versions>,
    /// Where the API server calls the webhooks.
    pub(super) target: Target,
}

impl Installer {
    /// Applies the configurations if they differ from those of this replica in where they lead or in what verifies it, or in
    /// anything if `is_start`. So two versions of an operator that run at once do not undo each other's rules again and again.
    ///
    /// # Errors
    /// Another installation of the operator is called there, or a request failed.
    pub(super) async fn install(
        &self,
        ca_bundle: Option<&[u8]>,
        is_start: bool,
    ) -> Result<(), WebhookError> {
        let (client, target) = (&self.client, &self.target);
        let manager = field_manager(&self.operator);
        conversion::install(client, &self.conversions, target, ca_bundle, &manager).await?;
        let all = self.configurations(ca_bundle);
        if let Some(validating) = all.validating {
            let api = Api::<ValidatingWebhookConfiguration>::all(&self.client);
            self.apply(&api, &validating, is_start).await?;
        }
        if let Some(mutating) = all.mutating {
            let api = Api::<MutatingWebhookConfiguration>::all(&self.client);
            self.apply(&api, &mutating, is_start).await?;
        }
        Ok(())
    }

    /// The authorities that the configurations in the cluster have.
    pub(super) async fn published(&self) -> Result<Bundle, client::Error> {
        let all = self.configurations(None);
        let mut bundle = conversion::published(&self.client, &self.conversions).await?;
        if all.validating.is_some() {
            let api = Api::<ValidatingWebhookConfiguration>::all(&self.client);
            let found = api.get_opt(&self.operator).await?;
            let webhooks = found.into_iter().flat_map(|found| found.webhooks);
            let clients = webhooks.flatten().map(|one| one.client_config);
            bundle = clients.fold(bundle, |bundle, client| bundle.and(authorities(client)));
        }
        if all.mutating.is_some() {
            let api = Api::<MutatingWebhookConfiguration>::all(&self.client);
            let found = api.get_opt(&self.operator).await?;
            let webhooks = found.into_iter().flat_map(|found| found.webhooks);
            let clients = webhooks.flatten().map(|one| one.client_config);
            bundle = clients.fold(bundle, |bundle, client| bundle.and(authorities(client)));
        }
        Ok(bundle)
    }

    fn configurations(&self, ca_bundle: Option<&[u8]>) -> Configurations {
        Configurations::new(
            &self.operator,
            &self.namespace,
            &self.namespaces,
            &self.webhooks,
            &self.target,
            ca_bundle,
        )
    }

    async fn apply<K: Resource>(
        &self,
        api: &Api<K>,
        configuration: &K,
        is_start: bool,
    ) -> Result<(), WebhookError> {
        let mut wanted = json!(configuration);
        let known = api.clone().with_managed_fields();
        let found = known.get_opt(&self.operator).await?;
        let found = found.map(|found| json!(found));
        if !is_start
            && let Some(found) = &found
            && (clients(found) == clients(&wanted) || names(found) != names(&wanted))
        {
            // With other webhooks it is the configuration of another version, which looks after it.
            return Ok(());
        }
        for (_, client) in found.iter().flat_map(clients) {
            self.target.check(K::KIND, &self.operator, client)?;
        }
        let manager = field_manager(&self.operator);
        if let Some(found) = &found {
            leave_to_others(&mut wanted, found, &manager);
        }
        let params = PatchParams::apply(manager).force();
        api.patch(&self.operator, &params, &Patch::Apply(wanted))
            .await?;
        Ok(())
    }
}

/// The authorities of a webhook. What is not valid PEM is nothing that a replica needs.
fn authorities(client: WebhookClientConfig) -> Bundle {
    let bundle = client.ca_bundle.and_then(|pem| Bundle::parse(&pem.0));
    bundle.unwrap_or_default()
}

/// The one field manager of the configurations that all replicas write.
fn field_manager(operator: &str) -> String {
    format!("{operator}-webhooks")
}

/// The names of the webhooks of a configuration.
fn names(configuration: &Value) -> Vec<&Value> {
    clients(configuration)
        .into_iter()
        .map(|one| one.0)
        .collect()
}

/// Where each webhook of a configuration leads, and what verifies it.
fn clients(configuration: &Value) -> Vec<(&Value, &Value)> {
    let webhooks = configuration["webhooks"].as_array().into_iter().flatten();
    webhooks
        .map(|one| (&one["name"], &one["clientConfig"]))
        .collect()
}

impl fmt::Debug for Installer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Installer")
            .field("operator", &self.operator)
            .field("webhooks", &self.webhooks)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
