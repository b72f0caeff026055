use serde_json::{Value, json};

use super::internal_form::changed;
use super::part::Part;
use super::selector::{label_selector, labels_are_valid};
use crate::go::Quantity;
use crate::names;
use crate::schema::FieldError;

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// A PersistentVolumeClaim that is created or replaces `old`.
pub(super) fn claim(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let claim = Part::new(object, "");
    claim_spec(&claim.get("spec"), found);
    if let Some(old) = old {
        change(&claim, &Part::new(old, ""), found);
    }
}

/// The template of the claim of an ephemeral volume.
pub(super) fn template(template: &Part, found: &mut Vec<FieldError>) {
    let metadata = template.get("metadata");
    let labels = metadata.get("labels");
    labels_are_valid(labels.value.as_object(), &labels.path, found);
    claim_spec(&template.get("spec"), found);
}

/// What is claimed.
pub(super) fn claim_spec(spec: &Part, found: &mut Vec<FieldError>) {
    let modes = spec.get("accessModes");
    if spec.list("accessModes").is_empty() {
        modes.missing("at least 1 access mode is required", found);
    }
    if let Some(selector) = spec.set("selector") {
        label_selector(selector.value, &selector.path, found);
    }
    let (mut alone, mut others) = (false, false);
    for mode in spec.items("accessModes") {
        mode.named_as(&modes.path).one_of(&MODES, found);
        alone |= mode.text() == "ReadWriteOncePod";
        others |= mode.text() != "ReadWriteOncePod" && MODES.contains(&mode.text());
    }
    if alone && others {
        let detail = "may not use ReadWriteOncePod with other access modes";
        modes.forbidden(detail, found);
    }
    let size = spec.get("resources").get("requests").get("storage");
    let size = size.named_as(format!("{}.resources[storage]", spec.path));
    match Quantity::parse(size.text()) {
        None => size.missing("", found),
        Some(number) if number <= Quantity::ZERO => {
            size.invalid("must be greater than zero", found);
        }
        Some(_) => {}
    }
    let class = spec.get("storageClassName");
    class.name_if_set(names::dns_subdomain, found);
    let kinds = &["Block", "Filesystem"];
    spec.get("volumeMode").one_of_if_set(kinds, found);
    sources(spec, found);
    let class = spec.get("volumeAttributesClassName");
    class.name_if_set(names::dns_subdomain, found);
}

/// Where the content of a volume comes from.
fn sources(spec: &Part, found: &mut Vec<FieldError>) {
    let [first, second] = ["dataSource", "dataSourceRef"].map(|field| spec.set(field));
    for source in [&first, &second].into_iter().flatten() {
        source.get("name").required(found);
        source.get("kind").required(found);
        let group = source.get("apiGroup");
        let kind = source.text_of("kind");
        if group.text().is_empty() && kind != "PersistentVolumeClaim" {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            source.invalid_as(kind, detail, found);
        }
        group.name_if_set(names::dns_subdomain, found);
        source.get("namespace").name_if_set(names::dns_label, found);
    }
    if let (Some(first), Some(second)) = (first, second) {
        let same = ["apiGroup", "kind", "name"]
            .iter()
            .all(|field| first.get(field).value == second.get(field).value);
        let detail = match (second.text_of("namespace").is_empty(), same) {
            (false, _) => "may not be specified when dataSourceRef.namespace is specified",
            (true, false) => "must match dataSourceRef",
            (true, true) => return,
        };
        // A real server shows an empty object here.
        spec.invalid_as(json!({}), detail, found);
    }
}

const FIXED: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

/// Only the size and the attributes of a bound claim may change.
fn change(claim: &Part, old: &Part, found: &mut Vec<FieldError>) {
    const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
    let is_bound = claim.get("status").text_of("phase") == "Bound";
    let (mut new_spec, mut old_spec) = (
        claim.get("spec").value.clone(),
        old.get("spec").value.clone(),
    );
    let put = |spec: &mut Value, pointer: &[&str], value: Option<Value>| {
        let mut at = spec;
        for name in &pointer[..pointer.len() - 1] {
            let Some(next) = at.get_mut(*name) else {
                return;
            };
            at = next;
        }
        if let (Some(fields), Some(last)) = (at.as_object_mut(), pointer.last()) {
            match value {
                Some(value) => drop(fields.insert((*last).to_owned(), value)),
                None => drop(fields.remove(*last)),
            }
        }
    };
    if old.get("spec").text_of("volumeName").is_empty() {
        let name = new_spec.get("volumeName").cloned();
        put(&mut old_spec, &["volumeName"], name);
    }
    let annotation = |claim: &Part| {
        let annotations = claim.get("metadata").get("annotations");
        annotations.get(BETA_CLASS).value.clone()
    };
    let (class, old_class) = (
        new_spec.get("storageClassName").cloned(),
        old_spec.get("storageClassName").cloned(),
    );
    let by_annotation = annotation(old);
    if old_class.is_none()
        && class.is_some()
        && (by_annotation.is_null() || Some(&by_annotation) == class.as_ref())
    {
        put(&mut new_spec, &["storageClassName"], None);
    }
    if is_bound {
        for pointer in [
            &["resources", "requests", "storage"][..],
            &["volumeAttributesClassName"],
        ] {
            let kept = old_spec
                .pointer(&format!("/{}", pointer.join("/")))
                .cloned();
            put(&mut new_spec, pointer, kept);
        }
    }
    if new_spec != old_spec {
        let detail = changed(
            "core.PersistentVolumeClaimSpec",
            FIXED,
            &old_spec,
            &new_spec,
        );
        found.push(FieldError::forbidden("spec", detail));
    }
    let size = |claim: &Part, path: [&str; 2]| {
        let part = claim.get(path[0]).get(path[1]);
        let part = if path[0] == "spec" {
            part.get("requests")
        } else {
            part
        };
        Quantity::parse(part.text_of("storage")).unwrap_or(Quantity::ZERO)
    };
    let (now, before) = (
        size(claim, ["spec", "resources"]),
        size(old, ["spec", "resources"]),
    );
    if now < before && now <= size(old, ["status", "capacity"]) {
        let detail = "field can not be less than status.capacity";
        let field = "spec.resources.requests.storage";
        found.push(FieldError::forbidden(field, detail));
    }
    let mode = |claim: &Part| claim.get("spec").get("volumeMode").value.clone();
    if mode(claim) != mode(old) {
        let detail = "field is immutable";
        found.push(FieldError::invalid("volumeMode", mode(claim), detail));
    }
}

/// The status of a claim.
pub(super) fn claim_status(object: &Value, found: &mut Vec<FieldError>) {
    let capacity = Part::new(object, "").get("status").get("capacity");
    for (_, quantity) in capacity.entries() {
        if let Some(number) = Quantity::parse(quantity.text())
            && number.is_negative()
        {
            let value = i64::try_from(number.milli() / 1000).unwrap_or(i64::MIN);
            quantity.invalid_as(value, "must be a valid resource quantity", found);
        }
    }
}
