use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    api::{
        core::v1::ServiceAccount,
        rbac::v1::{
            ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
        },
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};

use super::Installation;
use crate::resource::{Access, AccessScope, ObjectMeta};

const GROUP: &str = "rbac.authorization.k8s.io";
/// A ClusterRole with this label and a name after the `-` is a part of the ClusterRole of that name.
const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to";

/// The ServiceAccount of an operator, its roles, and their bindings.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Roles {
    /// The account of the operator's pods.
    pub service_account: ServiceAccount,
    /// What the operator may do everywhere, and what users may do with its kinds.
    pub cluster_roles: Vec<ClusterRole>,
    /// Gives the operator its ClusterRole.
    pub cluster_role_bindings: Vec<ClusterRoleBinding>,
    /// What the operator may do in single namespaces.
    pub roles: Vec<Role>,
    /// Gives the operator its Roles.
    pub role_bindings: Vec<RoleBinding>,
}

impl Roles {
    /// The least roles for `access`: a ClusterRole for what is needed everywhere, and a Role for each namespace in which
    /// more is needed.
    ///
    /// Access in the operator's namespaces is needed everywhere if it works in all of them. The Role for a namespace that the
    /// access names has a name of its own, `<operator>-in-<namespace>`, unless it is the namespace of the pods. So the Roles have
    /// different names also if all of them move to one namespace.
    pub fn new(installation: &Installation, access: &Access) -> Self {
        let is_elsewhere = |scope: &AccessScope| {
            let namespace = scope.namespace();
            namespace.is_some_and(|name| name != installation.namespace)
        };
        let (elsewhere, own): (Access, Access) = {
            let (one, other): (Vec<_>, Vec<_>) = access
                .iter()
                .cloned()
                .partition(|one| is_elsewhere(&one.scope));
            (one.into_iter().collect(), other.into_iter().collect())
        };
        let access = placed(installation, &own);
        let elsewhere: Access = elsewhere
            .iter()
            .filter(|one| !access.permits(one))
            .cloned()
            .collect();
        let mut roles = Self {
            service_account: ServiceAccount {
                metadata: installation.within(&installation.namespace),
                ..ServiceAccount::default()
            },
            ..Self::default()
        };
        let everywhere = access.policy_rules(|scope| *scope == AccessScope::Cluster);
        if !everywhere.is_empty() {
            let metadata = installation.global("");
            roles.cluster_role_bindings.push(ClusterRoleBinding {
                role_ref: role_ref("ClusterRole", &metadata),
                subjects: Some(vec![subject(installation)]),
                metadata: metadata.clone(),
            });
            roles.cluster_roles.push(cluster_role(metadata, everywhere));
        }
        for (access, is_elsewhere) in [(access, false), (elsewhere, true)] {
            let namespaces = access.iter().filter_map(|one| one.scope.namespace());
            let namespaces: BTreeSet<&str> = namespaces.collect();
            for namespace in namespaces {
                let metadata = match is_elsewhere {
                    true => installation.elsewhere(namespace),
                    false => installation.within(namespace),
                };
                let rules = access.policy_rules(|scope| scope.namespace() == Some(namespace));
                roles.add_role(installation, metadata, rules);
            }
        }
        roles
    }

    fn add_role(
        &mut self,
        installation: &Installation,
        metadata: ObjectMeta,
        rules: Vec<PolicyRule>,
    ) {
        self.role_bindings.push(RoleBinding {
            role_ref: role_ref("Role", &metadata),
            subjects: Some(vec![subject(installation)]),
            metadata: metadata.clone(),
        });
        self.roles.push(Role {
            metadata,
            rules: Some(rules),
        });
    }

