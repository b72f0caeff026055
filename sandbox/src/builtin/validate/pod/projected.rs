use std::collections::BTreeSet;

use super::super::certificates::signer_name;
use super::super::internal_form::internal_invalid;
use super::super::part::Part;
use super::super::selector::label_selector;
use super::volumes::{downward_file, key_and_path};
use crate::names;
use crate::schema::FieldError;

const BUNDLE: &str = "core.ClusterTrustBundleProjection";

/// The paths of files that are taken.
struct Paths<'a, 'p> {
    volume: &'p Part<'a>,
    taken: BTreeSet<&'a str>,
}

impl<'a> Paths<'a, '_> {
    /// Takes a path. `shown` is what a real server shows if two sources have it.
    fn take(&mut self, path: &'a str, shown: &str, found: &mut Vec<FieldError>) {
        if !self.taken.insert(path) {
            let detail = "conflicting duplicate paths";
            self.volume.invalid_as(shown, detail, found);
        }
    }
}

/// The sources of a projected volume.
pub(super) fn sources<'a>(volume: &Part<'a>, found: &mut Vec<FieldError>) {
    let mut paths = Paths {
        volume,
        taken: BTreeSet::new(),
    };
    for source in volume.items("sources") {
        let mut count = 0;
        let mut given = |name: &str| {
            let part = source.set(name);
            count += usize::from(part.is_some());
            part
        };
        for kind in ["secret", "configMap"] {
            if let Some(source) = given(kind) {
                keys(&source, &mut paths, found);
            }
        }
        if let Some(fields) = given("downwardAPI") {
            for file in fields.items("items") {
                downward_file(&file.named_as(&fields.path), found);
                let path = file.text_of("path");
                if !path.is_empty() {
                    paths.take(path, path, found);
                }
            }
        }
        if let Some(token) = given("serviceAccountToken") {
            service_account_token(&token, volume, found);
        }
        if let Some(bundle) = given("clusterTrustBundle") {
            trust_bundle(&bundle, &mut paths, found);
        }
        if let Some(certificate) = given("podCertificate") {
            pod_certificate(&certificate, &mut paths, found);
        }
        if count > 1 {
            source.forbidden("may not specify more than 1 volume type per source", found);
        }
    }
}

fn keys<'a>(source: &Part<'a>, paths: &mut Paths<'a, '_>, found: &mut Vec<FieldError>) {
    let name = source.get("name");
    name.required(found);
    for item in source.items("items") {
        key_and_path(&item, found);
        let path = item.text_of("path");
        if !path.is_empty() {
            paths.take(path, name.text(), found);
        }
    }
}

fn service_account_token(token: &Part, volume: &Part, found: &mut Vec<FieldError>) {
    let expiry = token.get("expirationSeconds");
    let seconds = expiry.number().unwrap_or(0);
    if seconds < 600 {
        expiry.invalid("may not specify a duration less than 10 minutes", found);
    }
    if seconds > 1 << 32 {
        expiry.invalid("may not specify a duration larger than 2^32 seconds", found);
    }
    // A real server reports the path as one of the volume.
    let path = token.get("path").named_as(volume.get("path").path);
    path.required(found);
    path.own_path(found);
}

fn trust_bundle<'a>(bundle: &Part<'a>, paths: &mut Paths<'a, '_>, found: &mut Vec<FieldError>) {
    match (bundle.set("name"), bundle.set("signerName")) {
        (Some(_), Some(_)) => {
            let detail = "only one of name and signerName may be used";
            found.push(internal_invalid(BUNDLE, &bundle.path, bundle.value, detail));
        }
        (Some(name), None) => {
            if name.text().is_empty() {
                name.missing("must be a valid object name", found);
            }
            let of_signer = name.text().rsplit_once(':').map(|(_, rest)| rest);
            for wrong in names::dns_subdomain(of_signer.unwrap_or(name.text())) {
                name.invalid(
                    format!("not a valid clustertrustbundlename: {wrong}"),
                    found,
                );
            }
            if let Some(selector) = bundle.set("labelSelector") {
                selector.invalid("labelSelector must be unset if name is specified", found);
            }
        }
        (None, Some(signer)) => {
            if signer.text().is_empty() {
                signer.missing("must be a valid signer name", found);
            }
            signer_name(signer.text(), &signer.path, found);
            if let Some(selector) = bundle.set("labelSelector") {
                label_selector(selector.value, &selector.path, found);
            }
        }
        (None, None) => bundle.missing("either name or signerName must be specified", found),
    }
    let path = bundle.get("path");
    path.required(found);
    path.own_path(found);
    paths.take(path.text(), path.text(), found);
}

const KEY_TYPES: [&str; 6] = [
    "RSA3072",
    "RSA4096",
    "ECDSAP256",
    "ECDSAP384",
    "ECDSAP521",
    "ED25519",
];

fn pod_certificate<'a>(
    certificate: &Part<'a>,
    paths: &mut Paths<'a, '_>,
    found: &mut Vec<FieldError>,
) {
    let signer = certificate.get("signerName");
    signer_name(signer.text(), &signer.path, found);
    certificate.get("keyType").one_of(&KEY_TYPES, found);
    let expiry = certificate.get("maxExpirationSeconds");
    if let Some(seconds) = expiry.number() {
        if seconds < 3600 {
            let detail = "if provided, maxExpirationSeconds must be >= 3600";
            expiry.invalid(detail, found);
        }
        let of_system = signer.text().starts_with("kubernetes.io/");
        let most = if of_system { 86_400 } else { 91 * 86_400 };
        if seconds > most {
            let detail = format!("if provided, maxExpirationSeconds must be <= {most}");
            expiry.invalid(detail, found);
        }
    }
    let mut count = 0;
    for name in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        let path = certificate.get(name);
        if !path.text().is_empty() {
            count += 1;
            path.own_path(found);
            paths.take(path.text(), path.text(), found);
        }
    }
    if count == 0 {
        let detail =
            "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        certificate.missing(detail, found);
    }
}
