use std::collections::BTreeMap;

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::conditions;
use super::fields::{at, immutable, indexed, list, text};
use super::internal_form::internal_invalid;
use super::part::Part;
use crate::names;
use crate::schema::{FieldError, FieldErrorKind};

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// A CertificateSigningRequest. Its signature is not verified.
pub(super) fn request(
    subresource: &str,
    object: &Value,
    old: Option<&Value>,
    found: &mut Vec<FieldError>,
) {
    let spec = at(object, "/spec");
    if let Err(wrong) = parse(text(spec, "/request")) {
        let value = at(spec, "/request").clone();
        found.push(FieldError::invalid("spec.request", value, wrong));
    }
    if list(spec, "/usages").is_empty() {
        found.push(FieldError::required("spec.usages", ""));
    }
    let mut known = BTreeSet::new();
    for (field, usage) in indexed(spec, "/usages", "spec.usages") {
        let usage = usage.as_str().unwrap_or_default();
        super::fields::supported(usage, &field, &USAGES, found);
        if !known.insert(usage) {
            found.push(FieldError::duplicate(field, usage.into()));
        }
    }
    signer(text(spec, "/signerName"), found);
    let seconds = at(spec, "/expirationSeconds");
    if seconds.as_i64().is_some_and(|seconds| seconds < 600) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        let field = "spec.expirationSeconds";
        found.push(FieldError::invalid(field, seconds.clone(), detail));
    }
    request_conditions(object, found);
    if let Err(wrong) = certificate(text(object, "/status/certificate")) {
        let shown = "<certificate data>";
        found.push(FieldError::invalid("status.certificate", shown, wrong));
    }
    if let Some(old) = old {
        changes(subresource, object, old, found);
    }
}

fn parse(request: &str) -> Result<(), String> {
    const WRONG: &str = "PEM block type must be CERTIFICATE REQUEST";
    const KIND: &str = "CERTIFICATE REQUEST";
    let pem = STANDARD.decode(request).map_err(|_| WRONG)?;
    let pem = String::from_utf8(pem).map_err(|_| WRONG)?;
    let body = pem
        .split_once(&format!("-----BEGIN {KIND}-----"))
        .and_then(|(_, rest)| rest.split_once(&format!("-----END {KIND}-----")))
        .ok_or(WRONG)?
        .0;
    let body: String = body.split_whitespace().collect();
    let der = STANDARD.decode(body).map_err(|_| WRONG)?;
    // A request is a DER sequence.
    match der.as_slice() {
        [0x30, ..] => Ok(()),
        [] => Err("asn1: syntax error: sequence truncated".into()),
        [tag, rest @ ..] => Err(format!(
            "asn1: structure error: tags don't match (16 vs {{class:{} tag:{} length:{} isCompound:{}}}) {{optional:false \
             explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false \
             omitEmpty:false}} certificateRequest @2",
            tag >> 6,
            tag & 0x1f,
            rest.first().copied().unwrap_or_default(),
            tag & 0x20 != 0,
        )),
    }
}

/// The certificates that a signer issued: blocks of PEM, in base64.
fn certificate(issued: &str) -> Result<(), String> {
    const BEGIN: &str = "-----BEGIN ";
    const KIND: &str = "CERTIFICATE";
    if issued.is_empty() {
        return Ok(());
    }
    let pem = STANDARD.decode(issued).unwrap_or_default();
    let pem = String::from_utf8(pem).unwrap_or_default();
    let mut blocks = pem
        .split(BEGIN)
        .skip(1)
        .filter_map(|block| Some(block.split_once("-----")?.0))
        .peekable();
    if blocks.peek().is_none() {
        return Err("must contain at least one CERTIFICATE PEM block".into());
    }
    match blocks.find(|kind| *kind != KIND) {
        Some(other) => Err(format!(
            "only CERTIFICATE PEM blocks are allowed, found {other:?}"
        )),
        None => Ok(()),
    }
}

fn signer(signer: &str, found: &mut Vec<FieldError>) {
    const FIELD: &str = "spec.signerName";
    if signer == "kubernetes.io/legacy-unknown" {
        let detail = "the legacy signerName is not allowed via this API version";
        return found.push(FieldError::invalid(FIELD, signer, detail));
    }
    signer_name(signer, FIELD, found);
}

