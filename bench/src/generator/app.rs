//! The properties that the replicas of one application share.

use super::{NAMESPACES, Random};

const SUBJECTS: [&str; 40] = [
    "account",
    "address",
    "alert",
    "archive",
    "article",
    "audit",
    "basket",
    "billing",
    "booking",
    "campaign",
    "catalog",
    "checkout",
    "claim",
    "contract",
    "coupon",
    "customer",
    "delivery",
    "document",
    "event",
    "feed",
    "fraud",
    "identity",
    "inventory",
    "invoice",
    "ledger",
    "loyalty",
    "mail",
    "media",
    "order",
    "partner",
    "payment",
    "pricing",
    "profile",
    "quote",
    "rating",
    "refund",
    "search",
    "session",
    "shipping",
    "ticket",
];
const ROLES: [&str; 16] = [
    "api",
    "backend",
    "broker",
    "cache",
    "collector",
    "cron",
    "exporter",
    "frontend",
    "gateway",
    "importer",
    "indexer",
    "proxy",
    "relay",
    "scheduler",
    "store",
    "worker",
];
const TEAMS: [&str; 24] = [
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "indigo", "juniper",
    "kelp", "lagoon", "maple", "nimbus", "onyx", "pearl", "quartz", "raven", "sable", "tundra",
    "umbra", "velvet", "willow", "zephyr",
];
const REGISTRIES: [&str; 5] = [
    "registry.example.com",
    "images.example.org/team",
    "mirror.example.net/library",
    "registry.example.com/platform",
    "artifacts.example.io/prod",
];
pub(super) const SIDECARS: [&str; 6] = [
    "mesh-proxy",
    "log-shipper",
    "metrics-agent",
    "secrets-sync",
    "cache-warmer",
    "auth-proxy",
];
const ENV_AREAS: [&str; 20] = [
    "DATABASE", "CACHE", "QUEUE", "HTTP", "GRPC", "TRACING", "METRICS", "FEATURE", "AUTH", "TLS",
    "RETRY", "POOL", "LOG", "STORAGE", "REGION", "TENANT", "WORKER", "LIMIT", "PEER", "SCHEDULE",
];
const ENV_THINGS: [&str; 16] = [
    "URL", "HOST", "PORT", "TIMEOUT", "ENABLED", "SIZE", "USER", "MODE", "INTERVAL", "NAME",
    "LEVEL", "PATH", "MAX_IDLE", "BUDGET", "VERSION", "PREFIX",
];
const DOMAINS: [&str; 10] = [
    "checksum",
    "sidecar.mesh.example.com",
    "prometheus.io",
    "backup.example.com",
    "deploy.example.org",
    "policy.example.net",
    "vault.example.com",
    "scaling.example.io",
    "cost.example.com",
    "owner.example.org",
];

/// A container that all replicas of an application have.
pub(super) struct Container {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) digest: String,
    pub(super) port: u16,
    pub(super) env: Vec<(String, String)>,
    /// Names of variables whose values come from a Secret.
    pub(super) secrets: Vec<String>,
    pub(super) arguments: Vec<String>,
    pub(super) cpu: String,
    pub(super) memory: String,
    pub(super) probed: bool,
}

/// An application.
pub(super) struct App {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) annotations: Vec<(String, String)>,
    /// The ReplicaSets that exist at the same time.
    pub(super) revisions: Vec<(String, String)>,
    pub(super) containers: Vec<Container>,
    pub(super) volumes: Vec<String>,
    pub(super) tolerates: usize,
}

