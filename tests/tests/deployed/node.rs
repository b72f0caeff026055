//! A node of the cluster. It starts the programs of the operators' pods as a kubelet and its container runtime do, asks their probes, and
//! reports both. Other pods have no programs: they become ready at once, and those of Jobs succeed.

use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    net::{Ipv4Addr, SocketAddr},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use pilothouse::{
    client::{Api, Client, DeleteParams, Error, ListParams, Patch, PatchParams, PostParams},
    k8s::api::{
        authentication::v1::TokenRequest,
        core::v1::{Binding, ConfigMap, Node, ObjectReference, Pod, ServiceAccount},
    },
    resource::Object,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::task::AbortOnDropHandle;

use crate::{images::Images, probe::Probe, services};

const NAME: &str = "node";
/// The user and the group of `examples/Dockerfile`.
const USER_OF_IMAGE: u64 = 65_532;
/// The time between two looks at the pods.
const PASS: Duration = Duration::from_millis(200);

/// A program that runs.
#[derive(Clone)]
pub(crate) struct Replica {
    pub(crate) pod: String,
    pub(crate) process: u32,
    /// Where the pod serves metrics and health.
    pub(crate) address: SocketAddr,
    namespace: String,
    labels: Value,
    /// The ports of its container.
    ports: Value,
    is_ready: bool,
}

/// A program that has ended after its pod was deleted.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) pod: String,
    /// The exit code. `None` if the program was killed.
    pub(crate) code: Option<i32>,
    /// What it has changed in its file system.
    pub(crate) changed: Vec<String>,
}

#[derive(Default)]
pub(crate) struct Seen {
    replicas: BTreeMap<String, Replica>,
    ends: Vec<End>,
    faults: Vec<String>,
}

impl Seen {
    /// The pods to which a Service leads, with their port `target`.
    pub(crate) fn backends(&self, service: &Value, target: &Value) -> Vec<SocketAddr> {
        let selector = service["spec"]["selector"].as_object().unwrap();
        let all = service["spec"]["publishNotReadyAddresses"] == true;
        let chosen = self.replicas.values().filter(|one| {
            let mut labels = selector.iter();
            one.namespace == service["metadata"]["namespace"]
                && (one.is_ready || all)
                && labels.all(|(name, value)| one.labels[name] == *value)
        });
        let backends = chosen.filter_map(|one| {
            let mut ports = one.ports.as_array().into_iter().flatten();
            let port = ports.find(|port| port["name"] == *target)?;
            let number = port["containerPort"].as_u64().unwrap();
            Some(SocketAddr::new(
                one.address.ip(),
                number.try_into().unwrap(),
            ))
        });
        backends.collect()
    }
}

/// The node, which ends with all its programs when this is dropped.
pub(crate) struct Kubelet {
    seen: Arc<Mutex<Seen>>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl Kubelet {
    /// Registers the node. `server` is the address of the API server.
    pub(crate) async fn start(client: &Client, server: SocketAddr, images: Arc<Images>) -> Self {
        let nodes = Api::<Node>::all(client);
        let node = Node::named(NAME);
        nodes.create(&PostParams::default(), &node).await.unwrap();
        let seen = Arc::<Mutex<Seen>>::default();
        let mut worker = Worker {
            client: client.clone(),
            server,
            folder: images.folder(),
            images,
            programs: BTreeMap::new(),
            seen: seen.clone(),
        };
        let task = tokio::spawn(async move {
            loop {
                worker.pass().await;
                tokio::time::sleep(PASS).await;
            }
        });
        let proxy = tokio::spawn(services::serve(client.clone(), seen.clone()));
        Self {
            seen,
            _tasks: [task, proxy].map(AbortOnDropHandle::new),
        }
    }

    /// The programs of an operator that run.
    pub(crate) fn replicas(&self, operator: &str) -> Vec<Replica> {
        let prefix = format!("{operator}-");
        let seen = self.seen.lock();
        let own = seen
            .replicas
            .values()
            .filter(|one| one.pod.starts_with(&prefix));
        own.cloned().collect()
    }

    pub(crate) fn end_of(&self, pod: &str) -> Option<End> {
        self.seen
            .lock()
            .ends
            .iter()
            .find(|end| end.pod == pod)
            .cloned()
    }

    /// What a kubelet would have reported as a failure: programs that ended by themselves, and probes of life that failed.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.seen.lock().faults.clone()
    }
}

struct Worker {
    client: Client,
    server: SocketAddr,
    images: Arc<Images>,
    folder: TempDir,
    programs: BTreeMap<String, Program>,
    seen: Arc<Mutex<Seen>>,
}