/// The name of a signer: a domain and a path.
pub(super) fn signer_name(signer: &str, field: &str, found: &mut Vec<FieldError>) {
    let mut invalid = |value: &str, detail: String| {
        found.push(FieldError::invalid(field, value, detail));
    };
    if signer.is_empty() {
        return found.push(FieldError::required(field, ""));
    }
    let Some((domain, path)) = signer
        .split_once('/')
        .filter(|(_, path)| !path.contains('/'))
    else {
        let detail =
            "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return invalid(signer, detail.to_owned());
    };
    for (part, rule) in [
        (domain, names::dns_label as fn(&str) -> Vec<String>),
        (path, names::dns_subdomain),
    ] {
        let labels = part.split('.').map(|label| (label, rule(label)));
        let wrong = labels.into_iter().find(|(_, wrong)| !wrong.is_empty());
        for (label, wrong) in wrong
            .into_iter()
            .flat_map(|(label, all)| all.into_iter().map(move |wrong| (label, wrong)))
        {
            invalid(part, format!("validating label {label:?}: {wrong}"));
        }
        if part == domain && !domain.contains('.') {
            let detail = "should be a domain with at least two segments separated by dots";
            invalid(domain, detail.to_owned());
        }
    }
}

/// A ClusterTrustBundle. Its certificates are not read.
pub(super) fn trust_bundle(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let bundle = Part::new(object, "");
    let (spec, name) = (bundle.get("spec"), bundle.get("metadata").get("name"));
    let signer = spec.text_of("signerName");
    bundle_name(&name, signer, found);
    if !signer.is_empty() {
        signer_name(signer, "spec.signerName", found);
    }
    let certificates = spec.get("trustBundle");
    let is_new = old.is_none_or(|old| text(old, "/spec/trustBundle") != certificates.text());
    if is_new {
        bundled(&certificates, found);
    }
    if let Some(old) = old {
        immutable(object, old, "/spec/signerName", found);
    }
}

fn bundle_name(name: &Part, signer: &str, found: &mut Vec<FieldError>) {
    let prefix = format!("{}:", signer.replace('/', ":"));
    let rest = match signer {
        "" if name.text().contains(':') => {
            let detail = "ClusterTrustBundle without signer name must not have \":\" in its name";
            return name.invalid(detail, found);
        }
        "" => name.text(),
        _ => match name.text().strip_prefix(&prefix) {
            Some(rest) => rest,
            None => {
                let detail = format!(
                    "ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
                );
                return name.invalid(detail, found);
            }
        },
    };
    for wrong in names::dns_subdomain(rest) {
        name.invalid(wrong, found);
    }
}

/// Blocks of PEM, each a certificate, no one twice.
fn bundled(bundle: &Part, found: &mut Vec<FieldError>) {
    const HIDDEN: &str = "<value omitted>";
    const LIMIT: usize = 1024 * 1024;
    if bundle.text().len() > LIMIT {
        return found.push(FieldError::too_long(&bundle.path, LIMIT as u64));
    }
    let blocks = bundle.text().split("-----BEGIN ").skip(1);
    let blocks = blocks.filter_map(|block| block.split_once("-----"));
    let before = found.len();
    let mut places: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    for (index, (kind, rest)) in blocks.enumerate() {
        if kind != "CERTIFICATE" {
            let detail = format!("entry {index} has bad block type: {kind}");
            bundle.invalid_as(HIDDEN, detail, found);
            continue;
        }
        let body = rest.split_once("-----END ").map_or("", |(body, _)| body);
        if body.contains(':') {
            let detail = format!("entry {index} has PEM block headers");
            bundle.invalid_as(HIDDEN, detail, found);
            continue;
        }
        let body: String = body.split_whitespace().collect();
        // A certificate is a DER sequence.
        match STANDARD.decode(body) {
            Ok(der) if der.first() == Some(&0x30) => {
                places.entry(der).or_default().push(index);
            }
            _ => {
                let detail = format!("entry {index} does not parse as X.509");
                bundle.invalid_as(HIDDEN, detail, found);
            }
        }
    }
    if found.len() > before {
        return;
    }
    if places.is_empty() {
        let detail = "at least one trust anchor must be provided";
        bundle.invalid_as(HIDDEN, detail, found);
    }
    let mut duplicates: Vec<_> = places
        .into_values()
        .filter(|indexes| indexes.len() > 1)
        .collect();
    duplicates.sort_unstable();
    for indexes in duplicates {
        let indexes: Vec<String> = indexes.iter().map(ToString::to_string).collect();
        let detail = format!("duplicate trust anchor (indices [{}])", indexes.join(" "));
        bundle.invalid_as(HIDDEN, detail, found);
    }
}

