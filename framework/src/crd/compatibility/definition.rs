use serde_json::Value;

use super::{
    BreakingChange,
    json::{list, lost, text},
    schema,
};
use crate::crd::{CustomResourceDefinition, to_json};

pub(super) const KEEP: &str = "keep what is served, and add a version for the change";
const FIXED: &str = "it cannot change: choose another name for the kind";

/// What stored objects and clients of the definitions `old` lose with the definitions `new`.
///
/// If a definition of `old` comes from a server, its `status.storedVersions` says in which versions objects are stored.
pub fn breaking_changes(
    old: &[CustomResourceDefinition],
    new: &[CustomResourceDefinition],
) -> Vec<BreakingChange> {
    let as_json = |all: &[CustomResourceDefinition]| all.iter().map(to_json).collect::<Vec<_>>();
    let new = as_json(new);
    let mut found = Vec::new();
    for old in as_json(old) {
        let name = text(&old["metadata"]["name"]);
        match new
            .iter()
            .find(|new| new["metadata"]["name"] == old["metadata"]["name"])
        {
            Some(new) => compare(name, &old, new, &mut found),
            None => found.push(BreakingChange::new(name, "the definition is gone", KEEP)),
        }
    }
    found
}

fn compare(name: &str, old: &Value, new: &Value, found: &mut Vec<BreakingChange>) {
    let (old_spec, new_spec) = (&old["spec"], &new["spec"]);
    for (pointer, what) in [
        ("/scope", "the scope"),
        ("/names/kind", "the kind"),
        ("/names/listKind", "the kind of lists"),
    ] {
        let (before, now) = (old_spec.pointer(pointer), new_spec.pointer(pointer));
        // A server adds the kind of lists if the definition has none.
        let is_added = pointer == "/names/listKind" && before.is_none();
        if before != now && !is_added {
            let shown = |value: Option<&Value>| value.map_or("missing", text).to_owned();
            let problem = format!("{what} was {} and is {}", shown(before), shown(now));
            found.push(BreakingChange::new(name, problem, FIXED));
        }
    }
    let names = [
        (
            "shortNames",
            "short name",
            "keep it, because scripts name it",
        ),
        ("categories", "category", "keep it, because scripts name it"),
    ];
    for (key, what, fix) in names {
        for gone in lost(&old_spec["names"][key], &new_spec["names"][key]) {
            let problem = format!("the {what} `{}` is gone", text(gone));
            found.push(BreakingChange::new(name, problem, fix));
        }
    }
    let new_versions = list(&new_spec["versions"]);
    for stored in list(&old["status"]["storedVersions"]) {
        if !new_versions
            .iter()
            .any(|version| version["name"] == *stored)
        {
            found.push(BreakingChange::new(
                name,
                format!("objects are stored as `{}`, and the version is gone", text(stored)),
                "keep the version until `crd migrate` has written each object again and removed the version from `status.storedVersions`",
            ));
        }
    }
    for version in list(&old_spec["versions"]) {
        if version["served"] != true {
            continue;
        }
        let place = format!("{name} {}", text(&version["name"]));
        let now = new_versions
            .iter()
            .find(|now| now["name"] == version["name"] && now["served"] == true);
        match now {
            Some(now) => compare_version(&place, version, now, found),
            None => found.push(BreakingChange::new(
                place,
                "the version is not served",
                KEEP,
            )),
        }
    }
}

fn compare_version(place: &str, old: &Value, new: &Value, found: &mut Vec<BreakingChange>) {
    let (before, now) = (&old["subresources"], &new["subresources"]);
    let mut add = |problem: String, fix| found.push(BreakingChange::new(place, problem, fix));
    for name in ["status", "scale"] {
        if !before[name].is_null() && now[name].is_null() {
            add(
                format!("the subresource `{name}` is gone, and its clients get 404"),
                KEEP,
            );
        }
    }
    if before["status"].is_null() && !now["status"].is_null() {
        add(
            "the status became a subresource, and the server ignores a status in other writes"
                .into(),
            "let clients write the status with the subresource, or add a version for the change",
        );
    }
    for path in [
        "specReplicasPath",
        "statusReplicasPath",
        "labelSelectorPath",
    ] {
        let (before, now) = (&before["scale"][path], &now["scale"][path]);
        if !before.is_null() && before != now && !new["subresources"]["scale"].is_null() {
            add(format!("`scale` has another `{path}` than before"), KEEP);
        }
    }
    for gone in lost(&old["selectableFields"], &new["selectableFields"]) {
        let path = text(&gone["jsonPath"]);
        add(
            format!("field selectors cannot name `{path}` any more"),
            KEEP,
        );
    }
    let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    schema::compare(place, "", &schema(old), &schema(new), found);
}
