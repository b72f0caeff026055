use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use pilothouse_sandbox::Sandbox;
use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};

use super::{Keeper, Stored, rotation::Step, signing};
use crate::{
    client::{Api, Client, Config},
    clock::Clock,
    resource::Object,
};

const HOST: &str = "website-webhook.default.svc";

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}

/// A client of the API server in memory.
fn connected(sandbox: Sandbox) -> Client {
    Client::builder(Config::new(http::Uri::from_static("http://sandbox")))
        .connector(Arc::new(move || Ok(sandbox.connect())))
        .build()
        .unwrap()
}

/// Makes the steps that are due at `now`, with real certificates.
fn advance(stored: &mut Stored, hosts: &[String], now: Timestamp) -> usize {
    let mut steps = 0;
    while let Some(step) = Step::due(stored, hosts, now) {
        steps += 1;
        match step {
            Step::Forget => stored.authorities.retain(|one| one.expires > now),
            Step::AddAuthority { expires } => {
                let authority = signing::authority(format!("{now} a"), now, expires);
                stored.authorities.push(authority.unwrap());
            }
            Step::Issue {
                authority,
                hosts,
                expires,
            } => {
                let authority = &stored.authorities[authority];
                stored.serving = Some(signing::issue(authority, hosts, now, expires).unwrap());
            }
        }
    }
    steps
}

/// Whether a client that trusts `bundle` accepts the certificate of `stored` at `now`.
fn is_trusted(bundle: &str, stored: &Stored, host: &str, now: Timestamp) -> bool {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(authority.unwrap()).unwrap();
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider);
    let verifier = verifier.build().unwrap();
    let (certificate, _) = stored.pair().unwrap();
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let now = UnixTime::since_unix_epoch(now.duration_since(Timestamp::UNIX_EPOCH).unsigned_abs());
    let host = ServerName::try_from(host.to_owned()).unwrap();
    verifier
        .verify_server_cert(&certificate, &[], &host, &[], now)
        .is_ok()
}

#[test]
fn over_twenty_years_every_replica_is_trusted_at_any_time() {
    let hosts = [HOST.to_owned()];
    let mut stored = Stored::default();
    // Three replicas that look at different times, and the bundle that the last of them wrote.
    let mut seen = [Stored::default(), Stored::default(), Stored::default()];
    let (mut certificates, mut authorities) = (0, 0);
    let mut bundle = String::new();
    for step in 0..20 * 73 {
        let now = start() + days(5) * step;
        // One replica after the other looks; the others still have what they saw a step or two ago.
        let replica = usize::try_from(step % 3).unwrap();
        let before = stored.clone();
        advance(&mut stored, &hosts, now);
        certificates += usize::from(stored.pair() != before.pair());
        authorities += usize::from(stored.authorities.len() > before.authorities.len());
        bundle = stored.bundle();
        seen[replica] = stored.clone();
        for stored in seen.iter().filter(|stored| stored.pair().is_some()) {
            assert!(is_trusted(&bundle, stored, HOST, now), "{now}: {stored:?}");
        }
        assert!(stored.authorities.len() <= 2, "{stored:?}");
    }
    // Every 60 of 90 days; every 40 of 60 months.
    assert!((110..=125).contains(&certificates), "{certificates}");
    assert!((5..=7).contains(&authorities), "{authorities}");
    assert!(!bundle.is_empty());
}

#[test]
fn a_new_authority_signs_nothing_before_it_is_published() {
    let hosts = [HOST.to_owned()];
    let mut stored = Stored::default();
    advance(&mut stored, &hosts, start());
    let first = stored.authorities[0].name.clone();
    let now = start() + days(5 * 365 * 2 / 3 + 1);
    // The new authority and a new certificate are due at once.
    assert_eq!(advance(&mut stored, &hosts, now), 2);
    assert_eq!(stored.authorities.len(), 2);
    assert_eq!(stored.serving.as_ref().unwrap().authority, first);
    let later = now + days(61);
    assert_eq!(advance(&mut stored, &hosts, later), 1);
    assert_ne!(stored.serving.as_ref().unwrap().authority, first);
}

#[test]
fn a_certificate_is_renewed_after_two_thirds_of_its_life() {
    let hosts = [HOST.to_owned()];
    let mut stored = Stored::default();
    assert_eq!(advance(&mut stored, &hosts, start()), 2);
    let minute = SignedDuration::from_mins(1);
    assert_eq!(advance(&mut stored, &hosts, start() + days(60) - minute), 0);
    assert_eq!(advance(&mut stored, &hosts, start() + days(60)), 1);
}

#[test]
fn replicas_that_need_different_hosts_do_not_renew_again_and_again() {
    let (one, other) = (["a".to_owned()], ["b".to_owned()]);
    let mut stored = Stored::default();
    assert_eq!(advance(&mut stored, &one, start()), 2);
    assert_eq!(advance(&mut stored, &other, start()), 1);
    assert_eq!(advance(&mut stored, &one, start()), 0);
    for host in ["a", "b"] {
        assert!(is_trusted(&stored.bundle(), &stored, host, start()));
    }
    assert!(!is_trusted(&stored.bundle(), &stored, "c", start()));
}

#[tokio::test]
async fn replicas_that_start_at_once_share_one_secret() {
    let sandbox = Sandbox::builder().build().unwrap();
    let client = connected(sandbox);
    let keepers = (0..8).map(|_| Keeper::new(&client, "website", "default", vec![HOST.into()]));
    let keepers: Vec<_> = keepers.collect();
    let stored = futures_util::future::join_all(keepers.iter().map(Keeper::current)).await;
    let stored: Vec<_> = stored.into_iter().map(Result::unwrap).collect();
    assert!(stored.iter().all(|one| *one == stored[0]));
    let secrets = Api::<Secret>::namespaced(&client, "default");
    let secret = secrets.get("website-webhook-certificates").await.unwrap();
    let entry = |name: &str| {
        let data = secret.data.as_ref().unwrap();
        String::from_utf8(data[name].0.clone()).unwrap()
    };
    assert_eq!(entry("ca.crt"), stored[0].bundle());
    assert_eq!(
        Some((&*entry("tls.crt"), &*entry("tls.key"))),
        stored[0].pair()
    );
    // No key is shown.
    let shown = format!("{:?}", stored[0]);
    assert!(!shown.contains("BEGIN"), "{shown}");
}

#[tokio::test]
async fn a_secret_that_was_deleted_is_made_again_and_a_broken_one_is_named() {
    let sandbox = Sandbox::builder().build().unwrap();
    let client = connected(sandbox);
    let client = client.with_clock(Clock::starting_at(start()));
    let keeper = Keeper::new(&client, "website", "default", vec![HOST.into()]);
    let first = keeper.current().await.unwrap();
    assert_eq!(keeper.current().await.unwrap(), first);
    let secrets = Api::<Secret>::namespaced(&client, "default");
    let mut secret = secrets.get("website-webhook-certificates").await.unwrap();
    secrets
        .delete(secret.name(), &Default::default())
        .await
        .unwrap();
    assert_ne!(keeper.current().await.unwrap(), first);
    secret = secrets.get(secret.name()).await.unwrap();
    secret.data.as_mut().unwrap().remove("certificates.json");
    secrets
        .replace("website-webhook-certificates", &Default::default(), &secret)
        .await
        .unwrap();
    let error = keeper.current().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the Secret default/website-webhook-certificates cannot be used: it has no entry `certificates.json`: delete it, and a replica makes a new one"
    );
}
