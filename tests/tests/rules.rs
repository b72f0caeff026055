//! Admission rules of an operator: the same table of requests, with the decision and the text for the user, on the sandbox and on a real API server.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use pilothouse::{
    admission::{AdmissionRule, Message, Params, Reason, ValidationAction},
    client::{
        Api, Client, Config, DeleteParams, Error, Impersonation, Patch, PatchParams, PostParams,
    },
    k8s::api::{
        core::v1::{ConfigMap, Namespace},
        rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject},
    },
    prelude::*,
    resource::{Labels, Resource},
    webhook::Operation,
};
use pilothouse_sandbox::Sandbox;
use pilothouse_tests::real::RealServer;
use serde_json::{Value, json};

/// A site of a shop.
#[derive(Resource, Clone, Debug)]
#[resource(group = "rules.example.com", version = "v1", namespaced)]
struct Site {
    metadata: ObjectMeta,
    spec: SiteSpec,
    status: Option<SiteStatus>,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct SiteSpec {
    host: String,
    #[serde(default)]
    size: i32,
    #[serde(default)]
    public: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    color: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    team: Option<String>,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct SiteStatus {
    used: i32,
}

/// What a namespace may have. No controller reconciles it.
#[derive(Resource, Clone, Debug)]
#[resource(group = "rules.example.com", version = "v1", namespaced)]
struct SiteLimits {
    metadata: ObjectMeta,
    spec: SiteLimitsSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct SiteLimitsSpec {
    size: i32,
}

struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    async fn reconcile(&self, _: Arc<Site>, _: &Context<Site>) -> Result<Action> {
        Ok(Action::wait())
    }
}

fn on(name: &str) -> AdmissionRule {
    AdmissionRule::on::<Site>(name)
}

fn rules() -> Vec<AdmissionRule> {
    let all = [Operation::Create, Operation::Update, Operation::Delete];
    vec![
        // The old object.
        on("host")
            .operations([Operation::Update])
            .check("object.spec.host == oldObject.spec.host", "spec.host does not change"),
        on("size").check(
            "oldObject == null || object.spec.size >= oldObject.spec.size",
            Message::expression(
                "'a site does not shrink below ' + string(oldObject.spec.size)",
                "a site does not shrink",
            ),
        ),
        on("kept").operations([Operation::Delete]).check(
            "oldObject.spec.size < 50 && object == null",
            "a large site stays",
        ),
        // Parameters.
        on("limits")
            .params::<SiteLimits>(Params::named("limits"))
            .only_if("is-sized", "object.spec.size > 0")
            .check(
                "object.spec.size <= params.spec.size",
                Message::expression("'at most ' + string(params.spec.size)", "too large"),
            ),
        on("colors")
            .params::<ConfigMap>(
                Params::labelled(Labels::from([("for", "sites")]).selector())
                    .in_namespace("rules-settings")
                    .optional(),
            )
            .only_if("is-colored", "has(object.spec.color)")
            .check("object.spec.color in params.data", "no such color"),
        // The namespace.
        on("frozen").operations(all).check(
            "namespaceObject.metadata.?labels['frozen'].orValue('') != 'yes'",
            "the namespace is frozen",
        ),
        // The user.
        on("publishers")
            .reason(Reason::Forbidden)
            .variable("may", "authorizer.requestResource.check('publish').allowed()")
            .check(
                "!object.spec.public || variables.may",
                Message::expression("request.userInfo.username + ' may not publish'", "you may not publish"),
            ),
        // Other actions.
        on("tidy")
            .actions([ValidationAction::Warn, ValidationAction::Audit])
            .check("object.spec.host != 'localhost'", "nobody reaches localhost")
            .audit_annotation("host", "'host ' + object.spec.host"),
        // Failures.
        on("fails").only_if("is-named", "object.metadata.name == 'fails'").check("object.spec.team.size() > 0", "no team"),
        on("ignores")
            .only_if("is-named", "object.metadata.name == 'ignores'")
            .check("object.spec.team.size() > 0", "no team")
            .ignore_failures(),
        // Defaults.
        on("team")
            .operations([Operation::Create])
            .only_if("has-no-team", "!has(object.spec.team)")
            .only_if("is-usual", "!(object.metadata.name in ['fails', 'ignores'])")
            .variable("team", "namespaceObject.metadata.?labels['team'].orValue('nobody')")
            .apply("Object{spec: Object.spec{team: variables.team}}"),
        // A subresource, and a built-in kind.
        on("used")
            .subresources(["status"])
            .check("object.status.used <= object.spec.size", "more is used than there is"),
        AdmissionRule::on::<ConfigMap>("label")
            .for_objects(Labels::from([("sites", "yes")]).selector())
            .json_patch("[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/seen'), value: 'yes'}]"),
    ]
}

/// The longest time until a server knows all rules and parameters.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a user sees of the rule `tidy`.
const WARNING: &str = "Validation failed for ValidatingAdmissionPolicy 'sites.tidy' with binding 'sites.tidy': nobody reaches localhost";

/// A cluster with the rules, and two users who may write sites. Only `ann` may also publish them.
struct World {
    admin: Client,
    users: [(&'static str, Client); 2],
    warnings: Arc<Mutex<Vec<String>>>,
}

fn namespace(name: &str) -> Namespace {
    let mut namespace = Namespace::named(name);
    let labels = match name {
        "rules-blue" => Labels::from([("team", "blue")]),
        "rules-frozen" => Labels::from([("frozen", "yes")]),
        _ => Labels::default(),
    };
    namespace.metadata.labels = Some(labels.map());
    namespace
}

fn site(name: &str, spec: Value) -> Site {
    let mut all = json!({"host": "a.example.com"});
    if let (Some(all), Value::Object(spec)) = (all.as_object_mut(), spec) {
        all.extend(spec);
    }
    made(name, all)
}

/// An object of this name with a spec.
fn made<K: Resource>(name: &str, spec: Value) -> K {
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

/// What the user sees.
fn seen<T>(outcome: Result<T, Error>) -> String {
    let Err(error) = outcome else {
        return "allowed".into();
    };
    let status = error.status().unwrap_or_else(|| panic!("{error}"));
    format!("{} {}: {}", status.code, status.reason, status.message)
}

impl World {
    async fn start(kubeconfig: &str) -> Self {
        let config = Config::from_yaml(kubeconfig).await.unwrap();
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let client = |user: Option<&str>| {
            let seen = warnings.clone();
            let mut config = config.clone();
            if let Some(user) = user {
                config = config.with_impersonation(Impersonation::new(user));
            }
            Client::builder(config)
                .on_warning(move |text| seen.lock().push(text.to_owned()))
                .build()
                .unwrap()
        };
        let world = Self {
            admin: client(None),
            users: [("jane", client(Some("jane"))), ("ann", client(Some("ann")))],
            warnings: warnings.clone(),
        };
        let operator = rules().into_iter().fold(
            Operator::new("sites").controller(Sites),
            Operator::admission_rule,
        );
        operator.install(&world.admin).await.unwrap();
        world.objects().await;
        world.known().await;
        world
    }

    async fn objects(&self) {
        let params = PostParams::default();
        for name in ["rules-settings", "rules-blue", "rules-bare", "rules-frozen"] {
            let api = Api::<Namespace>::all(&self.admin);
            api.create(&params, &namespace(name)).await.unwrap();
        }
        for user in ["jane", "ann"] {
            let name = format!("rules-{user}");
            let mut role = ClusterRole::named(&name);
            let mut all = vec!["get", "create", "update", "patch", "delete"];
            if user == "ann" {
                all.push("publish");
            }
            role.rules = Some(vec![PolicyRule {
                api_groups: Some(vec!["rules.example.com".into(), String::new()]),
                resources: Some(vec![
                    "sites".into(),
                    "sites/status".into(),
                    "configmaps".into(),
                ]),
                verbs: all.into_iter().map(str::to_owned).collect(),
                ..PolicyRule::default()
            }]);
            let roles = Api::<ClusterRole>::all(&self.admin);
            roles.create(&params, &role).await.unwrap();
            let mut binding = ClusterRoleBinding::named(&name);
            binding.role_ref = RoleRef {
                api_group: Some("rbac.authorization.k8s.io".into()),
                kind: "ClusterRole".into(),
                name,
            };
            binding.subjects = Some(vec![Subject {
                api_group: Some("rbac.authorization.k8s.io".into()),
                kind: "User".into(),
                name: user.into(),
                namespace: None,
            }]);
            let bindings = Api::<ClusterRoleBinding>::all(&self.admin);
            bindings.create(&params, &binding).await.unwrap();
        }
        let limits = made("limits", json!({"size": 100}));
        // Not in `rules-bare`. In `rules-frozen` too: a server names only one of two rules that deny.
        for namespace in ["rules-blue", "rules-frozen"] {
            let api = Api::<SiteLimits>::namespaced(&self.admin, namespace);
            api.create(&params, &limits).await.unwrap();
        }
        let mut colors = ConfigMap::named("colors");
        colors.metadata.labels = Some(Labels::from([("for", "sites")]).map());
        colors.data = Some([("red".to_owned(), "#f00".to_owned())].into());
        let api = Api::<ConfigMap>::namespaced(&self.admin, "rules-settings");
        api.create(&params, &colors).await.unwrap();
    }

    /// Waits until the server evaluates each rule. It learns of policies and parameters by watches of its own.
    async fn known(&self) {
        let jane = &self.users[0].1;
        let sites = |namespace: &str| Api::<Site>::namespaced(jane, namespace);
        let dry = PostParams::default().dry_run();
        let probe = async || {
            let denied = [
                (
                    "rules-blue",
                    site("probe", json!({"size": 1000})),
                    "at most 100",
                ),
                (
                    "rules-blue",
                    site("probe", json!({"color": "blue"})),
                    "no such color",
                ),
                (
                    "rules-blue",
                    site("probe", json!({"public": true})),
                    "may not publish",
                ),
                ("rules-blue", site("fails", json!({})), "no such key"),
                (
                    "rules-bare",
                    site("probe", json!({"size": 1})),
                    "no params found",
                ),
                ("rules-frozen", site("probe", json!({})), "frozen"),
            ];
            for (namespace, site, text) in denied {
                let outcome = seen(sites(namespace).create(&dry, &site).await);
                if !outcome.contains(text) {
                    return Err(format!("{text}: {outcome}"));
                }
            }
            let made = sites("rules-blue")
                .create(&dry, &site("localhost", json!({"host": "localhost"})))
                .await;
            let mut map = ConfigMap::named("probe");
            map.metadata.labels = Some(Labels::from([("sites", "yes")]).map());
            let maps = Api::<ConfigMap>::namespaced(jane, "rules-blue");
            let labelled = maps.create(&dry, &map).await.unwrap().metadata.labels;
            // A client tells each warning once.
            let warnings = self.warnings.lock().clone();
            let is_warned = warnings.iter().any(|text| text == WARNING);
            let has_team = made.as_ref().is_ok_and(|one| one.spec.team.is_some());
            match has_team && is_warned && labelled.as_ref().is_some_and(|all| all.len() == 2) {
                true => Ok(()),
                false => Err(format!("{made:?}, {labelled:?}, {warnings:?}")),
            }
        };
        let begun = Instant::now();
        while let Err(missing) = probe().await {
            assert!(begun.elapsed() < PATIENCE, "{missing}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn sites(&self, user: &str, namespace: &str) -> Api<Site> {
        let (_, client) = self.users.iter().find(|(name, _)| *name == user).unwrap();
        Api::namespaced(client, namespace)
    }

    /// Creates a site as a user.
    async fn create(&self, user: &str, namespace: &str, site: &Site) -> Result<Site, Error> {
        self.sites(user, namespace)
            .create(&PostParams::default(), site)
            .await
    }

    /// Changes a site as a user.
    async fn change(&self, user: &str, name: &str, spec: Value) -> Result<Site, Error> {
        let patch = Patch::Merge(json!({"spec": spec}));
        let sites = self.sites(user, "rules-blue");
        sites.patch(name, &PatchParams::default(), &patch).await
    }

    async fn delete(&self, namespace: &str, name: &str) -> String {
        let sites = self.sites("jane", namespace);
        seen(sites.delete(name, &DeleteParams::default()).await)
    }
}

/// What a denial says before the text of the rule.
fn denial(site: &str, rule: &str) -> String {
    format!(
        "sites.rules.example.com \"{site}\" is forbidden: ValidatingAdmissionPolicy 'sites.{rule}' with binding 'sites.{rule}' denied request: "
    )
}

async fn table(kubeconfig: &str) {
    let world = World::start(kubeconfig).await;
    let invalid =
        |site: &str, rule: &str, text: &str| format!("422 Invalid: {}{text}", denial(site, rule));

    // A creation has no old object.
    let a = site("a", json!({"size": 10}));
    let created = world.create("jane", "rules-blue", &a).await.unwrap();
    // The default comes from the label of the namespace.
    assert_eq!(created.spec.team.as_deref(), Some("blue"));
    let own = site("own", json!({"team": "green"}));
    let own = world.create("jane", "rules-blue", &own).await.unwrap();
    assert_eq!(own.spec.team.as_deref(), Some("green"));

    let cases = [
        // The old object.
        (
            json!({"host": "b.example.com"}),
            invalid("a", "host", "spec.host does not change"),
        ),
        (
            json!({"size": 9}),
            invalid("a", "size", "a site does not shrink below 10"),
        ),
        (json!({"size": 60}), "allowed".into()),
        // Parameters of the namespace.
        (json!({"size": 101}), invalid("a", "limits", "at most 100")),
        // Parameters of another namespace, by a label.
        (json!({"color": "red"}), "allowed".into()),
        (
            json!({"color": "blue"}),
            invalid("a", "colors", "no such color"),
        ),
        // The user.
        (
            json!({"public": true}),
            format!(
                "403 Forbidden: {}jane may not publish",
                denial("a", "publishers")
            ),
        ),
    ];
    for (spec, expected) in cases {
        let outcome = seen(world.change("jane", "a", spec.clone()).await);
        assert_eq!(outcome, expected, "{spec}");
    }
    let published = world.change("ann", "a", json!({"public": true})).await;
    assert_eq!(seen(published), "allowed");
    assert_eq!(
        world.delete("rules-blue", "a").await,
        invalid("a", "kept", "a large site stays")
    );
    assert_eq!(world.delete("rules-blue", "own").await, "allowed");

    // Parameters that are missing.
    let missing = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    let outcome = seen(
        world
            .create("jane", "rules-bare", &site("a", json!({"size": 1})))
            .await,
    );
    assert_eq!(outcome, invalid("a", "limits", missing));
    let settings = Api::<ConfigMap>::namespaced(&world.admin, "rules-settings");
    settings
        .delete("colors", &DeleteParams::default())
        .await
        .unwrap();
    let gone = async {
        let blue = site("blue", json!({"color": "blue"}));
        while world.create("jane", "rules-blue", &blue).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), gone)
        .await
        .unwrap();

    // The namespace.
    let outcome = seen(
        world
            .create("jane", "rules-frozen", &site("a", json!({})))
            .await,
    );
    assert_eq!(outcome, invalid("a", "frozen", "the namespace is frozen"));

    // A warning refuses nothing.
    let local = site("local", json!({"host": "localhost"}));
    let outcome = world.create("jane", "rules-blue", &local).await;
    assert_eq!(seen(outcome), "allowed");

    // Failures.
    let outcome = seen(
        world
            .create("jane", "rules-blue", &site("fails", json!({})))
            .await,
    );
    let failed = "expression 'object.spec.team.size() > 0' resulted in error: no such key: team";
    assert_eq!(outcome, invalid("fails", "fails", failed));
    let outcome = world
        .create("jane", "rules-blue", &site("ignores", json!({})))
        .await;
    assert_eq!(seen(outcome), "allowed");

    // A subresource: its checks do not concern the object itself, and the other way round.
    let status = |used: i32| {
        let mut site = site("a", json!({"host": "ignored"}));
        site.status = Some(SiteStatus { used });
        Patch::Merge(json!({"status": site.status}))
    };
    let sites = world.sites("jane", "rules-blue");
    let params = PatchParams::default();
    assert_eq!(
        seen(sites.patch_status("a", &params, &status(60)).await),
        "allowed"
    );
    let outcome = seen(sites.patch_status("a", &params, &status(61)).await);
    assert_eq!(outcome, invalid("a", "used", "more is used than there is"));

    // A built-in kind, chosen by a label.
    let maps = Api::<ConfigMap>::namespaced(&world.users[0].1, "rules-blue");
    for (name, label, expected) in [("yes", "yes", Some("yes")), ("no", "no", None)] {
        let mut map = ConfigMap::named(name);
        map.metadata.labels = Some(Labels::from([("sites", label)]).map());
        let map = maps.create(&PostParams::default(), &map).await.unwrap();
        assert_eq!(map.label("example.com/seen"), expected);
    }
}

/// The annotations of the audit log about the site `local`.
fn annotations(log: &str) -> Value {
    let events = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let found = events.into_iter().find(|event| {
        event["objectRef"]["resource"] == "sites"
            && event["annotations"]["sites.tidy/host"] == "host localhost"
            && event["requestURI"]
                .as_str()
                .is_some_and(|uri| !uri.contains("dryRun"))
    });
    found.unwrap()["annotations"]["validation.policy.admission.k8s.io/validation_failure"].clone()
}

const FAILURE: &str = "[{\"message\":\"nobody reaches localhost\",\"policy\":\"sites.tidy\",\"binding\":\"sites.tidy\",\"expressionIndex\":0,\"validationActions\":[\"Warn\",\"Audit\"]}]";

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_sandbox_decides_by_the_rules() {
    let log = Log::default();
    let sandbox = Sandbox::builder()
        .rbac(true)
        .audit(log.clone())
        .build()
        .unwrap();
    let server = sandbox
        .serve_https(([127, 0, 0, 1], 0).into())
        .await
        .unwrap();
    table(&sandbox.kubeconfig(&server)).await;
    let log = String::from_utf8(log.0.lock().clone()).unwrap();
    assert_eq!(annotations(&log), FAILURE);
}

#[tokio::test]
async fn a_real_api_server_decides_by_the_rules() {
    let Some(server) = RealServer::from_environment(&["--audit"]).filter(RealServer::is_own) else {
        return;
    };
    table(&std::fs::read_to_string(server.kubeconfig()).unwrap()).await;
    let log = server.kubeconfig().with_file_name("audit.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(annotations(&log), FAILURE);
}

#[test]
fn the_expressions_fit_the_types() {
    for rule in rules() {
        pilothouse::testing::admission_rule(&rule).unwrap();
    }
}
