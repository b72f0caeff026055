//! The peers that the bench measures, and how to build each.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{trial::Trial, workload::Workload};
use crate::generator::Kind;

/// A peer in one of its settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    /// Its name in tables and for `--without`.
    pub(super) name: &'static str,
    /// Whether it is written in Go.
    go: bool,
    /// Its folder in `bench/peers`, or in `bench/peers/go`.
    pub(super) folder: &'static str,
    /// The feature it is built with: `jemalloc`, `mimalloc`, `compressed` or `count`.
    feature: Option<&'static str>,
    /// Whether it requests protobuf.
    pub(super) protobuf: bool,
    /// Whether it has a type for the custom resource.
    has_custom: bool,
    /// The workloads that it supports.
    workloads: &'static [Workload],
    /// Environment variables that the harness sets for it.
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// Its settings and their source, for the report.
    pub(super) settings: &'static str,
}

const fn rust(
    name: &'static str,
    folder: &'static str,
    feature: Option<&'static str>,
    settings: &'static str,
) -> Peer {
    Peer {
        name,
        go: false,
        folder,
        feature,
        protobuf: false,
        has_custom: true,
        workloads: &Workload::USUAL,
        environment: &[],
        settings,
    }
}

/// Returns a Rust peer with the system's allocator, which also builds its smallest operator.
const fn plain(name: &'static str, settings: &'static str) -> Peer {
    Peer {
        workloads: &Workload::PLAIN,
        ..rust(name, name, None, settings)
    }
}

const fn counting(name: &'static str, folder: &'static str) -> Peer {
    Peer {
        workloads: &Workload::COUNTED,
        ..rust(
            name,
            folder,
            Some("count"),
            "as the peer that does not count, with the system's allocator inside `stats_alloc`",
        )
    }
}

const fn go(
    name: &'static str,
    folder: &'static str,
    workloads: &'static [Workload],
    settings: &'static str,
) -> Peer {
    Peer {
        go: true,
        has_custom: false,
        workloads,
        ..rust(name, folder, None, settings)
    }
}

const OURS: &str = "`Client::new(Config::infer())` and `Informers::new` with default settings. Streamed list, managed fields left out, protobuf for built-in kinds. One listener. \
    Controllers: `Operator::start` without an election, metrics counted and not served, a `Reconciler` with `concurrency(16)`; \
    in `apply` a child by `Context::live` and `Api::patch`, in `owned` by `owns` and `Context::apply`; in `exit` `Operator::main` without an election, which logs and serves metrics. \
    Otherwise its logs have no subscriber. HTTP/2 over TLS. \
    The smallest operator: only the default features and `serde`";
const KUBE: &str = "`Client::try_default`, `watcher::Config::default` (kube-runtime `watcher.rs`: pages of 500, then a watch), `reflector`. JSON. Managed fields kept. \
    Controllers: `Controller::new` with `Config::default().concurrency(16)`; a child by `Api::patch` with a forced `Patch::Apply`, in `owned` with `owns`; in `exit` with `shutdown_on_signal`. \
    Its logs have no subscriber. HTTP/1.1 over TLS, with a connection for each watch (kube-client `client/config_ext.rs`: `enable_http1`). \
    The smallest operator: the features that its examples of a minimal controller use; `client`, `derive`, `runtime` and the default features, which are rustls with ring, \
    and a subscriber for logs; no metrics, no health, no command line";
const KUBE_SERVED: &str = "built but not run. The smallest operator with flags (clap), its definition as YAML, logs as JSON behind a filter, and health and metrics over HTTP \
    (actix-web, prometheus), as kube-rs' reference operator has them (kube-rs/controller-rs `Cargo.toml`); no traces, no certificates, no election, no installation, and no webhooks";

