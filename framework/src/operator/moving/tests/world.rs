//! The operator `notes`, and a cluster with its objects.

use std::{sync::Arc, thread, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::{
    client::{Api, Client, Config, Patch, PatchParams, PostParams},
    clock::Clock,
    controller::{Action, Cleanup, Context, Controller, Reconciler, Result},
    operator::{
        NoFlags, Operator, OperatorError,
        command_line::{CommandAction, CommandLine},
        moving::{Report, uninstall::Consent},
        settings::Defaults,
    },
    resource::{DynamicObject, Object, ObjectMeta},
};

pub(super) const FINALIZER: &str = "example.com/note";

/// A text that is published in a ConfigMap.
#[derive(crate::Resource, Clone, Debug)]
#[resource(
    crate = "crate",
    group = "demo.example.com",
    version = "v1",
    namespaced
)]
pub(super) struct Note {
    pub(super) metadata: ObjectMeta,
    pub(super) spec: NoteSpec,
    pub(super) status: Option<NoteStatus>,
}

#[derive(crate::Schema, Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
#[schema(crate = "crate")]
pub(super) struct NoteSpec {
    pub(super) text: String,
}

#[derive(crate::Schema, Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[schema(crate = "crate")]
pub(super) struct NoteStatus {
    pub(super) published: Option<bool>,
    pub(super) url: Option<String>,
}

/// Publishes notes. It writes neither the label `tier` nor the key `title` nor the status `url`.
struct Notes;

impl Reconciler for Notes {
    type Resource = Note;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>().finalizer(FINALIZER)
    }

    async fn reconcile(&self, note: Arc<Note>, cx: &Context<Note>) -> Result<Action> {
        let mut page = ConfigMap::named(note.name());
        page.data = Some([("text".to_owned(), note.spec.text.clone())].into());
        cx.apply(page).await?;
        cx.update_status(NoteStatus {
            published: Some(true),
            url: None,
        })
        .await?;
        Ok(Action::wait())
    }
}

impl Cleanup for Notes {}

pub(super) fn notes() -> Operator {
    Operator::new("notes").controller(Notes)
}

/// A cluster in memory.
pub(super) struct World {
    pub(super) sandbox: Sandbox,
    pub(super) client: Client,
    /// The operator whose commands are run.
    pub(super) operator: fn() -> Operator,
}

impl World {
    /// A cluster in which the kinds of `notes` are installed.
    pub(super) async fn start() -> Self {
        let world = Self::empty();
        notes().install(&world.client).await.unwrap();
        world
    }

    pub(super) fn empty() -> Self {
        let sandbox = Sandbox::builder()
            .seed(1)
            .request_log(10_000)
            .build()
            .unwrap();
        let client = client(&sandbox, "test");
        Self {
            sandbox,
            client,
            operator: notes,
        }
    }

    /// Runs a command of `notes` and returns what it prints.
    pub(super) async fn command(&self, line: &str) -> Outcome {
        self.command_with(line, Consent::Missing).await
    }

    pub(super) async fn command_with(&self, line: &str, consent: Consent) -> Outcome {
        let line = format!("notes {line}");
        let words = line.split_whitespace();
        let parsed = CommandLine::parse::<NoFlags>("notes", &Defaults::default(), words, &|_| None);
        let client = client(&self.sandbox, "command");
        let operator = self.operator;
        let mut output = Vec::new();
        let mut report = Report::new(&mut output);
        // It may not be called on a runtime.
        let done = match parsed.unwrap().action {
            CommandAction::Uninstall(options) => {
                let consent = match options.is_confirmed {
                    true => Consent::Given,
                    false => consent,
                };
                let prepared = thread::spawn(move || operator().prepare_uninstall(options));
                let prepared = prepared.join().unwrap().unwrap();
                prepared.run(&client, consent, &mut report).await
            }
            CommandAction::AdoptFrom { flags, roles, .. } => {
                let prepared = thread::spawn(move || operator().prepare_adopt_from(flags, roles));
                let prepared = prepared.join().unwrap().unwrap();
                prepared.run(&client, &mut report).await
            }
            other => panic!("{other:?}"),
        };
        Outcome {
            done,
            printed: String::from_utf8(output).unwrap(),
        }
    }

