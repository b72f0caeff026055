//! R5: the reads of a call show what the call wrote, although the cache does not have it yet. The next call sees at least what
//! the call read with `live()`.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pilothouse::{
    cache::Lister,
    client::{Api, ListParams, Patch},
    controller::Read,
    k8s::api::core::v1::{ConfigMap, Secret},
    operator::{Operator, Running},
    prelude::*,
    resource::{AccessRule, ApiResource, DynamicObject, ObjectKey},
    testing::{Cluster, RequestMatcher},
};
use serde_json::json;
use tokio::time::sleep;

use crate::probe::{Widget, widget};

type Act = for<'a> fn(&'a Context<Widget>, usize) -> BoxFuture<'a, Result<Vec<String>>>;

/// Calls `act` with the number of the call, from 1, and keeps what it has seen.
struct Reader {
    act: Act,
    seen: Arc<Mutex<Vec<Vec<String>>>>,
}

fn value(map: &ConfigMap) -> Option<String> {
    map.data.as_ref()?.get("value").cloned()
}

fn dynamic_secrets() -> ApiResource {
    ApiResource::of::<Secret>()
}

impl Reconciler for Reader {
    type Resource = Widget;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let all = ["get", "list", "patch", "create", "update", "delete"];
        controller
            .owns::<ConfigMap>()
            .index(value)
            .watch(Read::<DynamicObject>::dynamic(dynamic_secrets()))
            .access(AccessRule::of::<ConfigMap>(all))
            .access(AccessRule::of::<Secret>(all))
    }

    async fn reconcile(&self, _: Arc<Widget>, cx: &Context<Widget>) -> Result<Action> {
        let call = self.seen.lock().len() + 1;
        let seen = (self.act)(cx, call).await?;
        self.seen.lock().push(seen);
        Ok(Action::wait())
    }
}

/// A ConfigMap `a` with this value.
fn map(value: &str) -> ConfigMap {
    let mut map = ConfigMap::named("a");
    map.data = Some([("value".to_owned(), value.to_owned())].into());
    map
}

fn values(maps: impl IntoIterator<Item = Arc<ConfigMap>>) -> String {
    let mut values: Vec<_> = maps.into_iter().filter_map(|map| value(&map)).collect();
    values.sort();
    values.join(",")
}

/// What each read by `Context` shows of the ConfigMaps.
fn reads(cx: &Context<Widget>) -> Result<String> {
    let got = cx.get::<ConfigMap>("a")?;
    let got_in = cx.get_in::<ConfigMap>("default", "a")?;
    assert_eq!(got, got_in);
    let shown = values(got);
    for listed in [
        cx.list::<ConfigMap>()?,
        cx.list_in::<ConfigMap>("default")?,
        cx.list_all::<ConfigMap>()?,
    ] {
        assert_eq!(values(listed.items), shown);
    }
    let indexed = cx.index_values::<ConfigMap, _>(value)?.items.join(",");
    assert_eq!(indexed, shown);
    assert_eq!(values(cx.indexed(value, &shown)?.items), shown);
    Ok(shown)
}

async fn started(act: Act) -> (Cluster, Running, Arc<Mutex<Vec<Vec<String>>>>) {
    let cluster = Cluster::start().unwrap();
    let seen = Arc::<Mutex<_>>::default();
    let reader = Reader {
        act,
        seen: seen.clone(),
    };
    let operator = Operator::new("promises").controller(reader);
    let running = cluster.run(operator).await.unwrap();
    (cluster, running, seen)
}

fn watches(plural: &str) -> RequestMatcher {
    RequestMatcher::any().resource(plural).verb("watch")
}