/// A PodCertificateRequest. Its signature is not verified.
pub(super) fn pod_certificate_request(
    object: &Value,
    old: Option<&Value>,
    found: &mut Vec<FieldError>,
) {
    let spec = Part::new(object, "").get("spec");
    if let Some(old) = old {
        if spec.value != Part::new(old, "").get("spec").value {
            let kind = "certificates.PodCertificateRequestSpec";
            let detail = "field is immutable";
            found.push(internal_invalid(kind, &spec.path, spec.value, detail));
        }
        return;
    }
    let signer = spec.text_of("signerName");
    signer_name(signer, "spec.signerName", found);
    for (name, uid) in [
        ("podName", "podUID"),
        ("serviceAccountName", "serviceAccountUID"),
        ("nodeName", "nodeUID"),
    ] {
        spec.get(name).name(names::dns_subdomain, found);
        let uid = spec.get(uid);
        if uid.text().is_empty() {
            uid.invalid("must not be empty", found);
        } else if uid.text().len() > 128 {
            found.push(FieldError::too_long(&uid.path, 128));
        }
    }
    const LEAST: i64 = 60 * 60;
    const DAY: i64 = 24 * 60 * 60;
    let is_of_kubernetes = signer.starts_with("kubernetes.io/");
    let most = if is_of_kubernetes { DAY } else { 91 * DAY };
    let seconds = spec.get("maxExpirationSeconds");
    if !(LEAST..=most).contains(&seconds.number().unwrap_or_default()) {
        seconds.invalid(format!("must be in the range [{LEAST}, {most}]"), found);
    }
    let request = spec.get("stubPKCS10Request");
    if request.text().is_empty() {
        let detail =
            "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
        return found.push(FieldError::new(
            FieldErrorKind::Invalid,
            &spec.path,
            None,
            detail,
        ));
    }
    let der = STANDARD.decode(request.text()).unwrap_or_default();
    const LARGEST: usize = 10 * 1024;
    if der.len() > LARGEST {
        return found.push(FieldError::too_long(&request.path, LARGEST as u64));
    }
    if der.first() != Some(&0x30) {
        let detail = "must be a valid PKCS#10 CSR";
        found.push(FieldError::new(
            FieldErrorKind::Invalid,
            &request.path,
            None,
            detail,
        ));
    }
}

