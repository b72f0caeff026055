//! The life of a Database, with the whole operator on a paused clock.
#![cfg(feature = "dev")]

mod world;

use std::time::Duration;

use author_postgres::Database;
use pilothouse::{health::Query, operator::Running, prelude::*};
use serde_json::json;
use world::{World, condition};

fn states(running: &Running) -> [f64; 4] {
    ["ready", "waiting", "refused", "failed"].map(|state| {
        let value = running
            .metrics()
            .value("postgres_databases", &[("state", state)]);
        value.unwrap()
    })
}

fn id(database: &Database) -> Option<&str> {
    database.status.as_ref()?.id.as_deref()
}

fn has_id(wanted: &'static str) -> impl Fn(&Database) -> bool {
    move |database| id(database) == Some(wanted)
}

fn is(kind: &'static str, reason: &'static str) -> impl Fn(&Database) -> bool {
    move |database| {
        let status = database.status.as_ref();
        status.is_some_and(|status| condition(&status.conditions, kind)[1] == reason)
    }
}

#[tokio::test(start_paused = true)]
async fn a_database_waits_for_its_cluster_lives_and_is_dropped() {
    let world = World::new();
    let running = world.run().await;
    world.database("shop", "shop").await;
    let waiting = world
        .api
        .until("shop", "wait", is("Ready", "ReconcileWaiting"))
        .await
        .unwrap();
    let message = &condition(&waiting.status.unwrap().conditions, "Ready")[2];
    assert_eq!(message, "the Cluster main does not exist");
    assert_eq!(states(&running), [0.0, 1.0, 0.0, 0.0]);

    world.cluster(json!({})).await;
    world.api.settle().await;
    assert_eq!(world.engine.ids(), [""; 0]);
    world.serve(1).await;
    let database = world.until_ready("shop").await;
    assert_eq!(id(&database), Some("db-1"));
    assert_eq!(states(&running), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(database.line(), "default/shop\tmain/shop\tann\tdb-1\tready");

    let secret = world
        .api
        .get::<Secret>("shop-credentials")
        .await
        .unwrap()
        .unwrap();
    let owners = secret.metadata.owner_references.unwrap();
    assert_eq!(
        (&*owners[0].kind, &*owners[0].uid),
        ("Database", database.uid().unwrap())
    );
    let data = secret.data.unwrap();
    let first = world.engine.state().passwords[0].clone();
    assert_eq!(first, ("ann".into(), data["password"].0.clone()));

    // The new owner has the password of the Secret.
    let bob = json!({"spec": {"owner": "bob"}});
    world.api.patch::<Database>("shop", bob).await.unwrap();
    world.api.settle().await;
    assert_eq!(world.engine.state().databases[0].owner, "bob");
    let secret = world
        .api
        .get::<Secret>("shop-credentials")
        .await
        .unwrap()
        .unwrap();
    let data = secret.data.unwrap();
    assert_eq!(
        (&*data["username"].0, &data["password"].0),
        (&b"bob"[..], &first.1)
    );
    let moved = json!({"spec": {"name": "other"}});
    let refused = world
        .api
        .patch::<Database>("shop", moved)
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("name cannot change"),
        "{refused}"
    );

    let running = world.restart(running).await;
    world.api.delete::<Database>("shop").await.unwrap();
    world.api.until_gone::<Database>("shop").await.unwrap();
    world
        .api
        .until_gone::<Secret>("shop-credentials")
        .await
        .unwrap();
    world.api.settle().await;
    assert_eq!(
        (world.engine.ids().len(), world.engine.state().created),
        (0, 1)
    );
    assert_eq!(states(&running), [0.0; 4]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_operator_declares_no_access_that_it_does_not_use() {
    let world = World::new();
    let running = world.run().await;
    world.ready().await;
    world.database("shop", "shop").await;
    world.until_ready("shop").await;
    world.change(json!({"storage": "20Gi"})).await.unwrap();
    world.api.delete::<Database>("shop").await.unwrap();
    world.api.until_gone::<Database>("shop").await.unwrap();
    assert_eq!(running.unused_access().to_string(), "");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_between_the_creation_and_its_record_leads_to_one_database() {
    for deleted in [false, true] {
        let world = World::new();
        let running = world.run().await;
        world.ready().await;
        world.engine.state().catch = true;
        world.database("shop", "shop").await;
        world.engine.caught.notified().await;
        // This cancels everything at once, as a crash does.
        drop(running);
        let database = world.api.get::<Database>("shop").await.unwrap().unwrap();
        assert_eq!((id(&database), world.engine.ids().len()), (None, 1));
        if deleted {
            world.api.delete::<Database>("shop").await.unwrap();
        }
        let running = world.run().await;
        if deleted {
            world.api.until_gone::<Database>("shop").await.unwrap();
            assert_eq!(world.engine.ids(), [""; 0]);
        } else {
            world
                .api
                .until("shop", "have an id", has_id("db-1"))
                .await
                .unwrap();
        }
        assert_eq!(world.engine.state().created, 1);
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_poll_finds_a_dropped_database_and_reconciles_only_its_object() {
    let world = World::new();
    let running = world.run().await;
    world.ready().await;
    for name in ["shop", "blog", "wiki"] {
        world.database(name, name).await;
        world.until_ready(name).await;
    }
    tokio::time::sleep(Duration::from_secs(120)).await;
    let reconciles = || {
        let labels = [("controller", "database")];
        let total = running
            .metrics()
            .value("controller_runtime_reconcile_total", &labels);
        total.unwrap()
    };
    let before = reconciles();
    world
        .engine
        .state()
        .databases
        .retain(|database| database.place.name != "blog");
    world.api.forget_requests();
    world
        .api
        .until("blog", "be created again", has_id("db-4"))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    // One for the drop, and one for the new database.
    assert_eq!(reconciles() - before, 2.0);
    assert!(world.api.writes().iter().all(|write| write.name == "blog"));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_younger_of_two_databases_of_one_name_is_refused_until_the_older_is_gone() {
    let world = World::new();
    let running = world.run().await;
    world.ready().await;
    world.database("zoo", "shop").await;
    world.until_ready("zoo").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    world.database("ape", "shop").await;
    let refused = world
        .api
        .until("ape", "be refused", is("Unique", "DuplicateName"))
        .await
        .unwrap();
    let message = &condition(&refused.status.unwrap().conditions, "Unique")[2];
    assert_eq!(message, "the Database zoo has the same name");
    world.api.settle().await;
    assert_eq!(states(&running), [1.0, 0.0, 1.0, 0.0]);
    let running = world.restart(running).await;
    assert_eq!(states(&running), [1.0, 0.0, 1.0, 0.0]);

    // The refused one leaves the database of the other alone.
    world.database("bee", "shop").await;
    world
        .api
        .until("bee", "be refused", is("Unique", "DuplicateName"))
        .await
        .unwrap();
    world.api.delete::<Database>("bee").await.unwrap();
    world.api.until_gone::<Database>("bee").await.unwrap();
    assert_eq!(world.engine.ids(), ["db-1"]);

    world.api.delete::<Database>("zoo").await.unwrap();
    world.until_ready("ape").await;
    assert_eq!(world.engine.ids(), ["db-2"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn of_databases_of_the_same_second_one_has_the_name() {
    let world = World::new();
    let running = world.run().await;
    world.ready().await;
    for object in ["a", "b", "c", "d"] {
        world.database(object, "shop").await;
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(states(&running), [1.0, 0.0, 3.0, 0.0]);
    assert_eq!(world.engine.state().created, 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_engine_is_visible_and_retried_with_backoff() {
    let world = World::new();
    let running = world.run().await;
    world.ready().await;
    world.database("old", "old").await;
    world.until_ready("old").await;
    world.api.settle().await;
    world.engine.state().away = true;
    world.database("shop", "shop").await;
    let failed = world
        .api
        .until("shop", "fail", is("Ready", "ReconcileFailed"))
        .await
        .unwrap();
    let [_, _, message] = condition(&failed.status.unwrap().conditions, "Ready");
    assert_eq!(message, "the engine is away");
    tokio::time::sleep(Duration::from_secs(1800)).await;
    assert_eq!(states(&running), [1.0, 0.0, 0.0, 1.0]);
    let check = || {
        running
            .ready()
            .report_one("engine", &Query::default())
            .unwrap()
    };
    assert!(!check().healthy(), "{:?}", check());

    // Each wait is longer than the one before, up to 5.5 minutes.
    let finds = std::mem::take(&mut world.engine.state().finds);
    let waits: Vec<_> = finds[2..].windows(2).map(|two| two[1] - two[0]).collect();
    assert!(waits.len() > 12 && waits.len() < 30, "{waits:?}");
    assert!(
        *waits.last().unwrap() >= Duration::from_secs(300),
        "{waits:?}"
    );

    world.engine.state().away = false;
    tokio::time::sleep(Duration::from_secs(330)).await;
    world.until_ready("shop").await;
    assert!(check().healthy());
    // An outage is no deletion.
    assert_eq!(world.engine.state().created, 2);

    world.engine.state().away = true;
    world.api.delete::<Database>("shop").await.unwrap();
    let kept = is("Ready", "CleanupFailed");
    world
        .api
        .until("shop", "wait for the engine", kept)
        .await
        .unwrap();
    world.engine.state().away = false;
    world.api.until_gone::<Database>("shop").await.unwrap();
    assert_eq!(world.engine.ids(), ["db-1"]);
    running.stop().await;
}