#[tokio::test(start_paused = true)]
async fn reads_show_what_the_call_wrote_before_the_cache_has_it() {
    let act: Act = |cx, _| {
        Box::pin(async move {
            let mut seen = vec![reads(cx)?];
            cx.apply(map("applied")).await?;
            seen.push(reads(cx)?);
            let owned = cx.list_owned::<ConfigMap>()?;
            seen.push(values(owned.items));
            let patch = Patch::Merge(json!({"data": {"value": "patched"}}));
            cx.patch::<ConfigMap>(&ObjectKey::namespaced("default", "a"), &patch)
                .await?;
            seen.push(reads(cx)?);
            let present = cx.get::<ConfigMap>("a")?.expect("it was patched");
            let mut changed = (*present).clone();
            changed.data = map("updated").data;
            cx.update(&changed).await?;
            seen.push(reads(cx)?);
            cx.delete(&changed).await?;
            seen.push(reads(cx)?);
            cx.create(map("created")).await?;
            seen.push(reads(cx)?);
            Ok(seen)
        })
    };
    let (cluster, running, seen) = started(act).await;
    cluster.faults().hold_watches(watches("configmaps"));
    cluster.create(&widget("a", 1)).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let expected = [
        "", "applied", "applied", "patched", "updated", "", "created",
    ];
    assert_eq!(*seen.lock(), [expected.map(str::to_owned).to_vec()]);
    running.stop().await;
}

/// The kind is read as another Rust type than it is written as, and by a lister that the call got before its write.
#[tokio::test(start_paused = true)]
async fn a_lister_of_another_type_shows_what_the_call_wrote() {
    let act: Act = |cx, _| {
        Box::pin(async move {
            let secrets: Lister<DynamicObject> = cx.lister_of(&dynamic_secrets())?;
            let before = secrets.list().items.len();
            cx.create(Secret::named("a")).await?;
            let after = secrets.list().items;
            let got = cx.get_of::<DynamicObject>(&dynamic_secrets(), "a")?;
            let got = got.expect("it was created");
            assert!(got.uid().is_some() && after.len() == 1 && after[0].uid() == got.uid());
            Ok(vec![before.to_string(), got.name().to_owned()])
        })
    };
    let (cluster, running, seen) = started(act).await;
    cluster.faults().hold_watches(watches("secrets"));
    cluster.create(&widget("a", 1)).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(*seen.lock(), [["0", "a"]]);
    running.stop().await;
}

/// The state of the cache counts again as soon as it is newer.
#[tokio::test(start_paused = true)]
async fn a_later_change_by_others_is_shown_instead_of_the_own_write() {
    let act: Act = |cx, _| {
        Box::pin(async move {
            cx.apply(map("applied")).await?;
            let mut seen = vec![reads(cx)?];
            sleep(Duration::from_secs(10)).await;
            seen.push(reads(cx)?);
            sleep(Duration::from_secs(10)).await;
            seen.push(reads(cx)?);
            Ok(seen)
        })
    };
    let (cluster, running, seen) = started(act).await;
    cluster.create(&widget("a", 1)).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let by_hand = json!({"data": {"value": "by hand"}});
    cluster.patch::<ConfigMap>("a", by_hand).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    cluster.delete::<ConfigMap>("a").await.unwrap();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(seen.lock()[0], ["applied", "by hand", ""]);
    running.stop().await;
}

/// The first call reads what the cache does not have. The second one begins only when the cache has it.
#[tokio::test(start_paused = true)]
async fn the_next_call_sees_at_least_what_live_has_read() {
    let by_get: Act = |cx, call| {
        Box::pin(async move {
            let live = Api::<ConfigMap>::namespaced(cx.live(), "default");
            let live = match call {
                1 => value(&live.get("a").await?),
                _ => None,
            };
            Ok(vec![live.unwrap_or_default(), reads(cx)?])
        })
    };
    let by_list: Act = |cx, call| {
        Box::pin(async move {
            let live = Api::<ConfigMap>::namespaced(cx.live(), "default");
            let live = match call {
                1 => live.list(&ListParams::default()).await?.items,
                _ => Vec::new(),
            };
            Ok(vec![values(live.into_iter().map(Arc::new)), reads(cx)?])
        })
    };
    for act in [by_get, by_list] {
        let (cluster, running, seen) = started(act).await;
        cluster.create(&map("old")).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        cluster.faults().hold_watches(watches("configmaps"));
        let by_hand = json!({"data": {"value": "new"}});
        cluster.patch::<ConfigMap>("a", by_hand).await.unwrap();
        cluster.create(&widget("a", 1)).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(*seen.lock(), [["new", "old"]]);
        super::resize(&cluster, "a", 2).await;
        sleep(Duration::from_secs(5)).await;
        assert_eq!(seen.lock().len(), 1, "the second call waits for the cache");
        cluster.faults().release_watches();
        sleep(Duration::from_secs(5)).await;
        assert_eq!(*seen.lock(), [["new", "old"], ["", "new"]]);
        running.stop().await;
    }
}
