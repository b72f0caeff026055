use rustls_pki_types::CertificateDer;
use x509_parser::prelude::*;

use crate::authentication::{AUTHENTICATED, User};

/// The user of a client certificate that an authority has signed; `None` if its subject has no common name.
///
/// The common name is the user's name, and each organisation is a group, as for a real server.
pub(super) fn client_user(certificate: &CertificateDer<'_>) -> Option<User> {
    let (_, parsed) = parse_x509_certificate(certificate).ok()?;
    let subject = parsed.subject();
    let text = |attribute: &AttributeTypeAndValue<'_>| attribute.as_str().ok().map(str::to_owned);
    let name = subject.iter_common_name().find_map(text)?;
    let mut groups: Vec<String> = subject.iter_organization().filter_map(text).collect();
    groups.push(AUTHENTICATED.into());
    (!name.is_empty()).then(|| User {
        name,
        groups,
        ..User::default()
    })
}
