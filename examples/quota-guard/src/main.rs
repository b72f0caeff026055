use pilothouse::prelude::*;

fn main() -> ExitCode {
    quota_guard::operator()
        .version(env!("CARGO_PKG_VERSION"))
        .example("examples/quota-guard/guard.yaml")
        .main()
}
