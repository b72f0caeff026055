//! A cleanup that gives up after some time.

// ANCHOR: recipe
use pilothouse::prelude::*;

use crate::site::Site;

/// After this time in seconds an object is deleted even if its name stays in the registry.
const GIVE_UP: i64 = 600;

struct Registered {
    registry: Registry,
}

impl Reconciler for Registered {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.finalizer("book.pilothouse.dev/registry")
    }

    async fn reconcile(&self, site: Arc<Site>, _: &Context<Site>) -> Result<Action> {
        self.registry.add(site.name())?;
        Ok(Action::wait())
    }
}

impl Cleanup for Registered {
    async fn cleanup(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let Err(error) = self.registry.remove(site.name()) else {
            return Ok(Action::wait());
        };
        let began = site.metadata.deletion_timestamp.as_ref();
        let waited = began.map_or(0, |began| cx.now().as_second() - began.0.as_second());
        if waited < GIVE_UP {
            let note = format!("{error}: trying again for {} s", GIVE_UP - waited);
            cx.event(NewEvent::warning("RegistryUnreachable", "Cleanup").note(note));
            return Ok(Action::requeue_after(Duration::from_secs(30)));
        }
        let note = format!("the name stays in the registry: {error}");
        cx.event(NewEvent::warning("CleanupAbandoned", "Cleanup").note(note));
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// A registry of names that may be unreachable.
#[derive(Clone, Default)]
struct Registry {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    names: BTreeSet<String>,
    is_down: bool,
}

impl Registry {
    fn add(&self, name: &str) -> Result<(), String> {
        self.change(|names| {
            names.insert(name.to_owned());
        })
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        self.change(|names| {
            names.remove(name);
        })
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<String>)) -> Result<(), String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_down {
            return Err("the registry does not respond".to_owned());
        }
        change(&mut state.names);
        Ok(())
    }
}

mod tests {
    use pilothouse::testing::Cluster;

    use super::*;
    use crate::world::{reasons, site};

    #[tokio::test(start_paused = true)]
    async fn an_object_is_gone_after_ten_minutes_even_if_the_registry_is_down() {
        let registry = Registry::default();
        let cluster = Cluster::start().unwrap();
        let reconciler = Registered {
            registry: registry.clone(),
        };
        let running = cluster
            .run(Operator::new("sites").controller(reconciler))
            .await
            .unwrap();
        for name in ["a", "b"] {
            cluster.create(&site(name)).await.unwrap();
        }
        cluster.settle().await;
        cluster.delete::<Site>("a").await.unwrap();
        cluster.until_gone::<Site>("a").await.unwrap();

        registry.state.lock().unwrap().is_down = true;
        cluster.delete::<Site>("b").await.unwrap();
        tokio::time::sleep(Duration::from_secs(580)).await;
        assert!(cluster.get::<Site>("b").await.unwrap().is_some());
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(cluster.get::<Site>("b").await.unwrap().is_none());
        let reasons = reasons(&cluster, "b").await;
        assert_eq!(reasons, ["RegistryUnreachable", "CleanupAbandoned"]);
        let names = registry.state.lock().unwrap().names.clone();
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["b"]);
        running.stop().await;
    }
}
