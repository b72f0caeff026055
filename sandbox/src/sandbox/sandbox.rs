use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use tokio::io::DuplexStream;
use tokio_util::sync::DropGuard;

use super::builder::Builder;
use super::first_objects;
use super::snapshot::Snapshot;
use crate::api::{ExpressionWarning, check_types};
use crate::authentication::Trust;
use crate::builtin;
use crate::calls::Handler;
use crate::controllers::migrator::migrations;
use crate::controllers::quotas::quotas;
use crate::controllers::simulator::Simulator;
use crate::core::Core;
use crate::definitions;
use crate::fault::Faults;
use crate::figures::Figures;
use crate::pods::Pods;
use crate::record::RecordedRequest;
use crate::registry::{GroupResource, ServedKind};
use crate::server::{HttpsOptions, HttpsServer, serve_connection};

/// A running sandbox. A clone is a handle to the same sandbox, which ends after [`shutdown`](Self::shutdown) or when
/// the last handle is dropped.
#[derive(Clone)]
pub struct Sandbox {
    core: Arc<Core>,
    admin_token: Arc<str>,
    simulates: bool,
    // Connections hold the core too. Only handles keep the sandbox running.
    _running: Arc<DropGuard>,
}

/// The buffer of an in-memory connection, in bytes, in each direction.
const BUFFER: usize = 256 * 1024;