const CLIENT_GO: &str = "typed clientset and shared informer factory. Protobuf, the typed clients' default for built-in kinds (client-go `rest/request.go` `UseProtobufAsDefault`), as in controller-runtime (`pkg/client/apiutil/apimachinery.go` `createRestConfig`). WatchListClient on (client-go `features/known_features.go`), QPS -1 (controller-runtime `pkg/client/config/config.go`), one handler. Managed fields kept. Allocations are `Mallocs` and `TotalAlloc` of `runtime.MemStats`, which Go always counts";

const CONTROLLER_RUNTIME: &str = "`ctrl.GetConfig`, `ctrl.NewManager`, `For(&corev1.ConfigMap{})`: protobuf for built-in kinds (`pkg/client/apiutil/apimachinery.go` `createRestConfig`), QPS -1 (`pkg/client/config/config.go`), the priority queue on, reads from the cache as copies, read-your-writes off, no leader election; metrics server off, which is not the default. 16 workers, where the default is 1; a child by `client.Apply` with `ForceOwnership`, in `owned` with `Owns`; in `exit` with `ctrl.SetupSignalHandler`. Its logger logs errors only. For `parked`, the memory in use is `HeapAlloc` of `runtime.MemStats` after two collections";

/// The workloads of a program without a controller.
const CACHES: [Workload; 8] = [
    Workload::Reads,
    Workload::Cache,
    Workload::Idle,
    Workload::Kinds,
    Workload::Relist,
    Workload::Churn,
    Workload::Paced,
    Workload::Allocations,
];

/// Those of them that show what managed fields and encodings cost.
const CLEARED: [Workload; 5] = [
    Workload::Cache,
    Workload::Kinds,
    Workload::Relist,
    Workload::Churn,
    Workload::Paced,
];

/// The workloads of a program with a controller.
const CONTROLLERS: [Workload; 6] = [
    Workload::Exit,
    Workload::Reconcile,
    Workload::Apply,
    Workload::Owned,
    Workload::Latency,
    Workload::Parked,
];

/// Those of them that send a request in each reconcile.
const APPLIES: [Workload; 2] = [Workload::Apply, Workload::Owned];

