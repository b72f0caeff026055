use base64::{Engine, engine::general_purpose::STANDARD};
use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, ServiceReference, WebhookClientConfig,
};
use serde_json::json;

use super::PATH;
use crate::{
    client::{self, Api, Client, Patch, PatchParams},
    resource::{Access, AccessRule, ApiResource, DynamicObject, Resource, Versions},
    webhook::{Target, bundle::Bundle, server::WebhookError},
};

/// The definitions among these whose objects the operator converts.
fn converted(
    definitions: &mut [CustomResourceDefinition],
) -> impl Iterator<Item = &mut CustomResourceDefinition> {
    definitions.iter_mut().filter(|definition| {
        let conversion = definition.spec.conversion.as_ref();
        conversion.is_some_and(|conversion| conversion.webhook.is_some())
    })
}

/// Lets the API server convert the objects of these definitions at the target. The `caBundle` is missing: a running operator
/// writes it.
pub(crate) fn set_target(definitions: &mut [CustomResourceDefinition], target: &Target) {
    for definition in converted(definitions) {
        let conversion = definition.spec.conversion.as_mut();
        if let Some(webhook) = conversion.and_then(|conversion| conversion.webhook.as_mut()) {
            webhook.client_config = Some(client_config(target, None));
        }
    }
}

fn client_config(target: &Target, ca_bundle: Option<&[u8]>) -> WebhookClientConfig {
    let (service, url) = match target {
        Target::Service { namespace, name } => {
            let service = ServiceReference {
                namespace: namespace.clone(),
                name: name.clone(),
                path: Some(PATH.into()),
                port: Some(443),
            };
            (Some(service), None)
        }
        Target::Url(url) => (None, Some(format!("{url}{PATH}"))),
    };
    WebhookClientConfig {
        ca_bundle: ca_bundle.map(|bundle| ByteString(bundle.to_vec())),
        service,
        url,
    }
}

/// The access that [`install`] needs.
pub(in crate::webhook) fn access(kinds: &[Versions]) -> Access {
    let rule = AccessRule::of::<CustomResourceDefinition>(["get", "patch"]);
    let kinds = kinds.iter();
    let rules = kinds.map(|kind| rule.clone().named(kind.stored().qualified_plural()));
    rules.map(Access::from).sum()
}

/// The authorities that the definitions of the kinds have.
pub(in crate::webhook) async fn published(
    client: &Client,
    kinds: &[Versions],
) -> Result<Bundle, client::Error> {
    let mut all = Bundle::default();
    for kind in kinds {
        let found = json!(
            definitions(client)
                .get(&kind.stored().qualified_plural())
                .await?
        );
        let text = found["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].as_str();
        let pem = text.and_then(|text| STANDARD.decode(text).ok());
        // What is not valid PEM is nothing that a replica needs.
        let known = pem.and_then(|pem| Bundle::parse(&pem));
        all = all.and(known.unwrap_or_default());
    }
    Ok(all)
}

/// The definitions in the cluster. Their schemas stay unread: they may have forms of a newer API server.
fn definitions(client: &Client) -> Api<DynamicObject> {
    let resource = ApiResource::of::<CustomResourceDefinition>();
    Api::of(client, resource, None)
}

/// Writes into the definitions of the kinds where the API server converts their objects, unless it stands there already. It leaves
/// a definition alone that does not name a webhook: its objects need none.
///
/// A merge patch replaces the Service by a URL and the other way round, which an apply of one field manager cannot do if another one
/// has installed the definition.
///
/// # Errors
/// Another installation of the operator converts the objects, or a request failed.
pub(in crate::webhook) async fn install(
    client: &Client,
    kinds: &[Versions],
    target: &Target,
    ca_bundle: Option<&[u8]>,
    field_manager: &str,
) -> Result<(), WebhookError> {
    let api = definitions(client);
    let wanted = json!(client_config(target, ca_bundle));
    for kind in kinds {
        let name = kind.stored().qualified_plural();
        let found = json!(api.get(&name).await?);
        let conversion = &found["spec"]["conversion"];
        let present = &conversion["webhook"]["clientConfig"];
        let fields = ["service", "url", "caBundle"];
        // Without a bundle of its own, the operator keeps the one that somebody else has written.
        let is_left = |field: &str| field == "caBundle" && wanted[field].is_null();
        let differs = fields
            .into_iter()
            .any(|field| !is_left(field) && present[field] != wanted[field]);
        if conversion["strategy"] != "Webhook" || !differs {
            continue;
        }
        target.check(CustomResourceDefinition::KIND, &name, present)?;
        let mut client_config = json!({"service": wanted["service"], "url": wanted["url"]});
        if !wanted["caBundle"].is_null() {
            client_config["caBundle"] = wanted["caBundle"].clone();
        }
        let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": client_config}}}});
        let params = PatchParams::default().field_manager(field_manager);
        api.patch(&name, &params, &Patch::Merge(patch)).await?;
    }
    Ok(())
}
