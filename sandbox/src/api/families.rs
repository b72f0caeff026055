//! The address families of a Service: which it has, if it does not say so. The sandbox has addresses of IPv4 only.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use crate::builtin;
use crate::error::Cause;

const OWN: &str = "IPv4";
const POLICY: &str = "spec.ipFamilyPolicy";

type Spec = Map<String, Value>;

/// Completes `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` of a new Service, or of a change of `old`.
///
/// # Errors
/// What is wrong with them.
pub(super) fn complete(object: &mut Value, old: Option<&Value>) -> Result<(), Vec<Cause>> {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    if old.is_none() && has(spec, "clusterIP") && !has(spec, "clusterIPs") {
        spec.insert("clusterIPs".into(), json!([spec["clusterIP"]]));
    }
    if text(spec, "type") == "ExternalName" {
        return Ok(());
    }
    let old_spec = old.and_then(|old| old["spec"].as_object());
    let without_selector = text(spec, "clusterIP") == "None" && !has(spec, "selector");
    if !has(spec, "ipFamilyPolicy") {
        let known = old_spec.map_or("", |old| text(old, "ipFamilyPolicy"));
        let policy = match known {
            "" if without_selector => "RequireDualStack",
            "" => "SingleStack",
            known => known,
        };
        spec.insert("ipFamilyPolicy".into(), policy.into());
    }
    let mut wrong = Vec::new();
    builtin::service_addresses(object, old, &mut wrong);
    if !wrong.is_empty() {
        return Err(wrong.into_iter().map(Cause::from).collect());
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    if let Some(old) = old_spec {
        reduced(spec, old)?;
        if keeps_preferred(spec, old) {
            return Ok(());
        }
    }
    inferred(spec)?;
    match without_selector {
        // Endpoints that somebody else writes may have both.
        true => both_families(spec),
        false => own_family(spec)?,
    }
    Ok(())
}

/// Whether the Service prefers two families, as before, and has those that it had. A server then decides nothing again.
fn keeps_preferred(spec: &Spec, old: &Spec) -> bool {
    let prefers = |spec| text(spec, "ipFamilyPolicy") == "PreferDualStack";
    let keeps = |field: &str| spec.get(field) == old.get(field);
    prefers(spec) && prefers(old) && ["type", "clusterIPs", "ipFamilies"].into_iter().all(keeps)
}

/// A Service has fewer addresses or families than before only if its policy says so.
fn reduced(spec: &mut Spec, old: &Spec) -> Result<(), Vec<Cause>> {
    let is_single = text(spec, "ipFamilyPolicy") == "SingleStack";
    let mut wrong = Vec::new();
    for (field, what) in [
        ("clusterIPs", "secondary cluster IP"),
        ("ipFamilies", "secondary IP family"),
    ] {
        let before = count(old, field);
        if is_single && before > 1 && spec.get(field) == old.get(field) {
            if let Some(Value::Array(all)) = spec.get_mut(field) {
                all.truncate(1);
            }
        } else if !is_single && count(spec, field) > 0 && count(spec, field) < before {
            let detail = format!("must be 'SingleStack' to release the {what}");
            wrong.push(Cause::invalid(POLICY, &spec["ipFamilyPolicy"], &detail));
        }
    }
    none_or(wrong)
}

/// Compares the policy with the addresses and families, and takes the families from the addresses.
fn inferred(spec: &mut Spec) -> Result<(), Vec<Cause>> {
    let mut wrong = Vec::new();
    if text(spec, "ipFamilyPolicy") == "SingleStack" {
        for (field, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
            if count(spec, field) == 2 {
                let detail = format!(
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                );
                wrong.push(Cause::invalid(POLICY, &spec["ipFamilyPolicy"], &detail));
            }
        }
    }
    let addresses = spec.get("clusterIPs").cloned().unwrap_or_default();
    let known = count(spec, "ipFamilies");
    let all = addresses.as_array().into_iter().flatten().enumerate();
    for (index, address) in all.skip(known) {
        let address = address.as_str().and_then(|one| one.parse::<IpAddr>().ok());
        match address {
            Some(IpAddr::V6(_)) => {
                let field = format!("spec.clusterIPs[{index}]");
                let detail = "IPv6 is not configured on this cluster";
                wrong.push(Cause::invalid(field, &addresses, detail));
            }
            Some(IpAddr::V4(_)) => add_family(spec, OWN),
            None => {}
        }
    }
    none_or(wrong)
}

fn both_families(spec: &mut Spec) {
    if count(spec, "ipFamilies") == 0 {
        add_family(spec, OWN);
    }
    if count(spec, "ipFamilies") == 1 && text(spec, "ipFamilyPolicy") != "SingleStack" {
        let other = match spec["ipFamilies"][0].as_str() {
            Some(OWN) => "IPv6",
            _ => OWN,
        };
        add_family(spec, other);
    }
}

fn own_family(spec: &mut Spec) -> Result<(), Vec<Cause>> {
    let mut wrong = Vec::new();
    if text(spec, "ipFamilyPolicy") == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        wrong.push(Cause::invalid(POLICY, &spec["ipFamilyPolicy"], detail));
    }
    let families = spec.get("ipFamilies").and_then(Value::as_array);
    for (index, family) in families.into_iter().flatten().enumerate() {
        if family != OWN {
            let field = format!("spec.ipFamilies[{index}]");
            let detail = "not configured on this cluster";
            wrong.push(Cause::invalid(field, family, detail));
        }
    }
    none_or(wrong)?;
    if count(spec, "ipFamilies") == 0 {
        add_family(spec, OWN);
    }
    Ok(())
}

fn add_family(spec: &mut Spec, family: &str) {
    let all = spec.entry("ipFamilies").or_insert_with(|| json!([]));
    if let Value::Array(all) = all {
        all.push(family.into());
    }
}

fn none_or(wrong: Vec<Cause>) -> Result<(), Vec<Cause>> {
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong),
    }
}

fn text<'a>(spec: &'a Spec, field: &str) -> &'a str {
    spec.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn count(spec: &Spec, field: &str) -> usize {
    spec.get(field)
        .and_then(Value::as_array)
        .map_or(0, Vec::len)
}

/// Whether a field has a value other than an empty one.
fn has(spec: &Spec, field: &str) -> bool {
    match spec.get(field) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(all)) => !all.is_empty(),
        Some(Value::Object(all)) => !all.is_empty(),
        Some(_) => true,
    }
}