/// All peers, in the order of the tables.
pub(super) const PEERS: [Peer; 19] = [
    Peer {
        protobuf: true,
        ..plain("pilothouse", OURS)
    },
    Peer {
        protobuf: true,
        ..rust(
            "pilothouse jemalloc",
            "pilothouse",
            Some("jemalloc"),
            "the same, with tikv-jemallocator",
        )
    },
    Peer {
        protobuf: true,
        ..rust(
            "pilothouse mimalloc",
            "pilothouse",
            Some("mimalloc"),
            "the same, with mimalloc",
        )
    },
    Peer {
        protobuf: true,
        workloads: &CLEARED,
        ..rust(
            "pilothouse jemalloc compressed",
            "pilothouse",
            Some("compressed"),
            "as `pilothouse jemalloc`, with the feature `zstd` and `InformersBuilder::compressed`",
        )
    },
    Peer {
        has_custom: false,
        workloads: &CLEARED,
        environment: &[("BENCH_JSON", "1")],
        ..rust(
            "pilothouse jemalloc JSON",
            "pilothouse",
            Some("jemalloc"),
            "the same, with `Encoding::Json`, which it uses for custom resources",
        )
    },
    plain("kube-rs", KUBE),
    rust(
        "kube-rs jemalloc",
        "kube-rs",
        Some("jemalloc"),
        "the same, with tikv-jemallocator",
    ),
    Peer {
        workloads: &[Workload::Build, Workload::Rebuild],
        ..rust("kube-rs served", "kube-rs-served", None, KUBE_SERVED)
    },
    Peer {
        protobuf: true,
        ..counting("pilothouse counting", "pilothouse")
    },
    counting("kube-rs counting", "kube-rs"),
    Peer {
        workloads: &CLEARED,
        environment: &[("BENCH_CLEAR", "1")],
        ..rust(
            "kube-rs jemalloc cleared",
            "kube-rs",
            Some("jemalloc"),
            "as `kube-rs jemalloc`, and the managed fields cleared with `WatchStreamExt::modify`, as its documentation shows",
        )
    },
    Peer {
        environment: &[("BENCH_STREAMING", "1")],
        ..rust(
            "kube-rs jemalloc streaming",
            "kube-rs",
            Some("jemalloc"),
            "as `kube-rs jemalloc`, and `streaming_lists`, which is not the default",
        )
    },
    Peer {
        workloads: &CLEARED,
        environment: &[("BENCH_STREAMING", "1"), ("BENCH_CLEAR", "1")],
        ..rust(
            "kube-rs jemalloc streaming cleared",
            "kube-rs",
            Some("jemalloc"),
            "the same, and the managed fields cleared",
        )
    },
    Peer {
        protobuf: true,
        ..go("client-go protobuf", "client-go", &CACHES, CLIENT_GO)
    },
    Peer {
        protobuf: true,
        workloads: &CLEARED,
        environment: &[("BENCH_CLEAR", "1")],
        ..go(
            "client-go protobuf cleared",
            "client-go",
            &CACHES,
            "the same, and the managed fields cleared by a transform of the factory",
        )
    },
    Peer {
        environment: &[("BENCH_JSON", "1")],
        ..go(
            "client-go JSON",
            "client-go",
            &CACHES,
            "the same, with JSON, which it uses for custom resources",
        )
    },
    Peer {
        protobuf: true,
        ..go(
            "controller-runtime protobuf",
            "controller-runtime",
            &CONTROLLERS,
            CONTROLLER_RUNTIME,
        )
    },
    Peer {
        protobuf: true,
        environment: &[("BENCH_IDLE", "1")],
        ..go(
            "controller-runtime protobuf idle connections",
            "controller-runtime",
            &APPLIES,
            "the same, with a transport that keeps 100 idle connections; in cleartext its default one keeps two (Go's `http.DefaultTransport`)",
        )
    },
    Peer {
        environment: &[("BENCH_JSON", "1")],
        ..go(
            "controller-runtime JSON",
            "controller-runtime",
            &CONTROLLERS,
            "the same, with JSON, which it uses for custom resources",
        )
    },
];

impl Peer {
    /// Whether it is Pilothouse.
    pub(super) fn is_ours(&self) -> bool {
        self.folder == "pilothouse"
    }

    /// Whether it takes part in this trial.
    pub(super) fn supports(&self, trial: &Trial) -> bool {
        let has_kind = self.has_custom || trial.kind != Some(Kind::Widget);
        has_kind && self.has(trial.workload)
    }

    /// Whether it supports this workload with any kind of objects.
    pub(super) fn has(&self, workload: Workload) -> bool {
        self.workloads.contains(&workload)
    }

    /// Whether any of its workloads runs the program instead of only building it.
    pub(super) fn is_run(&self) -> bool {
        let mut workloads = self.workloads.iter();
        workloads.any(|workload| workload.kind().is_some())
    }

    /// Whether it fails if the server does not stream lists.
    pub(super) fn needs_watch_list(&self) -> bool {
        let mut variables = self.environment.iter();
        variables.any(|(name, _)| *name == "BENCH_STREAMING")
    }

    /// Whether it is written in Go.
    pub(super) fn is_go(&self) -> bool {
        self.go
    }

    /// Whether it has the system's allocator.
    pub(super) fn is_plain(&self) -> bool {
        self.allocator().is_none()
    }

