use pilothouse::{
    k8s::api::core::v1::{
        ConfigMap, ConfigMapVolumeSource, EmptyDirVolumeSource, Volume, VolumeMount,
    },
    manifests::Manifests,
    prelude::*,
    resource::{ApiResource, DynamicObject},
};
use serde_json::json;

fn main() -> ExitCode {
    file_backup::operator("examples/file-backup/files", "target/file-backup")
        .manifests(with_folders)
        .version(env!("CARGO_PKG_VERSION"))
        .example("examples/file-backup/backup.yaml")
        .main()
}

/// The name of the ConfigMap with the files.
const FILES: &str = "file-backup-files";

/// The pods cannot write their root file system, and their image has no files. A ConfigMap has the files of the example; files of some
/// size are on a volume. The folder for the copies ends with the pod; use a PersistentVolumeClaim for copies that have to stay.
fn with_folders(manifests: &mut Manifests) {
    let mut files = DynamicObject::new(&ApiResource::of::<ConfigMap>(), FILES);
    files.metadata.namespace = Some(manifests.installation.namespace.clone());
    let notes = json!({"notes.txt": include_str!("../files/notes.txt")});
    files.data.insert("data".into(), notes);
    manifests.more.push(files);
    let mount = |name: &str, path: &str, read_only| VolumeMount {
        name: name.into(),
        mount_path: path.into(),
        read_only,
        ..VolumeMount::default()
    };
    let mounts = &mut manifests.container().volume_mounts;
    mounts.get_or_insert_default().extend([
        mount("files", "/examples/file-backup/files", Some(true)),
        mount("copies", "/target", None),
    ]);
    let pod = manifests
        .deployment
        .spec
        .template
        .spec
        .get_or_insert_default();
    pod.volumes.get_or_insert_default().extend([
        Volume {
            name: "files".into(),
            config_map: Some(ConfigMapVolumeSource {
                name: FILES.into(),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        },
        Volume {
            name: "copies".into(),
            empty_dir: Some(EmptyDirVolumeSource::default()),
            ..Volume::default()
        },
    ]);
}