    /// Creates a note with these finalizers.
    pub(super) async fn note(&self, name: &str, finalizers: &[&str]) -> Note {
        let mut note = Note {
            metadata: ObjectMeta::default(),
            spec: NoteSpec { text: name.into() },
            status: None,
        };
        note.metadata.name = Some(name.into());
        let finalizers = finalizers.iter().map(|one| (*one).to_owned());
        note.metadata.finalizers = Some(finalizers.collect());
        let params = PostParams::default();
        self.notes().create(&params, &note).await.unwrap()
    }

    pub(super) async fn delete(&self, note: &str) {
        let params = crate::client::DeleteParams::background();
        self.notes().delete(note, &params).await.unwrap();
    }

    pub(super) async fn finalizers(&self, note: &str) -> Vec<String> {
        let note = self.notes().get(note).await.unwrap();
        note.metadata.finalizers.unwrap_or_default()
    }

    pub(super) fn notes(&self) -> Api<Note> {
        Api::namespaced(&self.client, "default")
    }

    pub(super) fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(&self.client, "default")
    }

    /// Writes an object by a merge patch, as `manager`.
    pub(super) async fn update<K>(&self, api: &Api<K>, name: &str, manager: &str, patch: Value)
    where
        K: Object + serde::Serialize + serde::de::DeserializeOwned,
    {
        let params = PatchParams::default().field_manager(manager);
        api.patch(name, &params, &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// Runs a command while the process `pod-1` renews a Lease.
    pub(super) async fn while_renewed(&self, namespace: &str, name: &str, line: &str) -> Outcome {
        let pause = Duration::from_secs(2);
        self.lease(namespace, name, "pod-1", pause).await;
        let renewal = async {
            tokio::time::sleep(pause).await;
            self.lease(namespace, name, "pod-1", Duration::ZERO).await;
        };
        tokio::join!(self.command(line), renewal).0
    }

    /// Writes a Lease that `holder` renewed so long ago.
    pub(super) async fn lease(&self, namespace: &str, name: &str, holder: &str, ago: Duration) {
        let renewed = self.client.clock().now() - ago;
        let lease: Lease = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "holderIdentity": holder, "leaseDurationSeconds": 15,
                "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
            },
        }))
        .unwrap();
        let leases: Api<Lease> = Api::namespaced(&self.client, namespace);
        let params = PatchParams::apply("test").force();
        let mut body = serde_json::to_value(&lease).unwrap();
        body["apiVersion"] = "coordination.k8s.io/v1".into();
        body["kind"] = "Lease".into();
        leases
            .patch(name, &params, &Patch::Apply(body))
            .await
            .unwrap();
    }

    /// Creates an object of any kind.
    pub(super) async fn create(&self, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let mapper = crate::client::RestMapper::new(&self.client);
        let api = mapper.api_for(&object).await.unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Lets the operator work until each note is published.
    pub(super) async fn work(&self) {
        let running = notes().start(client(&self.sandbox, "operator")).await;
        let running = running.unwrap();
        running.synced().await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        running.stop().await;
    }
}

/// The end of a command.
pub(super) struct Outcome {
    pub(super) done: std::result::Result<(), OperatorError>,
    pub(super) printed: String,
}

impl Outcome {
    pub(super) fn printed(self) -> String {
        if let Err(error) = self.done {
            panic!("{error}\n{}", self.printed);
        }
        self.printed
    }

    pub(super) fn error(self) -> String {
        match self.done {
            Ok(()) => panic!("{}", self.printed),
            Err(error) => error.to_string(),
        }
    }
}

fn client(sandbox: &Sandbox, name: &str) -> Client {
    let (pipes, watched) = (sandbox.clone(), sandbox.clone());
    let clock = Clock::from_fn(move || Timestamp::try_from(watched.now()).unwrap());
    Client::builder(Config::new(http::Uri::from_static("http://sandbox")))
        .connector(Arc::new(move || Ok(pipes.connect())))
        .user_agent(name)
        .build()
        .unwrap()
        .with_clock(clock)
}