/// The status of a PodCertificateRequest: it is issued, denied or failed, once.
pub(super) fn pod_certificate_request_status(
    status: &Part,
    old: &Part,
    found: &mut Vec<FieldError>,
) {
    const ENDS: [&str; 3] = ["Denied", "Failed", "Issued"];
    let mut ends = 0;
    for condition in status.items("conditions") {
        // A real server has one more dot.
        let path = condition.path.replace('[', ".[");
        let (kind, state) = (condition.get("type"), condition.get("status"));
        let kind = kind.named_as(format!("{path}.type"));
        let state = state.named_as(format!("{path}.status"));
        if !ENDS.contains(&kind.text()) {
            kind.one_of(&["Issued", "Denied", "Failed"], found);
            continue;
        }
        ends += 1;
        if ends > 1 {
            let detail = "There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"";
            kind.invalid(detail, found);
        }
        state.one_of(&["True"], found);
    }
    conditions::conditions(status, found);
    if !found.is_empty() {
        return;
    }
    let mut refuse = |detail: &str| {
        found.push(FieldError::new(
            FieldErrorKind::Invalid,
            &status.path,
            None,
            detail,
        ));
    };
    let end = |status: &Part| {
        let mut conditions = status.items("conditions");
        conditions.find_map(|condition| {
            let kind = condition.text_of("type");
            ENDS.into_iter().find(|end| *end == kind)
        })
    };
    let others = |status: &Part| {
        let mut fields = status.value.as_object().cloned().unwrap_or_default();
        fields.remove("conditions");
        fields
    };
    if end(old).is_some() {
        if status.value != old.value {
            refuse("immutable after PodCertificateRequest is issued, denied, or failed");
        }
        return;
    }
    match end(status) {
        None if status.value != old.value => {
            refuse(
                "status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\"",
            );
        }
        Some("Denied" | "Failed") if !others(status).is_empty() => {
            refuse(
                "non-condition status fields must be empty when denying or failing the PodCertificateRequest",
            );
        }
        Some("Issued") if !status.text_of("certificateChain").contains("-----BEGIN ") => {
            let detail = "issued certificate chain must contain at least one certificate";
            status.get("certificateChain").invalid(detail, found);
        }
        Some("Issued") => {
            const WHEN: &str = "must be present and consistent with the issued certificate";
            for (field, detail) in [
                ("notBefore", WHEN),
                ("notAfter", WHEN),
                (
                    "beginRefreshAt",
                    "must be present and in the range [notbefore+10min, notafter-10min]",
                ),
            ] {
                if !status.get(field).is_set() {
                    status.get(field).missing(detail, found);
                }
            }
        }
        _ => {}
    }
}

fn request_conditions(object: &Value, found: &mut Vec<FieldError>) {
    let path = "status.conditions";
    let mut known = BTreeSet::new();
    for (field, condition) in indexed(object, "/status/conditions", path) {
        let kind = text(condition, "/type");
        if kind.is_empty() {
            found.push(FieldError::required(format!("{field}.type"), ""));
        } else if !known.insert(kind) {
            found.push(FieldError::duplicate(format!("{field}.type"), kind.into()));
        }
        let status = text(condition, "/status");
        let settles = ["Approved", "Denied", "Failed"].contains(&kind);
        let statuses: &[&str] = match settles {
            true => &["True"],
            false => &["False", "True", "Unknown"],
        };
        super::fields::choice(status, &format!("{field}.status"), statuses, found);
    }
    if ["Approved", "Denied"]
        .iter()
        .all(|kind| known.contains(kind))
    {
        let both =
            ["Approved", "Denied"].map(|kind| format!("conditions[{{\"type\": \"{kind}\"}}]"));
        let detail = format!("must specify at most one of: `{}`, `{}`", both[0], both[1]);
        let shown = format!("{{{}}}", both.join(", "));
        found.push(FieldError::invalid(path, shown, detail));
    }
}

fn changes(subresource: &str, object: &Value, old: &Value, found: &mut Vec<FieldError>) {
    let of = |object: &Value, kind: &str| -> Vec<Value> {
        list(object, "/status/conditions")
            .iter()
            .filter(|condition| condition["type"] == kind)
            .cloned()
            .collect()
    };
    let path = "status.conditions";
    for kind in ["Approved", "Denied", "Failed"] {
        let (now, was) = (of(object, kind), of(old, kind));
        if now.len() < was.len() {
            let detail = format!("updates may not remove a condition of type {kind:?}");
            found.push(FieldError::forbidden(path, detail));
        } else if subresource != "approval" && kind != "Failed" && now != was {
            let what = if now.len() > was.len() {
                "add"
            } else {
                "modify"
            };
            let detail = format!("updates may not {what} a condition of type {kind:?}");
            found.push(FieldError::forbidden(path, detail));
        }
    }
    let (now, was) = (
        text(object, "/status/certificate"),
        text(old, "/status/certificate"),
    );
    if now != was {
        let detail = match subresource {
            "status" if was.is_empty() => return,
            "status" => "updates may not modify existing certificate content",
            _ => "updates may not set certificate content",
        };
        found.push(FieldError::forbidden("status.certificate", detail));
    }
}