/// The program of a pod.
struct Program {
    child: Child,
    address: SocketAddr,
    root: PathBuf,
    /// The files at the start.
    files: Vec<String>,
    readiness: Probe,
    liveness: Probe,
    is_ready: bool,
    /// The time that it has to stop.
    grace: Duration,
    /// When it has to be killed.
    deadline: Option<Instant>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    async fn pass(&mut self) {
        let pods = Api::<Pod>::all(&self.client)
            .list(&ListParams::default())
            .await;
        let pods = pods.unwrap().items;
        let gone = self.programs.keys().cloned();
        let gone = gone.filter(|name| !pods.iter().any(|pod| pod.name() == name));
        for name in gone.collect::<Vec<_>>() {
            self.has_stopped(&name);
        }
        for pod in pods {
            // Another client may have changed or deleted the pod meanwhile: the next pass sees that.
            if let Err(error) = self.handle(&pod).await
                && !(error.is_conflict() || error.is_not_found())
            {
                self.seen.lock().faults.push(error.to_string());
            }
        }
    }

    async fn handle(&mut self, pod: &Pod) -> Result<(), Error> {
        let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name());
        let pods = Api::<Pod>::namespaced(&self.client, namespace);
        let stored = serde_json::to_value(pod).unwrap();
        let is_deleted = !stored["metadata"]["deletionTimestamp"].is_null();
        if stored["spec"]["nodeName"].is_null() {
            let target = ObjectReference {
                kind: Some("Node".into()),
                name: Some(NAME.into()),
                ..ObjectReference::default()
            };
            let binding = Binding {
                target,
                ..Binding::named(name)
            };
            return pods.bind(name, &PostParams::default(), &binding).await;
        }
        let image = stored["spec"]["containers"][0]["image"]
            .as_str()
            .unwrap_or_default();
        let operator = image.strip_prefix("registry.example.com/");
        let phase = stored["status"]["phase"].as_str().unwrap_or_default();
        match operator.and_then(|image| image.strip_suffix(":1.0")) {
            _ if is_deleted => {
                if self.has_stopped(name) {
                    let at_once = DeleteParams::default().grace_period(Duration::ZERO);
                    pods.delete(name, &at_once).await?;
                }
                Ok(())
            }
            Some(operator) if !self.programs.contains_key(name) => {
                let program = self.start(operator, &stored).await?;
                let replica = Replica {
                    pod: name.to_owned(),
                    process: program.child.id(),
                    address: program.address,
                    namespace: namespace.to_owned(),
                    labels: stored["metadata"]["labels"].clone(),
                    ports: stored["spec"]["containers"][0]["ports"].clone(),
                    is_ready: false,
                };
                self.seen.lock().replicas.insert(name.to_owned(), replica);
                report(&pods, &stored, Some(program.address), false).await?;
                self.programs.insert(name.to_owned(), program);
                Ok(())
            }
            Some(_) => self.probe(&pods, &stored).await,
            None if phase != "Pending" => Ok(()),
            None if stored["metadata"]["ownerReferences"][0]["kind"] == "Job" => {
                let ended = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
                pods.patch_status(name, &PatchParams::default(), &ended)
                    .await
                    .map(drop)
            }
            None => report(&pods, &stored, None, true).await,
        }
    }

    /// Stops the program of a deleted pod in its time. Returns whether it has ended.
    fn has_stopped(&mut self, name: &str) -> bool {
        let Some(program) = self.programs.get_mut(name) else {
            return true;
        };
        let deadline = *program.deadline.get_or_insert_with(|| {
            if let Some(replica) = self.seen.lock().replicas.get_mut(name) {
                replica.is_ready = false;
            }
            let process = program.child.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &process]).status();
            Instant::now() + program.grace
        });
        if Instant::now() > deadline {
            let _ = program.child.kill();
        }
        let Some(status) = program.child.try_wait().unwrap() else {
            return false;
        };
        let mut changed = files(&program.root);
        changed.retain(|file| !program.files.contains(file));
        self.programs.remove(name);
        let mut seen = self.seen.lock();
        seen.replicas.remove(name);
        seen.ends.push(End {
            pod: name.to_owned(),
            code: status.code(),
            changed,
        });
        true
    }

    async fn probe(&mut self, pods: &Api<Pod>, pod: &Value) -> Result<(), Error> {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let Some(program) = self.programs.get_mut(name) else {
            return Ok(());
        };
        if let Some(status) = program.child.try_wait().unwrap() {
            let fault = format!("{name} ended by itself with {status}: {}", self.log(name));
            let mut seen = self.seen.lock();
            if !seen.faults.contains(&fault) {
                seen.faults.push(fault);
            }
            return Ok(());
        }
        let address = program.address;
        let life = program.liveness.clone();
        let readiness = program.readiness.clone();
        let (life, readiness) = tokio::task::spawn_blocking(move || {
            let (mut life, mut readiness) = (life, readiness);
            life.ask(address);
            readiness.ask(address);
            (life, readiness)
        })
        .await
        .unwrap();
        let is_ready = match readiness.failures {
            0 => true,
            failures if failures >= readiness.threshold => false,
            _ => program.is_ready,
        };
        let has_changed = is_ready != program.is_ready;
        let is_dead = life.failures >= life.threshold;
        (program.liveness, program.readiness, program.is_ready) = (life, readiness, is_ready);
        if is_dead {
            let fault = format!("the probe of life of {name} fails: {}", self.log(name));
            self.seen.lock().faults.push(fault);
        }
        if has_changed {
            if let Some(replica) = self.seen.lock().replicas.get_mut(name) {
                replica.is_ready = is_ready;
            }
            report(pods, pod, Some(address), is_ready).await?;
        }
        Ok(())
    }

    fn log(&self, pod: &str) -> String {
        fs::read_to_string(self.folder.path().join(format!("{pod}.log"))).unwrap_or_default()
    }

    /// Starts the program of a pod.
    async fn start(&mut self, operator: &str, pod: &Value) -> Result<Program, Error> {
        let (metadata, spec) = (&pod["metadata"], &pod["spec"]);
        let container = &spec["containers"][0];
        let name = metadata["name"].as_str().unwrap();
        let root = self.folder.path().join(name);
        link(&self.images.root(operator), &root);
        self.mount(pod, &root).await?;
        let security = &spec["securityContext"];
        assert_eq!(security["runAsNonRoot"], true);
        // The manifests leave the user to the image.
        let id = |field: &str| security[field].as_u64().unwrap_or(USER_OF_IMAGE);
        let user = (id("runAsUser"), id("runAsGroup"));

        let ports = container["ports"].as_array().unwrap();
        let port = ports[0]["containerPort"].as_u64().unwrap();
        let program = operator.replace('-', "_").to_uppercase();
        let variable = |endpoint: &str| format!("{program}_{endpoint}_ADDRESS");
        let address = SocketAddr::new(address().into(), port.try_into().unwrap());
        let log = File::create(self.folder.path().join(format!("{name}.log"))).unwrap();
        let mut command = Command::new("/usr/bin/setpriv");
        if container["securityContext"]["allowPrivilegeEscalation"] == false {
            command.arg("--no-new-privs");
        }
        command
            .arg("/usr/sbin/chroot")
            .arg(format!("--userspec={}:{}", user.0, user.1))
            .arg("--groups=")
            .arg(&root)
            .arg("/program")
            .args(
                container["args"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str),
            )
            .env_clear()
            .env("HOSTNAME", name)
            .env("KUBERNETES_SERVICE_HOST", self.server.ip().to_string())
            .env("KUBERNETES_SERVICE_PORT", self.server.port().to_string())
            .env(variable("METRICS"), address.to_string());
        // Only an operator with webhooks knows this setting.
        if let Some(webhook) = ports.iter().find(|port| port["name"] == "webhook") {
            let webhook = format!("{}:{}", address.ip(), webhook["containerPort"]);
            command.env(variable("WEBHOOK"), webhook);
        }
        for variable in container["env"].as_array().into_iter().flatten() {
            let field = variable["valueFrom"]["fieldRef"]["fieldPath"].as_str();
            let value = field.map_or(&variable["value"], |path| field_of(pod, path));
            command.env(
                variable["name"].as_str().unwrap(),
                value.as_str().unwrap_or_default(),
            );
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Ok(Program {
            child,
            address,
            files: files(&root),
            root,
            readiness: Probe::of(&container["readinessProbe"], container),
            liveness: Probe::of(&container["livenessProbe"], container),
            is_ready: false,
            grace: Duration::from_secs(spec["terminationGracePeriodSeconds"].as_u64().unwrap()),
            deadline: None,
        })
    }

    /// Makes the volumes of a pod: what its manifests mount, and the projected volume that the server adds.
    async fn mount(&self, pod: &Value, root: &Path) -> Result<(), Error> {
        let (metadata, spec) = (&pod["metadata"], &pod["spec"]);
        let namespace = metadata["namespace"].as_str().unwrap();
        let mounts = spec["containers"][0]["volumeMounts"].as_array();
        for mount in mounts.into_iter().flatten() {
            let volumes = spec["volumes"].as_array().unwrap();
            let volume = volumes
                .iter()
                .find(|volume| volume["name"] == mount["name"])
                .unwrap();
            let path = mount["mountPath"].as_str().unwrap();
            let folder = root.join(path.trim_start_matches('/'));
            fs::create_dir_all(&folder).unwrap();
            let write = |path: &Value, text: &str| {
                fs::write(folder.join(path.as_str().unwrap()), text).unwrap();
            };
            if volume["emptyDir"].is_object() {
                // Everybody may write there, as on a node.
                fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
                continue;
            }
            if let Some(map) = volume.get("configMap") {
                let maps = Api::<ConfigMap>::namespaced(&self.client, namespace);
                let stored = maps.get(map["name"].as_str().unwrap()).await?;
                for (name, text) in stored.data.unwrap_or_default() {
                    write(&json!(name), &text);
                }
                continue;
            }
            for source in volume["projected"]["sources"].as_array().unwrap() {
                if let Some(token) = source.get("serviceAccountToken") {
                    let accounts = Api::<ServiceAccount>::namespaced(&self.client, namespace);
                    let bound = json!({"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]});
                    let request = json!({"spec": {
                        "audiences": [], "expirationSeconds": token["expirationSeconds"], "boundObjectRef": bound,
                    }});
                    let request: TokenRequest = serde_json::from_value(request).unwrap();
                    let account = spec["serviceAccountName"].as_str().unwrap();
                    let params = PostParams::default();
                    let made = accounts.create_token(account, &params, &request).await?;
                    let made = made.status.and_then(|status| status.token);
                    write(&token["path"], &made.unwrap());
                }
                if let Some(map) = source.get("configMap") {
                    let maps = Api::<ConfigMap>::namespaced(&self.client, namespace);
                    let stored = maps.get(map["name"].as_str().unwrap()).await?;
                    let data = stored.data.unwrap_or_default();
                    for item in map["items"].as_array().unwrap() {
                        write(&item["path"], &data[item["key"].as_str().unwrap()]);
                    }
                }
                for item in source["downwardAPI"]["items"]
                    .as_array()
                    .into_iter()
                    .flatten()
                {
                    let field = field_of(pod, item["fieldRef"]["fieldPath"].as_str().unwrap());
                    write(&item["path"], field.as_str().unwrap());
                }
            }
        }
        Ok(())
    }
}

/// An address of the loopback network that no other pod has, of this process or of another one.
fn address() -> Ipv4Addr {
    static PODS: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = std::process::id().to_be_bytes();
    // 127.0 is left to others.
    Ipv4Addr::new(127, high | 0x80, low, PODS.fetch_add(1, Ordering::Relaxed))
}

/// A field by its path with dots.
fn field_of<'a>(pod: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(pod, |value, part| &value[part])
}

/// Writes the state of a pod with one container.
async fn report(
    pods: &Api<Pod>,
    pod: &Value,
    address: Option<SocketAddr>,
    is_ready: bool,
) -> Result<(), Error> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let ready = if is_ready { "True" } else { "False" };
    let created = &pod["metadata"]["creationTimestamp"];
    let condition =
        |kind: &str| json!({"type": kind, "status": ready, "lastTransitionTime": created});
    let container = &pod["spec"]["containers"][0];
    let mut status = json!({
        "phase": "Running",
        "conditions": [condition("Ready"), condition("ContainersReady")],
        "containerStatuses": [{
            "name": container["name"], "image": container["image"], "imageID": "", "ready": is_ready, "started": true,
            "restartCount": 0, "state": {"running": {"startedAt": created}},
        }],
    });
    if let Some(address) = address {
        status["podIP"] = json!(address.ip());
        status["podIPs"] = json!([{"ip": address.ip()}]);
    }
    let patch = Patch::Merge(json!({"status": status}));
    pods.patch_status(name, &PatchParams::default(), &patch)
        .await
        .map(drop)
}

/// Makes a file system of the same files. They are not copied: a file that was open for writing a moment ago may not be started.
fn link(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => link(&entry.path(), &place),
            false => fs::hard_link(entry.path(), &place).unwrap(),
        }
    }
}

/// All files with their sizes, but for those in the volume that the examples may write.
fn files(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_name() == "target" {
        } else if entry.file_type().unwrap().is_dir() {
            all.extend(files(&path));
        } else {
            all.push(format!(
                "{} {}",
                path.display(),
                entry.metadata().unwrap().len()
            ));
        }
    }
    all
}
