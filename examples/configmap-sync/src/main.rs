use pilothouse::prelude::*;

fn main() -> ExitCode {
    configmap_sync::operator()
        .version(env!("CARGO_PKG_VERSION"))
        .example("examples/configmap-sync/settings.yaml")
        .main()
}
