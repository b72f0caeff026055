//! Clusters: a Secret, a ConfigMap, two Services, volumes and a StatefulSet for each.

use std::hash::Hasher;

use pilothouse::{
    client::Patch,
    controller::Child,
    k8s::{
        ByteString,
        api::{
            apps::v1::{StatefulSet, StatefulSetSpec},
            core::v1::{
                ConfigMapVolumeSource, ContainerPort, EnvVar, EnvVarSource, PersistentVolumeClaim,
                PersistentVolumeClaimSpec, SecretKeySelector, ServicePort, ServiceSpec,
                VolumeResourceRequirements,
            },
        },
        apimachinery::pkg::api::resource::Quantity,
    },
    prelude::*,
    resource::{Conditions, NewCondition, ObjectKey},
};
use serde_json::json;
use siphasher::sip::SipHasher13;

use crate::password::{self, PASSWORD};

/// The label with the name of the Cluster.
pub const CLUSTER: &str = "postgres.example.com/cluster";
/// The annotation of Pods with a hash of what they read only at their start.
pub const SETTINGS: &str = "postgres.example.com/settings";
/// The annotation of a claim with its size as the Cluster writes it.
const STORAGE: &str = "postgres.example.com/storage";
/// The condition that says whether all servers are ready, with the newest settings.
const AVAILABLE: &str = "Available";
const PORT: i32 = 5432;

/// A Postgres cluster.
#[derive(Resource, Clone, Debug)]
#[resource(group = "postgres.example.com", version = "v1", namespaced)]
pub struct Cluster {
    pub metadata: ObjectMeta,
    pub spec: ClusterSpec,
    pub status: Option<ClusterStatus>,
}

/// The desired cluster.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// The version of Postgres, such as `17` or `17.2`.
    #[schema(pattern = r"^[0-9]+(\.[0-9]+)?$", column = "Version")]
    pub version: String,
    /// The size of each volume. It may grow.
    #[schema(rule(
        "quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0",
        "storage must not shrink"
    ))]
    pub storage: Quantity,
    /// The number of servers.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 9)]
    pub instances: i32,
    /// Settings for `postgresql.conf`.
    #[serde(default)]
    #[schema(rule(
        "self.all(name, name.matches('^[a-z][a-z0-9_.]*$'))",
        "a parameter has lower-case letters, digits, `_` and `.`"
    ))]
    pub parameters: BTreeMap<String, String>,
    /// What happens with the volumes when the Cluster is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
}

#[derive(Schema, Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub enum DeletionPolicy {
    #[default]
    Retain,
    Delete,
}

/// The state of the cluster.
#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    #[schema(column = "Phase")]
    pub phase: Phase,
    /// The number of servers that are ready.
    #[schema(column = "Ready")]
    pub ready_instances: i32,
    /// `Available`, and `Ready` of the framework.
    pub conditions: Vec<Condition>,
}

#[derive(Schema, Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub enum Phase {
    /// Some servers are not ready.
    #[default]
    Starting,
    /// All servers are ready, some with old settings.
    Rolling,
    Ready,
}

fn one() -> i32 {
    1
}

pub struct ClusterReconciler;

