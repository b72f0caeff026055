use pilothouse::prelude::*;

fn main() -> ExitCode {
    configmap_sync::operator()
        .example("examples/configmap-sync/settings.yaml")
        .main()
}
