//! The traces of an operator, as a collector receives them.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use crate::dev::{Dev, eventually};
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::Span,
};
use pilothouse::{
    client::{Api, Client, Config, KubeconfigOptions, PostParams},
    resource::{ApiResource, DynamicObject},
};
use prost::Message;
use tokio::{net::TcpListener, runtime::Runtime};

/// The received requests, each with the key that was sent with it.
type Batch = (ExportTraceServiceRequest, Option<String>);

/// A collector: it accepts what OpenTelemetry collectors accept, and nothing else.
struct Collector {
    runtime: Runtime,
    address: SocketAddr,
    taken: Arc<Mutex<Vec<Batch>>>,
}

impl Collector {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let all = taken.clone();
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let all = all.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let all = all.clone();
                    async move {
                        assert_eq!(request.uri().path(), "/v1/traces");
                        let key = request.headers().get("api-key");
                        let key = key.map(|key| key.to_str().unwrap().to_owned());
                        let body = request.into_body().collect().await?.to_bytes();
                        let batch = ExportTraceServiceRequest::decode(body).unwrap();
                        all.lock().unwrap().push((batch, key));
                        Ok::<_, hyper::Error>(Response::new(Full::<hyper::body::Bytes>::default()))
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self {
            runtime,
            address,
            taken,
        }
    }

    fn spans(&self) -> Vec<Span> {
        let taken = self.taken.lock().unwrap();
        let resources = taken.iter().flat_map(|(batch, _)| &batch.resource_spans);
        let scopes = resources.flat_map(|resource| &resource.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }
}

fn attributes(of: &[KeyValue]) -> HashMap<String, String> {
    let text = |value: &Option<AnyValue>| match value.as_ref().and_then(|value| value.value.clone())
    {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    of.iter()
        .map(|pair| (pair.key.clone(), text(&pair.value)))
        .collect()
}

fn create(collector: &Collector, dev: &Dev, name: &str) {
    let websites = ApiResource {
        group: "demo.pilothouse.dev".into(),
        version: "v1".into(),
        kind: "Website".into(),
        plural: "websites".into(),
        namespaced: true,
    };
    let options = KubeconfigOptions {
        path: Some(dev.kubeconfig.clone()),
        ..KubeconfigOptions::default()
    };
    let site: DynamicObject = serde_json::from_value(serde_json::json!({
        "apiVersion": "demo.pilothouse.dev/v1", "kind": "Website",
        "metadata": {"name": name}, "spec": {"html": "<h1>Hello</h1>"},
    }))
    .unwrap();
    collector.runtime.block_on(async {
        let config = Config::from_kubeconfig(&options).await.unwrap();
        let client = Client::new(config).unwrap();
        let websites = Api::<DynamicObject>::of(&client, websites, Some("default"));
        websites
            .create(&PostParams::default(), &site)
            .await
            .unwrap();
    });
}

#[test]
fn a_reconcile_is_a_span_with_child_spans_for_its_requests_and_the_stop_sends_all_spans() {
    let collector = Collector::start();
    let endpoint = format!("http://{}", collector.address);
    let dev = Dev::start_with(
        &["--log", "warn"],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=hunter2"),
            // Longer than the test, so that the stop sends the spans.
            ("OTEL_BSP_SCHEDULE_DELAY", "600000"),
        ],
    );
    create(&collector, &dev, "hello");
    eventually("the reconcile", || {
        match dev.metric("controller_runtime_reconcile_total", "success") {
            0.0 => Err(dev.log()),
            _ => Ok(()),
        }
    });
    let log = dev.log();
    assert!(collector.spans().is_empty(), "nothing is due yet");
    assert!(dev.interrupt().success());

    let spans = collector.spans();
    let of = |name: &str| {
        let found = spans
            .iter()
            .find(|span| span.name == "reconcile" && attributes(&span.attributes)["name"] == name);
        found.unwrap_or_else(|| panic!("no reconcile of {name} in {} spans", spans.len()))
    };
    let reconcile = of("hello");
    let said = attributes(&reconcile.attributes);
    assert_eq!(said["controller"], "website");
    assert_eq!(said["namespace"], "default");
    assert_eq!(said["attempt"], "1");
    assert!(!said["cause"].is_empty());
    let requests: Vec<_> = spans
        .iter()
        .filter(|span| span.parent_span_id == reconcile.span_id)
        .filter(|span| span.trace_id == reconcile.trace_id)
        .map(|span| attributes(&span.attributes))
        .filter(|said| said.contains_key("http.request.method"))
        .collect();
    let applied = |resource: &str| {
        requests.iter().any(|said| {
            said["http.request.method"] == "PATCH"
                && said["k8s.resource"] == resource
                && said["http.response.status_code"].starts_with("20")
        })
    };
    assert!(
        applied("configmaps") && applied("deployments"),
        "{requests:?}"
    );

    let taken = collector.taken.lock().unwrap();
    for (batch, key) in &*taken {
        assert_eq!(
            key.as_deref(),
            Some("hunter2"),
            "the headers that the environment names"
        );
        let resource = batch.resource_spans[0].resource.as_ref().unwrap();
        assert_eq!(attributes(&resource.attributes)["service.name"], "website");
    }
    let batches: Vec<_> = taken.iter().map(|(batch, _)| batch).collect();
    assert!(!format!("{log}{batches:?}").contains("hunter2"));
}

#[test]
fn an_unavailable_collector_is_logged_once_and_delays_nothing() {
    // A port on which nothing listens.
    let address = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let endpoint = format!("http://user:hunter2@{address}");
    let dev = Dev::start_with(
        &[],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ],
    );
    eventually("the warning", || {
        match dev.log().contains("sending traces") {
            true => Ok(()),
            false => Err(dev.log()),
        }
    });
    let log = dev.log();
    assert!(
        log.contains(&format!("sending traces to http://{address}")),
        "{log}"
    );
    assert!(!log.contains("hunter2"), "{log}");
    let began = std::time::Instant::now();
    assert!(dev.interrupt().success());
    assert!(began.elapsed() < std::time::Duration::from_secs(10));
}
