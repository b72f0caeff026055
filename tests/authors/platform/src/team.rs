//! Gives each namespace of a team its ConfigMap, Secret, ServiceAccount and RoleBinding.

use pilothouse::{
    client::Client,
    controller::{Mapping, Owned, Watched},
    k8s::api::{
        core::v1::{Namespace, ServiceAccount},
        rbac::v1::{RoleBinding, RoleRef, Subject},
    },
    prelude::*,
    resource::{AccessRule, ObjectKey},
};

/// The label of a namespace that names its team.
pub const TEAM: &str = "platform.example.com/team";
/// The label of the source Secret and of its copies. The operator caches no other Secrets.
pub const SHARED: &str = "platform.example.com/shared";
/// The name of the source Secret in the operator's namespace.
pub const SOURCE: &str = "team-source";

const COPY: &str = "team-secret";
const RBAC: &str = "rbac.authorization.k8s.io";

pub(crate) struct TeamReconciler {
    source: ObjectKey,
}

impl TeamReconciler {
    pub(crate) fn new(client: &Client) -> Self {
        Self {
            source: ObjectKey::namespaced(client.default_namespace(), SOURCE),
        }
    }
}

impl Reconciler for TeamReconciler {
    type Resource = Namespace;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let source = self.source.clone();
        let users = Mapping::<Secret>::changes(move |change, caches| {
            if change
                .objects()
                .into_iter()
                .all(|secret| secret.key() != source)
            {
                return Ok(Vec::new());
            }
            let namespaces = caches.indexed(has_team, &true)?;
            Ok(namespaces.iter().map(|namespace| namespace.key()).collect())
        });
        controller
            .watch(Owned::<ConfigMap>::new().pruned())
            .watch(Owned::<Secret>::new().pruned())
            .watch(Owned::<ServiceAccount>::new().pruned())
            .watch(Owned::<RoleBinding>::new().pruned())
            .index(has_team)
            .watch(Watched::new(users))
            // The API server demands this of whoever binds a role.
            .access(AccessRule::new(RBAC, "clusterroles", ["bind"]).named("edit"))
    }

    async fn reconcile(&self, namespace: Arc<Namespace>, cx: &Context<Namespace>) -> Result {
        // What is not applied here is pruned.
        let Some(team) = team(&namespace).filter(|_| !namespace.is_deleting()) else {
            return Ok(Action::wait());
        };
        let name = namespace.name();
        cx.apply(ConfigMap {
            data: Some([("team".into(), team.into())].into()),
            ..within(name, "team-info")
        })
        .await?;
        cx.apply(within::<ServiceAccount>(name, "team")).await?;
        cx.apply(binding(name, team)).await?;
        let source = cx.get_in::<Secret>(self.source.namespace().unwrap_or_default(), SOURCE)?;
        let Some(source) = source else {
            // A Namespace has no condition `Ready`, so only an Event shows what the reconcile waits for.
            let missing = format!("the Secret {} does not exist", self.source);
            cx.event(NewEvent::warning("SourceMissing", "Copy").note(&missing));
            return Err(Failure::waiting(missing));
        };
        cx.apply(copy(&source, name, team)).await?;
        Ok(Action::wait())
    }
}

/// The team of a namespace.
fn team(namespace: &Namespace) -> Option<&str> {
    namespace.label(TEAM).filter(|team| !team.is_empty())
}

/// The index of the namespaces that have a team.
fn has_team(namespace: &Namespace) -> Option<bool> {
    team(namespace).map(|_| true)
}

/// An object with a namespace and a name.
fn within<K: Object + Default>(namespace: &str, name: &str) -> K {
    let mut object = K::named(name);
    object.metadata_mut().namespace = Some(namespace.into());
    object
}

/// The copy of the source Secret.
fn copy(source: &Secret, namespace: &str, team: &str) -> Secret {
    let mut copy: Secret = within(namespace, COPY);
    copy.metadata.labels = Some(Labels::from([(SHARED, "true"), (TEAM, team)]).map());
    copy.data = source.data.clone();
    copy.type_ = source.type_.clone();
    copy
}

/// Lets the team's group edit the objects of the namespace.
fn binding(namespace: &str, team: &str) -> RoleBinding {
    let group = Subject {
        api_group: Some(RBAC.into()),
        kind: "Group".into(),
        name: team.into(),
        ..Default::default()
    };
    RoleBinding {
        role_ref: RoleRef {
            api_group: Some(RBAC.into()),
            kind: "ClusterRole".into(),
            name: "edit".into(),
        },
        subjects: Some(vec![group]),
        ..within(namespace, "team")
    }
}
