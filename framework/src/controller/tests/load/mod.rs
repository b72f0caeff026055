//! Five controllers and thousands of objects with failing servers, for ten minutes of the paused clock. The controllers are
//! as a user writes them: each applies a child by its `Context`.
//!
//! `PILOTHOUSE_LOAD` sets the number of objects (500 by default; the shard `load` of `.ci/run long` sets 10000).
//! `PILOTHOUSE_SEED` sets the random seed.

mod requests;
pub(super) mod server;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
    batch::v1::Job,
    core::v1::ConfigMap,
};
use parking_lot::Mutex;

use tokio::time::Instant;

use super::world::{World, named, named_key, pass};
use crate::{
    controller::{Action, Context, Controller, ControllerStatus, Failure, Reconciler, Result},
    resource::{CanOwn, Namespaced, Object, ObjectKey, Resource},
};
use requests::Requests;
use server::Server;

const WANTED: &str = "example.com/wanted";

/// Random numbers that depend only on the seed (xorshift).
#[derive(Clone)]
struct Dice(Arc<Mutex<u64>>);

impl Dice {
    fn below(&self, end: u64) -> u64 {
        let mut state = self.0.lock();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % end
    }

    fn percent(&self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// The longest wait for a write.
const PATIENCE: Duration = Duration::from_secs(10);

/// Applies for each object a child with the content that the object asks for.
struct Keeper<K> {
    children: Server<ConfigMap>,
    dice: Dice,
    healthy: Arc<Mutex<bool>>,
    log: Arc<Mutex<Log>>,
    kind: std::marker::PhantomData<fn() -> K>,
}

#[derive(Default)]
struct Log {
    running: HashSet<ObjectKey>,
    overlaps: usize,
    calls: usize,
    /// The newest state of the child that a reconcile wrote, by owner.
    written: HashMap<ObjectKey, Written>,
    /// The number of calls that found an older state in the cache than the last write.
    stale: Vec<String>,
}

struct Written {
    uid: Option<String>,
    version: u64,
    at: Instant,
}

struct Entered<'a>(&'a Mutex<Log>, &'a ObjectKey);

impl<'a> Entered<'a> {
    fn new(log: &'a Mutex<Log>, key: &'a ObjectKey) -> Self {
        let mut entered = log.lock();
        entered.calls += 1;
        if !entered.running.insert(key.clone()) {
            entered.overlaps += 1;
        }
        Self(log, key)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.lock().running.remove(self.1);
    }
}

fn child_name<K: Resource>(name: &str) -> String {
    format!("{}-{name}", K::PLURAL)
}

fn wanted<K: Object>(object: &K) -> Option<&str> {
    object.annotation(WANTED)
}

fn want<K: Object>(object: &mut K, wanted: u64) {
    let annotations = object.metadata_mut().annotations.get_or_insert_default();
    annotations.insert(WANTED.to_owned(), wanted.to_string());
}

fn controller_uid(child: &ConfigMap) -> Option<&str> {
    let owner = child.metadata.owner_references.as_ref()?.first()?;
    Some(&owner.uid)
}

impl<K: Resource> Keeper<K> {
    fn luck(&self, chance: u64) -> bool {
        !*self.healthy.lock() && self.dice.percent(chance)
    }

    /// Checks whether the cache has what the last reconcile of `owner` wrote.
    fn look_at_ground(&self, owner: &ObjectKey, name: &str, cached: Option<&ConfigMap>) {
        let mut log = self.log.lock();
        let Some(written) = log.written.get(owner) else {
            return;
        };
        if written.at.elapsed() >= PATIENCE {
            return;
        }
        let is_it = |child: &&ConfigMap| child.metadata.uid == written.uid;
        let is_stale = match cached.filter(is_it) {
            Some(child) => version(child) < written.version,
            // Missing is right if the child was deleted.
            None => {
                let there = self.children.get(&named_key(name));
                there.as_ref().filter(is_it).is_some()
            }
        };
        if is_stale {
            log.stale.push(format!("{} {owner}", K::KIND));
        }
    }

    fn note_ground(&self, owner: &ObjectKey, child: &ConfigMap) {
        let written = Written {
            uid: child.metadata.uid.clone(),
            version: version(child),
            at: Instant::now(),
        };
        self.log.lock().written.insert(owner.clone(), written);
    }
}

fn version(child: &ConfigMap) -> u64 {
    child.resource_version().unwrap().parse().unwrap()
}

impl<K> Reconciler for Keeper<K>
where
    K: Resource<Scope = Namespaced>,
    Namespaced: CanOwn<Namespaced>,
{
    type Resource = K;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>()
    }

    async fn reconcile(&self, object: Arc<K>, cx: &Context<K>) -> Result {
        let _entered = Entered::new(&self.log, cx.key());
        let name = child_name::<K>(object.name());
        let cached = cx.get::<ConfigMap>(&name)?;
        self.look_at_ground(cx.key(), &name, cached.as_deref());
        let mut child = named::<ConfigMap>(&name);
        child.metadata.annotations = object.metadata().annotations.clone();
        let child = cx.apply(child).await?;
        self.note_ground(cx.key(), &child);
        if self.luck(1) {
            panic!("as the test wants it");
        }
        if self.luck(2) {
            return Err(Failure::new("as the test wants it"));
        }
        Ok(match self.luck(5) {
            true => Action::requeue_after(Duration::from_secs(self.dice.below(60))),
            false => Action::wait(),
        })
    }

    async fn deleted(&self, key: &ObjectKey, _: &Context<K>) -> Result<()> {
        let _entered = Entered::new(&self.log, key);
        pass(self.dice.below(20)).await;
        match self.luck(5) {
            true => Err(Failure::new("as the test wants it")),
            false => Ok(()),
        }
    }
}

/// One kind with its controller, without the Rust type.
trait Part {
    /// Makes a random change to an object.
    fn change(&self, dice: &Dice, number: u64);
    /// Changes what an object asks for, if it exists.
    fn change_mind(&self, dice: &Dice, number: u64);
    fn fault(&self, dice: &Dice);
    fn delete_all(&self);
    /// The UIDs of the objects.
    fn uids(&self, into: &mut BTreeSet<String>);
    /// The differences from the wanted state.
    fn wrong(&self) -> Vec<String>;
    /// The numbers of calls, of overlapping calls, and of calls with a stale cache.
    fn log(&self) -> (usize, usize, Vec<String>);
    fn remembered(&self) -> usize;
}

struct EncodedObject<K> {
    server: Server<K>,
    children: Server<ConfigMap>,
    log: Arc<Mutex<Log>>,
    status: ControllerStatus,
}

impl<K> Part for EncodedObject<K>
where
    K: Resource<Scope = Namespaced> + Default,
{
    fn change(&self, dice: &Dice, number: u64) {
        let name = format!("o{number}");
        let key = named_key(&name);
        let child = named_key(&child_name::<K>(&name));
        match (self.server.get(&key), dice.below(10)) {
            (None, _) => {
                let mut object = named::<K>(&name);
                want(&mut object, dice.below(1000));
                self.server.create(object);
            }
            (Some(_), 0) => self.server.delete(&key),
            (Some(_), 1) => self.children.delete(&child),
            (Some(_), 2) => {
                if let Some(mut child) = self.children.get(&child) {
                    want(&mut child, 1_000_000);
                    self.children.update(child);
                }
            }
            (Some(_), _) => self.change_mind(dice, number),
        }
    }

    fn change_mind(&self, dice: &Dice, number: u64) {
        if let Some(mut object) = self.server.get(&named_key(&format!("o{number}"))) {
            want(&mut object, dice.below(1000));
            self.server.update(object);
        }
    }

    fn fault(&self, dice: &Dice) {
        fault(&self.server, dice);
    }

    fn delete_all(&self) {
        for object in self.server.all() {
            self.server.delete(&object.key());
        }
    }

    fn uids(&self, into: &mut BTreeSet<String>) {
        let objects = self.server.all();
        into.extend(objects.iter().filter_map(K::uid).map(str::to_owned));
    }

    fn wrong(&self) -> Vec<String> {
        let objects = self.server.all().into_iter();
        let wrong = objects.filter(|object| {
            let child = self
                .children
                .get(&named_key(&child_name::<K>(object.name())));
            child.is_none_or(|child| {
                wanted(&child) != wanted(object) || controller_uid(&child) != object.uid()
            })
        });
        wrong
            .map(|object| format!("{} {}", K::KIND, object.key()))
            .collect()
    }

    fn log(&self) -> (usize, usize, Vec<String>) {
        let log = self.log.lock();
        (log.calls, log.overlaps, log.stale.clone())
    }

    fn remembered(&self) -> usize {
        self.status.remembered()
    }
}

fn fault<K: Resource>(server: &Server<K>, dice: &Dice) {
    let time = Duration::from_secs(1 + dice.below(20));
    match dice.below(4) {
        0 => server.end_watches(false),
        1 => server.end_watches(true),
        2 => server.fail_for(time),
        _ => server.delay_for(time),
    }
}

struct Load {
    world: World,
    children: Server<ConfigMap>,
    dice: Dice,
    healthy: Arc<Mutex<bool>>,
    parts: Vec<Box<dyn Part>>,
}

impl Load {
    fn kind<K: Resource<Scope = Namespaced> + Default>(&mut self, objects: u64) {
        let server = Server::<K>::new();
        server.serve(&self.world);
        let log = Arc::<Mutex<Log>>::default();
        let controller = Controller::new(Keeper::<K> {
            children: self.children.clone(),
            dice: self.dice.clone(),
            healthy: self.healthy.clone(),
            log: log.clone(),
            kind: std::marker::PhantomData,
        });
        let part = EncodedObject {
            server,
            children: self.children.clone(),
            log,
            status: controller.status(),
        };
        (0..objects).for_each(|number| part.change(&self.dice, number));
        self.world.start(controller);
        self.parts.push(Box::new(part));
    }

