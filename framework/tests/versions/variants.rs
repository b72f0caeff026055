//! An enum with a tag, whose variants have optional fields of their own. The older version has another name for the tag's value.

use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Resource, Clone, Debug)]
#[resource(
    group = "variants.example.com",
    version = "v1",
    namespaced,
    served(BackupBefore)
)]
pub struct Backup {
    pub metadata: ObjectMeta,
    pub spec: BackupSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct BackupSpec {
    pub targets: Vec<Target>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type")]
pub enum Target {
    Disk {
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    Bucket {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        region: Option<String>,
    },
}

#[derive(Resource, Clone, Debug)]
#[resource(
    group = "variants.example.com",
    version = "v1beta1",
    kind = "Backup",
    namespaced
)]
pub struct BackupBefore {
    pub metadata: ObjectMeta,
    pub spec: BackupSpecBefore,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct BackupSpecBefore {
    pub targets: Vec<TargetBefore>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type")]
pub enum TargetBefore {
    Folder {
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    Bucket {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        region: Option<String>,
    },
}

impl From<BackupBefore> for Backup {
    fn from(old: BackupBefore) -> Self {
        let targets = old.spec.targets.into_iter().map(|target| match target {
            TargetBefore::Folder { path } => Target::Disk { path },
            TargetBefore::Bucket { name, region } => Target::Bucket { name, region },
        });
        Self {
            metadata: old.metadata,
            spec: BackupSpec {
                targets: targets.collect(),
            },
        }
    }
}

impl From<Backup> for BackupBefore {
    fn from(new: Backup) -> Self {
        let targets = new.spec.targets.into_iter().map(|target| match target {
            Target::Disk { path } => TargetBefore::Folder { path },
            Target::Bucket { name, region } => TargetBefore::Bucket { name, region },
        });
        Self {
            metadata: new.metadata,
            spec: BackupSpecBefore {
                targets: targets.collect(),
            },
        }
    }
}
