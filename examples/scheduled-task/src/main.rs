use pilothouse::prelude::*;

fn main() -> ExitCode {
    scheduled_task::operator()
        .version(env!("CARGO_PKG_VERSION"))
        .example("examples/scheduled-task/task.yaml")
        .main()
}
