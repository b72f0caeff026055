use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use redb::{Database, ReadableDatabase, ReadableTable, Table, TableDefinition};
use serde::Serialize;

use super::{Contents, Identity, Record};
use crate::authentication::Issued;
use crate::registry::GroupResource;
use crate::store::{Encoded, Key};

/// Group, resource and key of an object; its resource version and its JSON.
const OBJECTS: TableDefinition<(&str, &str, &str), (u64, &[u8])> = TableDefinition::new("objects");
/// Tokens of service accounts, and whose they are, as JSON.
const TOKENS: TableDefinition<&str, &[u8]> = TableDefinition::new("tokens");
/// One row: the resource version of the last change.
const VERSION: TableDefinition<(), u64> = TableDefinition::new("version");
/// One row: the [`Identity`] as JSON.
const IDENTITY: TableDefinition<(), &[u8]> = TableDefinition::new("identity");
/// One row: the [`FORMAT`] of the other tables.
const FORMATS: TableDefinition<(), u64> = TableDefinition::new("format");

/// How far resource versions jump at a start. Before a crash, watches may have shown changes that did not get to the disk. Their resource versions
/// must not come again for other changes.
const JUMP: u64 = 100_000;

/// Changes with the tables.
const FORMAT: u64 = 1;

/// The file of a folder.
pub(super) struct Tables(Database);

impl Tables {
    /// Opens the file in `folder`. Both are created if they do not exist, for their owner only: the objects may be secrets.
    pub(super) fn open(folder: &Path) -> Result<Self, redb::Error> {
        let mut create = DirBuilder::new();
        create.recursive(true);
        let mut open = OpenOptions::new();
        open.create(true).truncate(false).read(true).write(true);
        #[cfg(unix)]
        {
            std::os::unix::fs::DirBuilderExt::mode(&mut create, 0o700);
            std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
        }
        create.create(folder)?;
        let file = folder.join("sandbox.redb");
        open.open(&file)?;
        Self::of(Database::create(&file)?)
    }

    pub(super) fn of(database: Database) -> Result<Self, redb::Error> {
        let tables = Self(database);
        tables.check_format()?;
        Ok(tables)
    }

    /// Creates the tables of a new file, and refuses those of another release.
    fn check_format(&self) -> Result<(), redb::Error> {
        let transaction = self.0.begin_write()?;
        let found = {
            let mut formats = transaction.open_table(FORMATS)?;
            let found = formats.get(())?.map(|row| row.value());
            if found.is_none() {
                formats.insert((), FORMAT)?;
            }
            found.unwrap_or(FORMAT)
        };
        if found != FORMAT {
            return Err(redb::Error::Corrupted(format!(
                "its format is {found}, and this release reads format {FORMAT}: delete the folder, or use the release that wrote it"
            )));
        }
        transaction.open_table(OBJECTS)?;
        transaction.open_table(TOKENS)?;
        transaction.open_table(VERSION)?;
        transaction.open_table(IDENTITY)?;
        Ok(transaction.commit()?)
    }

    /// Everything that the file has.
    pub(super) fn read(&self) -> Result<Contents, redb::Error> {
        let transaction = self.0.begin_read()?;
        let mut contents = Contents::default();
        let versions = transaction.open_table(VERSION)?;
        if let Some(row) = versions.get(())? {
            contents.version = row.value();
        }
        for row in transaction.open_table(TOKENS)?.iter()? {
            let (token, issued) = row?;
            let issued = serde_json::from_slice(issued.value()).map_err(corrupted)?;
            contents.tokens.insert(token.value().into(), issued);
        }
        for row in transaction.open_table(OBJECTS)?.iter()? {
            let (place, state) = row?;
            let (group, resource, key) = place.value();
            let (version, json) = state.value();
            let object = Encoded::read(version, json).map_err(corrupted)?;
            contents.is_deep |= object.is_deep;
            let kind = contents
                .objects
                .entry(GroupResource::new(group, resource))
                .or_insert_with(BTreeMap::new);
            kind.insert(Key::parse(key), Arc::new(object));
        }
        Ok(contents)
    }

    /// Begins a new start: raises the resource version by [`JUMP`], removes expired tokens, and replaces `identity` by that of the file, or keeps it if the file has none.
    pub(super) fn start(&self, identity: &mut Identity) -> Result<(), redb::Error> {
        let transaction = self.0.begin_write()?;
        {
            let mut identities = transaction.open_table(IDENTITY)?;
            let kept = identities
                .get(())?
                .map(|row| serde_json::from_slice(row.value()));
            match kept {
                Some(kept) => *identity = kept.map_err(corrupted)?,
                None => {
                    identities.insert((), json(identity)?.as_slice())?;
                }
            }
            // A row that cannot be read stays, so that reading it says so.
            let mut tokens = transaction.open_table(TOKENS)?;
            let now = Timestamp::now();
            tokens.retain(|_, issued| {
                let issued: serde_json::Result<Issued> = serde_json::from_slice(issued);
                issued.map_or(true, |issued| now < issued.expires)
            })?;
            let mut versions = transaction.open_table(VERSION)?;
            let last = versions.get(())?.map(|row| row.value());
            if let Some(last) = last {
                versions.insert((), last + JUMP)?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Writes all of the records, or none if it fails.
    pub(super) fn write(&self, records: &[Record]) -> Result<(), redb::Error> {
        let transaction = self.0.begin_write()?;
        {
            let mut objects = transaction.open_table(OBJECTS)?;
            let mut tokens = transaction.open_table(TOKENS)?;
            let mut version = None;
            for record in records {
                version = match record {
                    Record::Put(resource, key, object) => {
                        put(&mut objects, resource, key, object)?;
                        Some(object.version)
                    }
                    Record::Remove(resource, key, version) => {
                        objects.remove(place(resource, key))?;
                        Some(*version)
                    }
                    Record::Clear(resource) => {
                        objects.retain(|(group, name, _), _| {
                            (group, name) != (&resource.group, &resource.resource)
                        })?;
                        version
                    }
                    Record::Replace(all, version) => {
                        objects.retain(|_, _| false)?;
                        for (resource, key, object) in all {
                            put(&mut objects, resource, key, object)?;
                        }
                        Some(*version)
                    }
                    Record::Token(token, issued) => {
                        let issued = json(issued)?;
                        tokens.insert(token.as_str(), issued.as_slice())?;
                        version
                    }
                };
            }
            if let Some(version) = version {
                let mut versions = transaction.open_table(VERSION)?;
                versions.insert((), version)?;
            }
        }
        Ok(transaction.commit()?)
    }
}

type Objects<'txn> = Table<'txn, (&'static str, &'static str, &'static str), (u64, &'static [u8])>;

fn put(
    objects: &mut Objects<'_>,
    resource: &GroupResource,
    key: &Key,
    object: &Encoded,
) -> Result<(), redb::Error> {
    let state = (object.version, object.json());
    objects.insert(place(resource, key), state)?;
    Ok(())
}

fn place<'a>(resource: &'a GroupResource, key: &'a Key) -> (&'a str, &'a str, &'a str) {
    (&resource.group, &resource.resource, key.as_str())
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, redb::Error> {
    serde_json::to_vec(value).map_err(corrupted)
}

fn corrupted(error: serde_json::Error) -> redb::Error {
    redb::Error::Corrupted(error.to_string())
}
