use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::fields::{at, indexed, list, text};
use crate::names;
use crate::schema::FieldError;

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
    conditions(object, found);
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

fn conditions(object: &Value, found: &mut Vec<FieldError>) {
    let path = "status.conditions";
    let (mut known, mut decision) = (BTreeSet::new(), "");
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
        if ["Approved", "Denied"].contains(&kind) {
            if !decision.is_empty() && decision != kind {
                let detail = "Approved and Denied conditions are mutually exclusive";
                found.push(FieldError::invalid(path, kind, detail));
            }
            decision = kind;
        }
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
