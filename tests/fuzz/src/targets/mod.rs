//! One module for each target.

mod apply;
mod bodies;
mod cbor;
mod cel;
mod discovery;
mod encoded;
mod frames;
mod json;
mod jsonpath;
mod kubeconfig;
mod list;
mod metrics;
mod patch;
mod protobuf;
mod requests;
mod schema;
mod selector;
mod status;
mod values;
mod watch;
mod yaml;

/// A target: its name, and its function, which panics if a property does not hold for the input.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// All targets.
pub(crate) const ALL: &[Target] = &[
    ("apply", apply::run),
    ("bodies", bodies::run),
    ("cbor", cbor::run),
    ("cel", cel::run),
    ("discovery", discovery::run),
    ("encoded", encoded::run),
    ("frames", frames::run),
    ("json", json::run),
    ("jsonpath", jsonpath::run),
    ("kubeconfig", kubeconfig::run),
    ("list", list::run),
    ("metrics", metrics::run),
    ("patch", patch::run),
    ("protobuf", protobuf::run),
    ("requests", requests::run),
    ("schema", schema::run),
    ("selector", selector::run),
    ("status", status::run),
    ("values", values::run),
    ("watch", watch::run),
    ("yaml", yaml::run),
];

#[cfg(pilothouse_fuzz)]
static CHOSEN: std::sync::OnceLock<fn(&[u8])> = std::sync::OnceLock::new();

/// Chooses the target that the environment names.
#[cfg(pilothouse_fuzz)]
pub(crate) fn choose() {
    let wanted = std::env::var("PILOTHOUSE_FUZZ_TARGET").unwrap_or_default();
    let target = ALL.iter().find(|(name, _)| *name == wanted);
    let Some((_, run)) = target else {
        let names: Vec<_> = ALL.iter().map(|(name, _)| *name).collect();
        eprintln!("PILOTHOUSE_FUZZ_TARGET must be one of: {}", names.join(" "));
        std::process::exit(2);
    };
    CHOSEN.get_or_init(|| *run);
}

/// Runs the target on an input.
#[cfg(pilothouse_fuzz)]
pub(crate) fn run(data: &[u8]) {
    CHOSEN.get().expect("`choose` runs first")(data);
}