impl Reconciler for ClusterReconciler {
    type Resource = Cluster;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<Secret>()
            // A Secret that a person restores has no owner.
            .watches_indexed::<Secret>(superuser)
            .owns::<ConfigMap>()
            .owns::<Service>()
            .owns::<StatefulSet>()
            // Claims that are retained have no owner.
            .writes::<PersistentVolumeClaim>()
            .watches::<PersistentVolumeClaim>(|claim| {
                let cluster = claim.label(CLUSTER);
                let key = cluster.map(|cluster| ObjectKey::new(claim.namespace(), cluster));
                key.into_iter().collect()
            })
    }

    async fn reconcile(&self, cluster: Arc<Cluster>, cx: &Context<Cluster>) -> Result<Action> {
        let password = superuser_password(&cluster, cx)?;
        let secret = password::secret(&cluster.child("superuser"), "postgres", password);
        // A person may have restored it.
        let secret = cx.apply_child(Child::new(secret).adopting()).await?;
        secret.ready_or_wait()?;
        let config = cx.apply(cluster.config()).await?;
        config.ready_or_wait()?;
        for service in [cluster.headless(), cluster.primary()] {
            cx.apply(service).await?.ready_or_wait()?;
        }
        // Nobody waits for the claims: a class may bind them only when a Pod uses them.
        for instance in 0..cluster.spec.instances {
            keep_claim(&cluster, instance, cx).await?;
        }
        let servers = cx
            .apply(cluster.servers(&settings(&secret, &config)))
            .await?;
        let ready = servers
            .status
            .as_ref()
            .and_then(|status| status.ready_replicas);
        let available = match servers.ready_or_wait() {
            Ok(_) => NewCondition::is_true(AVAILABLE, "ServersReady"),
            Err(why) => {
                NewCondition::is_false(AVAILABLE, "ServersNotReady").message(why.to_string())
            }
        };
        cx.modify_status(|status| {
            status.ready_instances = ready.unwrap_or_default();
            status.phase = match servers.is_ready() {
                true => Phase::Ready,
                false if status.ready_instances < cluster.spec.instances => Phase::Starting,
                false => Phase::Rolling,
            };
            // Without a condition, this first status would make the Cluster ready for its Databases.
            let available = available.observed(&*cluster);
            status.conditions.set(available, cx.now())
        })
        .await??;
        servers.ready_or_wait()?;
        Ok(Action::wait())
    }
}

/// The Secret of a Cluster.
fn superuser(cluster: &Cluster) -> Option<ObjectKey> {
    Some(ObjectKey::new(
        cluster.namespace(),
        &cluster.child("superuser"),
    ))
}

/// The password that exists, or a new one for a cluster that has no servers yet.
fn superuser_password(cluster: &Cluster, cx: &Context<Cluster>) -> Result<ByteString> {
    let name = cluster.child("superuser");
    match password::existing(cx, &name)? {
        Some(password) => Ok(password),
        None if cx.get::<StatefulSet>(cluster.name())?.is_none() => password::generate(),
        // The servers know only the old one.
        None => Err(Failure::waiting(format!(
            "the password in the Secret {name} is gone: restore it"
        ))),
    }
}

/// Creates or grows the claim of an instance. The deletion policy decides whether the Cluster owns it.
async fn keep_claim(cluster: &Cluster, instance: i32, cx: &Context<Cluster>) -> Result<()> {
    let wanted = cluster.claim(instance);
    let claim = match cx.get::<PersistentVolumeClaim>(wanted.name())? {
        Some(claim) => claim,
        None => Arc::new(cx.create(wanted.clone()).await?),
    };
    let claim = match cluster.spec.deletion_policy {
        DeletionPolicy::Delete => cx.adopt(&*claim).await?,
        DeletionPolicy::Retain => cx.release(&*claim).await?,
    };
    if claim.annotation(STORAGE) != Some(&cluster.spec.storage.0) {
        let patch = json!({"metadata": {"annotations": wanted.metadata.annotations}, "spec": {"resources": {"requests": {"storage": cluster.spec.storage}}}});
        cx.patch::<PersistentVolumeClaim>(&claim.key(), &Patch::Merge(patch))
            .await?;
    }
    Ok(())
}

/// A hash of the configuration and the password, the same in each version of the program.
fn settings(secret: &Secret, config: &ConfigMap) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(json!([secret.data, config.data]).to_string().as_bytes());
    format!("{:016x}", hasher.finish())
}

impl Cluster {
    fn child(&self, part: &str) -> String {
        format!("{}-{part}", self.name())
    }

