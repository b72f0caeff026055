//! The permission to get an object of a watched kind from the server.

use std::{collections::BTreeMap, sync::Arc};

use configmap_sync::{SharedConfig, SharedConfigSpec};
use parking_lot::Mutex;
use pilothouse::{
    client::Api,
    k8s::api::core::v1::Namespace,
    manifests::Roles,
    prelude::*,
    resource::AccessRule,
    testing::{Cluster, Sandbox},
};

use super::{roles, without_each};

const NAME: &str = "configmap-sync";

/// Watches namespaces, and gets one from the server.
#[derive(Clone, Default)]
struct Reader {
    /// Whether `wire` declares the second.
    declares: bool,
    /// How the requests ended.
    ended: Arc<Mutex<Vec<String>>>,
}

impl Reconciler for Reader {
    type Resource = SharedConfig;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let controller = controller.watches::<Namespace>(|_| Vec::new());
        match self.declares {
            true => controller.access(AccessRule::of::<Namespace>(["get"])),
            false => controller,
        }
    }

    async fn reconcile(
        &self,
        shared: Arc<SharedConfig>,
        cx: &Context<SharedConfig>,
    ) -> Result<Action> {
        let namespaces = Api::<Namespace>::all(cx.live());
        let found = namespaces.get(shared.namespace().unwrap()).await;
        let ended = match found {
            Ok(_) => "found".to_owned(),
            Err(error) if error.is_forbidden() => "forbidden".to_owned(),
            Err(error) => error.to_string(),
        };
        self.ended.lock().push(ended);
        Ok(Action::wait())
    }
}

impl Reader {
    fn operator(&self) -> Operator {
        Operator::new(NAME).controller(self.clone())
    }

    /// How its requests end with these roles.
    async fn reads(&self, roles: &Roles) -> Vec<String> {
        let cluster = Cluster::with(Sandbox::builder().seed(1).rbac(true)).unwrap();
        let running = cluster.run_with_roles(self.operator(), roles);
        let running = running.await.unwrap();
        let shared = SharedConfig {
            metadata: ObjectMeta {
                name: Some("settings".into()),
                ..ObjectMeta::default()
            },
            spec: SharedConfigSpec {
                data: BTreeMap::new(),
            },
            status: None,
        };
        cluster.create(&shared).await.unwrap();
        cluster.settle().await;
        running.stop().await;
        cluster.stop().await;
        let mut ended = std::mem::take(&mut *self.ended.lock());
        ended.dedup();
        ended
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconciler_gets_an_object_of_a_watched_kind_only_if_wire_declares_it() {
    const GET: &str = "get namespaces";
    let declared = Reader {
        declares: true,
        ..Reader::default()
    };
    let all = roles(declared.operator());
    assert_eq!(declared.reads(&all).await, ["found"]);
    let mut cases = without_each(&all, NAME).into_iter();
    let (_, without) = cases.find(|(one, _)| one == GET).unwrap();
    assert_eq!(declared.reads(&without).await, ["forbidden"]);

    let undeclared = Reader::default();
    let all = roles(undeclared.operator());
    let mut cases = without_each(&all, NAME).into_iter();
    assert!(cases.all(|(one, _)| one != GET), "{all:?}");
    let refusal = "get Namespace default: not declared: add `.access(AccessRule::of::<Namespace>([\"get\"]))` to wire";
    assert_eq!(undeclared.reads(&all).await, [refusal]);
}
