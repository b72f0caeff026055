use super::{
    peer::{Folders, PEERS, Peer},
    versions::{Lock, of},
    workload::Workload,
};

const CARGO: &str = r#"version = 4

[[package]]
name = "hyper"
version = "0.14.32"
source = "registry"
dependencies = [
 "tokio",
]

[[package]]
name = "hyper"
version = "1.12.0"

[[package]]
name = "hyper-util"
version = "0.1.0"

[[package]]
name = "k8s-openapi"
version = "0.29.0"

[[package]]
name = "mimalloc"
version = "0.1.52"

[[package]]
name = "tikv-jemallocator"
version = "0.7.0"

[[package]]
name = "tokio"
version = "1.54.1"
"#;

const GO: &str = "module pilothouse.dev/bench/peers

require (
	k8s.io/client-go v0.37.2
	k8s.io/client-go/extra v0.1.0 // indirect
)

require sigs.k8s.io/controller-runtime v0.25.2

replace (
	k8s.io/client-go => ../client-go
)
";

fn peer(name: &str) -> Peer {
    let peer = PEERS.into_iter().find(|peer| peer.name == name);
    peer.expect("a peer of this name")
}

fn named(peer_name: &str, text: &str) -> Result<String, String> {
    Lock::new(&peer(peer_name), &Folders::new(false)).named(text)
}

#[test]
fn versions_come_from_the_lock_files() {
    assert_eq!(
        named("pilothouse", CARGO).as_deref(),
        Ok(
            "k8s-openapi 0.29.0, hyper 0.14.32 and 1.12.0, tokio 1.54.1, tikv-jemallocator 0.7.0, mimalloc 0.1.52"
        )
    );
    assert_eq!(
        named("client-go JSON", GO).as_deref(),
        Ok("k8s.io/client-go v0.37.2, sigs.k8s.io/controller-runtime v0.25.2")
    );
}

#[test]
fn a_version_that_is_missing_is_an_error_that_names_the_file() {
    let missing = named("kube-rs", CARGO).expect_err("there is no kube");
    assert!(missing.ends_with("bench/peers/kube-rs/Cargo.lock: the file has no version of kube"));
    let go = GO.replace("sigs.k8s.io/controller-runtime", "sigs.k8s.io/other");
    let missing = named("client-go JSON", &go).expect_err("there is no controller-runtime");
    assert!(missing.ends_with(
        "bench/peers/go/go.mod: the file has no version of sigs.k8s.io/controller-runtime"
    ));
    let nowhere = Folders {
        repository: "/nowhere".into(),
        ..Folders::new(false)
    };
    let missing = of(PEERS.iter().map(|peer| Lock::new(peer, &nowhere)));
    let missing = missing.expect_err("there are no files");
    assert!(
        missing.starts_with("/nowhere/bench/peers/pilothouse/Cargo.lock: "),
        "{missing}"
    );
}

#[test]
fn each_lock_file_is_reported_once_and_names_all_versions() {
    // The lock files of Pilothouse exist only after it has been built.
    let peers = || PEERS.iter().filter(|peer| !peer.is_ours());
    let folders = Folders::new(false);
    let usual = peers().filter(|peer| peer.is_run());
    let usual = usual.map(|peer| Lock::new(peer, &folders));
    let smallest = peers().filter(|peer| peer.has(Workload::Build));
    let smallest = smallest.map(|peer| Lock::of_smallest(peer, &folders));
    let versions = of(usual.chain(smallest)).expect("versions");
    let whose: Vec<_> = versions
        .split("; ")
        .filter_map(|part| part.split_once(": ").map(|(who, _)| who))
        .collect();
    assert_eq!(
        whose,
        [
            "kube-rs",
            "Go",
            "smallest operator on kube-rs",
            "smallest operator on kube-rs-served"
        ],
        "{versions}"
    );
}