impl Sandbox {
    /// Returns the settings of a new sandbox.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn start(core: Arc<Core>, admin_token: String, simulates: bool) -> Self {
        Self {
            _running: Arc::new(core.cancel.clone().drop_guard()),
            core,
            admin_token: admin_token.into(),
            simulates,
        }
    }

    /// The shared state, for unit tests.
    #[cfg(test)]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The present time of the sandbox, by which it dates objects. With a [seed](Builder::seed) or an [epoch](Builder::epoch) it
    /// follows tokio's clock; otherwise it is the time of the machine.
    pub fn now(&self) -> SystemTime {
        self.core.clock.now().into()
    }

    /// Whether the sandbox only stores objects of a built-in kind, although a controller of a real cluster would act on them.
    /// They are the kinds with a status that nothing in the sandbox writes, such as Ingress, and without the
    /// [simulator](Builder::simulator) also Deployment. The core group is `""`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let sandbox = pilothouse_sandbox::Sandbox::builder().simulator(true).build()?;
    /// assert!(sandbox.only_stores("networking.k8s.io", "Ingress"));
    /// assert!(!sandbox.only_stores("apps", "Deployment"));
    /// // No controller acts on a ConfigMap.
    /// assert!(!sandbox.only_stores("", "ConfigMap"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn only_stores(&self, group: &str, kind: &str) -> bool {
        let written = [
            GroupResource::new("", "namespaces"),
            GroupResource::new("", "nodes"),
            definitions::definitions(),
        ];
        let mut simulated = Simulator::kinds();
        simulated.extend([quotas(), migrations()]);
        let simulated = simulated.iter().filter(|_| self.simulates);
        builtin::kinds()
            .iter()
            .filter(|served| served.group == group && served.kind == kind)
            .filter(|served| served.status || configures_server(served))
            .map(|served| served.group_resource())
            .any(|resource| {
                !written
                    .iter()
                    .chain(simulated.clone())
                    .any(|one| *one == resource)
            })
    }

    /// Opens a connection in memory, for an HTTP/1.1 or HTTP/2 client on the same runtime. A request without a token is
    /// the administrator's.
    pub fn connect(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(BUFFER);
        let core = self.core.clone();
        let cancel = core.cancel.clone();
        self.core
            .spawn(serve_connection(core, server, Trust::Admin, None, cancel));
        client
    }

    /// Listens for HTTPS on `addr`. Port 0 takes a free port.
    ///
    /// # Errors
    /// The error of the listener, for example if the address is in use, or of the certificate.
    pub async fn serve_https(&self, addr: SocketAddr) -> io::Result<HttpsServer> {
        self.serve_https_with(&HttpsOptions::new(addr)).await
    }

    /// Listens for HTTPS as `options` say. As for a real server, the namespace `default` then has the Service `kubernetes`,
    /// with the address of the listener unless that is a loopback address.
    ///
    /// # Errors
    /// As [`serve_https`](Self::serve_https). `InvalidInput` if a given certificate, key or authority cannot be used.
    pub async fn serve_https_with(&self, options: &HttpsOptions) -> io::Result<HttpsServer> {
        let server = HttpsServer::start(&self.core, options).await?;
        if let Err(error) = first_objects::publish_service(&self.core, server.addr()) {
            tracing::warn!(%error, "the sandbox listens, but it cannot create the Service default/kubernetes or its endpoints");
        }
        // Only now: the task that creates the Service again waits for a listener, and must not create it at the same time.
        self.core.listener.send_replace(Some(server.addr()));
        Ok(server)
    }

    /// A kubeconfig for `server` as YAML, with the certificate authority, the administrator's token and the context
    /// `sandbox`.
    pub fn kubeconfig(&self, server: &HttpsServer) -> String {
        let addr = server.addr();
        let addr = if addr.ip().is_unspecified() {
            SocketAddr::from(([127, 0, 0, 1], addr.port()))
        } else {
            addr
        };
        let ca = STANDARD.encode(server.ca_pem());
        let token = &self.admin_token;
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: sandbox\nclusters:\n- name: sandbox\n  cluster:\n    server: https://{addr}\n    \
             certificate-authority-data: {ca}\nusers:\n- name: sandbox\n  user:\n    token: {token}\ncontexts:\n- name: sandbox\n  \
             context:\n    cluster: sandbox\n    user: sandbox\n    namespace: default\n"
        )
    }

    /// Lets a handler in Rust stand for a webhook that the server calls: for admission or for the conversion of custom resources.
    ///
    /// `of` is a Service, `namespace/name`, or a URL without its path, `https://host:port`. The handler gets each request that the server would send
    /// there. Nothing leaves the process, so it works on a paused clock, and certificates are not verified. It replaces an earlier handler or address.
    ///
    /// ```
    /// use hyper::body::Bytes;
    /// use serde_json::{Value, json};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let sandbox = pilothouse_sandbox::Sandbox::builder().build()?;
    /// sandbox.webhook("default/rules", |request: hyper::Request<Bytes>| async move {
    ///     let review: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    ///     let answer = json!({
    ///         "apiVersion": "admission.k8s.io/v1",
    ///         "kind": "AdmissionReview",
    ///         "response": {"uid": review["request"]["uid"], "allowed": true},
    ///     });
    ///     hyper::Response::new(answer.to_string().into())
    /// });
    /// # Ok(())
    /// # }
    /// ```
    pub fn webhook<F, R>(&self, of: &str, handler: F)
    where
        F: Fn(Request<Bytes>) -> R + Send + Sync + 'static,
        R: Future<Output = Response<Bytes>> + Send + 'static,
    {
        self.core.calls.handle(of, Handler::new(handler));
    }

    /// Checks the expressions of a ValidatingAdmissionPolicy or MutatingAdmissionPolicy for the types of the kinds that it names, and that this
    /// server serves. The server itself evaluates expressions without these types, so that a field that no object has fails only when a request
    /// comes. In a cluster, a controller makes this check for validating policies, and writes the result into `status.typeChecking`.
    ///
    /// Times are texts, and quantities and numbers with a point are not checked, as they are when an expression is evaluated.
    ///
    /// ```
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let sandbox = pilothouse_sandbox::Sandbox::builder().build()?;
    /// let rule = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]});
    /// let warnings = sandbox.check_expressions(&json!({
    ///     "kind": "ValidatingAdmissionPolicy",
    ///     "spec": {
    ///         "matchConstraints": {"resourceRules": [rule]},
    ///         "validations": [{"expression": "size(object.dota) < 10"}],
    ///     },
    /// }));
    /// assert_eq!(warnings[0].field, "spec.validations[0].expression");
    /// assert!(warnings[0].warning.contains("undefined field 'dota'"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn check_expressions(&self, policy: &serde_json::Value) -> Vec<ExpressionWarning> {
        check_types(&self.core, policy)
    }

    /// The interface to inject faults.
    pub fn faults(&self) -> &Faults {
        &self.core.faults
    }

    /// The metrics that HorizontalPodAutoscalers follow.
    pub fn figures(&self) -> &Figures {
        &self.core.figures
    }

    /// The interface to define what simulated Pods and their containers do.
    pub fn pods(&self) -> Pods<'_> {
        Pods::new(&self.core.clock, &self.core.store, &self.core.containers)
    }

    /// Keeps all objects as they are now, to [`restore`](Self::restore) them later: for example between the tests of a suite that shares one
    /// sandbox.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(Arc::new(self.core.store.save()))
    }

    /// Brings back the objects of a snapshot, with their UIDs and resource versions, and removes all others. CustomResourceDefinitions are objects, too: what they
    /// define is served again shortly after.
    ///
    /// Running watches get an ERROR event of code 410, as from a server whose history does not reach back to them, so clients list
    /// again. New writes get higher resource versions than all before. Tokens, faults and recorded requests stay as they are.
    pub fn restore(&self, snapshot: &Snapshot) {
        self.core.store.restore(&snapshot.0);
    }

    /// As [`restore`](Self::restore), but resource versions go back, too: they count on from those of the snapshot, as after etcd was restored from a
    /// backup. So a resource version may come again for another state. All watches break, and a watch that then begins at a resource version from before the
    /// restore is silent until the server gets there.
    pub fn rewind(&self, snapshot: &Snapshot) {
        self.core.rewind(&snapshot.0);
    }

    /// The resource version of the last write.
    pub fn resource_version(&self) -> u64 {
        self.core.store.version()
    }

    /// Moves the clock of the sandbox forward. What was due meanwhile happens at once, as when time passes over a machine that sleeps: for what
    /// happens on the way, such as each run of a CronJob, move it in small steps.
    ///
    /// By this clock the sandbox dates objects and runs the [simulator](Builder::simulator), and tokens expire. Faults, and the time limits of requests and
    /// watches, follow tokio's clock.
    pub fn advance_clock(&self, by: Duration) {
        self.core.clock.advance(by);
    }

    /// Stops the clock of the sandbox, until [`resume_clock`](Self::resume_clock). A stopped clock can be moved forward.
    pub fn pause_clock(&self) {
        self.core.clock.pause();
    }

    /// Lets a stopped clock run on from where it stands.
    pub fn resume_clock(&self) {
        self.core.clock.resume();
    }

    /// The last answered requests, oldest first. [`Builder::request_log`] limits their number.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.core.log.all()
    }

    /// Removes all recorded requests.
    pub fn clear_requests(&self) {
        self.core.log.clear();
    }

    /// Ends every connection and task, and waits for them. With a [data folder](Builder::data) every change is on the disk then, and the folder is free for another
    /// sandbox after the last handle is dropped.
    pub async fn shutdown(&self) {
        self.core.cancel.cancel();
        self.core.tasks.close();
        self.core.tasks.wait().await;
        // Requests that failed for the disk said so.
        let _ = self.core.store.flushed().await;
    }
}

/// Whether objects of a kind without a status configure a part of a real server.
fn configures_server(kind: &ServedKind) -> bool {
    kind.group == "admissionregistration.k8s.io" || kind.kind == "NetworkPolicy"
}
