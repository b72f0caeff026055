//! A kind that another program defines.

// ANCHOR: recipe
use pilothouse::prelude::*;

use crate::site::Site;

/// The certificate of another operator: only the fields that this program writes and reads.
#[derive(Resource, Clone, Debug, Default)]
#[resource(
    group = "certificates.example.com",
    version = "v1",
    namespaced,
    foreign
)]
struct Certificate {
    metadata: ObjectMeta,
    spec: CertificateSpec,
    status: Option<CertificateStatus>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct CertificateSpec {
    dns_names: Vec<String>,
    secret_name: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct CertificateStatus {
    #[serde(default)]
    conditions: Vec<Condition>,
}

struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Certificate>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let certificate = Certificate {
            spec: CertificateSpec {
                dns_names: vec![format!("{}.example.com", site.name())],
                secret_name: format!("{}-tls", site.name()),
            },
            ..Certificate::named(site.name())
        };
        let certificate = cx.apply(certificate).await?;
        // Ready by its condition `Ready`, which the other operator sets.
        certificate.ready_or_wait()?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::{
        client::{Patch, PatchParams},
        crd,
        testing::Cluster,
    };
    use serde_json::json;

    use super::*;
    use crate::world::{ready_message, site};

    fn definition() -> pilothouse::crd::CustomResourceDefinition {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        serde_json::from_value(json!({
            "metadata": {"name": "certificates.certificates.example.com"},
            "spec": {
                "group": "certificates.example.com",
                "scope": "Namespaced",
                "names": {"kind": "Certificate", "plural": "certificates", "singular": "certificate"},
                "versions": [{
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": open, "status": open},
                    }},
                }],
            },
        }))
        .unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_operator_waits_for_the_other_one_and_installs_no_definition_of_it() {
        let cluster = Cluster::start().unwrap();
        crd::install(cluster.client(), &[definition()], "other")
            .await
            .unwrap();
        let operator = Operator::new("sites").controller(Sites);
        let definitions = operator.definitions().unwrap();
        assert_eq!(definitions.len(), 1, "only that of Site");
        let running = cluster.run(operator).await.unwrap();
        cluster.create(&site("a")).await.unwrap();
        cluster
            .until("a", "wait for the certificate", |site: &Site| {
                ready_message(site).contains("Certificate default/a is not ready")
            })
            .await
            .unwrap();

        let ready = json!({"type": "Ready", "status": "True", "reason": "Issued", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let patch = Patch::Merge(json!({"status": {"conditions": [ready]}}));
        let certificates = cluster.api::<Certificate>();
        let params = PatchParams::default();
        certificates
            .patch_status("a", &params, &patch)
            .await
            .unwrap();
        cluster
            .until("a", "be ready", |site: &Site| {
                let conditions = site.status.iter().flat_map(|status| &status.conditions);
                let mut ready = conditions.filter(|one| one.type_ == "Ready");
                ready.any(|one| one.status == "True")
            })
            .await
            .unwrap();
        running.stop().await;
    }
}
