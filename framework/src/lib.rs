//! A Kubernetes controller framework: derive a resource, write `reconcile`, run.
//!
//! Pilothouse is to Rust what client-go, controller-runtime and kubebuilder together are to Go. An operator is a struct with
//! `#[derive(Resource)]` and one `reconcile` function. List and watch, caches, the workqueue, backoff, server-side apply, leader
//! election, metrics, health checks and the command line come with the framework.
//!
//! # A whole operator
//!
//! This operator serves web sites: for each `Website` it applies a ConfigMap with the page and a Deployment of nginx. It needs
//! two dependencies:
//!
//! ```toml
//! [dependencies]
//! pilothouse = { version = "0.1", features = ["dev"] }
//! serde = { version = "1", features = ["derive"] }
//! ```
//!
//! The feature `dev` adds the subcommand `dev`; a build for production needs only the default features. A program with
//! [settings of its own](operator::Operator::main_with) also needs the feature `clap-derive`.
//!
//! ```no_run
//! use pilothouse::prelude::*;
//!
//! /// A static web site served by nginx.
//! #[derive(Resource, Clone, Debug)]
//! #[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
//! pub struct Website {
//!     pub metadata: ObjectMeta,
//!     pub spec: WebsiteSpec,
//!     pub status: Option<WebsiteStatus>,
//! }
//!
//! /// The desired site.
//! #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
//! #[serde(rename_all = "camelCase")]
//! pub struct WebsiteSpec {
//!     /// Number of pods to run.
//!     #[serde(default = "one")]
//!     #[schema(minimum = 0, maximum = 100, scale = "spec")]
//!     pub replicas: i32,
//!     /// Page served at `/`.
//!     #[schema(rule("self.size() > 0", "html must not be empty"))]
//!     pub html: String,
//! }
//!
//! /// The state of the site.
//! #[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
//! #[serde(rename_all = "camelCase", default)]
//! pub struct WebsiteStatus {
//!     /// Number of pods that serve the page.
//!     #[schema(column = "Ready", scale = "status")]
//!     pub ready_replicas: i32,
//!     /// The framework sets `Ready`: whether the last reconcile succeeded, and why not.
//!     pub conditions: Vec<Condition>,
//! }
//!
//! fn one() -> i32 {
//!     1
//! }
//!
//! pub struct WebsiteReconciler;
//!
//! impl Reconciler for WebsiteReconciler {
//!     type Resource = Website;
//!
//!     fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
//!         controller.owns::<Deployment>().owns::<ConfigMap>()
//!     }
//!
//!     async fn reconcile(&self, site: Arc<Website>, cx: &Context<Website>) -> Result<Action> {
//!         cx.apply(page(&site)).await?;
//!         let deployment = cx.apply(deployment(&site)).await?;
//!         cx.update_status(WebsiteStatus::from(&deployment)).await?;
//!         Ok(Action::wait())
//!     }
//! }
//!
//! impl From<&Deployment> for WebsiteStatus {
//!     fn from(deployment: &Deployment) -> Self {
//!         let status = deployment.status.clone().unwrap_or_default();
//!         Self {
//!             ready_replicas: status.ready_replicas.unwrap_or_default(),
//!             ..Self::default()
//!         }
//!     }
//! }
//!
//! /// The ConfigMap with the page, for the volume of nginx.
//! fn page(site: &Website) -> ConfigMap {
//!     ConfigMap {
//!         data: Some([("index.html".into(), site.spec.html.clone())].into()),
//!         ..ConfigMap::named(site.name())
//!     }
//! }
//!
//! /// The Deployment of nginx, with the page mounted in each pod.
//! fn deployment(site: &Website) -> Deployment {
//!     let labels = Labels::from([("app", site.name())]);
//!     let page = Volume {
//!         name: "page".into(),
//!         config_map: Some(ConfigMapVolumeSource {
//!             name: page(site).name().into(),
//!             ..Default::default()
//!         }),
//!         ..Default::default()
//!     };
//!     let mount = VolumeMount {
//!         name: page.name.clone(),
//!         mount_path: "/usr/share/nginx/html".into(),
//!         ..Default::default()
//!     };
//!     let nginx = Container {
//!         name: "nginx".into(),
//!         image: Some("nginx:1.29-alpine".into()),
//!         volume_mounts: Some(vec![mount]),
//!         ..Default::default()
//!     };
//!     Deployment {
//!         spec: DeploymentSpec {
//!             replicas: Some(site.spec.replicas),
//!             selector: labels.selector(),
//!             template: PodTemplateSpec {
//!                 metadata: Some(labels.metadata()),
//!                 spec: Some(PodSpec {
//!                     containers: vec![nginx],
//!                     volumes: Some(vec![page]),
//!                     ..Default::default()
//!                 }),
//!             },
//!             ..Default::default()
//!         },
//!         ..Deployment::named(site.name())
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     Operator::new("website").controller(WebsiteReconciler).main()
//! }
//! ```
//!
//! The program has a command line. `website run` works with the cluster of the kubeconfig, or of the pod. `website dev` starts an
//! API server in the process and works with that. `website crd` prints the definition for `kubectl apply -f -`.
//!
//! # Guarantees
//!
//! The framework promises the following, whatever fails. Other pages name a promise by its number. `ARCHITECTURE.md` in the
//! repository has the whole text, and each promise has tests.
//!
//! | number | promise |
//! | --- | --- |
//! | R1 | Two calls for one object never overlap. |
//! | R2 | A change during a reconcile leads to another reconcile. The event of an own write of a child does not, if it can be no news. |
//! | R3 | A reconcile gets the present object from the cache, not an event. |
//! | R4 | No reconcile starts before the caches of its controller have synced. |
//! | R5 | A reconcile reads what it has written. An object is reconciled again only after the caches have what its last reconcile wrote, or read with `live()`. |
//! | R6 | The last state of each object is delivered, deletions included, after any interruption. |
//! | R7 | A dead connection is noticed within 60 s, and a silent watch is replaced within 150 s. |
//! | R8 | An object that does not decode affects no other object. |
//! | R9 | Retries are delayed more and more, and no loop against a server is faster than it makes progress. |
//! | R10 | A panic in the user's code is a failure of one call. |
//! | R11 | A process starts no reconcile and sends no request of one after it may have lost the Lease. |
//! | R12 | A stop is orderly and takes at most 29 s. |
//! | R13 | Informers of the same objects share one watch and one copy. |
//! | R14 | Every queue, buffer and map is bounded. |
//! | R15 | No log, error, metric or Event contains a secret. |
//!
//! # Layers
//!
//! Each layer is a public module that can be used alone. A layer uses only layers above it in this table. The third column
//! names the Go packages with the same task.
//!
//! | module | holds | in Go |
//! | --- | --- | --- |
//! | [`clock`] | the wall clock of a program, for the timestamps that it writes | utils/clock |
//! | [`metrics`] | every metric, in a registry per operator | component-base/metrics |
//! | [`health`] | named checks for `/healthz`, `/livez` and `/readyz` | healthz |
//! | [`resource`] | objects, kinds, keys, owner references, selectors, errors, manifests | apimachinery |
//! | [`client`] | configuration, authentication, connections, requests, watches, discovery | rest, transport, clientcmd, discovery, dynamic, restmapper |
//! | [`events`] | the recorder of Events, with series and limits | tools/events |
//! | [`crd`] | definitions of custom kinds: built from types, printed, installed | controller-gen, apiextensions |
//! | [`cache`] | reflectors, stores, indexes, listers, shared informers | tools/cache |
//! | [`queue`] | the workqueue and its rate limiters | util/workqueue |
//! | [`election`] | leader election with a Lease | tools/leaderelection |
//! | [`controller`] | reconcilers, their sources and predicates, finalizers, read-your-writes | controller-runtime |
//! | [`server`] | a listener for HTTP and HTTPS, with authentication and authorization | metrics/server, certwatcher |
//! | [`webhook`] | admission: validations and mutations | controller-runtime/webhook |
//! | [`admission`] | rules that the API server evaluates by itself | |
//! | [`manifests`] | the objects that an operator needs in a cluster: roles, Deployment, … | kubebuilder's `config` |
//! | [`operator`] | the program: its command line, settings, logs, start and stop | manager |
//! | `testing` | operators in tests: without a server, or with one in memory (feature `dev`) | envtest |
//!
//! [`prelude`] has what most operators import.
//!
//! # Features
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `k8s-latest` | yes | the newest Kubernetes API types. Without it, the binary chooses a version of k8s-openapi |
//! | `k8s-descriptions` | no | descriptions of the fields of Kubernetes types in specs, such as `PodTemplateSpec`, for `kubectl explain`. It doubles the compile time of k8s-openapi |
//! | `cbor` | no | CBOR between client and server, if the server supports it |
//! | `streams` | no | `exec`, `attach` and `port_forward` of Pods, over WebSocket |
//! | `anyhow` | no | `?` in a reconciler takes `anyhow::Error`, and still finds conflicts, `Retry-After` and missing rights in it |
//! | `clap-derive` | no | the derives of [`clap`], for flags and subcommands of your own |
//! | `self-signed` | no | certificates that a server makes for itself, and those of webhooks |
//! | `otel` | no | traces of reconciles and their requests for an OpenTelemetry collector, over OTLP |
//! | `zstd` | no | caches that are [compressed](cache::InformersBuilder::compressed) |
//! | `dev` | no | the subcommand `dev` with an API server in the process, and the module `testing` |
//!
//! # Where to go next
//!
//! * [`Operator`](operator::Operator): the settings of a program.
//! * [`Reconciler`](controller::Reconciler) and [`Controller`](controller::Controller): when `reconcile` is called, and with what.
//! * [`Context`](controller::Context): what `reconcile` can read and write.
//! * [`Resource`](derive@Resource) and [`Schema`](derive@Schema): the attributes of the derives.
//! * `testing` (feature `dev`): tests of an operator.
//! * The folder `examples` of the repository has more operators. The folder `book` has a tutorial and a guide.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Each program compiles all generic code again, for its own types. Five rules keep that code, and its futures, small:
//
// * Code that does not depend on the user's types is a function of its own, which the generic function calls.
// * The body of an `async fn` is compiled in the crate that awaits it, even if nothing in it is generic. So a large function that
//   generic code or a program awaits returns a `BoxFuture`.
// * A future is at least as large as the largest one that it awaits, and the parameters of an `async fn` are stored twice. On
//   the way of a request and of a call, what is rare is boxed where it is awaited, and what is large is borrowed, or moved into
//   a block.
// * A task is boxed where it is spawned, because tokio and hyper have much code for each type of future.
// * A function that few programs call and that needs much generic code is `#[inline]`: only its callers compile it.
//
// `bench/README.md` says how to measure a build.

pub mod admission;
mod backoff;
pub mod cache;
pub mod client;
pub mod clock;
pub mod controller;
pub mod crd;
pub mod election;
pub mod events;
pub mod health;
#[cfg(test)]
mod logged;
pub mod manifests;
pub mod metrics;
pub mod operator;
pub mod prelude;
pub mod queue;
pub mod resource;
pub mod server;
#[cfg(feature = "dev")]
pub mod testing;
pub mod webhook;

/// The traits of the derives with the same names.
pub use crate::{crd::Schema, resource::Resource};
pub use pilothouse_macros::{Resource, Schema};

/// The Kubernetes API types, from k8s-openapi.
pub use k8s_openapi as k8s;

/// The items that generated code uses. They are not part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::crd::{
        Declaration, Defined, Keeps, UNKNOWN_SCALE, check_form, check_scale, check_status, first,
    };
    pub use crate::resource::wire::{
        Absent, deserialize_kind, deserialize_kind_with, serialize_kind, serialize_kind_with,
    };
    pub use crate::resource::{
        OtherVersion, RulePlace, check_distinct, check_version, converted_version, renamed_version,
    };
    pub use schemars;
    pub use serde;
    pub use serde_json;
}
