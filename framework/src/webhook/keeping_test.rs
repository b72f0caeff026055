//! Replicas whose certificates come from files, while the files change.

use std::{fs, time::Duration};

use pilothouse_sandbox::Sandbox;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls_pki_types::{CertificateDer, pem::PemObject};
use tokio::time::advance;

use super::{
    files::Folder,
    installer::Installer,
    installer_test::{configured, connected, installer},
    keeping::{Keeping, Source},
};
use crate::{client::Client, metrics::Metrics};

/// An authority, and a certificate that it has signed, as PEM.
struct Chain {
    authority: String,
    certificate: String,
    key: String,
}

fn chain(name: &str) -> Chain {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["scribe-webhook.default.svc".into()]).unwrap();
    Chain {
        authority,
        certificate: certificate.signed_by(&key, &issuer).unwrap().pem(),
        key: key.serialize_pem(),
    }
}

/// A replica with a folder of its own, as on a node of its own.
struct Replica {
    folder: tempfile::TempDir,
    source: Source,
    installer: Installer,
    keeping: Keeping,
    metrics: Metrics,
}

impl Replica {
    async fn start(client: &Client, chain: &Chain) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, chain);
        let metrics = Metrics::new();
        let source = Source::Files(Folder::new(folder.path(), &metrics));
        let installer = installer(client, 1);
        let period = Duration::from_secs(300);
        let (_, keeping) = Keeping::start(&source, &installer, period).await.unwrap();
        Self {
            folder,
            source,
            installer,
            keeping,
            metrics,
        }
    }

    /// Looks at the files, 10 s after the last time.
    async fn check(&mut self) {
        advance(Duration::from_secs(10)).await;
        let checked = self.keeping.check(&self.source, &self.installer).await;
        checked.unwrap();
    }

    /// Whether it serves the certificate of this chain.
    fn serves(&self, chain: &Chain) -> bool {
        let served = self.keeping.served();
        let certificate = CertificateDer::from_pem_slice(chain.certificate.as_bytes());
        served.cert[0] == certificate.unwrap()
    }
}

fn write(folder: &tempfile::TempDir, chain: &Chain) {
    for (name, text) in [
        ("ca.crt", &chain.authority),
        ("tls.crt", &chain.certificate),
        ("tls.key", &chain.key),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
}

/// Which of these authorities the API server knows.
async fn known<const N: usize>(client: &Client, chains: [&Chain; N]) -> [bool; N] {
    let bundle = configured(client).await.remove(0).1;
    let all = CertificateDer::pem_slice_iter(&bundle).collect::<Result<Vec<_>, _>>();
    let all = all.unwrap();
    chains.map(|chain| {
        let authority = CertificateDer::from_pem_slice(chain.authority.as_bytes());
        all.contains(&authority.unwrap())
    })
}

#[tokio::test(start_paused = true)]
async fn the_old_authority_of_files_stays_until_no_replica_can_need_it() {
    let client = connected(&Sandbox::builder().build().unwrap());
    let (old, new) = (chain("old"), chain("new"));
    let mut first = Replica::start(&client, &old).await;
    let mut second = Replica::start(&client, &old).await;
    assert_eq!(known(&client, [&old, &new]).await, [true, false]);
    // The new files reach one node first. The authority is published before its certificate is served.
    write(&first.folder, &new);
    first.check().await;
    assert_eq!(known(&client, [&old, &new]).await, [true, true]);
    assert!(first.serves(&old));
    first.check().await;
    second.check().await;
    assert!(first.serves(&new) && second.serves(&old));
    assert_eq!(known(&client, [&old, &new]).await, [true, true]);
    // A replica that starts on a node with the old files keeps both, too.
    let _third = Replica::start(&client, &old).await;
    assert_eq!(known(&client, [&old, &new]).await, [true, true]);
    write(&second.folder, &new);
    second.check().await;
    second.check().await;
    assert!(second.serves(&new));
    assert_eq!(known(&client, [&old, &new]).await, [true, true]);
    // An hour later.
    for _ in 0..3600 / 10 {
        first.check().await;
    }
    assert_eq!(known(&client, [&old, &new]).await, [false, true]);
    assert!(first.serves(&new));
}

#[tokio::test(start_paused = true)]
async fn a_new_certificate_of_the_same_authority_is_served_at_once() {
    let client = connected(&Sandbox::builder().build().unwrap());
    let (mut old, new) = (chain("old"), chain("new"));
    let mut replica = Replica::start(&client, &old).await;
    // Only the authority counts, and nobody verifies the certificate here.
    old.certificate = new.certificate.clone();
    old.key = new.key.clone();
    write(&replica.folder, &old);
    replica.check().await;
    assert!(replica.serves(&new));
}

#[tokio::test(start_paused = true)]
async fn files_without_an_authority_change_nothing_and_are_named() {
    let client = connected(&Sandbox::builder().build().unwrap());
    let chain = chain("old");
    let mut replica = Replica::start(&client, &chain).await;
    let path = replica.folder.path().join("ca.crt");
    fs::write(&path, "nothing").unwrap();
    let checked = replica.keeping.check(&replica.source, &replica.installer);
    let problem = checked.await.unwrap_err().to_string();
    let expected = format!(
        "{} holds no certificate of an authority: it has to be PEM that begins with `-----BEGIN CERTIFICATE-----`",
        path.display()
    );
    assert_eq!(problem, expected);
    assert!(replica.serves(&chain));
    assert_eq!(known(&client, [&chain]).await, [true]);
    let errors = replica
        .metrics
        .value("certwatcher_read_certificate_errors_total", &[]);
    assert_eq!(errors, Some(1.0));
}
