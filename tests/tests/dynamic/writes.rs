//! Writes of objects without a Rust type.

use pilothouse::resource::AccessRule;

use super::*;

/// Counts up an annotation of its own object every second.
#[derive(Clone, Default)]
struct Numbering(Arc<parking_lot::Mutex<Vec<u64>>>);

impl Reconciler for Numbering {
    type Resource = DynamicObject;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let patch = AccessRule::of_resource(&controller.resource(), ["patch"]);
        controller.access(patch).every(Duration::from_secs(1))
    }

    async fn reconcile(
        &self,
        object: Arc<DynamicObject>,
        cx: &Context<DynamicObject>,
    ) -> Result<Action> {
        let number = object.annotation("number");
        let number = number.map_or(0, |number| number.parse().unwrap());
        self.0.lock().push(number);
        let next = (number + 1).to_string();
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"number": next}}}));
        let kind = cx.resource();
        let patched = cx.patch_of::<DynamicObject>(kind, cx.key(), &patch).await?;
        assert_eq!(patched.annotation("number"), Some(&*next));
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn r5_the_next_reconcile_of_a_dynamic_kind_sees_what_the_last_one_wrote() {
    let cluster = start();
    install(&cluster, ALBUMS).await;
    let numbering = Numbering::default();
    let operator = Operator::new("numbering").dynamic_controller(albums(), numbering.clone());
    let running = cluster.run(operator).await.unwrap();
    create(&cluster, &albums(), "a", json!({"pages": []})).await;
    let watches = RequestMatcher::any().verb("watch").resource("albums");
    cluster.faults().hold_watches(watches);
    cluster.settle().await;
    numbering.0.lock().clear();
    // The key waits for its own write, although it is due every second.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(*numbering.0.lock(), [0; 0]);
    cluster.faults().release_watches();
    cluster.settle().await;
    cluster.settle().await;
    let saw = numbering.0.lock().clone();
    assert!(saw.len() > 1, "{saw:?}");
    assert!(saw.is_sorted_by(|one, next| one < next), "{saw:?}");
    running.stop().await;
}

/// Creates, replaces and deletes a ConfigMap, without having a type for it.
struct Steps;

impl Reconciler for Steps {
    type Resource = DynamicObject;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.writes::<ConfigMap>().deletes::<ConfigMap>()
    }

    async fn reconcile(
        &self,
        _: Arc<DynamicObject>,
        cx: &Context<DynamicObject>,
    ) -> Result<Action> {
        let maps = ApiResource::of::<ConfigMap>();
        let mut map = DynamicObject::new(&maps, "steps");
        map.types = Default::default();
        let mut created = cx.create_of(&maps, map).await?;
        assert_eq!(created.namespace(), Some("default"));
        created.data.insert("data".into(), json!({"step": "2"}));
        let updated = cx.update_of(&maps, &created).await?;
        assert_eq!(updated.data["data"]["step"], "2");
        cx.delete_of(&maps, &updated).await?;
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn objects_without_a_rust_type_are_created_replaced_and_deleted() {
    let cluster = start();
    install(&cluster, ALBUMS).await;
    let operator = Operator::new("steps").dynamic_controller(albums(), Steps);
    let running = cluster.run(operator).await.unwrap();
    create(&cluster, &albums(), "a", json!({"pages": []})).await;
    assert_eq!(
        writes(&cluster)[2..],
        [
            "create configmaps steps",
            "update configmaps steps",
            "delete configmaps steps"
        ]
    );
    assert_eq!(events(&cluster).await, Vec::<String>::new());
    running.stop().await;
}
