use pilothouse::prelude::*;

fn main() -> ExitCode {
    scheduled_task::operator()
        .example("examples/scheduled-task/task.yaml")
        .main()
}
