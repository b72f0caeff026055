//! Reads and writes objects of well-known projects with the types that the tool writes for them.

mod bounds;
mod objects;

use imported::{Kind, Project, kinds};
use objects::{Original, same, without_nulls};
use pilothouse::testing::Cluster;
use serde_json::Value;

/// The objects that are made of each schema.
const OBJECTS: u64 = 80;
/// Those among them that the original has to accept, so that a kind counts as tried.
const LEAST: u64 = 5;

fn projects() -> Vec<Project> {
    let files = Project::files("data".as_ref()).unwrap();
    files
        .iter()
        .map(|path| Project::read(path).unwrap())
        .collect()
}

/// Each generated type with the definition that it was made of.
fn pairs(projects: &[Project]) -> Vec<(Kind, Original)> {
    let original = |kind: &Kind| {
        let mut projects = projects.iter();
        let project = projects.find(|one| one.name == kind.project).unwrap();
        Original::of(project, kind)
    };
    let kinds = kinds().into_iter();
    kinds
        .map(|kind| (original(&kind), kind))
        .map(|(original, kind)| (kind, original))
        .collect()
}

#[test]
fn the_samples_of_the_projects_are_read_and_written_without_loss() {
    let projects = projects();
    let mut tried = 0;
    for (kind, original) in pairs(&projects) {
        let project = projects
            .iter()
            .find(|one| one.name == kind.project)
            .unwrap();
        for sample in &project.samples {
            let object = &sample.object;
            if object["kind"] != kind.kind || object["apiVersion"] != *kind.api_version {
                continue;
            }
            // Only a foreign kind has fields beside spec and status.
            if kind.definition.is_some() && original.has_others() {
                continue;
            }
            let Some(stored) = original.stored(object) else {
                continue;
            };
            let written = (kind.read_and_write)(&stored);
            let written =
                written.unwrap_or_else(|error| panic!("{} {}: {error}", kind.project, sample.path));
            same(
                &stored,
                &written,
                &format!("{} {}", kind.project, sample.path),
            );
            tried += 1;
        }
    }
    assert!(tried >= 100, "only {tried} samples were tried");
}

#[test]
fn what_fits_the_original_schema_fits_the_type_and_its_definition() {
    let projects = projects();
    let mut names: Vec<(&str, &str)> = Vec::new();
    for (kind, original) in pairs(&projects) {
        let of = format!("{} {} {}", kind.project, kind.kind, kind.api_version);
        let made = kind
            .schema()
            .unwrap_or_else(|error| panic!("{of}: {error}"));
        let made = made.map(|schema| objects::schema(&schema, &of));
        let mut tried = 0;
        for seed in 0..OBJECTS {
            let Some(object) = original.object(&kind, seed) else {
                continue;
            };
            tried += 1;
            let what = format!("{of}, object {seed}: {object}");
            let written = (kind.read_and_write)(&object);
            let written = written.unwrap_or_else(|error| panic!("{what}: {error}"));
            // A type has no field for the difference between a null and nothing.
            same(&without_nulls(&object), &without_nulls(&written), &what);
            let Some(made) = &made else { continue };
            let mut kept = object.clone();
            assert_eq!(made.prune(&mut kept), [""; 0], "{what}");
            let errors = made.validate(&object, None);
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(errors, [""; 0], "{what}");
        }
        assert!(
            tried >= LEAST,
            "{of}: the original accepts only {tried} objects"
        );
        names.push((kind.project, kind.kind));
    }
    names.sort_unstable();
    names.dedup();
    assert!(names.len() >= 20, "{names:?}");
}

#[test]
fn the_definition_of_an_own_kind_has_the_bounds_of_the_original() {
    let projects = projects();
    let mut different = Vec::new();
    for (kind, original) in pairs(&projects) {
        let Some(made) = kind.schema().unwrap() else {
            continue;
        };
        let of = format!("{} {}", kind.project, kind.kind);
        for field in ["spec", "status"] {
            let (one, other) = (original.field(field), &made["properties"][field]);
            different.extend(bounds::different(one, other, &format!("{of} {field}")));
        }
    }
    assert_eq!(different, [""; 0], "{}", different.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_takes_the_definitions_that_are_made_of_the_types() {
    let cluster = Cluster::start().unwrap();
    let mut seen: Vec<Option<String>> = Vec::new();
    for kind in kinds() {
        let Some(definition) = kind.definition else {
            continue;
        };
        let definition = definition().unwrap();
        // Each version has a definition of its own. The server takes one definition with this name, so the first one is created.
        if seen.contains(&definition.metadata.name) {
            continue;
        }
        let created = cluster.create(&definition).await;
        created.unwrap_or_else(|error| panic!("{} {}: {error}", kind.project, kind.kind));
        seen.push(definition.metadata.name);
    }
    assert!(seen.len() >= 20, "{}", seen.len());
    cluster.stop().await;
}

#[test]
fn columns_scale_and_names_are_those_of_the_original() {
    let projects = projects();
    for (kind, original) in pairs(&projects) {
        let Some(definition) = kind.definition else {
            continue;
        };
        let made = pilothouse::crd::to_json(&definition().unwrap());
        let of = format!("{} {} {}", kind.project, kind.kind, kind.api_version);
        for pointer in [
            "/spec/names/plural",
            "/spec/names/shortNames",
            "/spec/names/categories",
            "/spec/scope",
        ] {
            let expected = original.definition.pointer(pointer);
            assert_eq!(made.pointer(pointer), expected, "{of}: {pointer}");
        }
        let version = &made["spec"]["versions"][0];
        let scale = &original.version["subresources"]["scale"];
        assert_eq!(version["subresources"]["scale"], *scale, "{of}");
        let names = |version: &Value| {
            let columns = version["additionalPrinterColumns"]
                .as_array()
                .into_iter()
                .flatten();
            let columns =
                columns.filter(|column| column["jsonPath"] != ".metadata.creationTimestamp");
            columns
                .map(|column| column["name"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(version), names(&original.version), "{of}");
    }
}
