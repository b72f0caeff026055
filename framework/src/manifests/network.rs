use k8s_openapi::{
    api::{
        core::v1::{Service, ServicePort, ServiceSpec},
        networking::v1::{
            NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPort, NetworkPolicySpec,
        },
    },
    apimachinery::pkg::util::intstr::IntOrString,
};
use serde_json::{Value, json};

use super::{Endpoint, Installation, manifests::Program, webhooks};
use crate::resource::{ApiResource, DynamicObject, Labels};

/// The token of the pods of Prometheus.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

pub(super) fn service(installation: &Installation, endpoint: &Endpoint) -> Service {
    Service {
        metadata: installation.within(&installation.namespace),
        spec: Some(ServiceSpec {
            selector: Some(installation.labels()),
            ports: Some(vec![ServicePort {
                name: Some(Endpoint::PORT.into()),
                port: endpoint.port.into(),
                target_port: Some(IntOrString::String(Endpoint::PORT.into())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// Everything may connect to the endpoint and to the webhooks, and nothing to other ports. What the pods connect to is not limited,
/// because the address of the API server is not known here.
pub(super) fn policy(installation: &Installation, program: &Program) -> NetworkPolicy {
    let endpoint = program.endpoint.iter().map(|_| Endpoint::PORT);
    let webhooks = program.webhooks.iter().map(|_| webhooks::PORT);
    let ports = endpoint.chain(webhooks);
    let ports = ports.map(|name| NetworkPolicyPort {
        port: Some(IntOrString::String(name.into())),
        ..NetworkPolicyPort::default()
    });
    let ports: Vec<_> = ports.collect();
    let open = (!ports.is_empty()).then_some(NetworkPolicyIngressRule {
        from: None,
        ports: Some(ports),
    });
    NetworkPolicy {
        metadata: installation.within(&installation.namespace),
        spec: Some(NetworkPolicySpec {
            pod_selector: Labels::from_iter(installation.labels()).selector().into(),
            policy_types: Some(vec!["Ingress".into()]),
            ingress: open.map(|rule| vec![rule]),
            egress: None,
        }),
    }
}

/// Lets Prometheus read the metrics of the pods behind the Service.
pub(super) fn service_monitor(installation: &Installation, endpoint: &Endpoint) -> DynamicObject {
    let mut scraped = scraped(installation, endpoint);
    if endpoint.is_authorized {
        scraped["bearerTokenFile"] = json!(TOKEN);
    }
    let spec = json!({
        "selector": {"matchLabels": installation.labels()},
        "endpoints": [scraped],
    });
    monitor(installation, "ServiceMonitor", spec)
}

/// Lets Prometheus read the metrics of the pods without a Service. It cannot send the token of its own pods, so it cannot read those of an
/// authorized endpoint.
pub(super) fn pod_monitor(installation: &Installation, endpoint: &Endpoint) -> DynamicObject {
    let spec = json!({
        "selector": {"matchLabels": installation.labels()},
        "podMetricsEndpoints": [scraped(installation, endpoint)],
    });
    monitor(installation, "PodMonitor", spec)
}

fn scraped(installation: &Installation, endpoint: &Endpoint) -> Value {
    let mut scraped = json!({"port": Endpoint::PORT, "scheme": endpoint.scheme()});
    if endpoint.is_self_signed {
        scraped["tlsConfig"] = json!({"insecureSkipVerify": true});
    } else if endpoint.is_secure {
        let Installation {
            name, namespace, ..
        } = installation;
        let mut tls = json!({"serverName": format!("{name}.{namespace}.svc")});
        if endpoint.certificate.is_some() {
            let authority = json!({"name": Endpoint::secret(installation), "key": "ca.crt"});
            tls["ca"] = json!({"secret": authority});
        }
        scraped["tlsConfig"] = tls;
    }
    scraped
}

/// A kind of the Prometheus operator.
fn monitor(installation: &Installation, kind: &'static str, spec: Value) -> DynamicObject {
    let kind = ApiResource {
        group: "monitoring.coreos.com".into(),
        version: "v1".into(),
        kind: kind.into(),
        plural: format!("{}s", kind.to_lowercase()).into(),
        namespaced: true,
    };
    let mut monitor = DynamicObject::new(&kind, "");
    monitor.metadata = installation.within(&installation.namespace);
    monitor.data.insert("spec".into(), spec);
    monitor
}
