//! A request to an API server in this process: schema, defaults, CEL rules and admission rules.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use parking_lot::Mutex;
use pilothouse_sandbox::Sandbox;

use super::{
    Cluster, OfflineAdmission,
    admission::{denied, prepared, wrong},
    cluster::connected,
};
use crate::{
    admission,
    client::{Api, Client, DeleteParams, Impersonation, PostParams, RESOURCE_VERBS},
    operator::check_admission_rules,
    resource::{ApiResource, Object, Resource},
    webhook::{Denied, Warnings},
};

/// The name of the operator whose rules are under test, and of the role of the user.
const OPERATOR: &str = "offline";
impl<K: Resource> OfflineAdmission<K> {
    /// What an API server would store of `new`, and its warnings. Without `new` it deletes the old object.
    pub(super) async fn ruled(
        &self,
        old: Option<&K>,
        new: Option<K>,
    ) -> Result<(Option<K>, Warnings), Denied> {
        let has_rules = !self.rules.is_empty();
        check_admission_rules(&self.rules).map_err(wrong)?;
        let sandbox = Sandbox::builder().seed(1).simulator(true).rbac(has_rules);
        let cluster = Cluster::with(sandbox).map_err(wrong)?;
        if has_rules {
            self.create_cached(&cluster).await?;
        }
        let one = new.as_ref().or(old);
        let namespace = one.and_then(|one| one.namespace()).map(str::to_owned);
        let namespace = namespace.or_else(|| old?.namespace().map(str::to_owned));
        let cluster = prepared::<K>(&cluster, namespace.as_deref()).await?;
        let before = match old {
            None => None,
            Some(old) => {
                let mut old = old.clone();
                // An object that is created has none of these yet.
                old.metadata_mut().resource_version = None;
                old.metadata_mut().uid = None;
                Some(cluster.create(&old).await.map_err(denied)?)
            }
        };
        self.install_rules(&cluster).await?;
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let client = match has_rules {
            true => self.user_client::<K>(&cluster, &warnings).await?,
            false => cluster.client().clone(),
        };
        let resource = ApiResource::of::<K>();
        let namespace = namespace.unwrap_or_else(|| "default".into());
        let namespace = resource.namespaced.then_some(namespace);
        let api = Api::<K>::of(&client, resource, namespace.as_deref());
        let params = match self.dry_run {
            true => PostParams::default().dry_run(),
            false => PostParams::default(),
        };
        let stored = match (before, new) {
            (None, Some(new)) => api.create(&params, &new).await.map(Some),
            (Some(before), Some(mut new)) => {
                new.metadata_mut().resource_version = before.metadata().resource_version.clone();
                new.metadata_mut().uid = before.metadata().uid.clone();
                let replaced = api.replace(before.name(), &params, &new).await;
                replaced.map(Some)
            }
            (before, None) => {
                let name = before.as_ref().map_or("", Object::name);
                let params = match self.dry_run {
                    true => DeleteParams::default().dry_run(),
                    false => DeleteParams::default(),
                };
                api.delete(name, &params).await.map(|_| None)
            }
        };
        let stored = stored.map_err(denied)?;
        let warnings = warnings.lock().drain(..).collect();
        Ok((stored, warnings))
    }

    async fn install_rules(&self, cluster: &Cluster) -> Result<(), Denied> {
        let policies =
            admission::policies(&self.rules, OPERATOR, &BTreeMap::new(), &Default::default());
        let installed = admission::install(cluster.client(), OPERATOR, &policies).await;
        installed.map_err(|(_, error)| denied(error))
    }

    /// The client of the user. It may write objects of the kind, and what the given roles allow.
    async fn user_client<C: Resource>(
        &self,
        cluster: &Cluster,
        warnings: &Arc<Mutex<Vec<String>>>,
    ) -> Result<Client, Denied> {
        let name = self.user.username.clone().unwrap_or_default();
        let resource = ApiResource::of::<C>();
        let mut role = ClusterRole::named(OPERATOR);
        role.rules = Some(vec![PolicyRule {
            api_groups: Some(vec![resource.group.to_string()]),
            resources: Some(vec![resource.plural.to_string()]),
            verbs: RESOURCE_VERBS.map(str::to_owned).into(),
            ..PolicyRule::default()
        }]);
        cluster.create(&role).await.map_err(denied)?;
        let mut binding = ClusterRoleBinding::named(OPERATOR);
        binding.role_ref = RoleRef {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: "ClusterRole".into(),
            name: OPERATOR.into(),
        };
        binding.subjects = Some(vec![Subject {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: "User".into(),
            name: name.clone(),
            namespace: None,
        }]);
        cluster.create(&binding).await.map_err(denied)?;
        let groups = self.user.groups.iter().flatten();
        let user = groups.fold(Impersonation::new(name), |user, group| user.group(group));
        let seen = warnings.clone();
        let warned = move |text: &str| seen.lock().push(text.to_owned());
        Ok(connected(
            cluster.sandbox(),
            Some(("default", user)),
            warned,
        ))
    }
}
