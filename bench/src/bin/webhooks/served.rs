//! The webhooks of Pilothouse, as a program of its own.

use std::path::Path;

use pilothouse::{
    client::{Client, Config, KubeconfigOptions},
    k8s::api::core::v1::{ConfigMap, Pod},
    operator::{Operator, WebhookServing},
    webhook::{Admission, Change, Denied, Mutate, Validate, Warnings},
};
use tokio_util::sync::CancellationToken;

use crate::Failure;

struct Filled;

impl Validate for Filled {
    type Resource = ConfigMap;

    async fn validate(
        &self,
        change: &Change<ConfigMap>,
        _: &Admission,
    ) -> Result<Warnings, Denied> {
        let data = change.new_object().and_then(|new| new.data.as_ref());
        match data.is_some_and(|data| !data.is_empty()) {
            true => Ok(Warnings::none()),
            false => Err(Denied::invalid("data", "must not be empty")),
        }
    }
}

struct Team;

impl Mutate for Team {
    type Resource = Pod;

    async fn mutate(&self, pod: &mut Pod, cx: &Admission) -> Result<Warnings, Denied> {
        let namespace = cx.namespace().unwrap_or_default().to_owned();
        let labels = pod.metadata.labels.get_or_insert_default();
        labels.insert("team".into(), namespace);
        Ok(Warnings::none())
    }
}

/// Serves until the process ends. The configurations go to the API server of this kubeconfig.
pub(crate) async fn serve(folder: &Path, port: u16, kubeconfig: &Path) -> Result<(), Failure> {
    let options = KubeconfigOptions {
        path: Some(kubeconfig.to_owned()),
        ..KubeconfigOptions::default()
    };
    let client = Client::new(Config::from_kubeconfig(&options).await?)?;
    let serving = WebhookServing::new()
        .address(format!("127.0.0.1:{port}").parse()?)
        .url(format!("https://127.0.0.1:{port}"))
        .certificates(folder);
    let operator = Operator::new("bench")
        .validates(Filled)
        .mutates(Team)
        .webhook_serving(serving);
    operator.run(client, CancellationToken::new()).await?;
    Ok(())
}
