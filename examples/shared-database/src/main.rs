use pilothouse::prelude::*;

fn main() -> ExitCode {
    shared_database::operator()
        .version(env!("CARGO_PKG_VERSION"))
        .example("examples/shared-database/database.yaml")
        .main()
}
