use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use pilothouse::{
    client::{Api, Client, Config, DeleteParams, Error, Patch, PatchParams, PostParams},
    k8s::api::core::v1::{Namespace, Secret},
    operator::{Running, WebhookServing},
    prelude::*,
    webhook::{Admission, Change, Denied, Mutate, Operation, Rules, Validate, Warnings},
};
use pilothouse_sandbox::Sandbox;
use pilothouse_tests::real::RealServer;
use serde_json::json;

/// A thing with a size.
#[derive(Resource, Clone, Debug)]
#[resource(group = "webhooks.example.com", version = "v1", namespaced)]
struct Gadget {
    metadata: ObjectMeta,
    spec: GadgetSpec,
}

/// The size, and parts.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct GadgetSpec {
    size: i32,
    #[serde(default)]
    color: String,
    #[serde(default)]
    parts: Vec<Part>,
}

/// A part.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Part {
    name: String,
    #[serde(default)]
    weight: i32,
}

struct Gadgets;

impl Reconciler for Gadgets {
    type Resource = Gadget;

    async fn reconcile(&self, _: Arc<Gadget>, _: &Context<Gadget>) -> Result<Action> {
        Ok(Action::wait())
    }
}

/// Sizes are odd and never shrink, and a large gadget cannot be deleted.
struct Sizes {
    dry_runs: Arc<AtomicU32>,
}

impl Validate for Sizes {
    type Resource = Gadget;

    fn rules(&self, rules: Rules) -> Rules {
        let all = [Operation::Create, Operation::Update, Operation::Delete];
        rules.operations(all)
    }

    async fn validate(&self, change: &Change<Gadget>, cx: &Admission) -> Result<Warnings, Denied> {
        assert!(cx.user_is_in("system:authenticated"));
        self.dry_runs
            .fetch_add(u32::from(cx.is_dry_run()), Ordering::SeqCst);
        match change {
            Change::Create { new } if new.name() == "panics" => panic!("on purpose"),
            Change::Create { new } | Change::Update { new, .. } if new.spec.size % 2 == 0 => {
                Err(Denied::invalid("spec.size", "must be odd"))
            }
            Change::Update { old, new } if new.spec.size < old.spec.size => {
                Err(Denied::with(409, "Conflict", "a gadget never shrinks"))
            }
            Change::Delete { old } if old.spec.size > 100 => {
                Err(Denied::new("a large gadget stays"))
            }
            Change::Create { new } if new.spec.parts.is_empty() => {
                Ok(Warnings::from("spec.parts is empty"))
            }
            _ => Ok(Warnings::none()),
        }
    }
}

/// Gadgets are red, and their first part is a screw.
struct Defaults;

impl Mutate for Defaults {
    type Resource = Gadget;

    async fn mutate(&self, gadget: &mut Gadget, _: &Admission) -> Result<Warnings, Denied> {
        if gadget.spec.color.is_empty() {
            gadget.spec.color = "red".into();
        }
        let parts = &mut gadget.spec.parts;
        if !parts.is_empty() && parts.iter().all(|part| part.name != "screw") {
            let (name, weight) = ("screw".into(), 1);
            parts.insert(0, Part { name, weight });
        }
        let annotations = gadget.metadata.annotations.get_or_insert_default();
        annotations.insert("webhooks.example.com/a.b".into(), "seen".into());
        Ok(Warnings::none())
    }
}

/// Secrets of a name are refused.
struct Secrets;

impl Validate for Secrets {
    type Resource = Secret;

    async fn validate(&self, _: &Change<Secret>, cx: &Admission) -> Result<Warnings, Denied> {
        match cx.name() {
            Some("refused") => Err(Denied::new("this name is taken")),
            _ => Ok(Warnings::none()),
        }
    }
}

const NAMESPACE: &str = "webhooks";

struct World {
    client: Client,
    gadgets: Api<Gadget>,
    warnings: Arc<Mutex<Vec<String>>>,
    dry_runs: Arc<AtomicU32>,
    running: Running,
}

impl World {
    /// Starts the operator for the API server of this kubeconfig.
    async fn start(kubeconfig: &str) -> Self {
        let config = Config::from_yaml(kubeconfig).await.unwrap();
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let seen = warnings.clone();
        let client = Client::builder(config)
            .on_warning(move |text| seen.lock().push(text.to_owned()))
            .build()
            .unwrap();
        let dry_runs = Arc::new(AtomicU32::new(0));
        let serving = WebhookServing::new()
            .address("127.0.0.1:0".parse().unwrap())
            .url("https://127.0.0.1:0");
        let operator = Operator::new("gadgets")
            .controller(Gadgets)
            .validates(Sizes {
                dry_runs: dry_runs.clone(),
            })
            .validates(Secrets)
            .mutates(Defaults)
            .webhook_serving(serving);
        operator.install(&client).await.unwrap();
        let running = operator.start(client.clone()).await.unwrap();
        running.synced().await;
        let namespaces = Api::<Namespace>::all(&client);
        let (params, namespace) = (PostParams::default(), Namespace::named(NAMESPACE));
        namespaces.create(&params, &namespace).await.unwrap();
        let world = Self {
            gadgets: Api::namespaced(&client, NAMESPACE),
            client,
            warnings,
            dry_runs,
            running,
        };
        world.known().await;
        world
    }