impl App {
    pub(super) fn new(seed: u64, number: usize) -> Self {
        let random = &mut Random::new(&[seed, 1 << 32, number as u64]);
        // Each pair of subject and role is used once. There are twice as many pairs as applications.
        let name = format!(
            "{}-{}",
            SUBJECTS[number % SUBJECTS.len()],
            ROLES[(number / SUBJECTS.len() * 2 + number % 2) % ROLES.len()]
        );
        let team = random.one_of(&TEAMS);
        let namespace = format!("{}-{:02}", random.one_of(&TEAMS), random.below(NAMESPACES));
        let sidecars = [0, 0, 0, 0, 0, 0, 0, 0, 0, 2][random.below(10)];
        let mut containers = vec![Container::new(&name, 2, random)];
        for sidecar in SIDECARS.iter().cycle().skip(random.below(6)).take(sidecars) {
            containers.push(Container::new(sidecar, 1, random));
        }
        let mut labels = vec![
            ("app.kubernetes.io/name".to_owned(), name.clone()),
            (
                "app.kubernetes.io/instance".to_owned(),
                format!("{name}-{team}"),
            ),
        ];
        let more = [
            (
                "app.kubernetes.io/version",
                format!(
                    "{}.{}.{}",
                    random.below(9),
                    random.below(40),
                    random.below(20)
                ),
            ),
            (
                "app.kubernetes.io/part-of",
                name.split('-').next().unwrap_or_default().to_owned(),
            ),
            ("team", team.to_owned()),
            (
                "tier",
                random.one_of(&["web", "data", "batch", "edge"]).to_owned(),
            ),
            ("cost-center", format!("cc-{:05}", random.below(100_000))),
        ];
        labels.extend(
            more.into_iter()
                .take(random.below(6))
                .map(|(key, value)| (key.to_owned(), value)),
        );
        let annotations = (0..random.long_tailed(1, 14) - 1)
            .map(|_| annotation(random))
            .collect();
        Self {
            labels,
            annotations,
            revisions: (0..1 + random.below(3))
                .map(|_| (random.hex(10), random.uid()))
                .collect(),
            volumes: (0..random.long_tailed(1, 5) - 1)
                .map(|volume| {
                    format!(
                        "{}-{volume}",
                        random.one_of(&["data", "config", "scratch", "certs"])
                    )
                })
                .collect(),
            tolerates: random.below(2),
            name,
            namespace,
            containers,
        }
    }
}

impl Container {
    fn new(name: &str, env: usize, random: &mut Random) -> Self {
        let count = random.long_tailed(env, 24);
        Self {
            name: name.to_owned(),
            image: format!(
                "{}/{name}:{}.{}.{}-{}",
                random.one_of(&REGISTRIES),
                random.below(9),
                random.below(40),
                random.below(20),
                random.hex(7)
            ),
            digest: random.hex(64),
            port: 1024 + random.below(60_000) as u16,
            env: (0..count).map(|place| variable(place, random)).collect(),
            secrets: (0..random.below(2))
                .map(|place| variable(100 + place, random).0)
                .collect(),
            arguments: (0..random.below(4))
                .map(|_| {
                    format!(
                        "--{}-{}={}",
                        random.one_of(&ENV_AREAS),
                        random.one_of(&ENV_THINGS),
                        random.below(1000)
                    )
                    .to_lowercase()
                })
                .collect(),
            cpu: format!("{}m", 50 * (1 + random.below(40))),
            memory: format!("{}Mi", 64 * (1 + random.below(32))),
            probed: !random.once_in(3),
        }
    }
}

/// Returns a variable. Its name ends in its position, so that no name occurs twice.
fn variable(place: usize, random: &mut Random) -> (String, String) {
    let (area, thing) = (random.one_of(&ENV_AREAS), random.one_of(&ENV_THINGS));
    let value = match random.below(6) {
        0 => format!(
            "http://{}-{}.{}.svc:{}",
            random.one_of(&SUBJECTS),
            random.one_of(&ROLES),
            random.one_of(&TEAMS),
            1024 + random.below(60_000)
        ),
        1 => random.below(100_000).to_string(),
        2 => format!("{}s", random.below(600)),
        3 => random
            .one_of(&["true", "false", "info", "debug", "strict"])
            .to_owned(),
        4 => random.hex(12),
        _ => format!(
            "/var/lib/{}/{}",
            random.one_of(&SUBJECTS),
            random.one_of(&ROLES)
        ),
    };
    let name = if place == 0 {
        format!("{area}_{thing}")
    } else {
        format!("{area}_{thing}_{place}")
    };
    (name, value)
}

fn annotation(random: &mut Random) -> (String, String) {
    let key = format!(
        "{}/{}-{}",
        random.one_of(&DOMAINS),
        random.one_of(&SUBJECTS),
        random.below(100)
    );
    let value = match random.below(5) {
        0 => random.hex(64),
        1 => random
            .one_of(&["true", "false", "9090", "/metrics"])
            .to_owned(),
        2 => format!(
            "{{\"policy\":\"{}\",\"weight\":{}}}",
            random.one_of(&TEAMS),
            random.below(100)
        ),
        3 => random.time(),
        _ => format!(
            "{} {} of {}",
            random.one_of(&SUBJECTS),
            random.one_of(&ROLES),
            random.one_of(&TEAMS)
        ),
    };
    (key, value)
}
