use std::fmt;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use serde_json::{Value, json};

use super::{
    Webhook,
    configuration::{Configurations, Target},
    conversion,
};
use crate::{
    client::{self, Api, Client, Patch, PatchParams},
    resource::{Resource, Versions},
};

/// Writes the configurations of an operator's webhooks into the cluster, and where its kinds are converted into their definitions.
pub(super) struct Installer {
    client: Client,
    operator: String,
    namespace: String,
    webhooks: Vec<Webhook>,
    conversions: Vec<Versions>,
    target: Target,
}

impl Installer {
    pub(super) fn new(
        client: Client,
        operator: String,
        namespace: String,
        webhooks: Vec<Webhook>,
        conversions: Vec<Versions>,
        target: Target,
    ) -> Self {
        Self {
            client,
            operator,
            namespace,
            webhooks,
            conversions,
            target,
        }
    }

    /// Applies the configurations if they differ from those of this replica in where they lead or in what verifies it, or in
    /// anything if `is_start`. So two versions of an operator that run at once do not undo each other's rules again and again.
    pub(super) async fn install(
        &self,
        ca_bundle: Option<&[u8]>,
        is_start: bool,
    ) -> Result<(), client::Error> {
        let (client, target) = (&self.client, &self.target);
        let manager = field_manager(&self.operator);
        conversion::install(client, &self.conversions, target, ca_bundle, &manager).await?;
        let all = Configurations::new(
            &self.operator,
            &self.namespace,
            &self.webhooks,
            &self.target,
            ca_bundle,
        );
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

    async fn apply<K: Resource>(
        &self,
        api: &Api<K>,
        configuration: &K,
        is_start: bool,
    ) -> Result<(), client::Error> {
        let wanted = json!(configuration);
        if !is_start
            && let Some(found) = api.get_opt(&self.operator).await?
            && let found = json!(found)
            && (clients(&found) == clients(&wanted) || names(&found) != names(&wanted))
        {
            // With other webhooks it is the configuration of another version, which looks after it.
            return Ok(());
        }
        let params = PatchParams::apply(field_manager(&self.operator)).force();
        api.patch(&self.operator, &params, &Patch::Apply(wanted))
            .await?;
        Ok(())
    }
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