    /// Waits until the API server calls the webhooks. It learns of the configurations by a watch of its own.
    async fn known(&self) {
        let probe = async {
            loop {
                let dry_run = PostParams::default().dry_run();
                let denied = self.gadgets.create(&dry_run, &gadget("probe", 2)).await;
                let secret = self.secret("refused", &dry_run).await;
                if denied.is_err() && secret.is_err() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), probe)
            .await
            .unwrap();
    }

    async fn secret(&self, name: &str, params: &PostParams) -> Result<Secret, Error> {
        let secrets = Api::<Secret>::namespaced(&self.client, NAMESPACE);
        secrets.create(params, &Secret::named(name)).await
    }

    async fn create(&self, gadget: &Gadget) -> Result<Gadget, Error> {
        self.gadgets.create(&PostParams::default(), gadget).await
    }
}

fn gadget(name: &str, size: i32) -> Gadget {
    Gadget {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        spec: GadgetSpec {
            size,
            color: String::new(),
            parts: Vec::new(),
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_api_server_calls_the_webhooks() {
    let Some(server) = RealServer::from_environment(&[]) else {
        return;
    };
    let kubeconfig = std::fs::read_to_string(server.kubeconfig()).unwrap();
    users_see_what_the_webhooks_decide(&kubeconfig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_calls_the_webhooks() {
    let sandbox = Sandbox::builder().build().unwrap();
    let server = sandbox.serve_https(([127, 0, 0, 1], 0).into());
    let server = server.await.unwrap();
    let kubeconfig = sandbox.kubeconfig(&server);
    users_see_what_the_webhooks_decide(&kubeconfig).await;
}

async fn users_see_what_the_webhooks_decide(kubeconfig: &str) {
    let world = World::start(kubeconfig).await;
    // Create: a warning, and a patch.
    world.warnings.lock().clear();
    let created = world.create(&gadget("small", 1)).await.unwrap();
    assert_eq!(created.spec.color, "red");
    assert_eq!(created.annotation("webhooks.example.com/a.b"), Some("seen"));
    assert_eq!(*world.warnings.lock(), ["spec.parts is empty"]);
    let mut parts = gadget("parts", 101);
    parts.spec.parts = ["a", "b"]
        .map(|name| Part {
            name: name.into(),
            weight: 2,
        })
        .into();
    let created = world.create(&parts).await.unwrap();
    let names: Vec<_> = created.spec.parts.iter().map(|part| &*part.name).collect();
    assert_eq!(names, ["screw", "a", "b"]);

    // A denial keeps code, reason, message and causes.
    let denied = world.create(&gadget("even", 2)).await.unwrap_err();
    let status = denied.status().unwrap();
    assert_eq!((status.code, &*status.reason), (422, "Invalid"));
    assert_eq!(
        status.message,
        "admission webhook \"validate.gadgets.webhooks.example.com\" denied the request: spec.size: must be odd"
    );
    let cause = &status.causes()[0];
    assert_eq!(
        (&*cause.field, &*cause.message),
        ("spec.size", "must be odd")
    );

    // Update sees old and new.
    let patch = |size: i32| Patch::Merge(json!({"spec": {"size": size}}));
    let params = PatchParams::default();
    let grown = world.gadgets.patch("small", &params, &patch(3)).await;
    assert_eq!(grown.unwrap().spec.size, 3);
    let shrunk = world.gadgets.patch("small", &params, &patch(1)).await;
    let shrunk = shrunk.unwrap_err();
    assert!(shrunk.is_conflict(), "{shrunk}");
    assert!(
        shrunk.to_string().contains("a gadget never shrinks"),
        "{shrunk}"
    );

    // Dry run.
    let before = world.dry_runs.load(Ordering::SeqCst);
    let dry_run = PatchParams::default().dry_run();
    world
        .gadgets
        .patch("small", &dry_run, &patch(5))
        .await
        .unwrap();
    assert_eq!(world.dry_runs.load(Ordering::SeqCst), before + 1);

    // Delete.
    let delete = DeleteParams::default();
    let kept = world.gadgets.delete("parts", &delete).await.unwrap_err();
    assert!(kept.is_forbidden(), "{kept}");
    world.gadgets.delete("small", &delete).await.unwrap();

    // A panic denies, and the operator goes on.
    let panicked = world.create(&gadget("panics", 1)).await.unwrap_err();
    let text = panicked.to_string();
    assert!(
        text.contains("panicked: the operator's log has the message"),
        "{text}"
    );

    // A built-in kind.
    let refused = world.secret("refused", &PostParams::default()).await;
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains("\"validate.secrets.core\" denied the request: this name is taken"),
        "{text}"
    );
    world.secret("fine", &PostParams::default()).await.unwrap();
    // The operator's own namespace is left out.
    let own = Api::<Secret>::namespaced(&world.client, "default");
    let (params, secret) = (PostParams::default(), Secret::named("refused"));
    own.create(&params, &secret).await.unwrap();

    let answered = |path: &str| {
        let labels = [("webhook", path), ("code", "200")];
        let metrics = world.running.metrics();
        metrics.value("controller_runtime_webhook_requests_total", &labels)
    };
    assert!(answered("/mutate-webhooks-example-com-v1-gadget") > Some(5.0));
    assert!(answered("/validate--v1-secret") >= Some(2.0));
    world.running.stop().await;
}
