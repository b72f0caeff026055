use serde_json::{Value, json};

use super::MigrationError;
use crate::{
    client::{Api, Client, Error, Patch, PatchParams},
    crd::CustomResourceDefinition,
    resource::{ApiResource, DynamicObject},
};

/// The annotation of a migration that has begun: the stored version, the generation of the definition and the resource version at the begin, as
/// `v2.3/4711`. After another change of the definition it does not count: meanwhile another version may have been stored.
const SINCE: &str = "migration.pilothouse.dev/since";

/// How often a change of the definition is tried again after a conflict.
const ATTEMPTS: usize = 5;

/// A definition as the server has it. Its schemas stay unread: they may have forms of a newer API server.
pub(super) struct StoredDefinition<'a> {
    api: Api<DynamicObject>,
    name: &'a str,
    field_manager: &'a str,
    json: Value,
}

impl<'a> StoredDefinition<'a> {
    pub(super) async fn get(
        client: &Client,
        name: &'a str,
        field_manager: &'a str,
    ) -> Result<Self, MigrationError> {
        let resource = ApiResource::of::<CustomResourceDefinition>();
        let api = Api::<DynamicObject>::of(client, resource, None);
        let Some(found) = api.get_opt(name).await? else {
            return Err(MigrationError::NotInstalled { name: name.into() });
        };
        Ok(Self {
            api,
            name,
            field_manager,
            json: json!(found),
        })
    }

    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    pub(super) fn uid(&self) -> &str {
        text(&self.json["metadata"]["uid"])
    }

    /// Reads the definition again.
    async fn refresh(&mut self) -> Result<(), Error> {
        self.json = json!(self.api.get(self.name).await?);
        Ok(())
    }

    fn versions(&self) -> impl Iterator<Item = &Value> {
        self.json["spec"]["versions"]
            .as_array()
            .into_iter()
            .flatten()
    }

    /// The version in which the server stores what is written now.
    pub(super) fn stored_version(&self) -> &str {
        let mut versions = self.versions();
        let stored = versions.find(|version| version["storage"] == true);
        stored.map_or("", |version| text(&version["name"]))
    }

    /// The stored version, and the generation of the definition, which rises with each change of its `spec`.
    pub(super) fn state(&self) -> String {
        let generation = &self.json["metadata"]["generation"];
        format!("{}.{generation}", self.stored_version())
    }

    /// The versions in which objects may be stored.
    pub(super) fn stored_versions(&self) -> Vec<String> {
        let listed = self.json["status"]["storedVersions"].as_array();
        let listed = listed.into_iter().flatten();
        listed.map(|version| text(version).to_owned()).collect()
    }

    /// The kind in the stored version, or in another one if that is not served.
    pub(super) fn kind(&self) -> Result<ApiResource, MigrationError> {
        let served = || self.versions().filter(|version| version["served"] == true);
        let stored = served().find(|version| version["storage"] == true);
        let Some(version) = stored.or_else(|| served().next()) else {
            return Err(MigrationError::NotServed {
                name: self.name.to_owned(),
            });
        };
        let spec = &self.json["spec"];
        Ok(ApiResource {
            group: text(&spec["group"]).to_owned().into(),
            version: text(&version["name"]).to_owned().into(),
            kind: text(&spec["names"]["kind"]).to_owned().into(),
            plural: text(&spec["names"]["plural"]).to_owned().into(),
            namespaced: spec["scope"] == "Namespaced",
        })
    }

    /// The resource version that a migration to the stored version has noted when it began.
    pub(super) fn since(&self) -> Option<&str> {
        let (state, since) = text(&self.json["metadata"]["annotations"][SINCE]).split_once('/')?;
        (state == self.state()).then_some(since)
    }

    /// Notes that a migration begins.
    pub(super) async fn note_start(&mut self, since: &str) -> Result<(), MigrationError> {
        let noted = format!("{}/{since}", self.state());
        self.change(
            false,
            |_| json!({"metadata": {"annotations": {SINCE: noted}}}),
        )
        .await
    }

    /// Removes all versions but the stored one from the list of those that may be stored, and then the note.
    pub(super) async fn note_end(&mut self) -> Result<(), MigrationError> {
        self.change(
            true,
            |stored| json!({"status": {"storedVersions": [stored]}}),
        )
        .await?;
        self.remove_note().await
    }

    /// Removes the note of an earlier migration.
    pub(super) async fn remove_note(&mut self) -> Result<(), MigrationError> {
        if self.json["metadata"]["annotations"][SINCE].is_null() {
            return Ok(());
        }
        self.change(
            false,
            |_| json!({"metadata": {"annotations": {SINCE: null}}}),
        )
        .await
    }

    /// Changes the definition or its status, unless somebody else changes its `spec` meanwhile.
    async fn change(
        &mut self,
        is_status: bool,
        patch: impl Fn(&str) -> Value,
    ) -> Result<(), MigrationError> {
        let (state, stored) = (self.state(), self.stored_version().to_owned());
        let params = PatchParams::default().field_manager(self.field_manager);
        for attempt in 1.. {
            if self.state() != state {
                return Err(MigrationError::Changed {
                    name: self.name.to_owned(),
                });
            }
            let mut change = patch(&stored);
            change["metadata"]["resourceVersion"] =
                self.json["metadata"]["resourceVersion"].clone();
            let change = Patch::Merge(change);
            let answer = match is_status {
                true => self.api.patch_status(self.name, &params, &change).await,
                false => self.api.patch(self.name, &params, &change).await,
            };
            match answer {
                Ok(changed) => {
                    self.json = json!(changed);
                    break;
                }
                Err(error) if error.is_conflict() && attempt < ATTEMPTS => self.refresh().await?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
