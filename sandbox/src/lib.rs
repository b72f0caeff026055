//! A Kubernetes API server in one process, for development and tests.
//!
//! A [`Sandbox`] needs no etcd and no download, and keeps its objects in memory, or in a [folder](Builder::data). It is a library; the program
//! `pilothouse-sandbox` serves one, and stands in for envtest's `kube-apiserver` and `etcd`. Clients reach it in two ways:
//!
//! - in memory with [`Sandbox::connect`], from a client on the same runtime. Timers are tokio's, so a paused clock stops the
//!   server too, and with a [seed](Builder::seed) two runs give the same names, UIDs and times;
//! - over HTTPS with [`Sandbox::serve_https`] and [`Sandbox::kubeconfig`], from kubectl or any other client.
//!
//! It follows the rules of a real API server: resource versions, watches, optimistic concurrency, server-side apply,
//! finalizers, CustomResourceDefinitions, and the texts of its errors. It never approximates: a part of Kubernetes that
//! it does not have is answered 501 with the name of that part.
//!
//! ```
//! use http_body_util::{BodyExt, Empty};
//! use hyper::body::Bytes;
//! use hyper_util::rt::TokioIo;
//! use pilothouse_sandbox::{Answer, RequestMatcher, Sandbox};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sandbox = Sandbox::builder().seed(1).build()?;
//!
//! // The first list of namespaces fails.
//! let lists = RequestMatcher::any().verb("list").resource("namespaces");
//! sandbox.faults().answer(lists, Answer::status(503, "ServiceUnavailable"), 1);
//!
//! // Any HTTP client will do. A request in memory needs no token.
//! let io = TokioIo::new(sandbox.connect());
//! let (mut client, connection) = hyper::client::conn::http1::handshake(io).await?;
//! tokio::spawn(connection);
//! for expected in [503, 200] {
//!     let request = hyper::Request::get("/api/v1/namespaces")
//!         .header("host", "sandbox")
//!         .body(Empty::<Bytes>::new())?;
//!     let response = client.send_request(request).await?;
//!     assert_eq!(response.status(), expected);
//!     response.into_body().collect().await?;
//! }
//!
//! // The sandbox records what clients ask for.
//! assert_eq!(sandbox.requests().len(), 2);
//! assert_eq!(sandbox.requests()[0].verb, "list");
//! sandbox.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What it serves
//!
//! | API | kinds |
//! | --- | --- |
//! | core/v1 | Binding, ComponentStatus, ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodTemplate, ReplicationController, ResourceQuota, Secret, Service, ServiceAccount |
//! | admissionregistration.k8s.io/v1 | MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration |
//! | apiextensions.k8s.io/v1 | CustomResourceDefinition, with structural schemas, CEL rules (with type checks and cost limits), several versions, conversion by webhook, selectable fields, `status` and `scale` |
//! | apiregistration.k8s.io/v1 | APIService |
//! | apps/v1 | ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet |
//! | authentication.k8s.io/v1 | SelfSubjectReview, TokenReview |
//! | authorization.k8s.io/v1 | LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview |
//! | autoscaling/v1 and v2 | HorizontalPodAutoscaler, which is stored in version 2 |
//! | batch/v1 | CronJob, Job |
//! | certificates.k8s.io/v1 | CertificateSigningRequest, with `approval`, ClusterTrustBundle, PodCertificateRequest |
//! | coordination.k8s.io/v1 | Lease |
//! | discovery.k8s.io/v1 | EndpointSlice |
//! | events.k8s.io/v1 | Event |
//! | flowcontrol.apiserver.k8s.io/v1 | FlowSchema, PriorityLevelConfiguration |
//! | networking.k8s.io/v1 | Ingress, IngressClass, IPAddress, NetworkPolicy, ServiceCIDR |
//! | node.k8s.io/v1 | RuntimeClass |
//! | policy/v1 | PodDisruptionBudget |
//! | rbac.authorization.k8s.io/v1 | ClusterRole, ClusterRoleBinding, Role, RoleBinding |
//! | resource.k8s.io/v1 | DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice |
//! | scheduling.k8s.io/v1 | PriorityClass |
//! | storage.k8s.io/v1 | CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass |
//! | storagemigration.k8s.io/v1 | StorageVersionMigration |
//!
//! These are the kinds that a real server of that release serves by default, and discovery equals that of the real server. The server
//! defaults, validates and shows their objects. Most of them have an effect only through a controller or through admission, which the
//! sandbox does not have (see below).
//!
//! The subresources are `status`, `scale`, `binding`, `eviction`, `ephemeralcontainers`, `resize`, `token`, `finalize`, `approval`, and
//! `log`, `exec`, `attach`, `portforward` and `proxy` of simulated Pods, with `proxy` of their Services. Patches are JSON patch, merge patch, strategic merge patch and
//! server-side apply. Requests and responses are JSON, Kubernetes protobuf or CBOR; responses are also tables or metadata only.
//! Custom resources have no protobuf, except for their metadata. Responses other than watches are also YAML. Discovery and OpenAPI (versions 2 and 3) are complete, with the documentation of
//! types and fields that `kubectl explain` prints. Clients execute, attach and forward ports over WebSocket or SPDY. `/metrics` has the requests, watches
//! and objects under the names of a real server.
//!
//! # What it does not have
//!
//! - A request that needs one of these is answered 501: the subresource `proxy` of Nodes, and TLS and upgraded connections through `proxy`. The links in a page that comes
//!   through `proxy` are not rewritten.
//! - Alpha and beta versions of built-in groups are not served at all: 404.
//! - Admission knows the life cycle of namespaces, limit ranges, priorities, runtime classes, the default tolerations of Pods, the default classes of storage and of ingresses, the
//!   protection of claims and volumes, webhooks, ValidatingAdmissionPolicies, MutatingAdmissionPolicies and, with the simulator, quotas and service accounts (but not the annotation
//!   `kubernetes.io/enforce-mountable-secrets`), and the standards of Pod Security that the labels of a namespace demand. Quotas count no devices of ResourceClaims. Only stored are
//!   APIServices (nothing is aggregated), FlowSchemas and NetworkPolicies. Nothing signs certificates, and the signature of a
//!   CertificateSigningRequest or PodCertificateRequest is not verified. The certificates of a ClusterTrustBundle and
//!   of a PodCertificateRequest are not read, keys of its annotations are not checked, and nobody needs the permission to sign, approve or attest.
//! - A few checks are missing: of the volume types of a PersistentVolume other than `hostPath`, `local`, `nfs` and `csi`, of the
//!   types in the CEL expressions of devices, and of the placeholders in a text that a CEL rule
//!   formats.
//! - Objects that the components of a real cluster create are missing, such as the system's FlowSchemas, and without [`Builder::rbac`] the roles of the system.
//! - In JSON the members of an object are sorted by name. A real server writes those of a built-in kind in the order of the fields of its Go type. The headers
//!   that name a FlowSchema are missing. The simulator gives containers no `containerID` and cordoned nodes no taint.
//! - The only controllers are those that belong to the API itself: the garbage collector, and the ones that establish
//!   CustomResourceDefinitions, delete namespaces and let go of claims and volumes that nothing uses. Nothing runs workloads unless [`Builder::simulator`] is on. Then
//!   Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, ReplicationControllers and Pods run, claims
//!   are bound to volumes, load balancers get an address, ephemeral containers start, and each namespace has its service account `default` and the ConfigMap
//!   `kube-root-ca.crt`. Services have endpoints, disruption budgets and quotas are counted, and autoscalers follow [`Figures`]. Pods wait for
//!   room on a node, and have the Events of a cluster. Secrets of service accounts get their tokens, and ranges of the addresses of Services become ready.
//!   A StorageVersionMigration writes the objects of its kind again.
//!
//! # Authentication and authorization
//!
//! A request over HTTPS needs a bearer token: the administrator's, which is in the kubeconfig, one of [`Builder::token`], or one
//! that was issued to a service account; or a client certificate, if the listener has an authority for them ([`HttpsOptions`]). Users can be impersonated. By default every authenticated user may do everything. With
//! [`Builder::rbac`] the objects of `rbac.authorization.k8s.io` decide, as on a real server: the administrator and the group
//! `system:masters` may do everything, others what their roles allow. A request without a token is then one of the user
//! `system:anonymous`, who may read health and version.
//!
//! # Faults and recording
//!
//! [`Sandbox::faults`] breaks what a network and a busy server break: it answers requests with errors, carries requests out and
//! loses the responses, delays requests and responses, cuts clients off, holds, breaks, closes and expires watches, holds the cache for reads back, and compacts the
//! history. [`Sandbox::figures`] sets what a metrics server would measure. [`Sandbox::snapshot`] keeps all objects, to [restore](Sandbox::restore) them later or to
//! [turn the server back](Sandbox::rewind). [`Sandbox::advance_clock`] moves the clock. [`Builder::controls_over_http`] serves all this to other languages. A [`RequestMatcher`] selects the
//! requests. [`Sandbox::requests`] returns the last requests with verb, resource, user and status.
//!
//! # Webhooks
//!
//! The server calls admission webhooks, and the webhooks that convert custom resources, as a real one does, over HTTPS. Its Pods have no network, so a webhook behind a Service needs an address:
//! that of [`Builder::service_address`], or a ready one in an EndpointSlice of the Service. With [`Sandbox::webhook`] a handler in Rust stands for a Service or a URL, and nothing leaves the
//! process. Certificates are verified by the `caBundle` alone, answers have at most 16 MiB, and redirects are failures. Webhooks also see what the
//! simulator writes. They do not see reviews of tokens and of access.
//!
//! # Deadlines
//!
//! As on a real server a request ends after a minute, or after the time of its parameter `timeout` if that is shorter; a request that writes one
//! object ends after 34 s. Then the answer is 504, and nothing is written. Watches, and the logs and connections of Pods, last longer. A
//! [fault](Faults) that delays a request or a response does not count.
//!
//! # Settings
//!
//! | feature | default | meaning |
//! | --- | --- | --- |
//! | `program` | on | builds the program `pilothouse-sandbox`; a crate that uses only the library switches it off |
//! | `client-certificates` | on, by way of `program` | HTTPS listeners can accept client certificates |
//!
//! The [`Builder`] has these settings:
//!
//! | setting | default | meaning |
//! | --- | --- | --- |
//! | [`seed`](Builder::seed) | random | makes names, UIDs, addresses and time repeatable |
//! | [`epoch`](Builder::epoch) | now; with a seed the beginning of 2026 | the time at which the sandbox starts |
//! | [`data`](Builder::data) | none | keeps the objects in a folder for the next start |
//! | [`token`](Builder::token) | the administrator's only | accepts a bearer token of a user |
//! | [`rbac`](Builder::rbac) | off | lets roles and bindings decide |
//! | [`controllers`](Builder::controllers) | on | collects garbage and deletes namespaces |
//! | [`audit`](Builder::audit) | none | logs each request, in the format of kube-apiserver's audit log |
//! | [`service_address`](Builder::service_address) | none | tells where a Service is whose webhook the server calls |
//! | [`controls_over_http`](Builder::controls_over_http) | off | serves faults, snapshots and recorded requests to clients in any language |
//! | [`simulator`](Builder::simulator) | off | lets workloads and their Pods run, with a node `sandbox` |
//! | [`nodes`](Builder::nodes) | 1 | nodes of the simulator |
//! | [`cbor`](Builder::cbor) | off | serves CBOR |
//! | [`history`](Builder::history) | 16 384 | changes of each kind that are kept for watches |
//! | [`request_log`](Builder::request_log) | 16 384 | requests that are kept for [`Sandbox::requests`] |
//!
//! With the simulator on, [`Sandbox::pods`] sets rules for Pods (they fail, never become ready, …), and defines the programs, ports and
//! logs of containers.
//!
//! # Map of the modules
//!
//! A module uses only modules that stand before it.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `clock`, `depth`, `stack`, `json`, `record`, `meta`, `names` | time and randomness; nesting; JSON; recorded requests; metadata; names |
//! | `go`, `schema`, `patch`, `protobuf` | Go types and texts; structural schemas and CEL; patch formats; Kubernetes protobuf |
//! | `registry`, `builtin` | the served kinds; the built-in kinds with their defaults and validation |
//! | `apply`, `store`, `table`, `error` | server-side apply; objects and their history; tables; the `Status` of a failure |
//! | `authentication`, `authorization`, `fault`, `figures`, `pods` | users; permissions; faults; metrics; containers |
//! | `definitions`, `discovery`, `openapi` | CustomResourceDefinitions; the documents that describe what is served |
//! | `calls` | calls of webhooks |
//! | `core` | the state that all parts share |
//! | `api` | the rules of the API without HTTP |
//! | `controllers` | the controllers and the simulator |
//! | `server` | HTTP |
//! | `sandbox` | [`Sandbox`] and [`Builder`] |

mod api;
mod apply;
mod authentication;
mod authority;
mod authorization;
mod builtin;
mod calls;
mod clock;
mod controllers;
mod core;
mod definitions;
mod depth;
mod discovery;
mod disk;
mod error;
mod fault;
mod figures;
mod go;
#[doc(hidden)]
pub mod internals;
mod json;
mod meta;
mod names;
mod openapi;
mod patch;
mod pods;
mod protobuf;
mod record;
mod registry;
mod sandbox;
mod schema;
mod server;
mod stack;
mod store;
mod table;

pub use api::ExpressionWarning;
pub use fault::{Answer, Faults, RequestMatcher};
pub use figures::{Figures, InvalidQuantity};
pub use pods::{Invocation, PodRule, Pods};
pub use record::RecordedRequest;
pub use sandbox::{BuildError, Builder, Sandbox, Snapshot};
pub use server::{HttpsOptions, HttpsServer};