    /// Adds ClusterRoles for people who work with objects of the kinds that these definitions define. With the label for aggregation
    /// they become part of the ClusterRoles `view`, `edit` and `admin`, which every cluster has. A status can be read, and a
    /// scale that a kind has can be read by `view` and changed by `edit`.
    ///
    /// A kind that is cluster-scoped is left out: those ClusterRoles give access to the objects of namespaces only.
    #[must_use]
    pub fn with_user_roles<'a>(
        mut self,
        installation: &Installation,
        definitions: impl IntoIterator<Item = &'a CustomResourceDefinition>,
    ) -> Self {
        let (mut kinds, mut statuses, mut scales) =
            <(Plurals<'_>, Plurals<'_>, Plurals<'_>)>::default();
        let definitions = definitions.into_iter().map(|one| &one.spec);
        for spec in definitions.filter(|spec| spec.scope == "Namespaced") {
            let add = |to: &mut Plurals<'a>, part: &str| {
                let resource = format!("{}{part}", spec.names.plural);
                to.entry(&spec.group).or_default().insert(resource);
            };
            add(&mut kinds, "");
            for version in &spec.versions {
                let parts = version.subresources.as_ref();
                if parts.is_some_and(|parts| parts.status.is_some()) {
                    add(&mut statuses, "/status");
                }
                if parts.is_some_and(|parts| parts.scale.is_some()) {
                    add(&mut scales, "/scale");
                }
            }
        }
        if kinds.is_empty() {
            return self;
        }
        let reads = [
            rules(&kinds, &["get", "list", "watch"]),
            rules(&statuses, &["get"]),
            rules(&scales, &["get"]),
        ];
        let writes = [
            rules(
                &kinds,
                &["create", "delete", "deletecollection", "patch", "update"],
            ),
            rules(&scales, &["patch", "update"]),
        ];
        let tiers = [
            ("view", reads.concat(), &["view", "edit", "admin"][..]),
            ("edit", writes.concat(), &["edit", "admin"]),
        ];
        for (tier, rules, parts_of) in tiers {
            let mut metadata = installation.global(&format!("-{tier}"));
            let labels = parts_of
                .iter()
                .map(|whole| (format!("{AGGREGATE_TO}-{whole}"), "true".to_owned()));
            metadata.labels.get_or_insert_default().extend(labels);
            self.cluster_roles.push(cluster_role(metadata, rules));
        }
        self
    }

    /// Adds a ClusterRole for those who read the operator's metrics if they need authorization. It has no binding: bind it to the
    /// ServiceAccount of Prometheus.
    #[must_use]
    pub fn with_metrics_reader(self, installation: &Installation) -> Self {
        self.with_reader(installation, "-metrics-reader", &["/metrics"])
    }

    /// Adds a ClusterRole for those who read the debug page if they need authorization. It has no binding.
    #[must_use]
    pub fn with_debug_reader(self, installation: &Installation) -> Self {
        let urls = [
            "/debug",
            "/debug/state.json",
            "/debug/search.json",
            "/debug/object.json",
        ];
        self.with_reader(installation, "-debug-reader", &urls)
    }

    fn with_reader(mut self, installation: &Installation, suffix: &str, urls: &[&str]) -> Self {
        let rule = PolicyRule {
            non_resource_urls: Some(urls.iter().map(|url| (*url).to_owned()).collect()),
            verbs: vec!["get".into()],
            ..PolicyRule::default()
        };
        let metadata = installation.global(suffix);
        self.cluster_roles.push(cluster_role(metadata, vec![rule]));
        self
    }

    /// All objects as JSON, in the order in which they are applied.
    ///
    /// # Errors
    /// An error if an object cannot be serialized.
    pub fn to_json(&self) -> Result<Vec<serde_json::Value>, serde_json::Error> {
        let account = serde_json::to_value(&self.service_account);
        let cluster_roles = self.cluster_roles.iter().map(serde_json::to_value);
        let cluster_bindings = self.cluster_role_bindings.iter().map(serde_json::to_value);
        let roles = self.roles.iter().map(serde_json::to_value);
        let bindings = self.role_bindings.iter().map(serde_json::to_value);
        let all = [account].into_iter().chain(cluster_roles);
        all.chain(cluster_bindings)
            .chain(roles)
            .chain(bindings)
            .collect()
    }
}

/// The same access, with the operator's namespaces by name.
fn placed(installation: &Installation, access: &Access) -> Access {
    let scopes = |scope: &AccessScope| match scope {
        AccessScope::Operator if installation.namespaces.is_empty() => vec![AccessScope::Cluster],
        AccessScope::Operator => {
            let names = installation.namespaces.iter().cloned();
            names.map(AccessScope::Namespace).collect()
        }
        fixed => vec![fixed.clone()],
    };
    let placed = access.iter().flat_map(|one| {
        scopes(&one.scope).into_iter().map(|scope| {
            let mut placed = one.clone();
            placed.scope = scope;
            placed
        })
    });
    placed.collect()
}

/// Plurals of kinds, some with a subresource, by group.
type Plurals<'a> = BTreeMap<&'a str, BTreeSet<String>>;

/// A rule for each group.
fn rules(plurals: &Plurals<'_>, verbs: &[&str]) -> Vec<PolicyRule> {
    let rules = plurals.iter().map(|(group, plurals)| PolicyRule {
        api_groups: Some(vec![(*group).to_owned()]),
        resources: Some(plurals.iter().cloned().collect()),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    });
    rules.collect()
}

fn cluster_role(metadata: ObjectMeta, rules: Vec<PolicyRule>) -> ClusterRole {
    ClusterRole {
        metadata,
        rules: Some(rules),
        aggregation_rule: None,
    }
}

fn role_ref(kind: &str, metadata: &ObjectMeta) -> RoleRef {
    RoleRef {
        // Some versions of Kubernetes have it as an `Option`.
        api_group: GROUP.to_owned().into(),
        kind: kind.into(),
        name: metadata.name.clone().unwrap_or_default(),
    }
}

