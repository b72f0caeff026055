//! The same operator on kube-rs with the features of an operator in a cluster: flags, its definition as YAML, logs as JSON,
//! health and metrics.
use std::{net::SocketAddr, sync::Arc, time::Duration};

use actix_web::{App, HttpResponse, HttpServer, web};
use clap::{Parser, Subcommand};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams},
    runtime::controller::{Action, Controller},
};
use prometheus::{Histogram, HistogramOpts, IntCounter, Registry, TextEncoder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.pilothouse.dev", version = "v1", kind = "Note", namespaced)]
struct NoteSpec {
    text: String,
}

/// Keeps a page for each note.
#[derive(Parser)]
struct Flags {
    /// Address for health and metrics.
    #[arg(long, env = "SERVE", default_value = "0.0.0.0:8080")]
    serve: SocketAddr,
    /// The only namespace to watch.
    #[arg(long, env = "NAMESPACE")]
    namespace: Option<String>,
    #[command(subcommand)]
    command: Option<Instead>,
}

#[derive(Subcommand)]
enum Instead {
    /// Prints the definition of notes.
    Crd,
}

struct State {
    client: Client,
    failures: IntCounter,
    seconds: Histogram,
}

impl State {
    fn new(client: Client, registry: &Registry) -> Result<Self, prometheus::Error> {
        let failures = IntCounter::new("notes_reconcile_failures_total", "Reconciles that failed")?;
        let seconds = HistogramOpts::new("notes_reconcile_seconds", "How long reconciles took");
        let seconds = Histogram::with_opts(seconds)?;
        registry.register(Box::new(failures.clone()))?;
        registry.register(Box::new(seconds.clone()))?;
        Ok(Self { client, failures, seconds })
    }
}

async fn reconcile(note: Arc<Note>, state: Arc<State>) -> Result<Action, kube::Error> {
    let timer = state.seconds.start_timer();
    let page = ConfigMap {
        metadata: ObjectMeta {
            name: note.metadata.name.clone(),
            owner_references: note.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), note.spec.text.clone())].into()),
        ..ConfigMap::default()
    };
    let namespace = note.namespace().unwrap_or_default();
    let api = Api::<ConfigMap>::namespaced(state.client.clone(), &namespace);
    api.patch(&note.name_any(), &PatchParams::apply("notes").force(), &Patch::Apply(&page)).await?;
    timer.observe_duration();
    Ok(Action::await_change())
}

fn failed(note: Arc<Note>, error: &kube::Error, state: Arc<State>) -> Action {
    tracing::warn!(note = note.name_any(), %error, "failed");
    state.failures.inc();
    Action::requeue(Duration::from_secs(5))
}

async fn metrics(registry: web::Data<Registry>) -> HttpResponse {
    match TextEncoder::new().encode_to_string(&registry.gather()) {
        Ok(text) => HttpResponse::Ok().body(text),
        Err(error) => HttpResponse::InternalServerError().body(error.to_string()),
    }
}

async fn health() -> &'static str {
    "ok"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let flags = Flags::parse();
    if let Some(Instead::Crd) = flags.command {
        print!("{}", serde_saphyr::to_string(&Note::crd())?);
        return Ok(());
    }
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().json().with_env_filter(filter).init();
    let client = Client::try_default().await?;
    let registry = Registry::new();
    let state = Arc::new(State::new(client.clone(), &registry)?);
    let (notes, pages) = match &flags.namespace {
        Some(name) => (Api::<Note>::namespaced(client.clone(), name), Api::<ConfigMap>::namespaced(client, name)),
        None => (Api::all(client.clone()), Api::all(client)),
    };
    let controller = Controller::new(notes, Default::default())
        .owns(pages, Default::default())
        .shutdown_on_signal()
        .run(reconcile, failed, state)
        .for_each(|_| async {});
    let registry = web::Data::new(registry);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(registry.clone())
            .route("/metrics", web::get().to(metrics))
            .route("/healthz", web::get().to(health))
    });
    let server = server.bind(flags.serve)?.run();
    tokio::select! {
        () = controller => Ok(()),
        served = server => Ok(served?),
    }
}