    /// The name of its allocator, if that is not the system's or Go's.
    pub(super) fn allocator(&self) -> Option<&'static str> {
        match self.feature {
            Some("compressed") => Some("jemalloc"),
            feature => feature.filter(|feature| feature.ends_with("malloc")),
        }
    }

    /// Builds the peer and returns the path of its program. Cargo and Go skip what is up to date.
    pub(super) fn build(&self, folders: &Folders) -> Result<PathBuf, Box<dyn Error>> {
        let program = folders.programs().join(self.name.replace(' ', "-"));
        fs::create_dir_all(folders.programs())?;
        if self.is_go() {
            build_go(folders, self.folder, &program)?;
            return Ok(program);
        }
        let source = folders.peers().join(self.folder);
        if self.is_ours() {
            folders.lock(&source)?;
        }
        let mut cargo = Command::new(option_env!("CARGO").unwrap_or("cargo"));
        cargo
            .arg("build")
            .arg("--quiet")
            .current_dir(&source)
            .env("CARGO_TARGET_DIR", folders.built());
        if !self.is_ours() {
            cargo.arg("--locked");
        }
        if folders.release {
            cargo.arg("--release");
        } else {
            // The same settings as the workspace's dependencies, so that they are reused. A smoke run needs no debug info.
            cargo
                .env("CARGO_PROFILE_DEV_DEBUG", "0")
                .env("CARGO_INCREMENTAL", "0");
        }
        if let Some(feature) = self.feature {
            cargo.args(["--features", feature]);
        }
        run(cargo)?;
        let profile = if folders.release { "release" } else { "debug" };
        // All variants of a peer have the same file name. Remove the copy first: a running program must not be overwritten.
        let built = folders
            .built()
            .join(profile)
            .join(format!("peer-{}", self.folder));
        let _ = fs::remove_file(&program);
        fs::copy(built, &program)?;
        Ok(program)
    }
}

/// Builds a program of `bench/peers/go`.
pub(super) fn build_go(
    folders: &Folders,
    folder: &str,
    program: &Path,
) -> Result<(), Box<dyn Error>> {
    let mut go = Command::new("go");
    go.arg("build")
        .arg("-trimpath")
        .arg("-o")
        .arg(program)
        .arg(format!("./{folder}"))
        .current_dir(folders.peers().join("go"))
        .env("CGO_ENABLED", "0");
    run(go)
}

pub(super) fn run(mut command: Command) -> Result<(), Box<dyn Error>> {
    let status = command
        .status()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {status}").into())
    }
}

/// The folders of the sources and of the build results.
pub(super) struct Folders {
    pub(super) repository: PathBuf,
    pub(super) target: PathBuf,
    pub(super) release: bool,
}

impl Folders {
    /// Returns the folders of the repository from which this program was built.
    pub(super) fn new(release: bool) -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .map_or_else(PathBuf::new, Path::to_owned);
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| repository.join("target"), PathBuf::from);
        Self {
            repository,
            target,
            release,
        }
    }

    /// The sources of the peers.
    pub(super) fn peers(&self) -> PathBuf {
        self.repository.join("bench/peers")
    }

    /// The sources of the smallest operator on a peer.
    pub(super) fn smallest(&self, peer: &Peer) -> PathBuf {
        self.repository.join("bench/smallest").join(peer.folder)
    }

    /// Copies the workspace's lock file to `folder`, so that our program is built with the versions that the workspace tests.
    pub(super) fn lock(&self, folder: &Path) -> Result<(), String> {
        let (from, to) = (
            self.repository.join("Cargo.lock"),
            folder.join("Cargo.lock"),
        );
        fs::copy(&from, &to)
            .map(drop)
            .map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
    }

    /// The target folder of cargo. A smoke run shares the workspace's, so that common crates are built once.
    fn built(&self) -> PathBuf {
        if self.release {
            self.peers_target()
        } else {
            self.target.clone()
        }
    }

    /// The folder for everything that belongs to the peers.
    pub(super) fn peers_target(&self) -> PathBuf {
        self.target.join("peers")
    }

    fn programs(&self) -> PathBuf {
        let profile = if self.release { "release" } else { "debug" };
        self.peers_target().join("programs").join(profile)
    }
}