fn subject(installation: &Installation) -> Subject {
    Subject {
        kind: "ServiceAccount".into(),
        name: installation.name.clone(),
        namespace: Some(installation.namespace.clone()),
        api_group: None,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Node};
    use serde_json::json;

    use super::*;
    use crate::resource::{AccessRule, Permission};

    /// Each permission that the roles give, with its namespace.
    fn granted(roles: &Roles) -> Vec<String> {
        let show = |rules: &Option<Vec<PolicyRule>>, place: &str| -> Vec<String> {
            let rules = rules.iter().flatten();
            rules
                .map(|rule| {
                    let names = rule.resource_names.as_deref().unwrap_or_default();
                    let resources = rule.resources.as_deref().unwrap_or_default();
                    format!(
                        "{place}: {} {} {}",
                        rule.verbs.join(","),
                        resources.join(","),
                        names.join(",")
                    )
                })
                .collect()
        };
        let everywhere = roles
            .cluster_roles
            .iter()
            .flat_map(|role| show(&role.rules, "*"));
        let limited = roles.roles.iter().flat_map(|role| {
            let namespace = role.metadata.namespace.as_deref().unwrap_or_default();
            show(&role.rules, namespace)
        });
        everywhere.chain(limited).collect()
    }

    fn access() -> Access {
        Access::from(AccessRule::of::<ConfigMap>(["get", "list"]))
            .and(AccessRule::of::<ConfigMap>(["list"]).in_namespace("blue"))
            .and(
                AccessRule::of::<ConfigMap>(["patch"])
                    .in_namespace("default")
                    .named("a"),
            )
            .and(AccessRule::of::<Node>(["list"]))
    }

    fn website() -> Installation {
        Installation::new("website").unwrap()
    }

    #[test]
    fn an_operator_for_all_namespaces_has_a_cluster_role_and_roles_only_for_more() {
        let roles = Roles::new(&website(), &access());
        let expected = [
            "*: get,list configmaps ",
            "*: list nodes ",
            "default: patch configmaps a",
        ];
        assert_eq!(granted(&roles), expected);
        let bound = roles.cluster_role_bindings.len() + roles.role_bindings.len();
        assert_eq!(bound, 2);
        let subject = &roles.role_bindings[0].subjects.as_ref().unwrap()[0];
        assert_eq!(subject.namespace.as_deref(), Some("website-system"));
        assert_eq!(
            roles.service_account.metadata.namespace.as_deref(),
            Some("website-system")
        );
    }

    #[test]
    fn an_operator_for_some_namespaces_has_a_cluster_role_only_for_cluster_scoped_kinds() {
        let roles = Roles::new(&website().works_in(["blue", "green"]), &access());
        let expected = [
            "*: list nodes ",
            "blue: get,list configmaps ",
            "green: get,list configmaps ",
            "default: patch configmaps a",
        ];
        assert_eq!(granted(&roles), expected);
        assert_eq!(roles.role_bindings.len(), 3);
        let names = roles.role_bindings.iter().map(|one| &*one.role_ref.name);
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["website", "website", "website-in-default"]
        );
    }

    #[test]
    fn roles_without_a_rule_do_not_exist() {
        let none = Roles::new(&website(), &Access::none());
        assert_eq!(none.to_json().unwrap().len(), 1);
        let access: Access = std::iter::empty::<Permission>().collect();
        assert_eq!(Roles::new(&website().works_in(["a"]), &access).roles, []);
    }

    #[test]
    fn users_get_their_access_to_namespaced_kinds_by_aggregation() {
        let definition = |plural: &str, scope: &str| -> CustomResourceDefinition {
            let version = json!({
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
            });
            let spec = json!({
                "group": "demo.pilothouse.dev", "scope": scope,
                "names": {"kind": plural, "plural": plural}, "versions": [version],
            });
            serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap()
        };
        let (site, zone) = (
            definition("websites", "Namespaced"),
            definition("zones", "Cluster"),
        );
        let installation = website();
        let roles = |definitions: &[CustomResourceDefinition]| {
            Roles::new(&installation, &Access::none()).with_user_roles(&installation, definitions)
        };
        assert_eq!(roles(std::slice::from_ref(&zone)).cluster_roles, []);
        let roles = roles(&[site, zone]);
        let expected = [
            "*: get,list,watch websites ",
            "*: get websites/status ",
            "*: get websites/scale ",
            "*: create,delete,deletecollection,patch,update websites ",
            "*: patch,update websites/scale ",
        ];
        assert_eq!(granted(&roles), expected);
        let parts = |role: &ClusterRole| -> Vec<String> {
            let labels = role.metadata.labels.iter().flatten();
            let parts = labels.filter_map(|(label, _)| label.strip_prefix(AGGREGATE_TO));
            parts.map(str::to_owned).collect()
        };
        assert_eq!(parts(&roles.cluster_roles[0]), ["-admin", "-edit", "-view"]);
        assert_eq!(parts(&roles.cluster_roles[1]), ["-admin", "-edit"]);
    }
}
