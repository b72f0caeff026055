use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use redb::backends::InMemoryBackend;
use redb::{Database, StorageBackend};
use serde_json::{Value, json};

use super::tables::Tables;
use super::{Disk, Identity};
use crate::authority::Authority;
use crate::registry::GroupResource;
use crate::store::{Commit, CommitError, Key, Store, Write};

fn identity(token: &str) -> Identity {
    Identity {
        admin_token: token.into(),
        authority: Authority::new().unwrap(),
    }
}

fn open(folder: &std::path::Path) -> Arc<Store> {
    let (disk, kept) = Disk::open(folder, &mut identity("")).unwrap();
    Store::with_disk(100, disk, kept.version, kept.objects)
}

fn resource(number: u8) -> GroupResource {
    GroupResource::new("test.dev", format!("kind{number}"))
}

/// Resource, key, resource version and object of everything that the store serves.
fn all(store: &Store) -> BTreeMap<(u8, String), (u64, Value)> {
    let mut all = BTreeMap::new();
    for number in 0..2 {
        store.open(&resource(number));
        let list = store.list(&resource(number), None, None, None);
        for entry in list.unwrap().unwrap().entries {
            let name = entry.object["metadata"]["name"].as_str().unwrap().into();
            all.insert((number, name), (entry.version, Value::clone(&entry.object)));
        }
    }
    all
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8, i64),
    Remove(u8, u8),
    /// The kind is served no longer, and then served again.
    Close(u8),
    Save,
    Restore,
    Rewind,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0_u8..2, 0_u8..4, any::<i64>()).prop_map(|(kind, name, value)| Step::Put(kind, name, value)),
        3 => (0_u8..2, 0_u8..4).prop_map(|(kind, name)| Step::Remove(kind, name)),
        1 => (0_u8..2).prop_map(Step::Close),
        1 => Just(Step::Save),
        1 => Just(Step::Restore),
        1 => Just(Step::Rewind),
        2 => Just(Step::Reopen),
    ]
}

fn put(store: &Store, kind: u8, name: &str, value: Option<i64>) {
    let (resource, key) = (&resource(kind), &Key::new(Some("space"), name));
    let expected = store.get(resource, key).map(|entry| entry.version);
    let object = json!({"metadata": {"name": name, "namespace": "space"}, "value": value});
    let write = match value {
        Some(_) => Write::Put(object),
        None if expected.is_some() => Write::Remove(object),
        None => return,
    };
    let committed = store.commit(Commit {
        resource,
        key,
        expected,
        write,
        namespace: None,
    });
    committed.expect("nobody else writes");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// The next process finds the objects that the last one wrote, with their resource versions. New resource versions are higher.
    #[test]
    fn the_next_store_has_the_objects_of_the_last_one(steps in prop::collection::vec(step(), 0..40)) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(folder.path());
        all(&store);
        let mut saved = None;
        for step in steps.into_iter().chain([Step::Reopen]) {
            match step {
                Step::Put(kind, name, value) => put(&store, kind, &format!("n{name}"), Some(value)),
                Step::Remove(kind, name) => put(&store, kind, &format!("n{name}"), None),
                Step::Close(kind) => {
                    let bucket = store.open(&resource(kind));
                    store.close(&resource(kind), bucket);
                    store.open(&resource(kind));
                }
                Step::Save => saved = Some(store.save()),
                Step::Restore => {
                    if let Some(saved) = &saved {
                        store.restore(saved);
                    }
                }
                Step::Rewind => {
                    if let Some(saved) = &saved {
                        store.rewind(saved);
                    }
                }
                Step::Reopen => {
                    let (before, version) = (all(&store), store.version());
                    drop(store);
                    store = open(folder.path());
                    prop_assert_eq!(all(&store), before);
                    prop_assert!(store.version() == 1 && version == 1 || store.version() > version);
                }
            }
        }
    }
}

#[test]
fn a_watch_from_before_the_start_is_told_that_its_history_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.open(&resource(0));
    put(&store, 0, "a", Some(1));
    put(&store, 0, "a", None);
    let version = store.version();
    drop(store);
    let store = open(folder.path());
    store.open(&resource(0));
    let mut old = store.watch(&resource(0), version).unwrap();
    assert!(old.take().unwrap().is_err());
    let mut new = store.watch(&resource(0), store.version()).unwrap();
    assert!(new.take().unwrap().unwrap().changes.is_empty());
}

#[test]
fn a_folder_is_for_one_sandbox_at_a_time_and_keeps_its_identity() {
    let folder = tempfile::tempdir().unwrap();
    let (mut first, mut second) = (identity("first"), identity("second"));
    let opened = Disk::open(folder.path(), &mut first).unwrap();
    let refused = Disk::open(folder.path(), &mut second).err();
    assert_eq!(refused.as_deref(), Some("another sandbox uses it"));
    drop(opened);
    Disk::open(folder.path(), &mut second).unwrap();
    let text = |identity: &Identity| serde_json::to_string(identity).unwrap();
    assert_eq!(text(&second), text(&first));
}

#[test]
fn a_file_that_is_no_store_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sandbox.redb");
    let text = "apiVersion: v1\n".repeat(1000);
    std::fs::write(&file, &text).unwrap();
    assert!(Disk::open(folder.path(), &mut identity("")).is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

/// A file in memory that cannot be written while `full` is set.
#[derive(Debug)]
struct Full {
    file: InMemoryBackend,
    full: Arc<AtomicBool>,
}

impl Full {
    fn check(&self) -> io::Result<()> {
        match self.full.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

impl StorageBackend for Full {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        self.file.write(offset, data)
    }
}

/// A store whose disk cannot be written once the flag is set.
pub(crate) fn on_disk_that_gets_full() -> (Arc<Store>, Arc<AtomicBool>) {
    let full = Arc::new(AtomicBool::new(false));
    let backend = Full {
        file: InMemoryBackend::new(),
        full: full.clone(),
    };
    let tables = Tables::of(Database::builder().create_with_backend(backend).unwrap()).unwrap();
    let (disk, kept) = Disk::start(tables, &mut identity("")).unwrap();
    let store = Store::with_disk(100, disk, kept.version, kept.objects);
    (store, full)
}

#[tokio::test]
async fn once_the_disk_cannot_be_written_every_write_is_told() {
    let (store, full) = on_disk_that_gets_full();
    store.open(&resource(0));
    put(&store, 0, "a", Some(1));
    assert_eq!(store.flushed().await, Ok(()));
    full.store(true, Ordering::Relaxed);
    put(&store, 0, "a", Some(2));
    let error = store.flushed().await.unwrap_err();
    assert_eq!(error.code, 500);
    let text = "the sandbox cannot keep this change: its data folder cannot be written: ";
    assert!(error.message.starts_with(text), "{}", error.message);
    // From now on nothing changes, also not in memory.
    let version = store.version();
    let refused = store.commit(Commit {
        resource: &resource(0),
        key: &Key::new(Some("space"), "b"),
        expected: None,
        write: Write::Put(json!({"metadata": {"name": "b", "namespace": "space"}})),
        namespace: None,
    });
    assert!(matches!(refused, Err(CommitError::NotKept(_))));
    assert_eq!(store.version(), version);
}