    fn labels(&self) -> Labels {
        Labels::from([(CLUSTER, self.name())])
    }

    fn config(&self) -> ConfigMap {
        let lines = self.spec.parameters.iter().map(|(name, value)| {
            let value = value.replace('\'', "''").replace(['\n', '\r'], " ");
            format!("{name} = '{value}'\n")
        });
        ConfigMap {
            data: Some([("postgresql.conf".into(), lines.collect())].into()),
            ..ConfigMap::named(self.child("config"))
        }
    }

    fn headless(&self) -> Service {
        service(&self.child("headless"), Some("None"), &self.labels())
    }

    /// The Service of the first server, which is the primary.
    fn primary(&self) -> Service {
        let first = format!("{}-0", self.name());
        let first = Labels::from([("statefulset.kubernetes.io/pod-name", first)]);
        service(&self.child("primary"), None, &first)
    }

    /// The claim with the name that the StatefulSet expects, so that it creates none itself.
    fn claim(&self, instance: i32) -> PersistentVolumeClaim {
        let mut claim = claim(
            &format!("data-{}-{instance}", self.name()),
            &self.spec.storage,
        );
        claim.metadata.labels = Some(self.labels().map());
        claim.metadata.annotations = Some([(STORAGE.into(), self.spec.storage.0.clone())].into());
        claim
    }

    fn servers(&self, settings: &str) -> StatefulSet {
        let labels = self.labels();
        let password = EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: self.child("superuser"),
                key: PASSWORD.into(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let postgres = Container {
            name: "postgres".into(),
            image: Some(format!("postgres:{}", self.spec.version)),
            args: Some(vec![
                "-c".into(),
                "config_file=/etc/postgres/postgresql.conf".into(),
            ]),
            env: Some(vec![EnvVar {
                name: "POSTGRES_PASSWORD".into(),
                value_from: Some(password),
                ..Default::default()
            }]),
            ports: Some(vec![ContainerPort {
                container_port: PORT,
                ..Default::default()
            }]),
            volume_mounts: Some(vec![
                mount("data", "/var/lib/postgresql/data"),
                mount("config", "/etc/postgres"),
            ]),
            ..Default::default()
        };
        let config = Volume {
            name: "config".into(),
            config_map: Some(ConfigMapVolumeSource {
                name: self.child("config"),
                ..Default::default()
            }),
            ..Default::default()
        };
        let mut pods = labels.metadata();
        pods.annotations = Some([(SETTINGS.into(), settings.into())].into());
        StatefulSet {
            spec: StatefulSetSpec {
                replicas: Some(self.spec.instances),
                service_name: Some(self.child("headless")),
                selector: labels.selector(),
                template: PodTemplateSpec {
                    metadata: Some(pods),
                    spec: Some(PodSpec {
                        containers: vec![postgres],
                        volumes: Some(vec![config]),
                        ..Default::default()
                    }),
                },
                // A template cannot change. It names the claims; their size is that of the claims that exist.
                volume_claim_templates: Some(vec![claim("data", &Quantity("1Gi".into()))]),
                ..Default::default()
            },
            ..StatefulSet::named(self.name())
        }
    }
}

fn service(name: &str, cluster_ip: Option<&str>, selected: &Labels) -> Service {
    Service {
        spec: Some(ServiceSpec {
            cluster_ip: cluster_ip.map(Into::into),
            selector: Some(selected.map()),
            ports: Some(vec![ServicePort {
                port: PORT,
                ..Default::default()
            }]),
            ..Default::default()
        }),
        ..Service::named(name)
    }
}

fn claim(name: &str, size: &Quantity) -> PersistentVolumeClaim {
    PersistentVolumeClaim {
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".into()]),
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".into(), size.clone())].into()),
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..PersistentVolumeClaim::named(name)
    }
}

fn mount(volume: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: volume.into(),
        mount_path: path.into(),
        ..Default::default()
    }
}
