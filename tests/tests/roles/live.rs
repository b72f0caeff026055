//! The permission to read a watched kind from the server.

use std::{collections::BTreeMap, sync::Arc};

use configmap_sync::{SharedConfig, SharedConfigSpec};
use pilothouse::{
    client::Api,
    k8s::api::core::v1::Namespace,
    manifests::Roles,
    prelude::*,
    testing::{Cluster, Sandbox},
};

use super::{roles, without_each};

const NAME: &str = "configmap-sync";

/// Watches namespaces, and reads one from the server.
struct Reader;

impl Reconciler for Reader {
    type Resource = SharedConfig;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.watches::<Namespace>(|_| Vec::new())
    }

    async fn reconcile(
        &self,
        shared: Arc<SharedConfig>,
        cx: &Context<SharedConfig>,
    ) -> Result<Action> {
        let namespaces = Api::<Namespace>::all(cx.live());
        namespaces.get(shared.namespace().unwrap()).await?;
        Ok(Action::wait())
    }
}

fn operator() -> Operator {
    Operator::new(NAME).controller(Reader)
}

/// The codes of the answers to the reader.
async fn answers(roles: &Roles) -> Vec<u16> {
    let cluster = Cluster::with(Sandbox::builder().seed(1).rbac(true)).unwrap();
    let running = cluster.run_with_roles(operator(), roles).await.unwrap();
    cluster.forget_requests();
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
    let requests = cluster.requests();
    let reads = requests
        .iter()
        .filter(|one| one.path == "/api/v1/namespaces/default");
    let mut codes: Vec<u16> = reads.map(|one| one.status).collect();
    codes.dedup();
    cluster.stop().await;
    codes
}

#[tokio::test(start_paused = true)]
async fn a_reconciler_reads_a_watched_kind_from_the_server_only_with_its_rule() {
    let all = roles(operator());
    assert_eq!(answers(&all).await, [200]);
    let mut cases = without_each(&all, NAME).into_iter();
    let (_, without) = cases.find(|(one, _)| one == "get namespaces").unwrap();
    assert_eq!(answers(&without).await, [403]);
}