    /// Acts as the garbage collector: deletes children whose owners are gone.
    fn collect(&self) {
        let mut uids = BTreeSet::new();
        self.parts.iter().for_each(|part| part.uids(&mut uids));
        for child in self.children.all() {
            if controller_uid(&child).is_none_or(|uid| !uids.contains(uid)) {
                self.children.delete(&child.key());
            }
        }
    }

    async fn seconds(&self, seconds: u64) {
        for _ in 0..seconds / 10 {
            pass(10_000).await;
            self.collect();
        }
    }
}

fn number(variable: &str, default: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(default, |value| value.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn after_ten_minutes_of_faults_all_children_are_as_wanted_and_deleted_objects_are_forgotten()
{
    let seed = number("PILOTHOUSE_SEED", 0x9E37_79B9_7F4A_7C15);
    // Five pairs of a parent kind and a child kind.
    let each = number("PILOTHOUSE_LOAD", 500) / 10;
    let requests = Requests {
        children: Server::new(),
        dice: Dice(Arc::new(Mutex::new(seed))),
        healthy: Arc::default(),
    };
    let world = World::with_client(requests.client());
    requests.children.serve(&world);
    let mut load = Load {
        world,
        children: requests.children,
        dice: requests.dice,
        healthy: requests.healthy,
        parts: Vec::new(),
    };
    load.kind::<Deployment>(each);
    load.kind::<StatefulSet>(each);
    load.kind::<DaemonSet>(each);
    load.kind::<ReplicaSet>(each);
    load.kind::<Job>(each);

    let dice = load.dice.clone();
    for second in 0..600 {
        let changed: Vec<_> = (0..1 + each / 50)
            .map(|_| (usize::try_from(dice.below(5)).unwrap(), dice.below(each)))
            .collect();
        for &(part, number) in &changed {
            load.parts[part].change(&dice, number);
        }
        // Many objects change while the first reconcile runs.
        for &(part, number) in &changed {
            pass(dice.below(100 / changed.len() as u64 + 1)).await;
            if dice.percent(50) {
                load.parts[part].change_mind(&dice, number);
            }
        }
        match dice.below(60) {
            part @ 0..5 => load.parts[usize::try_from(part).unwrap()].fault(&dice),
            5 => fault(&load.children, &dice),
            _ => {}
        }
        pass(1000).await;
        if second % 10 == 0 {
            load.collect();
        }
    }
    // Longer than the longest pause after a failure.
    *load.healthy.lock() = true;
    load.seconds(400).await;
    let wrong: Vec<_> = load.parts.iter().flat_map(|part| part.wrong()).collect();
    assert_eq!(wrong, Vec::<String>::new(), "seed {seed}");

    load.parts.iter().for_each(|part| part.delete_all());
    load.seconds(400).await;
    for part in &load.parts {
        let (calls, overlaps, stale) = part.log();
        assert!(calls as u64 > each, "{calls} calls");
        assert_eq!(stale, Vec::<String>::new(), "stale ground, seed {seed}");
        assert_eq!(
            (overlaps, part.remembered()),
            (0, 0),
            "overlaps and keys that are remembered, seed {seed}"
        );
    }
    assert_eq!(load.children.all().len(), 0);
    load.world.cancel.cancel();
}
